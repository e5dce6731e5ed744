"""Threads, forks and settings: a fit is what its seed says, and leaves the process as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController

from twofold import LabelRelation, MetricLearner, Network, PairRelation, solve_targets

RNG = np.random.default_rng
Y = np.arange(90) % 3
X = (RNG(0).standard_normal((90, 5)) + 2 * np.eye(3, 5)[Y]).astype(np.float32)
PAIRS = LabelRelation(Y).sample_pairs(2, 2, random_state=0)
FITS = {
    "classes": ({"metric": "seen", "embedder": Network(max_epochs=3)}, {"y": Y}),
    "pairs": ({"feedback": 0, "embedder": Network(max_epochs=3)}, {"relation": PAIRS}),
    "feedback": ({"feedback": 3}, {"relation": PAIRS}),
}


def embedding(name: str) -> bytes:
    parameters, known = FITS[name]
    learner = MetricLearner(4, random_state=0, device="cpu", **parameters)
    return learner.fit(X, **known).transform(X).tobytes()


@pytest.mark.parametrize("name", FITS)
def test_fits_side_by_side_are_the_one_alone(name):
    alone = embedding(name)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(embedding, [name] * 4)) == {alone}


def test_one_learner_embeds_different_items_in_different_threads():
    learner = MetricLearner(4, embedder=Network(max_epochs=1), random_state=0, device="cpu")
    learner.fit(X, np.arange(90) % 6)
    assert learner.metric_step_ is not None  # which watches the network's layers
    parts = [X[start::7] for start in range(7)] * 12
    expected = [learner.transform(part) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(learner.transform, parts))
    for ours, theirs in zip(expected, found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_settings_of_the_process_are_as_they_were_after_fits_side_by_side():
    def settings() -> tuple:
        blas = ThreadpoolController().select(user_api="blas").info()
        torch_settings = torch.get_num_threads(), torch.backends.cudnn.benchmark
        return [library["num_threads"] for library in blas], *torch_settings, warnings.filters[:]

    def fit(_: int) -> MetricLearner:
        learner = MetricLearner(4, embedder=Network(max_epochs=1), random_state=0, device="cpu")
        return learner.fit(X, Y)

    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = settings()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(fit, range(4)))
        assert settings() == before


def test_solving_targets_leaves_the_number_of_threads_alone():
    before = torch.get_num_threads()
    left = RNG(0).integers(0, 3000, 300_000)
    relation = PairRelation(left, (left + 7) % 3000, np.zeros(300_000), 3000)
    solution = solve_targets(relation, 32, max_epochs=1, tol=10.0, random_state=0)
    assert solution.n_threads >= 1
    assert torch.get_num_threads() == before


FRESH = """
import json, os, signal, sys
import numpy as np, torch
from twofold import MetricLearner, Network

rng = np.random.default_rng(0)
y = np.arange(1000) % 3
X = (rng.standard_normal((1000, 40)) + np.eye(3, 40)[y]).astype(np.float32)
learner = MetricLearner(
    4, metric="seen", embedder=Network(max_epochs=1), random_state=0, device="cpu"
)
expected = learner.fit(X, y).transform(X)
a = torch.ones(700, 700); a @ a  # the parent's threads exist
settings = torch.get_num_threads(), torch.backends.cudnn.benchmark
child = os.fork()
if child == 0:
    signal.alarm(60)
    same = np.array_equal(learner.transform(X), expected)
    again = np.array_equal(learner.fit(X, y).transform(X), expected)
    os._exit(0 if same and again else 3)
status = os.waitpid(child, 0)[1]
MetricLearner(embedder=Network(max_epochs=1), device="cpu").fit(X[:24, :4], y[:24] % 2)
print(json.dumps({
    "child": os.waitstatus_to_exitcode(status),
    "settings": settings,
    "compiler": "torch._dynamo" in sys.modules,
}))
"""


@pytest.fixture(scope="module")
def fresh():
    """What came of fits in a process of two threads in which nothing was imported before."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    source = str(Path(__file__).parents[2] / "src")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FRESH],
        env=os.environ | {"OMP_NUM_THREADS": "2", "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_forked_child_embeds_and_fits_what_its_parent_does(fresh):
    assert fresh["child"] == 0
    assert fresh["settings"] == [2, False]


def test_a_fit_does_without_torch_s_compiler(fresh):
    # Its import takes seconds; in the suite's own process others may have asked for it.
    assert not fresh["compiler"]
