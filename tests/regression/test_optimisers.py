"""What moves the weights: Muon against its definition, the others against torch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from twofold.regression import RegressionTask, TrainingConfig, open_features, train_network
from twofold.regression._optimisers import (
    BESIDE_MUON,
    MUON_MOMENTUM,
    SGD_MOMENTUM,
    Muon,
    make_optimisers,
    orthogonal,
)

RNG = np.random.default_rng
SHAPES = [(6, 6), (9, 4), (4, 9), (5, 3, 3, 3), (40, 2, 2, 2), (1, 7)]


def with_values(n_rows: int, n_columns: int, values, seed: int = 0) -> np.ndarray:
    """Return U S Vᵀ with these singular values, in float64."""
    rng = RNG(seed)
    left = np.linalg.qr(rng.normal(size=(n_rows, len(values))))[0]
    right = np.linalg.qr(rng.normal(size=(n_columns, len(values))))[0]
    return (left * values) @ right.T


def polar(matrix: np.ndarray) -> np.ndarray:
    """U Vᵀ: the orthogonal matrix that is nearest."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


# ---- the nearest orthogonal matrix ----


@pytest.mark.parametrize(("n_rows", "n_columns"), [(6, 6), (12, 5), (5, 12), (1, 8), (8, 1)])
@pytest.mark.parametrize(("n_rounds", "least"), [(3, 0.02), (5, 0.004)])
def test_singular_values_come_near_one_and_directions_stay(n_rows, n_columns, n_rounds, least):
    n_values = min(n_rows, n_columns)
    values = np.geomspace(1, 2 * least, n_values)  # of a matrix of length 2 at most
    assert np.linalg.norm(values) < 2
    matrices = [
        scale * with_values(n_rows, n_columns, values, seed)
        for seed, scale in enumerate((1.0, 1e-4, 300.0))
    ]
    found = orthogonal(torch.from_numpy(np.stack(matrices)).float(), n_rounds).double().numpy()
    for matrix, one in zip(matrices, found, strict=True):
        values = np.linalg.svd(one, compute_uv=False)
        assert 0.68 < values.min() <= values.max() < 1.21  # as documented
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
        inner = left.T @ one @ right.T
        np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-3)
        assert (np.diag(inner) > 0.68).all()


def test_one_round_is_the_polynomial_of_the_singular_values():
    values = np.array([3.0, 2.0, 0.5])
    matrix = with_values(5, 3, values)
    left, kept, right = np.linalg.svd(matrix, full_matrices=False)
    shares = kept / np.linalg.norm(kept)
    expected = left * (3.4445 * shares - 4.7750 * shares**3 + 2.0315 * shares**5) @ right
    found = orthogonal(torch.from_numpy(matrix[None]).float(), 1)[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_step_along_it_goes_down_in_weak_directions_as_far_as_in_strong_ones():
    """A gradient of a strong and a weak direction: what is stepped along has both."""
    strong, weak = np.eye(4)[:2]
    gradient = np.outer(strong, strong) + 0.05 * np.outer(weak, weak)
    step = orthogonal(torch.from_numpy(gradient[None]).float(), 5)[0].numpy()
    assert step[0, 0] > 0.68
    assert step[1, 1] > 0.68
    assert np.abs(step - np.diag(np.diag(step))).max() < 1e-5


def test_a_matrix_of_zeros_stays_one():
    assert not orthogonal(torch.zeros(2, 3, 4), 5).any()


# ---- Muon's step ----


def a_muon(weights: list[nn.Parameter], rate: float = 0.1, momentum: float = 0.6) -> Muon:
    return Muon(weights, torch.tensor(rate), momentum)


@pytest.mark.parametrize("shape", SHAPES)
def test_steps_are_those_of_the_definition(shape, monkeypatch):
    """M ← μ M + G; W ← W − η ‖W‖ / √r · O(G + μ M); W ← W · (its first length) / ‖W‖."""
    rng, rate, momentum, n_steps = RNG(0), 0.1, 0.6, 4
    n_rows, n_columns = shape[0], int(np.prod(shape[1:]))
    values = np.ones(min(n_rows, n_columns))
    weight = nn.Parameter(torch.from_numpy(rng.normal(size=shape)).float())
    slow = weight.detach().double().numpy().reshape(n_rows, n_columns)
    length, kept = np.linalg.norm(slow), np.zeros_like(slow)
    # Rounds of a cubic that converges stand for those that only come near.
    monkeypatch.setattr("twofold.regression._optimisers.QUINTIC", (1.5, -0.5, 0.0))
    monkeypatch.setattr("twofold.regression._optimisers.N_ITERATIONS", 60)
    optimiser = a_muon([weight], rate, momentum)
    for step in range(n_steps):
        gradient = with_values(n_rows, n_columns, (1 + step) * values, step)
        kept = momentum * kept + gradient
        moved = slow - rate * length / np.sqrt(len(values)) * polar(gradient + momentum * kept)
        slow = moved * length / np.linalg.norm(moved)
        weight.grad = torch.from_numpy(gradient.reshape(shape)).float()
        optimiser.step()
        found = weight.detach().numpy().reshape(n_rows, n_columns)
        np.testing.assert_allclose(found, slow, atol=2e-4 * length)


def test_matrices_of_one_shape_are_stepped_together_as_each_would_be():
    rng = RNG(0)
    starts = [torch.from_numpy(rng.normal(size=(5, 3))).float() for _ in range(3)]
    gradients = [torch.from_numpy(rng.normal(size=(5, 3))).float() for _ in range(3)]
    together = [nn.Parameter(start.clone()) for start in starts]
    alone = [nn.Parameter(start.clone()) for start in starts]
    optimisers = [a_muon(together), *(a_muon([weight]) for weight in alone)]
    for weights in (together, alone):
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient.clone()
    for optimiser in optimisers:
        optimiser.step()
    for one, other, start in zip(together, alone, starts, strict=True):
        np.testing.assert_allclose(one.detach(), other.detach(), atol=1e-6)
        assert not torch.allclose(one, start, atol=1e-2)


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_keep_the_length_they_began_with(shape):
    weight = nn.Parameter(torch.from_numpy(RNG(0).normal(size=shape)).float())
    length, optimiser = float(weight.detach().norm()), a_muon([weight], rate=0.5)
    for step in range(5):
        weight.grad = torch.from_numpy(RNG(step).normal(size=shape)).float()
        optimiser.step()
        assert float(weight.detach().norm()) == pytest.approx(length, rel=1e-5)


def test_a_weight_without_a_gradient_stays_where_it_is():
    moved, still = (nn.Parameter(torch.eye(3)) for _ in range(2))
    optimiser = a_muon([moved, still])
    moved.grad = torch.ones(3, 3)
    optimiser.step()
    assert not moved.equal(torch.eye(3))
    assert still.equal(torch.eye(3))


def test_the_rate_is_read_at_every_step():
    weight, rate = nn.Parameter(torch.eye(3)), torch.tensor(0.0)
    optimiser = Muon([weight], rate, 0.6)
    weight.grad = torch.ones(3, 3)
    optimiser.step()
    np.testing.assert_allclose(weight.detach(), torch.eye(3), atol=1e-6)
    rate.fill_(0.3)
    optimiser.step()
    assert not torch.allclose(weight, torch.eye(3), atol=1e-2)


# ---- which weights are whose ----


def a_network() -> nn.Sequential:
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.Conv2d(4, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * 4 * 4, 6),
        nn.Linear(6, 2),
    )
    network[0].requires_grad_(False)
    return network


def names_of(network: nn.Module, optimiser: torch.optim.Optimizer) -> set[str]:
    held = {id(weight) for group in optimiser.param_groups for weight in group["params"]}
    return {name for name, weight in network.named_parameters() if id(weight) in held}


def test_muon_moves_inner_matrices_and_adam_biases_and_the_output_layer():
    network = a_network()
    muon, adam = make_optimisers(network, "muon", 0.2, 0.1, "cpu")
    assert names_of(network, muon) == {"1.weight", "5.weight"}
    assert names_of(network, adam) == {"2.weight", "2.bias", "5.bias", "6.weight", "6.bias"}
    assert isinstance(adam, torch.optim.AdamW)
    assert float(muon.param_groups[0]["lr"]) == pytest.approx(0.2)
    assert float(adam.param_groups[0]["lr"]) == pytest.approx(0.2 * BESIDE_MUON)
    assert muon.param_groups[0]["momentum"] == MUON_MOMENTUM
    assert adam.param_groups[0]["weight_decay"] == 0.1


def test_without_inner_matrices_muon_is_adam_alone():
    (optimiser,) = make_optimisers(nn.Linear(3, 2), "muon", 0.2, 0.0, "cpu")
    assert isinstance(optimiser, torch.optim.AdamW)


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_adam_and_descent_hold_all_weights_that_are_trained(name):
    network = a_network()
    (optimiser,) = make_optimisers(network, name, 0.2, 0.1, "cpu")
    frozen = {"0.weight", "0.bias"}
    assert names_of(network, optimiser) == dict(network.named_parameters()).keys() - frozen


def gradients_of(network: nn.Module, step: int) -> None:
    images = torch.from_numpy(RNG(step).normal(size=(5, 1, 8, 8))).float()
    network.zero_grad()
    network(images).square().sum().backward()


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_adam_and_descent_step_as_torch_s_do(name):
    rate, decay = 0.01, 0.1
    ours, theirs = a_network(), a_network()
    (optimiser,) = make_optimisers(ours, name, rate, decay, "cpu")
    trained = [weight for weight in theirs.parameters() if weight.requires_grad]
    reference = (
        torch.optim.AdamW(trained, lr=rate, weight_decay=decay, foreach=False)
        if name == "adamw"
        else torch.optim.SGD(
            trained, lr=rate, weight_decay=decay, momentum=SGD_MOMENTUM, nesterov=True
        )
    )
    for step in range(3):
        for network, one in ((ours, optimiser), (theirs, reference)):
            gradients_of(network, step)
            one.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(mine.detach(), other.detach(), rtol=1e-4, atol=1e-6)
    assert not ours[1].weight.equal(a_network()[1].weight)


# ---- in training ----


class Along(nn.Module):
    """Two matrices in a row, so that Muon has an inner one."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.output = nn.Linear(2, 4, bias=False), nn.Linear(4, 2)

    def forward(self, items: Tensor) -> Tensor:
        return self.output(torch.tanh(self.inner(items)))


@pytest.mark.parametrize(("name", "rate"), [("adamw", 0.01), ("sgd", 0.05), ("muon", 0.1)])
def test_a_step_of_each_lowers_the_loss_of_three_points(name, rate):
    torch.manual_seed(0)
    network = Along()
    points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]])
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    optimisers = make_optimisers(network, name, rate, 0.0, "cpu")
    losses = []
    for _ in range(8):
        network.zero_grad()
        loss = functional.mse_loss(network(points), targets)
        loss.backward()
        losses.append(float(loss.detach()))
        for optimiser in optimisers:
            optimiser.step()
    assert losses[1] < losses[0]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("name", ["adamw", "sgd", "muon"])
def test_frozen_weights_never_move_in_training(name):
    images = RNG(0).normal(size=(24, 1, 8, 8)).astype(np.float32)
    targets = RNG(1).normal(size=(24, 2)).astype(np.float32)
    task = RegressionTask(open_features(images, "cpu"), np.arange(24), targets, "cpu")
    network, before = a_network(), a_network()
    config = TrainingConfig(network, 2, 8, 0.05, weight_decay=0.1, optimiser=name)
    train_network(network, task, config, RNG(0))
    for (place, weight), first in zip(network.named_parameters(), before.parameters(), strict=True):
        assert weight.equal(first) == place.startswith("0."), place


@pytest.mark.parametrize("name", ["sgd", "muon"])
def test_the_same_seed_gives_the_same_bytes(name):
    X = RNG(0).normal(size=(30, 2)).astype(np.float32)
    task = RegressionTask(open_features(X, "cpu"), np.arange(30), X.copy(), "cpu")

    def trained(seed: int) -> bytes:
        torch.manual_seed(0)
        network = Along()
        train_network(network, task, TrainingConfig(network, 3, 8, 0.05, optimiser=name), RNG(seed))
        return network.inner.weight.detach().numpy().tobytes()

    assert trained(0) == trained(0)
    assert trained(0) != trained(1)


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_steps_are_those_of_torch_s_own_optimiser(name):
    networks = [nn.Linear(4, 3) for _ in range(2)]
    networks[1].load_state_dict(networks[0].state_dict())
    (ours,) = make_optimisers(networks[0], name, 0.1, 0.2, "cpu")
    settings = {"lr": 0.1, "weight_decay": 0.2}
    if name == "adamw":
        theirs = torch.optim.AdamW(networks[1].parameters(), **settings)
    else:
        theirs = torch.optim.SGD(
            networks[1].parameters(), **settings, momentum=SGD_MOMENTUM, nesterov=True
        )
    for seed in range(3):
        inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(seed))
        for network, optimiser in zip(networks, (ours, theirs), strict=True):
            optimiser.zero_grad()
            network(inputs).square().mean().backward()
            optimiser.step()
    for one, other in zip(*(network.parameters() for network in networks), strict=True):
        torch.testing.assert_close(one, other)
