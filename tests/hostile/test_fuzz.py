"""A little of `make fuzz`: mutated files, and the good ones they are made of.

FUZZ_SECONDS says how long at most, 8 by default, and FUZZ_COUNT how many files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from fuzz_targets import TARGETS, Target, complaint

import twofold

HERE = Path(__file__).parent
FOUND = [(target, name) for target in TARGETS for name in target.seeds()]


@pytest.mark.parametrize(
    ("target", "name"), FOUND, ids=[f"{target.name}/{name}" for target, name in FOUND]
)
def test_the_corpus_is_read_or_refused_in_a_sentence(tmp_path, target, name):
    target.prepare(tmp_path)
    given = target.write(tmp_path, name, target.seeds()[name])
    assert complaint(target, given) is None
    if not name.startswith("found-"):  # those begin from what was once answered wrongly
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read(given)


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda _: 1 / 0, "a foreign ZeroDivisionError"),
        (lambda _: {}["left"], "a foreign KeyError"),
        (lambda _: b"\xff".decode(), "a foreign UnicodeDecodeError"),
        (lambda _: float("a"), "a foreign ValueError"),
        (lambda _: [{"a": (np.nan,)}], "not finite got through"),
        (lambda _: np.float64(1e300) * np.array([1e300]), "a foreign RuntimeWarning"),
    ],
)
def test_a_wrong_answer_is_complained_of(tmp_path, read, said):
    assert said in complaint(Target("none", read), tmp_path)


def test_mutated_files_are_read_or_refused_in_a_sentence(tmp_path):
    count, seconds = os.environ.get("FUZZ_COUNT", "20000"), os.environ.get("FUZZ_SECONDS", "8")
    command = [sys.executable, HERE / "fuzz.py", "--count", count, "--seconds", seconds]
    command += ["--workers", "1"]  # seconds of one processor, not of all
    # The package that is tested here, wherever it lies.
    environment = {**os.environ, "PYTHONPATH": str(Path(twofold.__file__).parent.parent)}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 answered wrongly" in ran.stdout
