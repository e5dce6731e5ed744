"""Read mutated files, in all processes there are: `make fuzz`.

No file may end the process, raise what is not ours, take longer than a file of its size can, or let
a number through that is not finite. What does is kept in `fuzz-failures/`; once it is mended, it
belongs into the corpus.

    python tests/hostile/fuzz.py --count 200000
    python tests/hostile/fuzz.py --seconds 300 --seed "$(date +%s)"
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Every worker reads small files: threads of its own would only wait for each other.
for variable in ("OMP_NUM_THREADS", "ARROW_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from fuzz_targets import MODELS, TARGETS, Target, complaint
from mutations import mutate

MEMORY_BYTES = 8 * 2**30
SLOWEST_SECONDS = 30
FAILURES = Path("fuzz-failures")


@dataclass(frozen=True)
class Plan:
    """What one worker does: its share of `count` files, until `deadline`."""

    worker: int
    n_workers: int
    count: int
    deadline: float
    seed: int
    targets: tuple[Target, ...]

    def numbers(self, first: int) -> Iterator[int]:
        """Return the numbers of this worker's files, from `first` on."""
        start = first + (self.worker - first) % self.n_workers
        for number in range(start, self.count, self.n_workers):
            if time.monotonic() > self.deadline:
                return
            yield number


def mutated(
    plan: Plan, seeds: dict[str, dict[str, bytes]], number: int
) -> tuple[Target, str, bytes]:
    """Return the file of a number: the same for the same seed, whoever makes it."""
    rng = random.Random(f"{plan.seed}/{number}")
    target = plan.targets[number % len(plan.targets)]
    files = seeds[target.name]
    name = rng.choice(sorted(files))
    return target, name, mutate(files[name], list(files.values()), rng)


def work(plan: Plan, first: int, sender: Any) -> None:
    """Read this worker's files, and send what was wrong."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, _too_slow)
    seeds = {target.name: target.seeds() for target in plan.targets}
    with tempfile.TemporaryDirectory(dir=_quick_folder()) as name:
        tempfile.tempdir = name  # where models are put too
        folders = {target.name: Path(name) / target.name for target in plan.targets}
        for target in plan.targets:
            folders[target.name].mkdir()
            target.prepare(folders[target.name])
        for number in plan.numbers(first):
            sender.send(("begun", number, None))
            target, called, content = mutated(plan, seeds, number)
            given = target.write(folders[target.name], called, content)
            signal.alarm(SLOWEST_SECONDS)
            wrong = complaint(target, given)
            signal.alarm(0)
            sender.send(("read", number, wrong))
    sender.send(("done", plan.count, None))


def _too_slow(*_: Any) -> None:
    raise TimeoutError(f"it took more than {SLOWEST_SECONDS} s")


def _quick_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Worker:
    """A process that reads files, begun anew after the one that ended it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.is_done = False
        self._begun = -1
        self._start(first=0)

    def _start(self, first: int) -> None:
        context = multiprocessing.get_context("fork")
        self.receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(self.plan, first, sender), daemon=True)
        self.process.start()
        sender.close()

    def results(self) -> Iterator[tuple[int, str | None]]:
        """Yield number and complaint of the files read since this was asked."""
        try:
            while self.receiver.poll(0.02):
                what, number, wrong = self.receiver.recv()
                if what == "begun":
                    self._begun = number
                elif what == "read":
                    yield number, wrong
                else:
                    self.is_done = True
        except (EOFError, OSError):
            self.process.join()
            if self.is_done:
                return
            code = self.process.exitcode
            yield self._begun, f"the process ended with {code}"
            self._start(first=self._begun + 1)


def run(plans: list[Plan]) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Return how many files each target read, and the complaints."""
    workers = [Worker(plan) for plan in plans]
    n_read: Counter[str] = Counter()
    wrong: list[tuple[int, str]] = []
    while not all(worker.is_done for worker in workers):
        for worker in workers:
            if worker.is_done:
                continue
            for number, said in worker.results():
                target = worker.plan.targets[number % len(worker.plan.targets)]
                n_read[target.name] += 1
                if said is not None:
                    wrong.append((number, said))
    return n_read, wrong


def keep(plan: Plan, wrong: list[tuple[int, str]]) -> None:
    """Write the files that were answered wrongly, one of a kind, and say what was wrong."""
    seeds = {target.name: target.seeds() for target in plan.targets}
    said_before: set[tuple[str, str]] = set()
    for number, said in sorted(wrong):
        target, name, content = mutated(plan, seeds, number)
        kind = (target.name, "".join(c for c in said if not c.isdigit())[:60])
        if kind in said_before:
            continue
        said_before.add(kind)
        digest = hashlib.sha256(content).hexdigest()[:8]
        path = FAILURES / target.name / f"{digest}-{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{target.name} {number}: {said[:400]}\n    kept as {path}")


def main() -> int:
    """Run, report, and return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=sys.maxsize, help="files")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="names of targets")
    options = parser.parse_args()
    if options.count == sys.maxsize and options.seconds == float("inf"):
        parser.error("give --count, --seconds or both")
    targets = tuple(
        t for t in (*TARGETS, *MODELS) if options.only is None or t.name in options.only
    )
    began = time.monotonic()
    plans = [
        Plan(k, options.workers, options.count, began + options.seconds, options.seed, targets)
        for k in range(options.workers)
    ]
    n_read, wrong = run(plans)
    for name, number in sorted(n_read.items()):
        print(f"{name:<16}{number:>10,}")
    seconds = time.monotonic() - began
    print(f"{n_read.total():,} mutated files in {seconds:.0f} s, {len(wrong)} answered wrongly.")
    keep(plans[0], wrong)
    return 1 if wrong or not n_read else 0


if __name__ == "__main__":
    np.seterr(all="warn", under="ignore")
    sys.exit(main())
