"""One contract for every engine: a whole Adam step equals the oracle's, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import target_oracles as oracle
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.relations import PairRelation, TripletRelation
from twofold.targets import ContrastiveLoss, DotLoss, TripletLoss, _engine_torch
from twofold.targets._engine import AdamStep, Engine, Objective
from twofold.targets._engine_cpu import CpuEngine
from twofold.targets._engine_torch import TorchEngine

MakeEngine = Callable[[Objective, np.ndarray], Engine]

NEEDS_CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]


def torch_engine(objective: Objective, start: np.ndarray) -> Engine:
    return TorchEngine(objective, start, "cpu")


def cuda_engine(objective: Objective, start: np.ndarray) -> Engine:
    return TorchEngine(objective, start, "cuda")


def cuda_engine_without_triton(objective: Objective, start: np.ndarray) -> Engine:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_engine_torch, "_fused_gather", lambda: None)
        return TorchEngine(objective, start, "cuda")


ENGINES = [
    pytest.param(CpuEngine, id="numba"),
    pytest.param(torch_engine, id="torch-cpu"),
    pytest.param(cuda_engine, id="torch-cuda", marks=NEEDS_CUDA),
    pytest.param(cuda_engine_without_triton, id="torch-cuda-plain", marks=NEEDS_CUDA),
]
LOSSES = [ContrastiveLoss(), ContrastiveLoss(2.5), DotLoss(), TripletLoss(), TripletLoss(0.4)]
N_ITEMS = 12


def pytest_generate_tests(metafunc):
    """Run every test that asks for an engine on all of them."""
    if "make_engine" in metafunc.fixturenames:
        metafunc.parametrize("make_engine", ENGINES)


def graded_pairs(rng: np.random.Generator, *, weighted: bool) -> PairRelation:
    """Pairs with grades, repeated pairs and pairs given both ways; items 10 and 11 in none."""
    left = rng.integers(10, size=30)
    right = (left + rng.integers(1, 10, size=30)) % 10
    keys = np.minimum(left, right) * 10 + np.maximum(left, right)
    side = rng.random(100)[keys] < 0.5  # one side a pair of items, so that none contradict
    high, low = rng.choice([1.0, 0.75], 30), rng.choice([0.0, 0.25], 30)
    similar = np.where(side, high, low)
    left, right = np.append(left, [left[0], right[0]]), np.append(right, [right[0], left[0]])
    similar = np.append(similar, [similar[0], similar[0]])
    weight = rng.uniform(0.1, 4, left.size) if weighted else None
    return PairRelation(left, right, similar, N_ITEMS, weight)


def some_triplets(rng: np.random.Generator) -> TripletRelation:
    """Triplets, one of them twice; items 10 and 11 in none."""
    rows = np.array([rng.permutation(10)[:3] for _ in range(25)])
    rows = np.vstack([rows, rows[:1]])
    return TripletRelation(rows[:, 0], rows[:, 1], rows[:, 2], N_ITEMS)


def a_problem(
    loss, dim: int, seed: int, *, weighted: bool = True, prior_weight: float = 0.0
) -> tuple[Objective, np.ndarray]:
    rng = np.random.default_rng(seed)
    relation = (
        some_triplets(rng)
        if isinstance(loss, TripletLoss)
        else graded_pairs(rng, weighted=weighted)
    )
    prior = rng.normal(size=(N_ITEMS, dim)).astype(np.float32) if prior_weight else None
    size = loss.length / np.sqrt(dim)
    start = rng.normal(scale=size, size=(N_ITEMS, dim)).astype(np.float32)
    return Objective(relation, loss, prior, prior_weight), start


def assert_follows_oracle(make_engine: MakeEngine, objective: Objective, start, n_steps: int = 4):
    engine, adam = make_engine(objective, start), oracle.AdamOracle(objective, start)
    for epoch in range(1, n_steps + 1):
        # The rate falls by half once, as it does in the loop.
        step = AdamStep(0.05 if epoch < 3 else 0.025, 0.5, 0.99, epoch)
        assert engine.sweep(step) == pytest.approx(adam.step(step), rel=1e-5, abs=1e-7)
        engine.advance()
        points = engine.points()
        assert points.dtype == np.float32
        np.testing.assert_allclose(points, adam.points, atol=5e-5)


@pytest.mark.parametrize("prior_weight", [0.0, 0.8])
@pytest.mark.parametrize("dim", [1, 2, 3, 16, 17, 33])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_adam_steps_are_the_oracles(make_engine, loss, dim, prior_weight):
    objective, start = a_problem(loss, dim, seed=dim, prior_weight=prior_weight)
    assert_follows_oracle(make_engine, objective, start)


@pytest.mark.parametrize("loss", [ContrastiveLoss(), DotLoss()], ids=repr)
def test_adam_steps_without_weights_are_the_oracles(make_engine, loss):
    objective, start = a_problem(loss, 5, seed=1, weighted=False)
    assert_follows_oracle(make_engine, objective, start)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_one_statement_steps_as_the_oracle(make_engine, loss):
    rng = np.random.default_rng(3)
    relation = (
        TripletRelation([0], [1], [2], 3)
        if isinstance(loss, TripletLoss)
        else PairRelation([0], [2], [0.25], 3, weight=[3.0])
    )
    start = rng.normal(scale=0.3, size=(3, 2)).astype(np.float32)
    assert_follows_oracle(make_engine, Objective(relation, loss), start)


@pytest.mark.parametrize("loss", [ContrastiveLoss(), DotLoss(), TripletLoss()], ids=repr)
@pytest.mark.parametrize("prior_weight", [0.0, 0.8])
def test_the_step_sees_the_gradient_of_n_times_the_objective(make_engine, loss, prior_weight):
    # Adam forgets a gradient's size, except beside its epsilon of 1e-8: without memory and with
    # gradients of that size, one step is g / (|g| + 1e-8).
    rng = np.random.default_rng(4)
    relation = (
        some_triplets(rng)
        if isinstance(loss, TripletLoss)
        else PairRelation([0, 1, 2, 3, 0], [1, 2, 3, 4, 2], np.ones(5), 6, [1, 2, 3, 0.5, 1])
    )
    start = rng.normal(scale=1e-8, size=(relation.n_items, 4)).astype(np.float32)
    prior = rng.normal(scale=1e-8, size=start.shape).astype(np.float32) if prior_weight else None
    objective = Objective(relation, loss, prior, prior_weight)
    engine = make_engine(objective, start)
    engine.sweep(AdamStep(1.0, 0.0, 0.0, 1))
    engine.advance()
    slope = relation.n_items * oracle.gradient(objective, start)
    linked = relation.linked
    sizes = np.abs(slope[linked])
    assert 1e-9 < np.median(sizes) < 1e-7
    expected = start - slope / (np.abs(slope) + 1e-8)
    np.testing.assert_allclose(engine.points()[linked], expected[linked], atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_items_in_no_statement_stay_where_they_are(make_engine, loss):
    objective, start = a_problem(loss, 4, seed=5)
    engine = make_engine(objective, start)
    for epoch in (1, 2, 3):
        engine.sweep(AdamStep(0.1, 0.5, 0.99, epoch))
        engine.advance()
    points = engine.points()
    np.testing.assert_array_equal(points[10:], start[10:])
    assert (points[:10] != start[:10]).any(axis=1).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_step_along_the_gradient_lowers_the_loss(make_engine, loss):
    objective, start = a_problem(loss, 4, seed=6)
    engine = make_engine(objective, start)
    before = engine.sweep(AdamStep(1e-3, 0.5, 0.99, 1))
    engine.advance()
    assert engine.sweep(AdamStep(1e-3, 0.5, 0.99, 2)) < before


def test_sweeping_alone_does_not_move_the_points(make_engine):
    objective, start = a_problem(DotLoss(), 4, seed=7)
    engine = make_engine(objective, start)
    engine.sweep(AdamStep(0.1, 0.5, 0.99, 1))
    np.testing.assert_array_equal(engine.points(), start)


def test_the_given_start_is_not_written_to(make_engine):
    objective, start = a_problem(DotLoss(), 4, seed=8)
    copy = start.copy()
    engine = make_engine(objective, start)
    engine.spread(2, 0.1)
    engine.blend(3.0, start)
    for epoch in (1, 2, 3):
        engine.sweep(AdamStep(0.1, 0.5, 0.99, epoch))
        engine.advance()
    np.testing.assert_array_equal(start, copy)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_passes", [1, 2, 5])
def test_spread_is_the_dense_product(make_engine, n_passes, weighted):
    objective, start = a_problem(DotLoss(), 5, seed=9, weighted=weighted)
    engine = make_engine(objective, start)
    engine.spread(n_passes, 0.15)
    expected = oracle.spread(objective.relation, start, n_passes, 0.15)
    np.testing.assert_allclose(engine.points(), expected, atol=1e-5)


def test_spread_of_an_item_in_no_pair_is_zero(make_engine):
    objective, start = a_problem(DotLoss(), 5, seed=10)
    engine = make_engine(objective, start)
    engine.spread(1, 0.15)
    assert not engine.points()[10:].any()


def test_spread_of_an_item_with_halfway_grades_only_is_finite(make_engine):
    relation = PairRelation([0, 1], [1, 2], [0.5, 1.0], 3)
    engine = make_engine(Objective(relation, DotLoss()), np.ones((3, 2), dtype=np.float32))
    engine.spread(2, 0.1)
    np.testing.assert_allclose(
        engine.points(), oracle.spread(relation, np.ones((3, 2)), 2, 0.1), atol=1e-6
    )


def test_adam_goes_on_from_points_that_were_spread_and_blended(make_engine):
    objective, start = a_problem(ContrastiveLoss(), 5, seed=11)
    engine = make_engine(objective, start)
    engine.spread(3, 0.15)
    engine.blend(2.0, start)
    spread = oracle.spread(objective.relation, start, 3, 0.15)
    adam = oracle.AdamOracle(objective, 2 * spread + start)
    for epoch in (1, 2, 3):
        step = AdamStep(0.05, 0.5, 0.99, epoch)
        assert engine.sweep(step) == pytest.approx(adam.step(step), rel=1e-4)
        engine.advance()
    np.testing.assert_allclose(engine.points(), adam.points, atol=1e-4)


def test_retreat_goes_back_and_forgets_the_momentum_but_not_the_second_moment(make_engine):
    objective, start = a_problem(ContrastiveLoss(), 4, seed=15)
    engine = make_engine(objective, start)
    first = engine.sweep(AdamStep(0.05, 0.5, 0.99, 1))
    engine.advance()
    engine.sweep(AdamStep(0.05, 0.5, 0.99, 2))
    engine.retreat()
    np.testing.assert_array_equal(engine.points(), start)
    step = AdamStep(0.02, 0.5, 0.99, epoch=3, forgotten=2)
    assert engine.sweep(step) == pytest.approx(first, rel=1e-6)
    engine.advance()
    adam = oracle.AdamOracle(objective, start)
    adam.step(AdamStep(0.05, 0.5, 0.99, 1))
    adam.step(AdamStep(0.05, 0.5, 0.99, 2))
    adam.points, adam.first = start.astype(np.float64), np.zeros(start.shape)
    adam.step(step)
    np.testing.assert_allclose(engine.points(), adam.points, atol=1e-5)


def test_blend_scales_and_moves_all_points_and_rows_picks_some(make_engine):
    objective, start = a_problem(DotLoss(), 3, seed=12)
    engine = make_engine(objective, start)
    offset = np.linspace(0, 1, start.size, dtype=np.float32).reshape(start.shape)
    engine.blend(2.5, offset)
    np.testing.assert_allclose(engine.points(), 2.5 * start + offset, rtol=1e-5, atol=1e-6)
    items = np.array([4, 0, 4, 11])
    np.testing.assert_array_equal(engine.rows(items), engine.points()[items])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_coincident_points_leave_the_rest_of_the_step_as_the_oracles(make_engine, loss):
    objective, start = a_problem(loss, 3, seed=13)
    start[[0, 1, 2]] = start[3]
    assert_follows_oracle(make_engine, objective, start, n_steps=1)


@pytest.mark.parametrize("loss", [ContrastiveLoss(), TripletLoss()], ids=repr)
def test_points_far_from_the_origin_step_as_those_near_it(make_engine, loss):
    objective, start = a_problem(loss, 3, seed=14)
    start = np.round(start * 1024) / 1024 + np.float32(64)  # exact in float32
    assert_follows_oracle(make_engine, objective, start, n_steps=1)


@pytest.mark.parametrize("loss", [ContrastiveLoss(), DotLoss(), TripletLoss()], ids=repr)
@pytest.mark.parametrize("chunk_numbers", [1, 4 * 7])
def test_statements_in_several_chunks_step_as_in_one(monkeypatch, loss, chunk_numbers):
    objective, start = a_problem(loss, 4, seed=15)  # 26 triplets or 64 links, of 4 numbers each
    monkeypatch.setattr(_engine_torch, "CHUNK_NUMBERS", chunk_numbers)
    assert_follows_oracle(torch_engine, objective, start)


def loss_at(make_engine: MakeEngine, relation: PairRelation, loss, points: np.ndarray) -> float:
    engine = make_engine(Objective(relation, loss), points.astype(np.float32))
    return engine.sweep(AdamStep(0.1, 0.5, 0.99, 1))


PAIR_LOSSES = pytest.mark.parametrize("loss", [ContrastiveLoss(), DotLoss()], ids=repr)


@PAIR_LOSSES
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_sides_and_names_do_not_change_the_loss(make_engine, loss, seed):
    rng = np.random.default_rng(seed)
    objective, points = a_problem(loss, 3, seed)
    pairs = objective.relation
    expected = loss_at(make_engine, pairs, loss, points)
    order, sides = rng.permutation(len(pairs)), rng.random(len(pairs)) < 0.5
    names = rng.permutation(N_ITEMS)
    left = np.where(sides, pairs.left, pairs.right)[order]
    right = np.where(sides, pairs.right, pairs.left)[order]
    renamed = PairRelation(
        names[left], names[right], pairs.similar[order], N_ITEMS, pairs.weight[order]
    )
    moved = np.empty_like(points)
    moved[names] = points
    assert loss_at(make_engine, renamed, loss, moved) == pytest.approx(expected, rel=1e-5)


@PAIR_LOSSES
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_rotation_does_not_change_the_loss(make_engine, loss, seed):
    objective, points = a_problem(loss, 4, seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4))).Q
    expected = loss_at(make_engine, objective.relation, loss, points)
    assert loss_at(make_engine, objective.relation, loss, points @ turn) == pytest.approx(
        expected, rel=1e-5
    )


@PAIR_LOSSES
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.01, 100))
def test_a_doubled_pair_is_weight_two_and_common_weights_are_none(make_engine, loss, seed, scale):
    objective, points = a_problem(loss, 3, seed, weighted=False)
    pairs = objective.relation
    doubled = PairRelation(
        np.append(pairs.left, pairs.left[5]),
        np.append(pairs.right, pairs.right[5]),
        np.append(pairs.similar, pairs.similar[5]),
        N_ITEMS,
    )
    weight = np.full(len(pairs), scale)
    weight[5] *= 2
    weighted = PairRelation(pairs.left, pairs.right, pairs.similar, N_ITEMS, weight)
    assert loss_at(make_engine, weighted, loss, points) == pytest.approx(
        loss_at(make_engine, doubled, loss, points), rel=1e-5
    )
