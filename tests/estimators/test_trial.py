"""Ways tried before judges: what they learn from, which is chosen, and what is learnt again."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import pairs_within, triplets_within
from little_trials import (
    PAIRS,
    Y,
    looks_at,
    right_of,
    some_ways,
    watched_ways,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from torch import nn

from twofold import PairRelation
from twofold.estimators import _trial as trial_module
from twofold.estimators._choice import Choice
from twofold.estimators._judge import Judge
from twofold.estimators._trial import Fold, Trial
from twofold.estimators._ways import MAPS, Ways


def a_fold(rows, relation: PairRelation = PAIRS) -> Fold:
    """Return a fold whose judge knows some of the pairs."""
    is_out = np.isin(np.arange(len(relation)), rows)
    kept, out = (relation.take_pairs(np.flatnonzero(part)) for part in (~is_out, is_out))
    return Fold(kept, Judge(out, "euclidean"))


def few_and_many() -> tuple[Fold, Fold]:
    """Return a fold that asks about a few items, and one that asks about most."""
    few, many = a_fold(np.arange(4)), a_fold(np.arange(60))
    assert few.leaves_most
    assert not many.leaves_most
    return few, many


def a_trial(ways: Ways, folds, relation=PAIRS, apart: Fold | None = None) -> Trial:
    trial = Trial(ways, relation, folds)
    for map_ in MAPS:
        trial.try_map(map_)
    if apart is not None:
        trial.try_embedder(apart)
    return trial


# ---- folds ----


def test_a_fold_knows_the_items_that_its_judge_does_not_ask_about():
    fold = a_fold(np.arange(10))
    asked_about = {*PAIRS.left[:10], *PAIRS.right[:10]}
    assert set(fold.unasked) == set(range(80)) - asked_about


@pytest.mark.parametrize(("n_asked", "expected"), [(28, True), (30, False)])
def test_two_thirds_of_the_items_are_most(n_asked, expected):
    left = np.arange(n_asked // 2)
    judge = Judge(PairRelation(left, left + 40, left % 2, 80), "euclidean")
    assert Fold(PAIRS, judge).leaves_most is expected


# ---- what is learnt from while ways are tried ----


def test_maps_are_tried_on_every_fold_and_judged_by_all():
    folds = [a_fold(np.arange(k, 160, 4)) for k in range(3)]
    ways = watched_ways()
    trial = a_trial(ways, folds)
    assert [seen[0] for seen in ways.seen] == ["linear"] * 3 + ["landmarks"] * 3
    for (_, statements, _, n_rounds, rows, _), fold in zip(ways.seen, 2 * folds, strict=True):
        assert statements is fold.kept
        assert rows is n_rounds is None
    for map_ in MAPS:
        found = [seen[5].judged for seen in ways.seen if seen[0] == map_]
        np.testing.assert_allclose(trial.judged[map_], np.mean(found, axis=0))


def test_what_judges_ask_about_is_not_learnt_by_the_embedder():
    few, many = few_and_many()
    for fold in (few, many):
        ways = watched_ways()
        a_trial(ways, [fold], apart=fold)
        way, statements, judge, _, rows, learnt = ways.seen[-1]
        assert way == "embedder"
        assert statements is fold.kept
        assert judge is not None
        assert not set(rows) & {*fold.judge.relation.left, *fold.judge.relation.right}
        np.testing.assert_array_equal(rows, fold.unasked)
        (found,) = {one.regressor.n_samples_fit_ for one in [learnt.embedder]}
        assert found == len(rows)


def test_the_map_beside_it_does_not_learn_them_either_and_stops_at_its_best_round():
    _, many = few_and_many()
    ways = watched_ways()
    trial = a_trial(ways, [many], apart=many)
    way, statements, judge, n_rounds, rows, learnt = ways.seen[-2]
    assert way == trial.chosen.guide
    assert statements is many.kept
    assert judge is not None
    assert n_rounds == trial.looks[way].choose_round() == trial.chosen.n_guiding
    np.testing.assert_array_equal(rows, many.unasked)
    np.testing.assert_array_equal(ways.near, learnt.points)


def test_a_map_that_did_not_learn_them_before_is_not_learnt_again():
    few, _ = few_and_many()
    ways = watched_ways()
    trial = a_trial(ways, [few], apart=few)
    assert [seen[0] for seen in ways.seen] == ["linear", "landmarks", "embedder"]
    for seen in ways.seen:
        np.testing.assert_array_equal(seen[4], few.unasked)
    guided = next(seen[5] for seen in ways.seen if seen[0] == trial.chosen.guide)
    np.testing.assert_array_equal(ways.near, guided.points)


def test_seconds_are_those_of_all_that_was_learnt():
    _, many = few_and_many()
    ways = watched_ways()
    trial = a_trial(ways, [many], apart=many)
    trial.learn()
    for phase in ("targets", "regression"):
        spent = sum(seen[5].seconds[phase] for seen in ways.seen)
        assert trial.seconds[phase] == pytest.approx(spent)


def test_the_embedder_s_fold_asks_about_half_of_the_items_at_most():
    relation = pairs_within(Y, 600)
    ways = some_ways()
    choice = Choice([ways], relation, np.random.default_rng(0), [])
    first = choice._hold_out(0.2)[0]
    apart = choice._fold_apart(0.2, first)
    assert not first.leaves_most
    assert len(first.unasked) < 10 < 40 <= len(apart.unasked)
    assert apart.kept.n_pairs + apart.judge.relation.n_pairs == relation.n_pairs


def test_triplets_are_parted_and_tried_too():
    relation = triplets_within(Y)
    ways = some_ways(KNeighborsRegressor(3), is_triplets=True)
    choice = Choice([ways], relation, np.random.default_rng(0), [])
    folds = choice._hold_out(0.2)
    apart = choice._fold_apart(0.2, folds[0])
    trial = a_trial(ways, folds, relation, apart)
    assert len(apart.unasked) >= 40
    assert trial.is_clearly_better
    assert trial.learn().points.shape == (80, 5)


@pytest.mark.parametrize(
    ("n_pairs", "expected"), [(40, 5), (400, 5), (1400, 2), (3000, 1), (9000, 1)]
)
def test_statements_are_held_out_as_often_as_it_takes_for_250_of_the_rarer_kind(n_pairs, expected):
    left = np.arange(n_pairs)
    relation = PairRelation(left, left + n_pairs, left % 2, 2 * n_pairs)
    choice = Choice([some_ways()], relation, np.random.default_rng(0), [])
    folds = choice._hold_out(0.2)
    assert len(folds) == expected
    share = min(0.2, 250 / (n_pairs / 2))
    for fold in folds:
        assert len(fold.judge.relation) == pytest.approx(share * n_pairs, abs=2)


def test_maps_that_were_tried_go_on_with_more_folds():
    first, second = a_fold(np.arange(0, 160, 4)), a_fold(np.arange(1, 160, 4))
    at_once = Trial(some_ways(), PAIRS, [first, second])
    at_once.try_map("landmarks")
    ways = watched_ways()
    trial = Trial(ways, PAIRS, [first])
    trial.try_map("landmarks")
    of_first = list(trial.looks["landmarks"].found)
    trial.go_on_with([second])
    assert [seen[0] for seen in ways.seen] == ["landmarks"] * 2
    assert ways.seen[1][1] is second.kept
    of_both = trial.looks["landmarks"].found
    assert of_both == pytest.approx(at_once.looks["landmarks"].found)
    assert of_both != of_first
    assert trial.n_judging == len(first.judge.relation) + len(second.judge.relation)


# ---- which way ----


def judged_trial(embedder, found: dict, beside) -> Trial:
    """Return a trial whose judges saw what is given, by way, and of the map beside the embedder."""
    trial = Trial(some_ways(embedder), PAIRS, [a_fold(np.arange(60))])
    for way, n_right in found.items():
        trial.looks[way] = looks_at(*map(right_of, n_right))
        trial._tried[way] = trial_module._Tried(None, 1, 1)
    trial._beside = looks_at(*map(right_of, beside))
    return trial


BROUGHT = {
    "regressor": Ridge(),
    "module": nn.Linear(5, 5),
    "mnist": "mnist",
}


@pytest.mark.parametrize("kind", ["mlp", *BROUGHT])
@pytest.mark.parametrize(("n_embedder", "n_beside"), [(90, 90), (92, 92), (100, 100)])
def test_of_equals_an_embedder_that_was_brought_is_chosen_and_else_the_map(
    kind, n_embedder, n_beside
):
    embedder = BROUGHT.get(kind, "mlp")
    found = {"linear": (50, 70), "landmarks": (50, 80), "embedder": (50, n_embedder)}
    trial = judged_trial(embedder, found, (50, n_beside))
    assert trial.chosen.way == ("landmarks" if kind == "mlp" else "embedder")
    assert trial.chosen.guide == "landmarks"
    assert trial.is_clearly_better


@pytest.mark.parametrize("embedder", ["mlp", *BROUGHT.values()])
def test_what_is_better_is_chosen_whoever_brought_it(embedder):
    found = {"linear": (50, 80), "landmarks": (50, 70), "embedder": (50, 90)}
    assert judged_trial(embedder, found, (50, 80)).chosen.way == "embedder"
    found["embedder"] = (50, 70)
    assert judged_trial(embedder, found, (50, 80)).chosen.way == "linear"


@pytest.mark.parametrize("embedder", ["mlp", *BROUGHT.values()])
def test_an_embedder_that_is_worse_than_the_features_in_all_rounds_is_not_chosen(embedder):
    found = {"linear": (50, 90), "landmarks": (50, 70), "embedder": (50, 30, 40)}
    trial = judged_trial(embedder, found, (50, 50))  # few judges, who find the map no better
    assert trial.is_clearly_better
    assert trial.chosen.way == "linear"


def test_of_maps_that_are_equal_the_linear_one_guides():
    found = {"linear": (50, 80), "landmarks": (50, 80), "embedder": (50, 90)}
    assert judged_trial("mlp", found, (50, 80)).chosen.guide == "linear"


def test_without_the_embedder_the_better_map_is_chosen():
    trial = a_trial(watched_ways(), [a_fold(np.arange(60))])
    best = max(MAPS, key=lambda map_: max(trial.judged[map_]))
    assert trial.chosen.way == trial.chosen.guide == best
    assert trial.is_clearly_better


@pytest.mark.parametrize(
    ("n_map", "n_embedder", "expected"), [(50, 50, False), (51, 50, False), (60, 60, True)]
)
def test_what_is_hardly_better_than_the_features_is_not_clearly_so(n_map, n_embedder, expected):
    found = {"linear": (50, n_map), "landmarks": (50, 50), "embedder": (50, n_embedder)}
    assert judged_trial("mlp", found, (50, n_map)).is_clearly_better is expected


# ---- what is learnt in the end ----


def test_what_was_chosen_is_learnt_again_from_all_statements_for_the_chosen_rounds():
    _, many = few_and_many()
    ways = watched_ways()
    trial = a_trial(ways, [many])
    n_tried = len(ways.seen)
    learnt = trial.learn()
    ((way, statements, judge, n_rounds, rows, found),) = ways.seen[n_tried:]
    assert found is learnt
    assert way == trial.chosen.way
    assert statements is PAIRS
    assert judge is rows is None
    assert n_rounds == trial.chosen.n_rounds == trial.looks[way].choose_round()


def test_an_embedder_is_learnt_again_from_all_statements_and_items_and_its_guide_before(
    monkeypatch,
):
    _, many = few_and_many()
    ways = watched_ways()
    trial = a_trial(ways, [many], apart=many)
    monkeypatch.setattr(Trial, "_way", "embedder")
    n_tried = len(ways.seen)
    learnt = trial.learn()
    guided, found = ways.seen[n_tried:]
    assert (guided[0], found[0]) == (trial.chosen.guide, "embedder")
    for seen, n_rounds in ((guided, trial.chosen.n_guiding), (found, trial.chosen.n_rounds)):
        assert seen[1] is PAIRS
        assert seen[2] is seen[4] is None
        assert seen[3] == n_rounds
    assert found[5] is learnt
    np.testing.assert_array_equal(ways.near, guided[5].points)


@pytest.mark.parametrize("way", ["linear", "landmarks", "embedder"])
def test_what_was_learnt_from_nearly_all_statements_is_not_learnt_again(way, monkeypatch):
    few, _ = few_and_many()
    ways = watched_ways()
    trial = a_trial(ways, [few], apart=few)
    monkeypatch.setattr(Trial, "_way", way)
    n_tried = len(ways.seen)
    learnt = trial.learn()
    assert len(ways.seen) == n_tried
    assert learnt is next(seen[5] for seen in ways.seen if seen[0] == way)
    assert trial.chosen.n_rounds == trial.looks[way].best_round
    judged = trial.judged[way]
    assert judged[trial.chosen.n_rounds] == max(judged)


def test_the_round_that_is_told_is_the_one_that_was_learnt_when_several_judged():
    """Each fold keeps more than nine tenths of the statements; the last judge is contrary."""
    folds = [a_fold(np.arange(14 * k, 14 * k + 14)) for k in range(5)]
    last = folds[-1].judge.relation
    contrary = PairRelation(last.left, last.right, 1 - last.similar, 80)
    folds[-1] = Fold(folds[-1].kept, Judge(contrary, "euclidean"))
    ways = watched_ways()
    trial = a_trial(ways, folds)
    found, chosen = trial.learn(), trial.chosen
    statements = PAIRS if ways.seen[-1][1] is PAIRS else folds[-1].kept
    expected = some_ways().by_map(chosen.way, statements, n_rounds=chosen.n_rounds)
    np.testing.assert_allclose(found.points, expected.points, atol=0.01)
