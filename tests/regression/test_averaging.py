"""The mean of the weights over the last steps is the plain mean."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from twofold.regression import (
    RegressionTask,
    TrainingConfig,
    fit_embedder,
    open_features,
    train_network,
)
from twofold.regression._averaging import WeightAverage

RNG = np.random.default_rng


def a_network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))


def wander(network: nn.Module, step: int) -> dict[str, np.ndarray]:
    """Move all weights and running statistics; return where they are."""
    rng = RNG(step)
    with torch.no_grad():
        for tensor in network.state_dict().values():
            noise = torch.from_numpy(np.asarray(rng.normal(size=tuple(tensor.shape))))
            tensor.add_(noise.abs().to(tensor.dtype) if tensor.is_floating_point() else 1)
    return {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}


@pytest.mark.parametrize(("n_steps", "share", "n_averaged"), [(10, 0.4, 4), (7, 0.5, 4), (5, 1, 5)])
def test_it_is_the_mean_over_the_last_steps(n_steps, share, n_averaged):
    network = a_network()
    average = WeightAverage(network, n_steps, share)
    states = []
    for step in range(1, n_steps + 1):
        states.append(wander(network, step))
        average.follow(step)
    assert average.n_seen == n_averaged
    average.settle()
    for name, tensor in network.state_dict().items():
        expected = np.mean([state[name] for state in states[-n_averaged:]], axis=0)
        if name.endswith("num_batches_tracked"):
            expected = states[-1][name]  # a count has no mean
        np.testing.assert_allclose(tensor.double().numpy(), expected, rtol=1e-5, err_msg=name)


def test_a_limit_that_is_infinite_stays_so():
    images = RNG(0).integers(0, 256, (24, 1, 4, 4), dtype=np.uint8)
    network = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))  # a user's own has no limit on pixels
    config = TrainingConfig(network, 4, 8, 0.01, averaged=0.5)
    targets = RNG(1).normal(size=(24, 2)).astype(np.float32)
    embedder = fit_embedder(config, images, targets, RNG(0)).embedder
    assert torch.isinf(embedder.network[0].limit)
    assert np.isfinite(embedder.predict(images)).all()


def test_without_a_share_the_last_weights_stay():
    network = a_network()
    average = WeightAverage(network, 10, 0.0)
    for step in range(1, 11):
        last = wander(network, step)
        average.follow(step)
    average.settle()
    assert average.n_seen == 0
    assert not average.state()
    for name, tensor in network.state_dict().items():
        np.testing.assert_array_equal(tensor.double().numpy(), last[name])


def test_it_goes_on_from_its_state():
    whole, parted = a_network(), a_network()
    averages = [WeightAverage(network, 10, 0.8) for network in (whole, parted)]
    for step in range(1, 11):
        for network in (whole, parted):
            wander(network, step)
        averages[0].follow(step)
        averages[1].follow(step)
        if step == 6:
            state = {name: mean.clone() for name, mean in averages[1].state().items()}
            n_seen = averages[1].n_seen
            averages[1] = WeightAverage(parted, 10, 0.8)
            averages[1].restore(state, n_seen)
    for average in averages:
        average.settle()
    for one, other in zip(whole.state_dict().values(), parted.state_dict().values(), strict=True):
        assert one.equal(other)


# ---- in training ----


def trained(averaged: float, **given) -> tuple[nn.Module, list[dict[str, np.ndarray]]]:
    """Train for ten epochs of one step; return the network, and its weights after each."""
    X = RNG(0).normal(size=(20, 4)).astype(np.float32)
    targets = RNG(1).normal(size=(20, 2)).astype(np.float32)
    task = RegressionTask(open_features(X, "cpu"), np.arange(20), targets, "cpu")
    network, states = a_network(), []
    stop_after = given.pop("stop_after", None)

    def note(epoch):
        states.append({n: t.double().numpy().copy() for n, t in network.state_dict().items()})
        return epoch.number == stop_after

    config = TrainingConfig(network, 10, 20, 0.05, averaged=averaged)
    train_network(network, task, config, RNG(0), callback=note, **given)
    return network, states


@pytest.mark.parametrize(
    ("averaged", "stop_after", "averaged_over"),
    [
        (0.4, None, slice(6, 10)),
        (0.4, 8, slice(6, 8)),
        (0.4, 5, slice(4, 5)),
        (0, None, slice(9, 10)),
    ],
    ids=["to the end", "stopped within", "stopped before", "none"],
)
def test_a_training_ends_with_the_mean_of_its_last_steps(averaged, stop_after, averaged_over):
    network, states = trained(averaged, stop_after=stop_after)
    for name, weights in network.named_parameters():
        expected = np.mean([state[name] for state in states[averaged_over]], axis=0)
        np.testing.assert_allclose(weights.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    if averaged_over.stop - averaged_over.start > 1:
        assert not np.allclose(network[0].weight.detach(), states[-1]["0.weight"], atol=1e-4)


def test_steps_are_the_same_whether_they_are_averaged_or_not():
    for one, other in zip(trained(0.5)[1], trained(0)[1], strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_an_epoch_that_was_chosen_by_validation_is_kept_as_it_was():
    figures = iter([3.0, 1.0, *[2.0] * 8])
    network, states = trained(0.5, validate=lambda _: next(figures))
    np.testing.assert_array_equal(network[0].weight.detach(), states[1]["0.weight"])
