"""What one layer says: whitening, its variants, and what is degenerate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_layers import kinds

from twofold.evaluation import all_pairs_auroc
from twofold.metric import ClassKinds, PairKinds
from twofold.metric._layer_space import (
    DISCRIMINANT_SHRINKAGE,
    MOST_DIRECTIONS,
    SHRINKAGE,
    fit_layer_spaces,
    leading_directions,
    variants_of,
)


def fit_space(variant, vectors, classes, layer="inner"):
    """Return the map of one layer, from arrays to arrays."""
    given = kinds_of_classes(classes) if isinstance(classes, np.ndarray) else classes
    (space,) = fit_layer_spaces([(layer, variant)], {layer: torch.from_numpy(vectors)}, given)
    return lambda some: space.apply(torch.from_numpy(some)).numpy()


def kinds_of_classes(classes):
    return ClassKinds(classes.astype(np.int64))


def unit(points):
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def slow_within(vectors, classes):
    """The covariance within classes by its definition, item by item."""
    vectors = vectors.astype(np.float64)
    within = np.zeros((vectors.shape[1],) * 2)
    for one in np.unique(classes):
        of_class = vectors[classes == one]
        for vector in of_class:
            away = vector - of_class.mean(axis=0)
            within += np.outer(away, away)
    return within / (len(vectors) - len(np.unique(classes)))


def slow_whitening(vectors, classes, shrinkage):
    """The definition."""
    within = slow_within(vectors, classes)
    shrunk = (1 - shrinkage) * within
    shrunk += shrinkage * np.trace(within) / len(within) * np.eye(len(within))
    sizes, directions = np.linalg.eigh(shrunk)
    return vectors.astype(np.float64).mean(axis=0), directions @ np.diag(sizes**-0.5) @ directions.T


def test_whitening_is_its_definition(rng):
    vectors, classes = kinds(7, rng=rng)
    apply = fit_space("whitened", vectors, classes)
    mean, matrix = slow_whitening(vectors, classes, SHRINKAGE)
    expected = (vectors - mean) @ matrix
    assert_same_cosines(apply(vectors), unit(expected), atol=1e-4)


def test_a_discriminant_keeps_of_a_direction_what_classes_differ_in(rng):
    vectors, classes = kinds(60, rng=rng)
    apply = fit_space("discriminant", vectors, classes)
    mean, white = slow_whitening(vectors, classes, DISCRIMINANT_SHRINKAGE)
    means = np.stack([vectors[classes == one].mean(axis=0) for one in range(60)])
    noise = np.mean([1 / (classes == one).sum() for one in range(60)]) * slow_within(
        vectors, classes
    )
    covariance = np.cov(((means - mean) @ white).T) - white @ noise @ white
    between, directions = np.linalg.eigh(covariance)
    between = np.maximum(between, 0)
    gain = directions @ np.diag(np.sqrt(between / (1 + 2 * between))) @ directions.T
    expected = unit((vectors - mean) @ white @ gain)
    assert_same_cosines(apply(vectors), expected, atol=1e-3)


def test_a_direction_in_which_class_means_differ_by_chance_alone_counts_for_little(rng):
    classes = np.repeat(np.arange(300), 4)
    vectors = rng.normal(size=(1200, 2)).astype(np.float32)
    vectors[:, 0] += 3 * rng.normal(size=300)[classes]
    kinds_given, named = kinds_of_classes(classes), [("inner", "discriminant")]
    (space,) = fit_layer_spaces(named, {"inner": torch.from_numpy(vectors)}, kinds_given)
    of_kinds, of_chance = space.matrix.norm(dim=1)
    assert of_chance < 0.35 * of_kinds  # their means have a quarter of the variance within
    lone = fit_layer_spaces(named, {"inner": torch.from_numpy(vectors[:, 1:])}, kinds_given)
    assert lone[0].matrix.norm() < 0.35


def test_kinds_never_seen_are_told_apart_better_in_each_step(rng):
    vectors, classes = kinds(60, rng=rng)
    new, new_classes = kinds(60, rng=rng)
    auroc = [
        all_pairs_auroc(
            fit_space(variant, vectors, classes)(new),
            new_classes,
            metric="cosine",
        )
        for variant in ("as given", "whitened", "discriminant")
    ]
    assert auroc[0] + 0.02 < auroc[1]
    assert auroc[1] + 0.02 < auroc[2]


def test_features_as_given_are_compared_as_given(rng):
    vectors, classes = kinds(4, rng=rng)
    apply = fit_space("as given", vectors, classes)
    assert_same_cosines(apply(vectors), unit(vectors), atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "n_values", "n_classes", "variants"),
    [
        ("inner", 10, 10, ["whitened"]),
        ("inner", 10, 11, ["whitened", "discriminant"]),
        ("features", 10, 5, ["as given", "lifted", "whitened"]),
        ("features", 3000, MOST_DIRECTIONS + 1, ["as given", "lifted", "whitened", "discriminant"]),
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
    directions = leading_directions(torch.from_numpy(wide)).numpy()
    assert directions.shape[1] <= MOST_DIRECTIONS
    np.testing.assert_allclose(wide @ directions @ directions.T, wide, atol=1e-2)
    leading = leading_directions(torch.from_numpy(wide), n_directions=3).numpy()
    _, _, expected = np.linalg.svd(wide, full_matrices=False)
    np.testing.assert_allclose(np.abs(leading.T @ expected[:3].T), np.eye(3), atol=1e-2)


@pytest.mark.parametrize("variant", ["as given", "lifted", "whitened", "discriminant"])
@pytest.mark.parametrize("n_values", [5, MOST_DIRECTIONS + 10])
def test_a_constant_layer_says_nothing_and_breaks_nothing(variant, n_values):
    vectors = np.ones((40, n_values), dtype=np.float32)
    classes = np.arange(40) % 4
    points = fit_space(variant, vectors, classes)(vectors)
    assert np.isfinite(points).all()
    np.testing.assert_allclose(points, points[:1].repeat(40, axis=0))


def test_classes_of_one_item_each_leave_the_directions_as_they_are(rng):
    vectors = rng.normal(size=(20, 6)).astype(np.float32)
    apply = fit_space("whitened", vectors, np.arange(20))
    np.testing.assert_allclose(apply(vectors), unit(vectors - vectors.mean(axis=0)), atol=1e-5)


def test_a_wide_layer_as_given_keeps_its_mean(rng):
    vectors = (3 + rng.normal(size=(100, 600))).astype(np.float32)
    assert_same_cosines(
        fit_space("as given", vectors, np.arange(100) % 4)(vectors), unit(vectors), atol=1e-3
    )


def test_lifted_points_are_ordered_much_as_by_distance(rng):
    vectors = rng.normal(size=(40, 3)).astype(np.float32)
    (space,) = fit_layer_spaces(
        [("features", "lifted")],
        {"features": torch.from_numpy(vectors)},
        kinds_of_classes(np.arange(40) % 4),
    )
    centred = vectors - vectors.mean(axis=0)
    assert space.lift == pytest.approx(np.sqrt((centred**2).sum(axis=1).mean()), rel=1e-5)
    far = -np.linalg.norm(vectors[:, None] - vectors, axis=2).ravel()
    points = space.apply(torch.from_numpy(vectors)).numpy()
    expected = unit(np.hstack([centred, np.full((40, 1), space.lift)]))
    np.testing.assert_allclose(points, expected, atol=1e-5)
    assert np.corrcoef((points @ points.T).ravel(), far)[0, 1] > 0.8


def test_pairs_whiten_as_classes_do_if_they_state_all_that_classes_do(rng):
    vectors, classes = kinds(4, n_each=20, rng=rng)
    alike = (classes[:, None] == classes) & ~np.eye(80, dtype=bool)
    pairs = PairKinds(alike, ~np.eye(80, dtype=bool))
    by_pairs, by_classes = (fit_space("whitened", vectors, given) for given in (pairs, classes))
    assert_same_cosines(by_pairs(vectors), by_classes(vectors), atol=1e-4)


def assert_same_cosines(points, expected, atol):
    """Points may be turned: only their cosines count."""
    np.testing.assert_allclose(points @ points.T, expected @ expected.T, atol=atol)
