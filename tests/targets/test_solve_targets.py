"""`solve_targets` on pairs and triplets: what it gives, when it stops, what it promises."""

from __future__ import annotations

import numpy as np
import pytest
import target_oracles as oracle
from sklearn.exceptions import ConvergenceWarning

from twofold.evaluation import pair_auroc, pair_similarity
from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets import (
    ContrastiveLoss,
    DotLoss,
    TargetSolution,
    TripletLoss,
    _adam,
    _threads,
    solve_targets,
)
from twofold.targets._engine import Objective
from twofold.targets._engine_torch import TorchEngine

LOSSES = {"contrastive": ContrastiveLoss(), "dot": DotLoss()}
BOTH_LOSSES = pytest.mark.parametrize("loss", ["contrastive", "dot"])


def solve(relation, dim, **options) -> TargetSolution:
    return solve_targets(relation, dim, **{"device": "cpu", "random_state": 0, **options})


def class_pairs(n_classes: int = 4, n_each: int = 15, n_partners: int = 4) -> PairRelation:
    classes = LabelRelation(np.repeat(np.arange(n_classes), n_each))
    return classes.sample_pairs(n_partners, n_partners, random_state=0)


def auroc(relation: PairRelation, points: np.ndarray, loss: str) -> float:
    metric = "dot" if loss == "dot" else "euclidean"
    return pair_auroc(
        relation.similar, pair_similarity(points, relation.left, relation.right, metric)
    )


# What comes back


@BOTH_LOSSES
def test_the_fields_of_a_solution_agree(loss):
    relation = class_pairs()
    solution = solve(relation, 5, loss=loss)
    assert solution.points.shape == (relation.n_items, 5)
    assert solution.points.dtype == np.float32
    assert solution.history.dtype == np.float64
    assert solution.history.shape == (solution.n_epochs + 1,)
    assert solution.history[-1] == solution.loss
    assert solution.converged
    assert (solution.method, solution.device) == ("adam", "cpu")
    assert solution.seconds > 0
    assert "converged" in repr(solution)


@BOTH_LOSSES
@pytest.mark.parametrize("prior_weight", [0.0, 0.3])
def test_the_loss_is_the_objective_at_the_points(loss, prior_weight):
    pairs = class_pairs()
    rng = np.random.default_rng(1)
    relation = PairRelation(
        pairs.left, pairs.right, pairs.similar, pairs.n_items, rng.uniform(0.2, 3, len(pairs))
    )
    prior = rng.normal(size=(pairs.n_items, 3)).astype(np.float32)
    solution = solve(
        relation, 3, loss=loss, margin=1.5, tol=0.01, prior=prior, prior_weight=prior_weight
    )
    objective = Objective(
        relation, ContrastiveLoss(1.5) if loss == "contrastive" else DotLoss(), prior, prior_weight
    )
    expected = oracle.value(objective, solution.points)
    assert solution.loss == pytest.approx(expected, rel=1e-4)


def test_the_loss_of_triplets_is_the_objective_at_the_points():
    relation = TripletRelation([0, 1, 2, 3], [1, 2, 3, 0], [3, 0, 1, 2], 4)  # cannot all hold
    solution = solve(relation, 2, margin=0.5, tol=0.1)
    expected = oracle.value(Objective(relation, TripletLoss(0.5)), solution.points)
    assert solution.loss == pytest.approx(expected, rel=1e-4)
    assert solution.loss > 0.1


# Which method


@pytest.mark.parametrize(
    ("labels", "loss", "dim", "method"),
    [
        ([0, 1, 2, 0, 1, 2], "dot", 3, "exact"),
        ([0, 1, 2, 0, 1, 2], "contrastive", 3, "exact"),
        ([0, 1, 2, 0, 1, 2], "contrastive", 2, "exact"),
        ([0, 1, 2, 0, 1, 2], "contrastive", 1, "adam"),
        ([[1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]], "dot", 2, "exact"),
        ([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]], "contrastive", 4, "adam"),
    ],
)
def test_auto_takes_the_exact_solution_where_there_is_one(labels, loss, dim, method):
    solution = solve(LabelRelation(labels), dim, loss=loss, tol=0.5)
    assert solution.method == method


def test_auto_takes_adam_for_pairs_and_for_a_given_start_or_prior():
    labels = LabelRelation([0, 1, 0, 1])
    points = np.random.default_rng(0).normal(size=(4, 2))
    assert solve(labels, 2, init="random").method == "adam"
    assert solve(labels, 2, init=points).method == "adam"
    assert solve(labels, 2, loss="dot", prior=points, prior_weight=0.1).method == "adam"
    assert solve(oracle.all_pairs(labels), 2).method == "adam"


def test_method_adam_on_labels_samples_their_pairs():
    labels = LabelRelation(np.repeat([0, 1, 2], 20))
    solution = solve(labels, 4, loss="dot", method="adam")
    assert solution.method == "adam"
    assert auroc(oracle.all_pairs(labels), solution.points, "dot") > 0.999


# Better is better


@BOTH_LOSSES
@pytest.mark.parametrize("init", [None, "random"])
def test_the_alike_end_nearer_than_the_others(loss, init):
    relation = class_pairs()
    solution = solve(relation, 6, loss=loss, init=init, tol=1e-5)
    assert oracle.least_similarity_gap(relation, solution.points, loss) > 0.3


def test_triplets_hold_after_solving():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(40, 2))
    rows = np.array([rng.permutation(40)[:3] for _ in range(300)])
    near = np.linalg.norm(truth[rows[:, 0]] - truth[rows[:, 1]], axis=1)
    far = np.linalg.norm(truth[rows[:, 0]] - truth[rows[:, 2]], axis=1)
    rows = np.where((near < far)[:, None], rows, rows[:, [0, 2, 1]])
    solution = solve(TripletRelation(*rows.T, 40), 8, tol=1e-6)
    a, p, n = solution.points[rows].transpose(1, 0, 2)
    assert (((a - p) ** 2).sum(1) < ((a - n) ** 2).sum(1)).mean() > 0.99
    assert solution.loss < 0.02


@BOTH_LOSSES
@pytest.mark.parametrize("init", [None, "random"])
def test_sampled_pairs_of_a_thousand_items_are_ordered_perfectly(loss, init):
    relation = class_pairs(10, 100, 10)
    solution = solve(relation, 16, loss=loss, init=init)
    assert solution.converged
    assert auroc(relation, solution.points, loss) >= 0.9999
    if init == "random":
        assert solution.loss <= 0.01 * solution.history[0]


def test_the_margin_scales_a_contrastive_solution():
    relation = class_pairs()
    one, hundred = solve(relation, 4), solve(relation, 4, margin=100.0)
    np.testing.assert_allclose(hundred.points, 100 * one.points, atol=0.02)
    assert hundred.loss == pytest.approx(1e4 * one.loss, rel=1e-2)


def test_the_margin_of_triplets_is_one_of_squared_distances():
    relation = TripletRelation([0, 1, 2], [1, 0, 3], [2, 3, 0], 4)
    one, four = solve(relation, 2), solve(relation, 2, margin=4.0)
    np.testing.assert_allclose(four.points, 2 * one.points, rtol=1e-3)


# When it stops


@BOTH_LOSSES
def test_reaching_max_epochs_warns_and_says_so_in_the_result(loss):
    relation = class_pairs()
    with pytest.warns(ConvergenceWarning, match="max_epochs=3 ") as caught:
        solution = solve(relation, 4, loss=loss, max_epochs=3)
    expected = oracle.value(Objective(relation, LOSSES[loss]), solution.points)
    assert solution.loss == pytest.approx(expected, rel=1e-4)  # of these points, not of the next
    assert not solution.converged
    assert solution.n_epochs == 3
    assert len(solution.history) == 4
    assert "not converged" in repr(solution)
    assert len(caught) == 1


def test_the_warning_of_max_epochs_points_at_the_callers_line():
    with pytest.warns(ConvergenceWarning) as caught:
        solve_targets(class_pairs(), 4, max_epochs=1, random_state=0, device="cpu")
    assert caught[0].filename == __file__


def test_a_smaller_tol_runs_longer_and_ends_lower():
    relation = class_pairs()
    loose, tight = solve(relation, 4, tol=0.05), solve(relation, 4, tol=1e-5)
    assert loose.converged
    assert tight.converged
    assert loose.n_epochs < tight.n_epochs
    assert tight.loss < 0.5 * loose.loss


@BOTH_LOSSES
def test_the_callback_sees_every_epoch_and_its_loss(loss):
    seen = []
    solution = solve(class_pairs(), 4, loss=loss, callback=lambda *pair: seen.append(pair))
    assert [epoch for epoch, _ in seen] == list(range(solution.n_epochs + 1))
    assert [value for _, value in seen] == solution.history.tolist()


def test_a_callback_that_returns_true_stops_there():
    relation = class_pairs()
    solution = solve(relation, 4, callback=lambda epoch, loss: epoch == 2)
    assert solution.n_epochs == 2
    assert not solution.converged
    expected = oracle.value(Objective(relation, ContrastiveLoss()), solution.points)
    assert solution.loss == pytest.approx(expected, rel=1e-4)


def test_a_callback_that_raises_is_heard():
    def interrupt(epoch: int, loss: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(class_pairs(), 4, callback=interrupt)


@BOTH_LOSSES
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_starting_at_a_solution_ends_no_worse_than_it(loss, tol):
    classes = LabelRelation(np.repeat([0, 1, 2], 20))
    objective = Objective(oracle.all_pairs(classes), LOSSES[loss])
    best = solve(classes, 4, loss=loss, method="exact").points
    solution = solve(objective.relation, 4, loss=loss, init=best, tol=tol)
    ends_at, began_at = (oracle.value(objective, points) for points in (solution.points, best))
    assert ends_at <= began_at + 1e-6


@BOTH_LOSSES
@pytest.mark.parametrize("n_epochs", [1, 3, 10, 20])
def test_the_loss_never_rises_and_the_last_points_are_the_best(loss, n_epochs):
    # The rate is large enough to overshoot: such a step has to be taken back.
    objective = Objective(class_pairs(), LOSSES[loss])
    start = np.random.default_rng(0).normal(size=(objective.relation.n_items, 4))
    solution = solve(
        objective.relation, 4, loss=loss, init=start, callback=lambda epoch, _: epoch == n_epochs
    )
    assert solution.n_epochs == n_epochs
    assert (np.diff(solution.history) <= 0).all()
    assert oracle.value(objective, solution.points) == pytest.approx(solution.loss, rel=1e-4)


@BOTH_LOSSES
def test_one_pair_is_solved_exactly_with_a_small_tol(loss):
    # Near the optimum every full step overshoots: the rate has to fall.
    similar = 0.4 if loss == "contrastive" else 1.0
    least = similar * (1 - similar)  # m² y (1 − y) at a distance of (1 − y) m; 0 for the dot
    for seed in range(10):
        solution = solve(
            PairRelation([0], [1], [similar], 2), 2, loss=loss, tol=1e-7, random_state=seed
        )
        assert solution.converged
        assert solution.loss == pytest.approx(least, abs=5e-7)


@BOTH_LOSSES
def test_tol_is_a_part_of_the_loss_at_zero_however_bad_the_start(loss):
    relation = class_pairs()
    far = np.random.default_rng(0).normal(scale=3, size=(relation.n_items, 4))
    solution = solve(relation, 4, loss=loss, init=far, max_epochs=2000)
    at_zero = Objective(relation, LOSSES[loss]).loss_at_zero
    assert solution.history[0] > 30 * at_zero
    last_fall = solution.history[-6] - solution.history[-1]
    assert solution.converged
    assert last_fall <= 1e-3 * at_zero < solution.history[-7] - solution.history[-2]


# Starts, priors and items in no pair


def with_two_strangers() -> PairRelation:
    pairs = class_pairs()
    return PairRelation(pairs.left, pairs.right, pairs.similar, pairs.n_items + 2)


@BOTH_LOSSES
@pytest.mark.parametrize("init", [None, "random"])
def test_items_in_no_pair_are_zero(loss, init):
    solution = solve(with_two_strangers(), 4, loss=loss, init=init)
    assert not solution.points[-2:].any()
    assert solution.points[:-2].any(axis=1).all()


@BOTH_LOSSES
def test_items_in_no_pair_keep_their_init(loss):
    relation = with_two_strangers()
    init = np.random.default_rng(0).normal(size=(relation.n_items, 4))
    solution = solve(relation, 4, loss=loss, init=init)
    np.testing.assert_allclose(solution.points[-2:], init[-2:], atol=2e-4)


@BOTH_LOSSES
@pytest.mark.parametrize("prior_weight", [0.0, 1e-3, 0.1, 10.0])
def test_items_in_no_pair_have_their_prior(loss, prior_weight):
    relation = with_two_strangers()
    prior = np.random.default_rng(0).normal(size=(relation.n_items, 4))
    solution = solve(relation, 4, loss=loss, prior=prior, prior_weight=prior_weight)
    np.testing.assert_allclose(solution.points[-2:], prior[-2:], atol=1e-3)


@BOTH_LOSSES
@pytest.mark.parametrize("prior_weight", [1e4, 1e6])
def test_a_strong_prior_is_the_solution(loss, prior_weight):
    relation = class_pairs()
    prior = np.random.default_rng(0).normal(size=(relation.n_items, 4))
    solution = solve(relation, 4, loss=loss, prior=prior, prior_weight=prior_weight)
    np.testing.assert_allclose(solution.points, prior, atol=2e-3)


@BOTH_LOSSES
def test_a_stronger_prior_draws_nearer(loss):
    relation = class_pairs()
    prior = np.random.default_rng(0).normal(size=(relation.n_items, 4))
    away = [
        np.linalg.norm(
            solve(relation, 4, loss=loss, prior=prior, prior_weight=w, max_epochs=1000).points
            - prior
        )
        for w in (0.01, 1.0, 30.0)
    ]
    assert away[0] > 1.2 * away[1] > 3 * away[2]


@BOTH_LOSSES
def test_a_prior_without_weight_is_only_a_start(loss):
    relation = class_pairs()
    points = np.random.default_rng(0).normal(size=(relation.n_items, 4))
    by_prior = solve(relation, 4, loss=loss, prior=points, prior_weight=0.0)
    by_init = solve(relation, 4, loss=loss, init=points)
    np.testing.assert_allclose(by_prior.points, by_init.points, atol=1e-3)


def test_a_prior_keeps_the_order_that_pairs_leave_open():
    # Two groups that no pair joins: the pairs cannot tell where they are, the prior can.
    relation = PairRelation([0, 2], [1, 3], [1, 1], 4)
    prior = np.array([[0, 0], [0.5, 0], [5, 0], [5.5, 0]])
    solution = solve(relation, 2, prior=prior, prior_weight=0.05, tol=1e-6)
    centres = (solution.points[[0, 2]] + solution.points[[1, 3]]) / 2
    np.testing.assert_allclose(centres, [[0.25, 0], [5.25, 0]], atol=0.05)
    assert np.linalg.norm(solution.points[0] - solution.points[1]) < 0.1


@BOTH_LOSSES
def test_the_start_is_the_given_init(loss):
    relation = class_pairs()
    init = np.random.default_rng(0).normal(size=(relation.n_items, 4))
    solution = solve(relation, 4, loss=loss, init=init)
    expected = oracle.value(Objective(relation, LOSSES[loss]), init)
    assert solution.history[0] == pytest.approx(expected, rel=1e-3)


# The same again


@BOTH_LOSSES
@pytest.mark.parametrize("init", [None, "random"])
def test_the_same_seed_gives_the_same_bytes(loss, init):
    relation = class_pairs()
    first, second = (solve(relation, 5, loss=loss, init=init, random_state=7) for _ in range(2))
    assert first.points.tobytes() == second.points.tobytes()
    assert first.history.tobytes() == second.history.tobytes()
    other = solve(relation, 5, loss=loss, init=init, random_state=8)
    assert first.points.tobytes() != other.points.tobytes()


@pytest.mark.parametrize("loss", ["contrastive", "dot", "triplet"])
def test_the_number_of_threads_changes_no_bit(monkeypatch, loss):
    relation = class_pairs(5, 40, 5)
    if loss == "triplet":
        rng = np.random.default_rng(0)
        rows = np.array([rng.permutation(200)[:3] for _ in range(800)])
        relation, loss = TripletRelation(*rows.T, 200), "contrastive"
    monkeypatch.setattr(_threads, "NUMBERS_A_THREAD", 1)  # else one thread does it all
    found = []
    for n_threads in (1, 2, 8):
        monkeypatch.setattr(_threads, "allowed_threads", lambda n=n_threads: n)
        found.append(solve(relation, 9, loss=loss))
    assert [solution.n_threads for solution in found] == [1, 2, 8]
    for other in found[1:]:
        assert other.history.tobytes() == found[0].history.tobytes()
        assert other.points.tobytes() == found[0].points.tobytes()


def test_a_small_problem_takes_one_thread():
    assert solve(class_pairs(), 3).n_threads == 1


@BOTH_LOSSES
def test_solving_reads_and_writes_no_global_random_state(loss):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    solve(class_pairs(), 3, loss=loss)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@BOTH_LOSSES
@pytest.mark.parametrize("seed", range(5))
def test_order_and_sides_of_pairs_do_not_change_the_solution(loss, seed):
    rng = np.random.default_rng(seed)
    pairs = class_pairs(3, 6, 3)
    order, sides = rng.permutation(len(pairs)), rng.random(len(pairs)) < 0.5
    shuffled = PairRelation(
        np.where(sides, pairs.left, pairs.right)[order],
        np.where(sides, pairs.right, pairs.left)[order],
        pairs.similar[order],
        pairs.n_items,
    )
    init = rng.normal(scale=0.5, size=(pairs.n_items, 3))
    first = solve(pairs, 3, loss=loss, init=init, tol=0.01)
    second = solve(shuffled, 3, loss=loss, init=init, tol=0.01)
    np.testing.assert_allclose(first.points, second.points, atol=5e-3)


@BOTH_LOSSES
@pytest.mark.parametrize("seed", range(5))
def test_a_doubled_pair_solves_as_weight_two_and_common_weights_as_none(loss, seed):
    rng = np.random.default_rng(seed)
    pairs = class_pairs(3, 6, 3)
    k = int(rng.integers(len(pairs)))
    doubled = PairRelation(
        np.append(pairs.left, pairs.left[k]),
        np.append(pairs.right, pairs.right[k]),
        np.append(pairs.similar, pairs.similar[k]),
        pairs.n_items,
    )
    weight = np.full(len(pairs), 7.5)
    weight[k] = 15
    weighted = PairRelation(pairs.left, pairs.right, pairs.similar, pairs.n_items, weight)
    init = rng.normal(scale=0.5, size=(pairs.n_items, 3))
    first = solve(doubled, 3, loss=loss, init=init, tol=0.01)
    second = solve(weighted, 3, loss=loss, init=init, tol=0.01)
    np.testing.assert_allclose(first.points, second.points, atol=5e-3)
    assert first.loss == pytest.approx(second.loss, rel=0.01)


@BOTH_LOSSES
def test_the_torch_engine_solves_as_the_numba_one(monkeypatch, loss):
    relation = class_pairs()
    by_numba = solve(relation, 5, loss=loss, tol=0.01)
    monkeypatch.setattr(
        _adam, "_engine_on", lambda _, objective, start, __: TorchEngine(objective, start, "cpu")
    )
    by_torch = solve(relation, 5, loss=loss, tol=0.01)
    assert by_torch.loss == pytest.approx(by_numba.loss, rel=0.01)
    np.testing.assert_allclose(by_torch.points, by_numba.points, atol=0.01)
