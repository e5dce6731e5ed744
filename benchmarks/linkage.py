"""`twofold fit` and `twofold evaluate` on pairs of records, each a process of its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold.datasets import ENTITY_PAIR_SETS

TITLE = "Record linkage on the command line: seconds of twofold fit, and test F1 in percent"
SEEDS = 5
BARS = {"amazon-google": 72.0, "dblp-acm": 98.6, "fodors-zagats": 100.0}
MOST_SECONDS = 30
HERE = Path(__file__).parent.parent
SETTING = {
    "seeds": SEEDS,
    "statistic": "mean over seeds of F1, median of seconds",
    "commands": "fit LEFT --right RIGHT --pairs TRAIN --valid VALID; evaluate on the test pairs, "
    "at the threshold that fit has chosen",
    "warmed": "one fit on the smallest set before, which compiles what is compiled",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A fit and its evaluation."""

    f1: float
    seconds: float
    cpu_seconds: float
    phases: dict[str, float]


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    made: list[Figure] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ENTITY_PAIR_SETS:
            _write_files(name, folder / name)
        _run(folder / "fodors-zagats", 0)
        for name in ENTITY_PAIR_SETS:
            runs = [_run(folder / name, seed) for seed in range(SEEDS)]
            made += _figures(name, runs)
    return made


def _write_files(name: str, folder: Path) -> None:
    program = HERE / "examples" / "data" / "records.py"
    subprocess.run([sys.executable, str(program), name, str(folder)], check=True)


def _run(folder: Path, seed: int) -> Run:
    tables = "left.csv --right right.csv"
    fit = f"fit {tables} --pairs train.csv --valid valid.csv --out model --overwrite --seed {seed}"
    began, cpu_began = time.perf_counter(), _children_seconds()
    fitted = _said(folder, fit)
    seconds, cpu_seconds = time.perf_counter() - began, _children_seconds() - cpu_began
    scored = _said(folder, f"evaluate model {tables} --pairs test.csv")
    return Run(100 * scored["decisions"]["f1"], seconds, cpu_seconds, fitted["seconds"])


def _said(folder: Path, command: str) -> dict:
    words = [sys.executable, "-m", "twofold", *command.split(), "--json"]
    # As for a user, whose Python keeps what it has compiled.
    kept = {key: os.environ[key] for key in os.environ if key != "PYTHONDONTWRITEBYTECODE"}
    kept.setdefault("PYTHONPYCACHEPREFIX", str(folder.parent / "compiled"))
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True, env=kept)
    return json.loads(done.stdout)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _figures(name: str, runs: list[Run]) -> list[Figure]:
    f1 = [run.f1 for run in runs]
    phases = {
        phase: float(np.median([run.phases.get(phase, 0.0) for run in runs]))
        for phase in runs[0].phases
    }
    spent = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in phases.items())
    cpu = float(np.median([run.cpu_seconds for run in runs]))
    return [
        Figure(
            f"{name}: test F1",
            float(np.mean(f1)),
            BARS[name],
            note=f"{', '.join(f'{value:.2f}' for value in f1)} of {len(f1)} seeds",
        ),
        Figure(
            f"{name}: seconds of twofold fit",
            float(np.median([run.seconds for run in runs])),
            MOST_SECONDS,
            at_least=False,
            note=f"{cpu:.1f} s of processor time; {spent}",
        ),
    ]
