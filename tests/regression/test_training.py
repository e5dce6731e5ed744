"""The training loop: its loss, rate, order, best epoch, seeds and threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from twofold.regression import (
    Augment,
    RegressionTask,
    TrainingConfig,
    mlp,
    open_features,
    train_network,
    validation_loss,
)
from twofold.regression import _threads as threads_module
from twofold.regression._averaging import WeightAverage
from twofold.regression._checkpoint import Trainer
from twofold.regression._draws import Draws
from twofold.regression._optimisers import BESIDE_MUON, AdamW, Muon, make_optimisers
from twofold.regression._steps import EagerStep
from twofold.regression._threads import step_flops, threads_beside, threads_for
from twofold.regression._training import _batches, _learning_rates, _one_epoch

RNG = np.random.default_rng


def a_problem(n_items: int = 40, dim: int = 3) -> RegressionTask:
    rng = RNG(0)
    X = rng.normal(size=(n_items, 5)).astype(np.float32)
    targets = (X @ rng.normal(size=(5, dim))).astype(np.float32)
    return RegressionTask(open_features(X, "cpu"), np.arange(n_items), targets, "cpu")


def a_network(dropout: float = 0.0, dim: int = 3) -> nn.Sequential:
    torch.manual_seed(0)
    return mlp((5,), dim, hidden=(8,), dropout=dropout)


def config(**parameters) -> TrainingConfig:
    defaults = {"architecture": "mlp", "max_epochs": 4, "batch_size": 8, "learning_rate": 1e-2}
    return TrainingConfig(**{**defaults, **parameters})


# ---- the loss ----


def test_the_loss_is_half_the_squared_distance_averaged_over_items():
    rng = RNG(1)
    X, targets = rng.normal(size=(2, 9, 3)).astype(np.float32)
    items = np.array([8, 1, 5])
    task = RegressionTask(open_features(X, "cpu"), items, targets[:3], "cpu")
    examples = [2, 0]
    slow = sum(
        0.5 * sum((targets[k][c] - X[items[k]][c]) ** 2 for c in range(3)) for k in examples
    ) / len(examples)
    loss = task.loss(nn.Identity(), torch.tensor(examples))
    assert float(loss) == pytest.approx(slow, rel=1e-5)
    assert task.n_examples == 3


def test_the_mean_loss_is_that_of_all_examples_whatever_the_batches():
    task, network = a_problem(), a_network()
    whole = float(task.loss(network, torch.arange(40)).detach())
    assert validation_loss(task, 7)(network) == pytest.approx(whole, rel=1e-5)
    assert validation_loss(task, 64)(network) == pytest.approx(whole, rel=1e-5)


def test_the_gradient_points_to_the_target():
    X = np.zeros((1, 2), dtype=np.float32)
    task = RegressionTask(open_features(X, "cpu"), np.arange(1), np.ones((1, 2), np.float32), "cpu")
    layer = nn.Linear(2, 2)
    nn.init.zeros_(layer.bias)
    task.loss(layer, torch.tensor([0])).backward()
    assert layer.bias.grad.tolist() == [-1, -1]  # t - g, and half of the square: no factor


def test_training_lowers_the_loss():
    task, network = a_problem(), a_network()
    before = validation_loss(task, 64)(network)
    history = train_network(network, task, config(max_epochs=30), RNG(0))
    assert validation_loss(task, 64)(network) < 0.2 * before
    assert history.loss[-1] < 0.2 * history.loss[0]
    assert len(history.loss) == 30
    assert history.validation_loss == []
    assert history.best_epoch == 30
    assert not network.training


def test_the_loss_of_an_epoch_is_the_mean_over_its_examples():
    task, network = a_problem(), a_network()
    seen = []
    given = task.loss

    def loss(network, examples, generator=None):
        value = given(network, examples, generator)
        if network.training:
            seen.append((float(value.detach()), len(examples)))
        return value

    task.loss = loss
    history = train_network(network, task, config(max_epochs=1, batch_size=7), RNG(0))
    assert [size for _, size in seen] == [7] * 5 + [5]
    slow = sum(value * size for value, size in seen) / 40
    assert history.loss == pytest.approx([slow], rel=1e-5)


def test_every_example_is_seen_once_an_epoch_in_a_new_order():
    task, orders = a_problem(), []
    given = task.loss

    def loss(network, examples, generator=None):
        if network.training:
            orders.append(examples.tolist())
        return given(network, examples, generator)

    task.loss = loss
    train_network(a_network(), task, config(max_epochs=2, batch_size=40), RNG(0))
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(40))
    assert orders[0] != orders[1]
    assert orders[0] != list(range(40))


# ---- the rate ----


def rates_of(monkeypatch, **parameters) -> list[float]:
    seen = []
    step = AdamW.step

    def watched(self, *args, **kwargs):
        seen.append(float(self.param_groups[0]["lr"]))
        return step(self, *args, **kwargs)

    monkeypatch.setattr(AdamW, "step", watched)
    train_network(a_network(), a_problem(), config(**parameters), RNG(0))
    return seen


def test_the_rate_rises_over_the_first_tenth_and_falls_along_half_a_cosine(monkeypatch):
    rates = rates_of(monkeypatch, max_epochs=10, batch_size=8, learning_rate=0.5)
    assert len(rates) == 50
    np.testing.assert_allclose(rates[:5], 0.5 * np.arange(1, 6) / 5, rtol=1e-6)
    expected = [0.25 * (1 + math.cos(math.pi * step / 45)) for step in range(45)]
    np.testing.assert_allclose(rates[5:], expected, rtol=1e-5)
    assert max(rates) == pytest.approx(0.5)
    assert rates[-1] < 0.001


def test_a_share_of_warm_up_may_be_chosen_and_one_step_is_enough(monkeypatch):
    rates = rates_of(monkeypatch, max_epochs=2, batch_size=8, learning_rate=1.0, warm_up=0.5)
    np.testing.assert_allclose(rates[:5], np.arange(1, 6) / 5, rtol=1e-6)
    assert rates_of(monkeypatch, max_epochs=1, batch_size=40, learning_rate=1.0)[0] == 1


@pytest.mark.parametrize(("max_epochs", "batch_size"), [(2, 8), (3, 40)])
def test_a_linear_rate_falls_from_the_highest_straight_to_zero(monkeypatch, max_epochs, batch_size):
    rates = rates_of(
        monkeypatch,
        max_epochs=max_epochs,
        batch_size=batch_size,
        learning_rate=0.5,
        schedule="linear",
    )
    n_steps = max_epochs * math.ceil(40 / batch_size)
    expected = [0.5 * (n_steps - step) / n_steps for step in range(n_steps)]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


def test_all_optimisers_follow_the_schedule_each_from_its_own_height(monkeypatch):
    steps, step = [], Muon.step

    def watched(self, *args, **kwargs):
        steps.append(float(self.param_groups[0]["lr"]))
        return step(self, *args, **kwargs)

    monkeypatch.setattr(Muon, "step", watched)
    given = {"max_epochs": 4, "batch_size": 20, "learning_rate": 0.1, "optimiser": "muon"}
    beside = rates_of(monkeypatch, **given, schedule="linear")
    assert steps == pytest.approx([0.1 * (8 - step) / 8 for step in range(8)])
    assert beside == pytest.approx([BESIDE_MUON * rate for rate in steps])


def test_weight_decay_shrinks_weights_apart_from_the_gradient():
    task = a_problem()
    plain, decayed = a_network(), a_network()
    train_network(plain, task, config(), RNG(0))
    train_network(decayed, task, config(weight_decay=5.0), RNG(0))
    assert decayed[1].weight.norm() < 0.9 * plain[1].weight.norm()


# ---- validation, callbacks, stopping ----


def test_the_best_epoch_on_the_validation_part_is_kept():
    figures = iter([3.0, 1.0, 2.0, 1.5])
    weights = []

    def validate(network):
        assert not network.training
        weights.append(network[1].weight.detach().clone())
        return next(figures)

    network = a_network()
    history = train_network(network, a_problem(), config(), RNG(0), validate=validate)
    assert history.best_epoch == 2
    assert history.validation_loss == [3.0, 1.0, 2.0, 1.5]
    assert network[1].weight.equal(weights[1])
    assert not network[1].weight.equal(weights[3])


def test_the_last_epoch_is_kept_without_a_validation_part():
    network, last = a_network(), []
    train_network(
        network,
        a_problem(),
        config(),
        RNG(0),
        callback=lambda epoch: last.append(epoch.network[1].weight.detach().clone()),
    )
    assert network[1].weight.equal(last[-1])


def test_a_callback_is_told_of_every_epoch():
    seen = []
    history = train_network(
        a_network(), a_problem(), config(), RNG(0), validate=lambda _: 1.0, callback=seen.append
    )
    assert [epoch.number for epoch in seen] == [1, 2, 3, 4]
    assert {epoch.n_epochs for epoch in seen} == {4}
    assert [epoch.loss for epoch in seen] == history.loss
    assert [epoch.validation_loss for epoch in seen] == [1.0] * 4
    clock = [epoch.seconds for epoch in seen]
    assert clock == sorted(clock)
    assert clock[-1] == history.seconds


def test_there_is_no_validation_loss_without_a_validation_part():
    seen = []
    train_network(a_network(), a_problem(), config(), RNG(0), callback=seen.append)
    assert {epoch.validation_loss for epoch in seen} == {None}


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_a_callback_that_returns_true_stops(kind):
    history = train_network(
        a_network(), a_problem(), config(), RNG(0), callback=lambda epoch: kind(epoch.number == 2)
    )
    assert len(history.loss) == 2
    assert history.best_epoch == 2


def test_stopping_keeps_the_best_epoch_so_far():
    figures = iter([1.0, 2.0, 3.0])
    history = train_network(
        a_network(),
        a_problem(),
        config(),
        RNG(0),
        validate=lambda _: next(figures),
        callback=lambda epoch: epoch.number == 3,
    )
    assert history.best_epoch == 1


def test_other_answers_of_a_callback_do_not_stop():
    for answer in (None, False, np.False_, 0, 1, "stop"):
        history = train_network(
            a_network(), a_problem(), config(), RNG(0), callback=lambda _, answer=answer: answer
        )
        assert len(history.loss) == 4


def test_a_loss_that_is_not_finite_names_the_epoch():
    class Diverging(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(5, 3)
            self.n_epochs = 0

        def train(self, mode: bool = True):
            self.n_epochs += mode
            return super().train(mode)

        def forward(self, items):
            return self.layer(items) * (np.nan if self.n_epochs >= 3 else 1)

    with pytest.raises(FloatingPointError, match=r"became nan in epoch 3 .*Lower learning_rate"):
        train_network(Diverging(), a_problem(), config(), RNG(0))


# ---- seeds ----


def weights_after(task: RegressionTask, seed: int) -> bytes:
    network = a_network(dropout=0.5)
    train_network(network, task, config(), RNG(seed))
    return b"".join(tensor.numpy().tobytes() for tensor in network.state_dict().values())


def test_the_same_seed_gives_the_same_bytes_with_dropout():
    task = a_problem()
    assert weights_after(task, 1) == weights_after(task, 1)
    assert weights_after(task, 1) != weights_after(task, 2)


def test_the_global_generator_neither_matters_nor_moves():
    task = a_problem()
    torch.manual_seed(1)
    before = torch.get_rng_state()
    network = a_network(0.5)
    torch.set_rng_state(before)
    train_network(network, task, config(), RNG(0))
    assert torch.get_rng_state().equal(before)
    other = a_network(0.5)
    torch.manual_seed(99)
    train_network(other, task, config(), RNG(0))
    assert other[1].weight.equal(network[1].weight)


def test_the_global_generator_is_given_back_after_an_error():
    network = a_network()
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="stop"):
        train_network(network, a_problem(), config(), RNG(0), callback=raise_stop)
    assert torch.get_rng_state().equal(before)


def raise_stop(_):
    raise RuntimeError("stop")


# ---- threads ----


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_a_small_step_runs_on_one_thread_and_the_others_come_back():
    seen = []
    train_network(
        a_network(),
        a_problem(),
        config(),
        RNG(0),
        callback=lambda _: seen.append(torch.get_num_threads()),
    )
    assert seen == [1] * 4
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_threads_come_back_after_an_error():
    with pytest.raises(RuntimeError, match="stop"):
        train_network(a_network(), a_problem(), config(), RNG(0), callback=raise_stop)
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_a_large_step_takes_all_threads(monkeypatch):
    monkeypatch.setattr(threads_module, "FLOPS_A_THREAD", 10)
    seen = []
    train_network(
        a_network(),
        a_problem(),
        config(),
        RNG(0),
        callback=lambda _: seen.append(torch.get_num_threads()),
    )
    assert seen == [2] * 4


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("flops", "n_threads"), [(0, 1), (1e9, 1), (2e9, 2), (1e12, 2)])
def test_threads_follow_the_work(flops, n_threads):
    with threads_for(flops):
        assert torch.get_num_threads() == n_threads
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("n_others", "n_threads"), [(0, 2), (1, 1), (5, 1)])
def test_processors_are_left_to_what_goes_on_beside(n_others, n_threads):
    with threads_beside(n_others), threads_for(1e12):
        assert torch.get_num_threads() == n_threads
    assert torch.get_num_threads() == 2


def test_the_work_of_a_step_is_counted():
    task, network = a_problem(), a_network()
    forward = 2 * (5 * 8 + 8 * 3)  # a multiplication and an addition a weight
    assert step_flops(network, task, 8) == 3 * 8 * forward
    assert step_flops(network, task, 1000) == 3 * 40 * forward


# ---- epochs of a given size ----


def drawn_examples(**parameters) -> list[list[int]]:
    """Return the examples of each epoch."""
    task, epochs = a_problem(), []
    given = task.loss

    def loss(network, examples, generator=None):
        if network.training:
            epochs[-1] += examples.tolist()
        return given(network, examples, generator)

    def next_epoch(_):
        epochs.append([])

    task.loss = loss
    next_epoch(None)
    train_network(a_network(), task, config(**parameters), RNG(0), callback=next_epoch)
    return epochs[:-1]


@pytest.mark.parametrize(("epoch_size", "n_seen"), [(None, 40), (12, 12), (1000, 40)])
def test_an_epoch_of_a_given_size_sees_so_many_examples_drawn_anew(epoch_size, n_seen):
    first, second = drawn_examples(max_epochs=2, epoch_size=epoch_size)
    assert len(set(first)) == len(first) == n_seen
    assert len(set(second)) == n_seen
    assert first != second


def test_a_single_example_left_over_joins_the_last_batch():
    sizes = []
    task = a_problem(17)
    given = task.loss

    def loss(network, examples, generator=None):
        if network.training:
            sizes.append(len(examples))
        return given(network, examples, generator)

    task.loss = loss
    train_network(a_network(), task, config(max_epochs=1), RNG(0))
    assert sizes == [8, 9]


# ---- batches of one size, as recorded steps take them ----


@pytest.mark.parametrize(
    ("n_items", "size", "n_batches"), [(10, 4, 3), (12, 4, 3), (13, 4, 4), (7, 6, 2), (5, 5, 1)]
)
def test_batches_of_one_size_hold_every_example_and_few_of_them_twice(n_items, size, n_batches):
    order = torch.from_numpy(RNG(0).permutation(n_items))
    batches = _batches(order, size, of_one_size=True)
    assert [len(batch) for batch in batches] == [size] * n_batches
    counts = np.bincount(torch.cat(batches).numpy(), minlength=n_items)
    assert counts.min() == 1
    assert counts.max() <= 2
    assert (counts == 2).sum() == n_batches * size - n_items
    # What is there twice is drawn anew each time: the first of the order.
    assert set(np.flatnonzero(counts == 2)) == set(order[: n_batches * size - n_items].tolist())


def test_fewer_examples_than_a_batch_are_one_batch():
    assert [len(batch) for batch in _batches(torch.arange(3), 8, of_one_size=True)] == [3]


def test_with_batches_of_one_size_the_loss_is_the_mean_over_what_was_seen():
    task, network, settings = a_problem(), a_network(), config(batch_size=16)
    seen = []
    given = task.loss

    def loss(network, examples, generator=None):
        value = given(network, examples, generator)
        seen.append((float(value.detach()), examples.tolist()))
        return value

    task.loss = loss
    draws = Draws(RNG(0), "cpu")
    optimisers = make_optimisers(network, "adamw", 0.01, 0.0, "cpu")
    step = EagerStep(network, task, optimisers, draws, "cpu")
    step.takes_one_size = True
    trainer = Trainer(network, optimisers, RNG(0), draws, WeightAverage(network, 3, 0.0))
    found = _one_epoch(trainer, step, _learning_rates(40, settings), task, settings)
    assert [len(examples) for _, examples in seen] == [16] * 3
    assert set(range(40)) == {number for _, examples in seen for number in examples}
    assert step.n_seen == 48
    assert trainer.n_steps == 3
    assert found == pytest.approx(np.mean([value for value, _ in seen]), rel=1e-5)


# ---- augmentation ----


class Sees(nn.Module):
    """Notes the images that it is shown in training, and those it is not trained on."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.seen: dict[bool, list] = {True: [], False: []}

    def forward(self, items):
        self.seen[self.training].append(items.clone())
        return items.flatten(1)[:, :1] * self.weight


@pytest.mark.parametrize("augment", [None, Augment(flips=True)])
def test_images_are_mirrored_in_training_only(augment):
    image = torch.arange(6, dtype=torch.float32).reshape(1, 2, 3)
    X = image.repeat(64, 1, 1, 1).numpy()
    targets = np.zeros((64, 1), dtype=np.float32)
    task = RegressionTask(open_features(X, "cpu"), np.arange(64), targets, "cpu", augment)
    network = Sees()
    train_network(network, task, config(), RNG(0), validate=validation_loss(task, 64))
    shown = torch.cat(network.seen[True])
    mirrored = (shown == image.flip(-1)).flatten(1).all(dim=1)
    assert torch.equal(mirrored, ~(shown == image).flatten(1).all(dim=1))
    assert 0.3 < mirrored.float().mean() < 0.7 if augment else not mirrored.any()
    assert all((images == image).all() for images in network.seen[False])


def test_every_image_is_mirrored_in_every_second_epoch():
    image = torch.arange(6, dtype=torch.float32).reshape(1, 1, 2, 3)
    X = (image + 10 * torch.arange(64).reshape(64, 1, 1, 1)).numpy()
    targets = np.zeros((64, 1), dtype=np.float32)
    augment = Augment(flips=True)
    task = RegressionTask(open_features(X, "cpu"), np.arange(64), targets, "cpu", augment)
    network = Sees()
    train_network(network, task, config(batch_size=64), RNG(0))
    is_mirrored = [
        {int(one.min()) // 10: bool(one[0, 0, 0] > one[0, 0, 2]) for one in shown}
        for shown in network.seen[True]
    ]
    assert is_mirrored[0] == is_mirrored[2] != is_mirrored[1] == is_mirrored[3]
    assert all(is_mirrored[0][number] != is_mirrored[1][number] for number in range(64))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_training_on_a_gpu_reaches_what_a_cpu_reaches():
    rng = RNG(0)
    X = rng.normal(size=(400, 5)).astype(np.float32)
    targets = (X @ rng.normal(size=(5, 3))).astype(np.float32)
    losses = {}
    for device in ("cpu", "cuda"):
        task = RegressionTask(open_features(X, device), np.arange(400), targets, device)
        network = a_network().to(device)
        train_network(network, task, config(max_epochs=20, device=device), RNG(0))
        losses[device] = validation_loss(task, 64)(network)
    assert losses["cuda"] == pytest.approx(losses["cpu"], rel=0.5, abs=0.05)
