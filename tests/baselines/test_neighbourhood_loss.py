"""The loss of nonlinear NCA: a slow loop, the right direction, and batches with little to say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from twofold.baselines._nonlinear_nca import NeighbourhoodLoss

LOSSES = ["log", "expected"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


def slow_loss(points, alike, loss):
    lost = []
    for i, point in enumerate(points):
        others = [j for j in range(len(points)) if j != i]
        closeness = {j: math.exp(-sum((point - points[j]) ** 2)) for j in others}
        friends = [j for j in others if alike(i, j)]
        if friends:
            chance = sum(closeness[j] for j in friends) / sum(closeness.values())
            lost.append(-math.log(chance) if loss == "log" else 1 - chance)
    return sum(lost) / len(lost) if lost else 0.0


def some_points(n_items: int = 12) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n_items, 3)) * 0.8


@every_loss
def test_the_loss_of_classes_is_its_definition(loss):
    points, classes = some_points(), np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 1, 0, 3])
    found = NeighbourhoodLoss(loss)(torch.from_numpy(points), torch.from_numpy(classes))
    expected = slow_loss(points, lambda i, j: classes[i] == classes[j], loss)
    assert float(found) == pytest.approx(expected, rel=1e-9)


@every_loss
def test_the_loss_of_several_labels_is_its_definition(loss):
    points = some_points()
    labels = np.random.default_rng(1).random((12, 4)) < 0.3
    labels[5] = False
    found = NeighbourhoodLoss(loss)(torch.from_numpy(points), torch.from_numpy(labels))
    expected = slow_loss(points, lambda i, j: (labels[i] & labels[j]).any(), loss)
    assert float(found) == pytest.approx(expected, rel=1e-9)


@every_loss
def test_one_label_an_item_loses_as_classes_do(loss):
    points, classes = torch.from_numpy(some_points()), torch.arange(12) % 3
    one_hot = torch.nn.functional.one_hot(classes, 3).bool()
    both = [NeighbourhoodLoss(loss)(points, labels) for labels in (classes, one_hot)]
    assert both[0] == both[1]


@every_loss
def test_alike_items_that_are_closer_lose_less(loss):
    classes = torch.tensor([0, 0, 1])
    better = torch.tensor([[0.0], [0.1], [1.0]])
    worse = torch.tensor([[0.0], [1.0], [0.1]])
    measure = NeighbourhoodLoss(loss)
    assert measure(better, classes) < measure(worse, classes)


@every_loss
def test_gradients_are_those_of_finite_differences(loss):
    points, classes = some_points(6), np.array([0, 0, 1, 1, 2, 1])
    places = torch.tensor(points, requires_grad=True)
    NeighbourhoodLoss(loss)(places, torch.from_numpy(classes)).backward()
    step = 1e-6
    for row, column in np.ndindex(points.shape):
        both = []
        for sign in (1, -1):
            moved = points.copy()
            moved[row, column] += sign * step
            both.append(slow_loss(moved, lambda i, j: classes[i] == classes[j], loss))
        slope = (both[0] - both[1]) / (2 * step)
        assert float(places.grad[row, column]) == pytest.approx(slope, abs=1e-6)


@every_loss
@pytest.mark.parametrize("classes", [[0], [0, 1], [0, 1, 2]])
def test_a_batch_in_which_no_two_are_alike_teaches_nothing(loss, classes):
    points = torch.randn(len(classes), 2, requires_grad=True)
    lost = NeighbourhoodLoss(loss)(points, torch.tensor(classes))
    lost.backward()
    assert lost.item() == 0
    assert not points.grad.any()


@every_loss
def test_points_far_apart_and_points_that_coincide_have_finite_gradients(loss):
    points = torch.tensor([[0.0], [0.0], [300.0], [-300.0]], requires_grad=True)
    lost = NeighbourhoodLoss(loss)(points, torch.tensor([0, 1, 0, 1]))
    lost.backward()
    assert torch.isfinite(lost)
    assert torch.isfinite(points.grad).all()
