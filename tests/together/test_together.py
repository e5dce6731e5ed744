"""Two processes against one, started by torchrun as a user does it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold

pytest.importorskip("lightning_fabric", reason="the extra twofold[distributed] is not installed")
fits = pytest.importorskip("fits")

HERE = Path(__file__).parent
ROUNDING = 1e-4
"""Of losses; points differ more, where Adam and Muon divide by gradients that are nearly zero."""
POINTS_ROUNDING = 5e-3


def started(script: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Return what became of a script of this folder that torchrun starts twice."""
    paths = [str(Path(twofold.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*torchrun, "--nproc-per-node", "2", *options, str(HERE / script), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What the first and the second process found, and what they printed."""
    folder = tmp_path_factory.mktemp("together")
    done = started("worker.py", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in ("0", "1"))
    return first, second, done.stdout + done.stderr


def cosines(points: np.ndarray) -> np.ndarray:
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize("name", fits.EQUAL)
def test_two_processes_come_to_what_one_comes_to(name, run):
    together, alone = run[0][name], fits.EQUAL[name]()
    assert together.keys() == alone.keys()
    for kind in ("loss", "validation"):
        np.testing.assert_allclose(together.get(kind, []), alone.get(kind, []), atol=ROUNDING)
    assert together.get("best_epoch") == alone.get("best_epoch")
    points, points_alone = together["points"], alone["points"]
    if name == "inner_layers":  # whose directions have no sign of their own
        points, points_alone = cosines(points), cosines(points_alone)
    np.testing.assert_allclose(points, points_alone, atol=POINTS_ROUNDING)


@pytest.mark.parametrize("name", [*fits.EQUAL, "own_network", "unseeded"])
def test_all_processes_hold_the_same_model_afterwards(name, run):
    first, second = run[0][name], run[1][name]
    assert np.isfinite(first["points"]).all()
    assert first["points"].tobytes() == second["points"].tobytes()
    assert first.get("loss") == second.get("loss")


@pytest.mark.parametrize("name", ["classes", "turned_images_and_batch_norm", "own_network"])
def test_a_shared_training_learns(name, run):
    losses = run[0][name]["loss"]
    assert losses[-1] < 0.9 * losses[0]


def test_only_the_first_process_calls_back_and_all_stop_when_it_is_asked_to(run):
    first, second, _ = run
    assert (first["called_back"]["told"], second["called_back"]["told"]) == ([1, 2], [])
    assert len(first["called_back"]["loss"]) == len(second["called_back"]["loss"]) == 2


def test_what_a_callback_raises_ends_the_training_in_all_processes(run):
    assert run[0]["broken off"] == run[1]["broken off"] == "enough after 1"


def test_one_process_alone_may_ask_for_pairs(run):
    assert run[0]["suggested"] == 3


@pytest.mark.parametrize(
    ("given", "which"),
    [
        ("a part of the data", r"\(rows of X: 200, and 330\)"),
        ("another order", r"\(checksum of the features: \d+, and \d+\)"),
        ("other labels", r"\(checksum of the labels or statements: \d+, and \d+\)"),
        ("another batch size", r"\(batch_size: 32, and 64\)"),
    ],
)
def test_processes_that_are_given_different_things_are_told(given, which, run):
    for found in run[:2]:
        sentence = found["sentences"][given]
        assert "must be given the same to fit, but process 1 has something different" in sentence
        assert "Give each all of the data, in the same order" in sentence
    with pytest.raises(ValueError, match=which):
        raise ValueError(run[1]["sentences"][given])


def test_nothing_is_printed(run):
    assert run[2] == ""


def test_a_process_that_dies_ends_the_run_with_a_sentence_and_one_process_can_go_on(tmp_path):
    done = started("killed.py", tmp_path)
    assert done.returncode != 0
    path = tmp_path / "training.safetensors"
    sentence = (
        "Another process of this training died, ended, or did not answer for an hour, and without "
        f"it none can go on. What was trained is kept in {path}: start the same again"
    )
    assert done.stderr.count(sentence) == 1
    assert path.exists()
    seen: list[int] = []
    learner = fits.resumable(path, lambda epoch: seen.append(epoch.number)).fit(fits.X, fits.Y)
    whole = fits.learner(fits.network(max_epochs=6)).fit(fits.X, fits.Y)
    assert seen == [4, 5, 6]
    losses = learner.history_["regression"]
    np.testing.assert_allclose(losses, whole.history_["regression"], atol=ROUNDING)
    points = learner.transform(fits.X), whole.transform(fits.X)
    np.testing.assert_allclose(*points, atol=POINTS_ROUNDING)
    assert not path.exists()
