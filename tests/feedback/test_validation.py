"""Validation traces against scikit-learn's AUROC, and the race of scripted candidates."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from toy_problems import beside_loud_noise, pairs_within, problem_of

from twofold.feedback._candidate import FeaturesCandidate, RidgeCandidate
from twofold.feedback._race import Race
from twofold.feedback._validation import ValidationTrace
from twofold.relations import ItemFold, PairRelation, TripletRelation

RNG = np.random.default_rng


def scripted_round(table) -> SimpleNamespace:
    """Return a round that reads similarities from a table, shape (n_items, n_items)."""
    seconds = {"targets": 1.0, "regression": 2.0}
    return SimpleNamespace(similarity=lambda left, right: table[left, right], seconds=seconds)


def traced(folds, tables) -> ValidationTrace:
    """Return the trace of rounds, the same in every fold."""
    trace = ValidationTrace("scripted")
    for held_out in folds:
        trace.open_fold(ItemFold(held_out, held_out, None))
        for table in tables:
            trace.record(scripted_round(table))
    return trace


def some_pairs(seed: int, n_pairs: int = 31) -> PairRelation:
    left, right = np.triu_indices(20, 1)
    some = RNG(seed).permutation(left.size)[:n_pairs]
    return PairRelation(left[some], right[some], np.arange(n_pairs) % 3 == 0, 20)


def some_tables(n_rounds: int) -> np.ndarray:
    return RNG(9).integers(5, size=(n_rounds, 20, 20))  # with ties


def test_scores_are_the_aurocs_of_whole_folds_and_of_halves_averaged_over_folds():
    folds, tables = [some_pairs(seed) for seed in (1, 2, 3)], some_tables(4)
    trace = traced(folds, tables)
    assert trace.n_folds == 3
    assert trace.can_be_halved
    for half, part in ((None, slice(None)), (0, slice(0, None, 2)), (1, slice(1, None, 2))):
        aurocs = [
            [roc_auc_score(fold.similar[part], each[fold.left, fold.right][part]) for fold in folds]
            for each in tables
        ]
        expected = np.mean(aurocs, axis=1)
        np.testing.assert_allclose(trace.scores(half), expected, rtol=1e-6)
        best, again = trace.best_ranks(half), trace.ranks(int(np.argmax(expected)), half)
        np.testing.assert_array_equal(np.concatenate(best), np.concatenate(again))


def test_triplets_are_scored_by_the_share_in_order_and_ties_count_one_half():
    triplets = TripletRelation([0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], 20)
    table = np.zeros((20, 20))
    table[[0, 1, 2], [4, 5, 6]] = 1, 1, -1  # in order, in order, out of order, a tie
    trace = traced([triplets], [table])
    assert trace.scores().tolist() == [2.5 / 4]
    assert trace.scores(0).tolist() == [1 / 2]
    assert trace.scores(1).tolist() == [1.5 / 2]


def test_a_fold_whose_half_lacks_a_kind_cannot_be_halved():
    alternating = PairRelation([0, 1, 2, 3], [4, 5, 6, 7], [1, 0, 1, 0], 20)
    assert not traced([some_pairs(1), alternating], some_tables(1)).can_be_halved


# ---- the race ----

X, Y = beside_loud_noise(60)
RIGHT = (Y[:, None] == Y).astype(float)
NOISE = RNG(3).normal(size=(60, 60))


def table(noise: float) -> np.ndarray:
    """Return similarities that are right but for noise."""
    return RIGHT + noise * NOISE


class Scripted:
    """A candidate whose rounds have tables of similarity; it counts as a user's own."""

    metric = "euclidean"

    def __init__(self, name: str, *tables) -> None:
        object.__setattr__(self, "script", (name, tables, []))

    @property
    def name(self) -> str:
        return self.script[0]

    def rounds(self, problem):
        assert problem.watch.callback is None
        self.script[2].append(problem)
        yield from map(scripted_round, self.script[1])

    @property
    def n_traced(self) -> int:
        return len(self.script[2])


class ScriptedMap(Scripted, RidgeCandidate):
    """The same as a ridge map."""


def a_race(*candidates, features=X) -> Race:
    race = Race(problem_of(features, pairs_within(Y, 300)), FeaturesCandidate("euclidean"), 0.2)
    race.run(list(candidates))
    assert race.folds
    return race


def test_all_learn_from_what_a_fold_keeps_and_who_is_clearly_behind_is_dropped():
    good, bad = ScriptedMap("good", table(0.3)), ScriptedMap("bad", -RIGHT)
    race = a_race(bad, good)
    assert good.n_traced == len(race.folds) > 1
    assert bad.n_traced == 1
    assert race.best() == (good, 1)
    learnt_from = [(problem.statements, problem.rows) for problem in good.script[2]]
    assert learnt_from == [(fold.kept, fold.known) for fold in race.folds]
    assert set(race.scores) == {"features as given, euclidean", "good", "bad"}


def test_of_equals_a_users_own_is_preferred_else_the_first():
    first, second = ScriptedMap("first", RIGHT), ScriptedMap("second", RIGHT)
    own, worse = Scripted("own", RIGHT), Scripted("worse", table(2.0))
    race = a_race(first, second)
    race.enter(worse)
    assert race.best()[0] is first
    race.enter(own)
    assert own.n_traced == len(race.folds)
    assert race.best()[0] is own


@pytest.mark.parametrize(
    ("noises", "n_rounds"),
    [((0, 0, 0), 3), ((3, 0, 0), 3), ((0, 0, 3), 2), ((0, 3, 3), 1), ((3, 0, 3, 0), 4)],
)
def test_of_equal_rounds_the_latest_is_taken(noises, n_rounds):
    assert a_race(ScriptedMap("map", *map(table, noises))).best()[1] == n_rounds


def test_features_are_beaten_only_by_what_is_clearly_better():
    assert a_race(ScriptedMap("map", RIGHT)).beats_features()
    same = a_race(ScriptedMap("map", -np.linalg.norm(X[:, None] - X, axis=2)))
    assert not same.beats_features()
    assert same.features_score == pytest.approx(same.scores["map"][0], abs=1e-3)


def test_what_one_half_selects_is_scored_on_the_other():
    # The best of many rounds of chance looks good to what selected it, and to nothing else.
    candidate = Scripted("chance", *RNG(0).normal(size=(100, 60, 60)))
    race = a_race(candidate, features=RNG(1).normal(size=(60, 3)).astype(np.float32))
    best = max(race.scores["chance"])
    expected = race.expected(candidate, 1)
    assert expected["new items"] < best - 0.05
    assert abs(expected["new items"] - 0.5) < 0.12


def test_the_seconds_of_every_round_are_added_up():
    good, bad = ScriptedMap("good", RIGHT, RIGHT), ScriptedMap("bad", -RIGHT)
    race = a_race(good, bad)
    n_rounds = 2 * good.n_traced + bad.n_traced
    assert race.seconds == {"targets": n_rounds, "regression": 2 * n_rounds}
