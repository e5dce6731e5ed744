"""How much each layer counts."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.metric import _weights
from twofold.metric._layer_space import unit_rows
from twofold.metric._weights import fit_weights, weighted_loss


def spaces(rng, n_classes, *sizes):
    """Return points of kinds in spaces that tell them apart the better, the larger their size."""
    classes = np.repeat(np.arange(n_classes), 20)
    points = []
    for size in sizes:
        means = size * rng.normal(size=(n_classes, 8))
        points.append(unit_rows(means[classes] + rng.normal(size=(len(classes), 8))))
    return points, classes


def test_what_tells_kinds_apart_counts_and_noise_does_not(rng):
    points, classes = spaces(rng, 30, 2.0, 0.0)
    good, noise = fit_weights(points, classes, rng)
    assert good > 0.9
    assert noise < 0.1
    assert good + noise == pytest.approx(1)


def test_the_better_of_two_counts_more(rng):
    weights = fit_weights(*spaces(rng, 30, 1.5, 0.7), rng)
    assert weights[0] > weights[1] > 0


def test_few_classes_leave_weights_nearer_to_one_another(rng):
    few, many = (fit_weights(*spaces(rng, n, 1.5, 0.5), rng) for n in (2, 40))
    assert few[0] - few[1] < many[0] - many[1]


def test_equal_spaces_count_the_same_whatever_their_order(rng):
    (points,), classes = spaces(rng, 10, 1.0)
    weights = fit_weights([points, points, points], classes, rng)
    np.testing.assert_allclose(weights, 1 / 3, atol=1e-3)


def test_where_nothing_tells_kinds_apart_all_count_or_none_is_lost(rng):
    flat = np.tile(np.float32([1, 0]), (40, 1))
    weights = fit_weights([flat, flat], np.repeat(np.arange(4), 10), rng)
    np.testing.assert_allclose(weights, 0.5)


def test_an_item_alone_in_its_class_is_left_out(rng):
    points, classes = spaces(rng, 5, 2.0, 0.0)
    classes = np.append(classes, 5)
    points = [np.vstack([space, space[:1]]) for space in points]
    gaps = _weights._nearest_gaps(points, classes)
    assert gaps.shape == (100, 2)
    assert fit_weights(points, classes, rng)[0] > 0.5


def test_the_gap_is_to_the_nearest_of_ones_class_and_of_another():
    points = unit_rows(np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]]))
    gaps = _weights._nearest_gaps([points], np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(gaps[:, 0], [0.2, -0.16, 0.2, -0.16], atol=1e-6)


def some_similarities(rng):
    """Return cosines of pairs in three spaces, whether they are alike, and gaps of some items."""
    return rng.uniform(-1, 1, size=(40, 3)), rng.random(40) < 0.3, rng.normal(size=(15, 3)), 0.7


def test_the_gradient_is_that_of_the_loss(rng):
    given = some_similarities(rng)
    at = rng.uniform(0.2, 2, size=4)
    _, gradient = weighted_loss(at, *given)
    steps = 1e-6 * np.eye(4)
    slopes = [
        (weighted_loss(at + step, *given)[0] - weighted_loss(at - step, *given)[0]) / 2e-6
        for step in steps
    ]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)


def test_the_loss_is_its_definition(rng):
    cosines, is_alike, gaps, ridge = given = some_similarities(rng)
    weights, offset = np.array([0.5, 1.0, 0.0]), -0.3
    losses = {True: [], False: []}
    for row, alike in zip(cosines, is_alike, strict=True):
        chance = 1 / (1 + np.exp(-(row @ weights + offset)))
        losses[bool(alike)].append(-np.log(chance if alike else 1 - chance))
    expected = (np.mean(losses[True]) + np.mean(losses[False])) / 2
    expected += 0.5 * np.mean([np.log(1 + np.exp(-gap @ weights)) for gap in gaps])
    expected += ridge * sum((weight - 0.5) ** 2 for weight in weights)
    assert weighted_loss(np.append(weights, offset), *given)[0] == pytest.approx(expected)
