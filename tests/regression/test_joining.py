"""Who trains together: one process, unless torchrun started more."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from twofold import MetricLearner, Network
from twofold._core.processes import VARIABLES
from twofold.regression._joining import ONE_WORKER, workers
from twofold.regression._workers import alone

RNG = np.random.default_rng


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    for name, value in zip(VARIABLES, "0202", strict=True):
        monkeypatch.setenv(name, value)


def test_without_torchrun_nobody_is_waited_for():
    assert workers("cpu") is ONE_WORKER
    assert ONE_WORKER.once(lambda: 3) == 3
    assert ONE_WORKER.agreed("it") == "it"


@pytest.mark.usefixtures("two_processes")
def test_what_is_done_once_is_not_shared_again():
    with alone():
        assert workers("cpu") is ONE_WORKER
        with alone():
            pass
        assert workers("cpu") is ONE_WORKER


@pytest.mark.usefixtures("two_processes")
def test_a_missing_extra_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    learner = MetricLearner(embedder=Network("mlp", max_epochs=1), device="cpu")
    why = (
        r"2 processes, but .* lightning_fabric: pip install 'twofold\[distributed\]', or start one"
    )
    with pytest.raises(ImportError, match=why):
        learner.fit(RNG(0).normal(size=(20, 3)), RNG(1).integers(2, size=20))


def test_a_fit_of_one_process_imports_nothing_of_this():
    fit = (
        "import sys, numpy as np, twofold\n"
        "X, y = np.eye(20), np.arange(20) % 2\n"
        "twofold.MetricLearner(embedder=twofold.Network(max_epochs=1), device='cpu').fit(X, y)\n"
        "print([name for name in sys.modules if 'lightning' in name or '_fabric_w' in name])"
    )
    done = subprocess.run([sys.executable, "-c", fit], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
