"""The demo: nothing is compiled while a method is timed."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from twofold.experiments import _demo, run_demo
from twofold.relations import _label_sampling
from twofold.targets import _links, _sweeps


def few_digits() -> Bunch:
    digits = load_digits()
    return Bunch(**{name: digits[name][:300] for name in ("data", "target", "images")})


def compiled(*modules: ModuleType) -> dict[str, int]:
    """Return how many signatures each function of some modules is compiled for."""
    return {
        name: len(value.signatures)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }


def test_everything_is_compiled_before_anything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_demo, "load_digits", few_digits)
    modules = (_sweeps, _links, _label_sampling)
    warm_up, before = _demo._warm_up, {}

    def noted(*arguments) -> None:
        warm_up(*arguments)
        before.update(compiled(*modules))

    monkeypatch.setattr(_demo, "_warm_up", noted)
    demo = run_demo(max_epochs=1)
    assert sum(before.values()) > 0
    assert compiled(*modules) == before
    assert all(np.isfinite(run.auroc).all() for run in demo.runs)
