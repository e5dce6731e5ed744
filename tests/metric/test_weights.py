"""How much each layer counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from twofold.metric import ClassKinds
from twofold.metric._layer_space import unit_rows
from twofold.metric._weights import draw_both, fit_weights, nearest_gaps, weighted_loss


def spaces(rng, n_classes, *sizes):
    """Return points of kinds in spaces that tell them apart the better, the larger their size."""
    classes = np.repeat(np.arange(n_classes), 20)
    points = []
    for size in sizes:
        means = size * rng.normal(size=(n_classes, 8))
        points.append(means[classes] + rng.normal(size=(len(classes), 8)))
    return [unit_rows(torch.from_numpy(some).float()) for some in points], classes


def cosines_of(points):
    return torch.stack([some @ some.T for some in points])


def weigh(points, classes, rng, prior=None):
    alike, known = ClassKinds(classes).blocks("cpu")
    prior = np.ones(len(points)) if prior is None else np.array(prior)
    n_kinds = len(np.unique(classes))
    pairs = draw_both(alike, known, rng)
    return fit_weights(cosines_of(points), alike, known, prior, n_kinds, pairs).weights


def test_what_tells_kinds_apart_counts_and_noise_does_not(rng):
    points, classes = spaces(rng, 30, 2.0, 0.0)
    good, noise = weigh(points, classes, rng)
    assert good > 0.9
    assert noise < 0.1
    assert good + noise == pytest.approx(1)


def test_the_better_of_two_counts_more(rng):
    weights = weigh(*spaces(rng, 30, 1.5, 0.7), rng)
    assert weights[0] > weights[1] > 0


def test_few_classes_leave_weights_nearer_to_one_another(rng):
    few, many = (weigh(*spaces(rng, n, 1.5, 0.5), rng) for n in (2, 40))
    assert few[0] - few[1] < many[0] - many[1]


def test_few_classes_leave_what_has_no_prior_near_nothing(rng):
    (points,), classes = spaces(rng, 2, 1.0)
    with_prior, without = weigh([points, points], classes, rng, prior=[1.0, 0.0])
    assert with_prior > 0.6 > 0.4 > without


def test_equal_spaces_count_the_same_whatever_their_order(rng):
    (points,), classes = spaces(rng, 10, 1.0)
    weights = weigh([points, points, points], classes, rng)
    np.testing.assert_allclose(weights, 1 / 3, atol=1e-3)


def test_where_nothing_tells_kinds_apart_all_count_or_none_is_lost(rng):
    flat = torch.tensor([[1.0, 0.0]]).repeat(40, 1)
    weights = weigh([flat, flat], np.repeat(np.arange(4), 10), rng)
    np.testing.assert_allclose(weights, 0.5)


def test_an_item_alone_in_its_class_is_left_out(rng):
    points, classes = spaces(rng, 5, 2.0, 0.0)
    classes = np.append(classes, 5)
    points = [torch.cat([space, space[:1]]) for space in points]
    gaps = nearest_gaps(cosines_of(points), *ClassKinds(classes).blocks("cpu"))
    assert gaps.shape == (100, 2)
    assert weigh(points, classes, rng)[0] > 0.5


def test_the_gap_is_to_the_nearest_of_ones_class_and_of_another():
    points = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]])
    kinds = ClassKinds(np.array([0, 0, 1, 1]))
    gaps = nearest_gaps(cosines_of([points]), *kinds.blocks("cpu"))
    np.testing.assert_allclose(gaps[:, 0], [0.2, -0.16, 0.2, -0.16], atol=1e-6)


def some_similarities(rng):
    """Return cosines of pairs in three spaces, whether they are alike, and gaps of some items."""
    cosines, gaps = rng.uniform(-1, 1, size=(40, 3)), rng.normal(size=(15, 3))
    return cosines, rng.random(40) < 0.3, gaps, 0.7, np.array([1.0, 1.0, 0.0])


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
    cosines, is_alike, gaps, ridge, _ = given = some_similarities(rng)
    weights, offset = np.array([0.5, 1.0, 0.0]), -0.3
    losses = {True: [], False: []}
    for row, alike in zip(cosines, is_alike, strict=True):
        chance = 1 / (1 + np.exp(-(row @ weights + offset)))
        losses[bool(alike)].append(-np.log(chance if alike else 1 - chance))
    expected = (np.mean(losses[True]) + np.mean(losses[False])) / 2
    expected += 0.5 * np.mean([np.log(1 + np.exp(-gap @ weights)) for gap in gaps])
    nearest = 0.75 * np.array([1.0, 1.0, 0.0])  # the multiple of the prior that is nearest
    expected += ridge * ((weights - nearest) ** 2).sum()
    assert weighted_loss(np.append(weights, offset), *given)[0] == pytest.approx(expected)
