"""Targets that examples share, by number, and learning which one among a few at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from twofold.evaluation import all_pairs_auroc
from twofold.regression import (
    OutputScale,
    RegressionTask,
    TrainingConfig,
    fit_embedder,
    load_embedder,
    open_features,
    save_embedder,
)
from twofold.regression._expected_target import SMOOTHING, distinct_targets
from twofold.regression._target_direction import (
    N_RIVALS,
    DirectionTask,
    TargetDirection,
    direction_length,
)

RNG = np.random.default_rng
CONFIG = TrainingConfig("mlp", max_epochs=3, batch_size=16, learning_rate=5e-3, dropout=0.0)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def a_table(n_targets: int, dim: int = 8) -> np.ndarray:
    drawn = RNG(1).standard_normal((n_targets, dim))
    unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return (unit * math.sqrt(dim)).astype(np.float32)


def classes_with_features(n_classes: int, n_each: int = 6, n_features: int = 12, seed: int = 0):
    """Return items about a centre a class, twice, and their classes."""
    rng = RNG(seed)
    which = np.repeat(np.arange(n_classes), n_each)
    centres = rng.standard_normal((n_classes, n_features))
    X, fresh = (
        (centres[which] + 0.3 * rng.standard_normal((len(which), n_features))).astype(np.float32)
        for _ in range(2)
    )
    return X, fresh, which


def a_task(n_targets: int, which, outputs, device: str = "cpu") -> DirectionTask:
    """Return a task whose features are the outputs of the network below."""
    features = open_features(outputs, device)
    targets = torch.from_numpy(a_table(n_targets)).to(device)
    return DirectionTask(features, np.arange(len(which)), which, targets, device)


def no_network(length: float = 1.0) -> nn.Sequential:
    return nn.Sequential(nn.Identity(), nn.Identity(), TargetDirection(torch.tensor(length)))


def slow_loss(outputs, which, targets, rivals) -> float:
    """The definition, an item at a time: its own target against all others that were drawn."""
    losses = []
    for output, own in zip(outputs, which, strict=True):
        others = [each for each in [*which, *rivals] if each != own]
        odds = [float(output @ targets[k]) / math.sqrt(len(output)) for k in [own, *others]]
        total = math.log(sum(math.exp(each) for each in odds))
        lost = [total - each for each in odds]
        losses.append((1 - SMOOTHING) * lost[0] + SMOOTHING * sum(lost) / len(lost))
    return sum(losses) / len(losses)


# The loss


@pytest.mark.parametrize("which", [[3, 90, 41, 7, 66], [3, 90, 3, 3, 0]])
def test_it_is_the_likelihood_among_the_batch_s_targets_and_some_others(which):
    outputs = RNG(0).standard_normal((5, 8)).astype(np.float32)
    task = a_task(100, np.array(which), outputs)
    rivals = [k * 100 // N_RIVALS for k in range(N_RIVALS)]  # validation's
    found = float(task.loss(no_network().eval(), torch.arange(5)))
    assert found == pytest.approx(slow_loss(outputs, which, a_table(100), rivals), rel=1e-5)


def test_few_targets_are_all_rivals_and_training_draws_none():
    outputs = RNG(0).standard_normal((5, 8)).astype(np.float32)
    which = np.array([3, 9, 4, 7, 6])
    task = a_task(N_RIVALS, which, outputs)
    rivals = [k for k in range(N_RIVALS) if k not in which]
    expected = slow_loss(outputs, which, a_table(N_RIVALS), rivals)
    for draw in (None, torch.Generator()):
        loss = task.loss(no_network(), torch.arange(5), draw)
        assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_training_draws_its_rivals_anew_and_by_the_seed():
    outputs = RNG(0).standard_normal((5, 8)).astype(np.float32)
    task, network = a_task(1000, np.arange(5), outputs), no_network().train()
    losses = []
    for _ in range(2):
        draw = torch.Generator().manual_seed(0)
        losses.append([float(task.loss(network, torch.arange(5), draw)) for _ in range(3)])
    assert losses[0] == losses[1]
    assert len(set(losses[0])) == 3


def test_outputs_nearer_to_the_right_target_lose_less():
    which = np.array([5, 70, 99])
    losses = [
        float(a_task(100, which, size * a_table(100)[which]).loss(no_network(), torch.arange(3)))
        for size in (-0.5, 0.0, 0.5, 1.0)
    ]
    assert losses == sorted(losses, reverse=True)


def test_the_slope_is_that_of_finite_differences():
    which, outputs = np.array([3, 90, 3, 7]), RNG(0).standard_normal((4, 8))
    task = a_task(100, which, outputs.astype(np.float32))
    task._targets = task._targets.double()
    network, numbers = no_network().eval(), torch.from_numpy(which)
    assert torch.autograd.gradcheck(
        lambda moved: task._loss_of(network, moved, numbers, None),
        torch.from_numpy(outputs).requires_grad_(),
    )


# The embedding


def test_outputs_keep_their_direction_and_get_the_length():
    outputs = torch.from_numpy(RNG(0).standard_normal((6, 4)).astype(np.float32))
    points = TargetDirection(torch.tensor(2.5))(outputs)
    np.testing.assert_allclose(points.norm(dim=1), 2.5, rtol=1e-5)
    cosines = nn.functional.cosine_similarity(points, outputs)
    np.testing.assert_allclose(cosines, 1, rtol=1e-5)


def test_outputs_of_zero_stay_there():
    assert not TargetDirection(torch.tensor(2.0))(torch.zeros(1, 3)).any()


def test_the_length_is_the_usual_one_of_items():
    targets = np.array([[3.0, 4.0], [0.0, 1.0], [9.0, 9.0]], dtype=np.float32)
    assert direction_length(targets, np.array([0, 0, 1, 1])) == pytest.approx(math.sqrt(13))


@pytest.mark.parametrize(("n_classes", "share"), [(40, 0.0), (40, 0.1), (200, 0.0)])
def test_new_items_of_many_classes_lie_near_their_own(n_classes, share):
    X, fresh, which = classes_with_features(n_classes)
    config = replace(CONFIG, max_epochs=20, batch_size=32)
    options = {"regression": "direction", "validation_fraction": share}
    points = fit_embedder(
        config, X, a_table(n_classes), RNG(0), which=which, **options
    ).embedder.predict(fresh)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), math.sqrt(8), rtol=1e-4)
    assert all_pairs_auroc(points, which, metric="dot") > 0.9
    nearest = (points @ a_table(n_classes).T).argmax(axis=1)
    assert (nearest == which).mean() > 0.6


def test_the_same_seed_gives_the_same_bytes():
    X, fresh, which = classes_with_features(100)
    first, again, other = (
        fit_embedder(CONFIG, X, a_table(100), RNG(seed), which=which, regression="direction")
        .embedder.predict(fresh)
        .tobytes()
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_validation_compares_epochs_by_the_same_rivals():
    X, _, which = classes_with_features(100)
    still = replace(CONFIG, learning_rate=1e-30)
    history = fit_embedder(
        still, X, a_table(100), RNG(0), which=which, regression="direction", validation_fraction=0.3
    ).history
    assert len(set(history.validation_loss)) == 1


def test_an_interrupted_training_goes_on_with_the_same_bytes(tmp_path):
    X, fresh, which = classes_with_features(100)

    def fit(callback=None):
        return fit_embedder(
            CONFIG,
            X,
            a_table(100),
            RNG(0),
            which=which,
            regression="direction",
            callback=callback,
            checkpoint=tmp_path / "training",
        ).embedder.predict(fresh)

    def interrupt(epoch):
        if epoch.number == 2:
            raise KeyboardInterrupt

    whole = fit()
    with pytest.raises(KeyboardInterrupt):
        fit(interrupt)
    assert fit().tobytes() == whole.tobytes()


def test_it_comes_back_from_a_file(tmp_path):
    X, fresh, which = classes_with_features(100)
    scale = OutputScale(np.full(8, 0.1, dtype=np.float32), 2.0)
    embedder = fit_embedder(
        CONFIG, X, a_table(100), RNG(0), which=which, regression="direction", output_scale=scale
    ).embedder
    description = save_embedder(embedder, tmp_path)
    again = load_embedder(description, tmp_path, dim=8, architecture=None, device="cpu", trusted=())
    np.testing.assert_array_equal(again.predict(fresh), embedder.predict(fresh))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 2**21  # and not the table


# Targets by number


@pytest.mark.parametrize("regression", ["squared", "likelihood"])
@pytest.mark.parametrize("validation_fraction", [0.0, 0.25])
def test_targets_by_number_are_learnt_as_a_target_each(regression, validation_fraction):
    X, fresh, which = classes_with_features(10)
    options = {"regression": regression, "validation_fraction": validation_fraction}
    table, _ = distinct_targets(a_table(10))  # in the order that a target each is found in
    by_number = fit_embedder(CONFIG, X, table, RNG(0), which=which, **options)
    each = fit_embedder(CONFIG, X, table[which], RNG(0), **options)
    np.testing.assert_allclose(
        by_number.embedder.predict(fresh), each.embedder.predict(fresh), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(by_number.history.loss, each.history.loss, rtol=1e-5)


@pytest.mark.parametrize("regression", ["squared", "likelihood", "direction"])
def test_only_items_with_a_target_are_learnt_from(regression):
    X, fresh, which = classes_with_features(70)
    items = np.arange(0, len(X), 2)
    spoilt = X.copy()
    spoilt[1::2] = X[::2]
    points = [
        fit_embedder(
            CONFIG,
            features,
            a_table(70),
            RNG(0),
            items=rows,
            which=which[::2],
            regression=regression,
        ).embedder
        for features, rows in ((spoilt, items), (X[::2], np.arange(len(items))))
    ]
    np.testing.assert_allclose(points[0].predict(fresh), points[1].predict(fresh), atol=1e-4)


def test_a_regressor_takes_targets_by_number():
    X, fresh, which = classes_with_features(10)
    by_number = fit_embedder(Ridge(), X, a_table(10), RNG(0), which=which)
    each = fit_embedder(Ridge(), X, a_table(10)[which], RNG(0))
    np.testing.assert_allclose(by_number.embedder.predict(fresh), each.embedder.predict(fresh))


def test_a_target_each_can_be_learnt_by_direction_too():
    X, fresh, which = classes_with_features(10)
    points = fit_embedder(
        CONFIG, X, a_table(10)[which], RNG(0), regression="direction"
    ).embedder.predict(fresh)
    assert all_pairs_auroc(points, which, metric="dot") > 0.7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda which: which[1:], r"shape \(60,\), got int64 of shape \(59,\)"),
        (lambda which: which.astype(float), "got float64"),
        (lambda which: which + 1, r"the 10 targets.* first example 54 \(10\)"),
        (lambda which: which - 1, r"6 example\(s\) have others, first example 0 \(-1\)"),
    ],
)
def test_numbers_of_no_target_are_refused(change, message):
    X, _, which = classes_with_features(10)
    with pytest.raises(ValueError, match=message):
        fit_embedder(CONFIG, X, a_table(10), RNG(0), which=change(which))


def test_a_table_is_not_copied_on_a_cpu():
    X, _, which = classes_with_features(10)
    table = a_table(10)
    task = RegressionTask(open_features(X, "cpu"), np.arange(len(X)), table, "cpu", which=which)
    assert np.shares_memory(task._targets.numpy(), table)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("regression", ["squared", "likelihood", "direction"])
def test_targets_by_number_are_learnt_in_recorded_steps(regression):
    X, fresh, which = classes_with_features(200)
    config = replace(CONFIG, max_epochs=20, batch_size=32, device="cuda")
    points = fit_embedder(
        config, X, a_table(200), RNG(0), which=which, regression=regression
    ).embedder.predict(fresh)
    assert all_pairs_auroc(points, which, metric="dot") > 0.85
