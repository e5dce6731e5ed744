"""What one layer says: whitening, its variants, and what is degenerate."""

from __future__ import annotations

import numpy as np
import pytest
from toy_layers import kinds

from twofold.evaluation import all_pairs_auroc
from twofold.metric._layer_space import (
    DISCRIMINANT_SHRINKAGE,
    MOST_DIRECTIONS,
    SHRINKAGE,
    class_means,
    fit_layer_space,
    leading_directions,
    unit_rows,
    variants_of,
)


def slow_whitening(vectors, classes, shrinkage):
    """The definition, item by item."""
    vectors = vectors.astype(np.float64)
    within = np.zeros((vectors.shape[1],) * 2)
    for one in np.unique(classes):
        of_class = vectors[classes == one]
        for vector in of_class:
            away = vector - of_class.mean(axis=0)
            within += np.outer(away, away)
    within /= len(vectors) - len(np.unique(classes))
    shrunk = (1 - shrinkage) * within
    shrunk += shrinkage * np.trace(within) / len(within) * np.eye(len(within))
    sizes, directions = np.linalg.eigh(shrunk)
    return vectors.mean(axis=0), directions @ np.diag(sizes**-0.5) @ directions.T


def test_whitening_is_its_definition(rng):
    vectors, classes = kinds(7, rng=rng)
    space = fit_layer_space("inner", "whitened", vectors, classes)
    mean, matrix = slow_whitening(vectors, classes, SHRINKAGE)
    expected = (vectors - mean) @ matrix
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(space.apply(vectors), expected, atol=1e-4)


def test_a_discriminant_keeps_of_a_direction_what_classes_differ_in(rng):
    vectors, classes = kinds(60, rng=rng)
    space = fit_layer_space("inner", "discriminant", vectors, classes)
    mean, white = slow_whitening(vectors, classes, DISCRIMINANT_SHRINKAGE)
    means = np.stack([vectors[classes == one].mean(axis=0) for one in range(60)])
    between, directions = np.linalg.eigh(np.cov(((means - mean) @ white).T))
    gain = directions @ np.diag(np.sqrt(between / (1 + between))) @ directions.T
    expected = unit_rows((vectors - mean) @ white @ gain)
    np.testing.assert_allclose(space.apply(vectors), expected, atol=1e-3)


def test_kinds_never_seen_are_told_apart_better_in_each_step(rng):
    vectors, classes = kinds(60, rng=rng)
    new, new_classes = kinds(60, rng=rng)
    auroc = [
        all_pairs_auroc(
            fit_layer_space("features", variant, vectors, classes).apply(new),
            new_classes,
            metric="cosine",
        )
        for variant in ("as given", "whitened", "discriminant")
    ]
    assert auroc[0] + 0.02 < auroc[1]
    assert auroc[1] + 0.02 < auroc[2]


def test_features_as_given_are_compared_as_given(rng):
    vectors, classes = kinds(4, rng=rng)
    space = fit_layer_space("features", "as given", vectors, classes)
    np.testing.assert_allclose(space.apply(vectors), unit_rows(vectors), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "n_values", "n_classes", "variants"),
    [
        ("inner", 10, 10, ["whitened"]),
        ("inner", 10, 11, ["whitened", "discriminant"]),
        ("features", 10, 5, ["as given", "whitened"]),
        ("features", 3000, MOST_DIRECTIONS + 1, ["as given", "whitened", "discriminant"]),
    ],
)
def test_differences_between_classes_count_where_classes_outnumber_directions(
    layer, n_values, n_classes, variants
):
    assert variants_of(layer, n_values, n_classes) == variants


def test_of_a_wide_layer_the_leading_directions_are_kept(rng):
    narrow = rng.normal(size=(200, 8)) * np.arange(8, 0, -1)
    basis = np.linalg.qr(rng.normal(size=(700, 8)))[0]
    wide = (narrow @ basis.T).astype(np.float32)
    directions = leading_directions(wide, centred=True)
    assert directions.shape[1] <= MOST_DIRECTIONS
    centred = wide - wide.mean(axis=0)
    np.testing.assert_allclose(centred @ directions @ directions.T, centred, atol=1e-3)
    leading = leading_directions(wide, n_directions=3)
    _, _, expected = np.linalg.svd(wide, full_matrices=False)
    np.testing.assert_allclose(np.abs(leading.T @ expected[:3].T), np.eye(3), atol=1e-2)


@pytest.mark.parametrize("variant", ["as given", "whitened", "discriminant"])
@pytest.mark.parametrize("n_values", [5, MOST_DIRECTIONS + 10])
def test_a_constant_layer_says_nothing_and_breaks_nothing(variant, n_values):
    vectors = np.ones((40, n_values), dtype=np.float32)
    classes = np.arange(40) % 4
    points = fit_layer_space("inner", variant, vectors, classes).apply(vectors)
    assert np.isfinite(points).all()
    np.testing.assert_allclose(points, points[:1].repeat(40, axis=0))


def test_classes_of_one_item_each_leave_the_directions_as_they_are(rng):
    vectors = rng.normal(size=(20, 6)).astype(np.float32)
    space = fit_layer_space("inner", "whitened", vectors, np.arange(20))
    np.testing.assert_allclose(
        space.apply(vectors), unit_rows(vectors - vectors.mean(axis=0)), atol=1e-5
    )


def test_class_means_are_means(rng):
    vectors, classes = kinds(5, rng=rng)
    shuffled = rng.permutation(len(classes))
    means = class_means(vectors[shuffled], classes[shuffled])
    for one in range(5):
        np.testing.assert_allclose(means[one], vectors[classes == one].mean(axis=0), rtol=1e-4)
