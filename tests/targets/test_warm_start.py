"""Adam's start: it knows the relation's coarse shape and has the size that the loss wants."""

from __future__ import annotations

import numpy as np
import pytest
import target_oracles as oracle

from twofold.evaluation import pair_auroc, pair_similarity
from twofold.relations import LabelRelation, PairRelation
from twofold.targets import ContrastiveLoss, DotLoss, solve_targets
from twofold.targets._engine import Objective
from twofold.targets._engine_cpu import CpuEngine
from twofold.targets._warm_start import random_points, warm_start


@pytest.fixture(scope="module")
def relations() -> tuple[PairRelation, PairRelation]:
    """Pairs of 3000 items in 10 classes, and a tenth of them held out."""
    classes = LabelRelation(np.random.default_rng(0).integers(10, size=3000))
    return classes.sample_pairs(6, 6, random_state=0).split(0.1, random_state=0)


def started(relation: PairRelation, loss, seed: int = 0, dim: int = 16) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = random_points(relation.n_items, dim, rng)
    engine = CpuEngine(Objective(relation, loss), points)
    warm_start(engine, relation, loss, points, rng)
    return engine.points()


def dot_auroc(relation: PairRelation, points: np.ndarray) -> float:
    return pair_auroc(
        relation.similar, pair_similarity(points, relation.left, relation.right, "dot")
    )


def test_random_points_have_a_mean_squared_distance_of_one():
    points = random_points(4000, 7, np.random.default_rng(0))
    assert points.dtype == np.float32
    squares = ((points[:2000] - points[2000:]) ** 2).sum(axis=1)
    assert squares.mean() == pytest.approx(1, abs=0.03)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.02)


def test_the_start_orders_held_out_pairs(relations):
    kept, held_out = relations
    warm = dot_auroc(held_out, started(kept, DotLoss()))
    cold = dot_auroc(held_out, random_points(3000, 16, np.random.default_rng(0)))
    assert warm > 0.75
    assert abs(cold - 0.5) < 0.05


@pytest.mark.parametrize("loss", [ContrastiveLoss(2.0), DotLoss()], ids=repr)
def test_the_start_is_what_the_dense_product_spreads_and_a_little_noise(loss):
    relation = LabelRelation(np.arange(60) % 4).sample_pairs(3, 3, random_state=0)
    points = random_points(60, 5, np.random.default_rng(0))
    degree = 2 * relation.n_pairs / 60
    spread = oracle.spread(relation, points, 2, (degree - 1) / degree**2)  # 2 = ⌊ln(60) / 2⌋
    rest = started(relation, loss, dim=5) - 1e-3 * loss.length * points
    cosine = (rest * spread).sum() / (np.linalg.norm(rest) * np.linalg.norm(spread))
    assert cosine == pytest.approx(1, abs=1e-5)


def test_solving_from_it_orders_held_out_pairs_far_above_a_random_start(relations):
    kept, held_out = relations
    options = {"loss": "dot", "random_state": 0, "device": "cpu"}
    warm = dot_auroc(held_out, solve_targets(kept, 16, **options).points)
    far = random_points(3000, 16, np.random.default_rng(0))
    cold = dot_auroc(held_out, solve_targets(kept, 16, init=far, **options).points)
    assert warm > 0.95
    assert warm > cold + 0.15


def test_a_small_random_start_orders_held_out_pairs_above_a_large_one(relations):
    kept, held_out = relations
    options = {"loss": "dot", "random_state": 0, "device": "cpu", "tol": 1e-5}
    small = dot_auroc(held_out, solve_targets(kept, 16, init="random", **options).points)
    far = random_points(3000, 16, np.random.default_rng(0))
    large = dot_auroc(held_out, solve_targets(kept, 16, init=far, **options).points)
    assert small > large + 0.1


@pytest.mark.parametrize("margin", [1.0, 5.0])
def test_a_contrastive_start_has_the_margin_between_pairs_not_alike(relations, margin):
    kept, _ = relations
    points = started(kept, ContrastiveLoss(margin)).astype(np.float64)
    apart = kept.similar == 0
    squares = ((points[kept.left[apart]] - points[kept.right[apart]]) ** 2).sum(axis=1)
    assert squares.mean() == pytest.approx(margin**2, rel=0.05)


def test_a_dot_start_has_the_size_of_least_loss(relations):
    kept, _ = relations
    points = started(kept, DotLoss()).astype(np.float64)
    products = (points[kept.left] * points[kept.right]).sum(axis=1)
    losses = [(0.5 * (kept.similar - s**2 * products) ** 2).mean() for s in (0.8, 1.0, 1.25)]
    assert losses[1] < min(losses[0], losses[2])


@pytest.mark.parametrize("loss", [ContrastiveLoss(), DotLoss()], ids=repr)
def test_the_same_generator_gives_the_same_start(relations, loss):
    kept, _ = relations
    assert started(kept, loss, seed=3).tobytes() == started(kept, loss, seed=3).tobytes()
    assert started(kept, loss, seed=3).tobytes() != started(kept, loss, seed=4).tobytes()


@pytest.mark.parametrize("similar", [[1, 1, 1], [0, 0, 0]])
@pytest.mark.parametrize("loss", [ContrastiveLoss(), DotLoss()], ids=repr)
def test_pairs_of_one_kind_only_have_a_finite_start(similar, loss):
    points = started(PairRelation([0, 1, 0], [1, 2, 2], similar, 3), loss, dim=2)
    assert np.isfinite(points).all()
    assert points.any(axis=1).all()
