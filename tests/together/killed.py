"""What torchrun starts: `killed.py FOLDER` trains until its second process is killed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import fits

from twofold.regression import _checkpoint

FOLDER = Path(sys.argv[1])
PID = FOLDER / "pid"
KILLED_AFTER = 4


def kill(epoch) -> None:
    """Kill the second process; the file that names it is gone when it was killed once."""
    if epoch.number == KILLED_AFTER and PID.exists():
        pid = int(PID.read_text())
        PID.unlink()
        os.kill(pid, signal.SIGKILL)


def main() -> None:
    _checkpoint.LARGEST_SHARE = float("inf")
    if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        PID.write_text(str(os.getpid()))
    learner = fits.resumable(FOLDER / "training.safetensors", kill).fit(fits.X, fits.Y)
    (FOLDER / f"done-{os.environ['RANK']}").write_text(repr(learner.history_["regression"]))


main()
