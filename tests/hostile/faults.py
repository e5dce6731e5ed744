"""`make faults`: kills at every call that writes, a full disk and a read-only one.

Prints a line a scenario; ends with an error at the first thing that was lost, is half-written under
its final name, or was left behind after the next run.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from fault_scenarios import SCENARIOS, Scenario, kill_and_check
from killing import why_not

ROOM = "32m"
DISK_SCENARIOS = ("save", "save over a model", "checkpoint", "page", "reproduce")


def main() -> int:
    """Try everything; end with an error at the first failure."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    reason = why_not()
    if reason is not None:
        say(f"kills: left out, {reason}")
    else:
        n_kills = sum(kill_everywhere(name, SCENARIOS[name]) for name in SCENARIOS)
        say(f"{n_kills} kills: nothing lost, nothing half-written, nothing left behind")
    if os.geteuid() or sys.platform != "linux":
        say("full and read-only disks: left out, they need root on Linux")
        return 0
    for name in DISK_SCENARIOS:
        fill_disk(name, SCENARIOS[name])
        protect_disk(name, SCENARIOS[name])
    return 0


def kill_everywhere(name: str, scenario: Scenario) -> int:
    """Kill a scenario at its first call, its second, and so on, until it comes to its end."""
    began, at_call, was_killed = time.perf_counter(), 0, True
    while was_killed:
        at_call += 1
        with tempfile.TemporaryDirectory() as room, quiet():
            try:
                was_killed = kill_and_check(scenario, Path(room), at_call)
            except Exception as error:
                raise SystemExit(f"{name}, killed at call {at_call}: {error!r}") from error
    say(f"{name}: {at_call - 1} kills, {time.perf_counter() - began:.0f} s")
    return at_call - 1


@contextmanager
def small_disk() -> Iterator[Path]:
    """Give a folder on a disk of its own."""
    place = Path(tempfile.mkdtemp())
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)
        place.rmdir()


def fill_disk(name: str, scenario: Scenario) -> None:
    """Do the work on a disk with less and less room; what was there stays, or the new is whole."""
    n_refused = 0
    for n_free in (0, 4096, 8192, 65_536, 262_144, 524_288, 1_048_576):
        with small_disk() as disk, quiet():
            place = disk / "work"
            place.mkdir()
            scenario.prepare(place)
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
            (disk / "filler").write_bytes(bytes(max(0, free - n_free)))
            try:
                scenario.work(place)
            except OSError as error:
                n_refused += 1
                if "could not be written (" not in str(error) and "cannot be" not in str(error):
                    raise SystemExit(f"{name}, {n_free} bytes free: {error!r}") from error
            scenario.check_killed(place)
            (disk / "filler").unlink()
            scenario.work(place)
            scenario.check_done(place)
    say(f"{name}: {n_refused} of 7 times refused on a full disk")


def protect_disk(name: str, scenario: Scenario) -> None:
    """Do the work on a disk that is read only: refused in a sentence, and at once."""
    with small_disk() as disk, quiet():
        scenario.prepare(disk)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        began = time.perf_counter()
        try:
            scenario.work(disk)
        except OSError as error:
            seconds = time.perf_counter() - began
            said = ("cannot be written to (Read-only file system)", "write-protected")
            if not any(sentence in str(error) for sentence in said):
                raise SystemExit(f"{name} on a read-only disk: {error!r}") from error
        else:
            raise SystemExit(f"{name} on a read-only disk: not refused")
        scenario.check_killed(disk)
    say(f"{name}: refused on a read-only disk after {seconds:.2f} s")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the work from printing."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def say(line: str) -> None:
    """Print at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
