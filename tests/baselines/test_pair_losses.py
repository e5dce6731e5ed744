"""What pair-trained networks lose: slow loops, finite differences, and the right direction."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from twofold.baselines._pair_tasks import Contrastive, Cosine, PairTask, TripletTask
from twofold.regression import Augment, open_features
from twofold.relations import PairRelation, TripletRelation

MARGIN = 1.5


def slow_contrastive(a, b, similar):
    distance = math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    return similar * distance**2 + (1 - similar) * max(0, MARGIN - distance) ** 2


def slow_cosine(a, b, similar):
    inner = sum(x * y for x, y in zip(a, b, strict=True))
    cosine = inner / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))
    return 0.5 * (2 * similar - 1 - cosine) ** 2


def slow_triplet(a, p, n):
    near = sum((x - y) ** 2 for x, y in zip(a, p, strict=True))
    far = sum((x - y) ** 2 for x, y in zip(a, n, strict=True))
    return max(0, MARGIN + near - far)


LOSSES = {"contrastive": (Contrastive(MARGIN), slow_contrastive), "cosine": (Cosine(), slow_cosine)}


def some_pairs(n_pairs: int = 30, dim: int = 3):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, n_pairs, dim)) * 0.7
    similar = np.concatenate([rng.integers(0, 2, n_pairs - 5), rng.uniform(size=5)]).astype(float)
    return left, right, similar


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_pairs_is_its_definition(name):
    fast, slow = LOSSES[name]
    left, right, similar = some_pairs()
    found = fast(*(torch.from_numpy(array) for array in (left, right, similar)))
    expected = [slow(*row) for row in zip(left, right, similar, strict=True)]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_pairs_are_those_of_finite_differences(name):
    fast, slow = LOSSES[name]
    left, right, similar = some_pairs(12)
    a = torch.tensor(left, requires_grad=True)
    fast(a, torch.from_numpy(right), torch.from_numpy(similar)).sum().backward()
    step = 1e-6
    for row in range(12):
        for column in range(3):
            up, down = left[row].copy(), left[row].copy()
            up[column] += step
            down[column] -= step
            slope = slow(up, right[row], similar[row]) - slow(down, right[row], similar[row])
            assert float(a.grad[row, column]) == pytest.approx(slope / (2 * step), abs=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_a_better_placement_loses_less(name):
    loss = LOSSES[name][0]
    origin = torch.tensor([[1.0, 0.0]])
    near, far = torch.tensor([[1.0, 0.2]]), torch.tensor([[-1.0, 0.1]])
    alike, other = torch.ones(1), torch.zeros(1)
    assert loss(origin, near, alike) < loss(origin, far, alike)
    assert loss(origin, far, other) < loss(origin, near, other)


def test_beyond_the_margin_nothing_is_lost():
    a, b = torch.zeros(1, 2), torch.tensor([[MARGIN + 0.1, 0.0]])
    assert float(Contrastive(MARGIN)(a, b, torch.zeros(1))) == 0
    assert float(Contrastive(MARGIN + 1)(a, b, torch.zeros(1))) > 0


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("point", [[0.0, 0.0], [0.3, -2.0]])
@pytest.mark.parametrize("similar", [0.0, 1.0])
def test_points_that_coincide_have_finite_gradients(name, point, similar):
    a = torch.tensor([point], requires_grad=True)
    b = torch.tensor([point], requires_grad=True)
    loss = LOSSES[name][0](a, b, torch.tensor([similar]))
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(a.grad).all()
    assert torch.isfinite(b.grad).all()


def a_task(weight=None, loss=None):
    points = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    relation = PairRelation([0, 1, 2, 5], [1, 2, 3, 0], [1, 0, 1, 0], 6, weight)
    task = PairTask(open_features(points, "cpu"), relation, loss or Contrastive(MARGIN), "cpu")
    return points, relation, task


def test_a_task_of_pairs_is_the_mean_over_some_of_them():
    points, relation, task = a_task()
    examples = [3, 0, 2]
    expected = np.mean(
        [
            slow_contrastive(
                points[relation.left[k]], points[relation.right[k]], relation.similar[k]
            )
            for k in examples
        ]
    )
    found = task.loss(nn.Identity(), torch.tensor(examples))
    assert float(found) == pytest.approx(expected, rel=1e-5)
    assert task.n_examples == 4


def test_weights_count():
    weight = np.array([1.0, 0.5, 0.0, 3.0])
    points, relation, task = a_task(weight)
    each = [
        slow_contrastive(points[i], points[j], y)
        for i, j, y in zip(relation.left, relation.right, relation.similar, strict=True)
    ]
    found = task.loss(nn.Identity(), torch.arange(4))
    assert float(found) == pytest.approx(np.mean(weight * each), rel=1e-5)
    alone = task.loss(nn.Identity(), torch.tensor([2]))
    assert float(alone) == 0


def test_a_task_of_triplets_is_the_mean_over_some_of_them():
    points = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    relation = TripletRelation([0, 1, 4], [1, 2, 5], [2, 0, 3], 6)
    task = TripletTask(open_features(points, "cpu"), relation, MARGIN)
    for examples in ([0, 1, 2], [2, 0]):
        expected = np.mean(
            [
                slow_triplet(
                    points[relation.anchor[k]],
                    points[relation.positive[k]],
                    points[relation.negative[k]],
                )
                for k in examples
            ]
        )
        found = task.loss(nn.Identity(), torch.tensor(examples))
        assert float(found) == pytest.approx(expected, rel=1e-5)


def test_gradients_of_triplets_are_those_of_finite_differences():
    points = np.random.default_rng(2).normal(size=(3, 2))

    class Places(nn.Module):
        """Three points, whatever comes in."""

        def __init__(self) -> None:
            super().__init__()
            self.points = nn.Parameter(torch.from_numpy(points * 0.5))

        def forward(self, items):
            return self.points[items[:, 0].long()]

    numbers = np.arange(3, dtype=np.float32)[:, None]
    task = TripletTask(open_features(numbers, "cpu"), TripletRelation([0], [1], [2], 3), MARGIN)
    places = Places()
    task.loss(places, torch.tensor([0])).backward()
    step = 1e-5
    for row in range(3):
        for column in range(2):
            up, down = points * 0.5, points * 0.5
            up[row, column] += step
            down[row, column] -= step
            slope = (slow_triplet(*up) - slow_triplet(*down)) / (2 * step)
            assert float(places.points.grad[row, column]) == pytest.approx(slope, abs=1e-4)


def test_triplets_in_order_lose_less_than_triplets_out_of_order():
    points = np.array([[0.0], [0.1], [5.0]], dtype=np.float32)
    features = open_features(points, "cpu")
    right = TripletTask(features, TripletRelation([0], [1], [2], 3), MARGIN)
    wrong = TripletTask(features, TripletRelation([0], [2], [1], 3), MARGIN)
    one = torch.tensor([0])
    assert float(right.loss(nn.Identity(), one)) == 0
    assert float(wrong.loss(nn.Identity(), one)) > MARGIN


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_images_are_mirrored_in_training_only(kind):
    image = torch.arange(6, dtype=torch.float32).reshape(1, 2, 3)
    features = open_features(image.repeat(40, 1, 1, 1).numpy(), "cpu")
    first, second, third = np.arange(30), np.arange(30) + 1, np.arange(30) + 2
    augment = Augment(flips=True)
    if kind == "pairs":
        relation = PairRelation(first, second, first % 2, 40)
        task = PairTask(features, relation, Contrastive(1.0), "cpu", augment)
    else:
        task = TripletTask(features, TripletRelation(first, second, third, 40), 1.0, augment)
    seen = []

    class Sees(nn.Module):
        def forward(self, items):
            seen.append(items)
            return items.flatten(1)

    network = Sees()
    task.loss(network.eval(), torch.arange(30))
    assert (seen[0] == image).all()
    task.loss(network.train(), torch.arange(30), torch.Generator().manual_seed(0))
    mirrored = (seen[1] == image.flip(-1)).flatten(1).all(dim=1)
    assert 0.2 < mirrored.float().mean() < 0.8
