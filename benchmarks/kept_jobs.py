"""`python -m benchmarks.kept_jobs FILE --seconds S NAME …`: jobs, a line each, until time is up.

A benchmark that takes part has `jobs()` and `work(deadline, *args)`, which gives rows. Results are
added to FILE as they come; what is in it already is not done again, so that a call that was cut off
is gone on with by another. `python -m benchmarks NAME --keep FOLDER` makes the record of what lies
in the file that the variable KEPT_JOBS names.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from benchmarks.side_by_side import begin_process, one_thread_each
from twofold.experiments import describe_commit, describe_machine
from twofold.regression import Epoch

KEPT = "KEPT_JOBS"
FEWEST_EPOCHS = 4
"""After which it is foretold how long a training takes."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work.

    Attributes
    ----------
    benchmark : str
        Whose `work` does it.
    args : tuple
        Of strings and numbers.
    turn : float
        Those of a lower one come first, in whatever benchmark.
    keeps_device_busy : bool
        Whether the device has most of its work, and not the processor: jobs of both kinds are
        done beside each other.
    """

    benchmark: str
    args: tuple[Any, ...]
    turn: float
    keeps_device_busy: bool

    @property
    def key(self) -> list[Any]:
        """What it is called in a file."""
        return [self.benchmark, *self.args]


class OutOfTimeError(Exception):
    """A training would not be done before the deadline."""


@dataclass(eq=False)
class Deadline:
    """A callback of a training that ends it as soon as it is plain that it will be too late.

    Parameters
    ----------
    at : float
        Of `time.monotonic`.
    n_trainings : float
        How many trainings like this one there are from its beginning to the end of the job.
    spare : float
        Seconds that scoring takes.
    """

    at: float
    n_trainings: float = 1.0
    spare: float = 5.0
    _first: float = field(default=0.0, init=False)

    def __call__(self, epoch: Epoch) -> None:
        """Look at how far the training is; its first epoch is longer than the others."""
        if epoch.number == 1:
            self._first = epoch.seconds
        if epoch.number < FEWEST_EPOCHS:
            return
        left = epoch.n_epochs * self.n_trainings - epoch.number
        each = (epoch.seconds - self._first) / (epoch.number - 1)
        if time.monotonic() + left * each + self.spare > self.at:
            raise OutOfTimeError


def run_until(
    jobs: Sequence[Job], seconds: float, n_at_a_time: int
) -> Iterator[tuple[Job, list[Row]]]:
    """Yield jobs with their rows as they end; at the deadline what is left is left.

    A job that fails is printed and left out, and its process is replaced.
    """
    deadline = time.monotonic() + seconds
    waiting = list(reversed(jobs))
    with one_thread_each():
        workers = [_Worker(deadline) for _ in range(min(n_at_a_time, len(waiting)))]
        for worker in workers:
            worker.give(waiting.pop())
        while workers and time.monotonic() < deadline:
            by_pipe = {worker.pipe: worker for worker in workers}
            left = deadline - time.monotonic()
            for pipe in wait(list(by_pipe), timeout=max(0.0, left)):
                worker = by_pipe[pipe]  # type: ignore[index]
                job, rows = worker.take()
                if rows is not None:
                    yield job, rows
                if worker.is_spoilt or not waiting:
                    worker.end()
                    workers.remove(worker)
                    if not waiting:
                        continue
                    worker = _Worker(deadline)
                    workers.append(worker)
                worker.give(waiting.pop())
    for worker in workers:
        print("out of time:", *worker.job.key, flush=True)
        worker.end()
    if waiting:
        print(f"never begun: {len(waiting)} jobs, first", *waiting[-1].key, flush=True)


class _Worker:
    """A process that does one job after the other."""

    def __init__(self, deadline: float) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.pipe, other = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(other, deadline), daemon=True)
        self._process.start()
        other.close()
        self.is_spoilt = False

    def give(self, job: Job) -> None:
        """Have a job done."""
        self.job = job
        self.pipe.send((job.benchmark, job.args))

    def take(self) -> tuple[Job, list[Row] | None]:
        """Return the job that has ended, and its rows; None if there are none."""
        try:
            kind, content = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            kind, content = "failed", "its process has died"
        if kind == "rows":
            return self.job, content
        self.is_spoilt = kind == "failed"  # a device that has failed once stays so
        print(f"{kind}:", *self.job.key, content, flush=True)
        return self.job, None

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, deadline: float) -> None:
    begin_process()
    with suppress(EOFError):
        while True:
            benchmark, args = pipe.recv()
            try:
                rows = importlib.import_module(f"benchmarks.{benchmark}").work(deadline, *args)
                pipe.send(("rows", rows))
            except OutOfTimeError:
                pipe.send(("too late", ""))
            except Exception:
                pipe.send(("failed", traceback.format_exc()))


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """Return jobs by their turn, those that keep the device busy alternating with the others."""
    jobs = sorted(jobs, key=lambda job: job.turn)
    kinds = [[job for job in jobs if job.keeps_device_busy is kind] for kind in (True, False)]
    return [job for job in chain.from_iterable(zip_longest(*kinds)) if job is not None]


def kept_rows(benchmark: str) -> list[tuple[list[Any], Row]] | None:
    """Return what a benchmark's jobs gave, from the file that KEPT_JOBS names; None without one."""
    path = os.environ.get(KEPT)
    if path is None:
        return None
    lines = [line for line in _lines(Path(path)) if line["job"][0] == benchmark]
    return [(line["job"][1:], row) for line in lines for row in line["rows"]]


def kept_circumstances() -> dict[str, Any]:
    """Return commit and machine of the last line of that file, as a record has them."""
    path = os.environ.get(KEPT)
    lines = _lines(Path(path)) if path else []
    return {name: lines[-1][name] for name in ("commit", "machine")} if lines else {}


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.kept_jobs", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--at-a-time", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    options = parser.parse_args()
    done = [line["job"] for line in _lines(options.file)]
    jobs = [
        job
        for name in options.names
        for job in importlib.import_module(f"benchmarks.{name}").jobs()
        if job.key not in done
    ]
    about = {"commit": describe_commit(), "machine": describe_machine()}
    began = time.monotonic()
    with options.file.open("a", encoding="utf-8") as file:
        for job, rows in run_until(in_order(jobs), options.seconds, options.at_a_time):
            seconds = round(time.monotonic() - began, 1)
            line = {"job": job.key, "rows": rows, "ended": seconds} | about
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(f"{seconds:6.1f}", *job.key, rows, flush=True)


if __name__ == "__main__":
    from benchmarks import kept_jobs  # whose classes are those that jobs raise

    kept_jobs.main()
