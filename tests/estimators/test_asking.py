"""What to ask next: `MetricLearner.suggest_pairs`."""

import pickle
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from little_problems import Rows, beside_loud_noise, pairs_within
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from twofold import (
    MetricLearner,
    PairRelation,
    RelationWarning,
    Suggestions,
    TripletRelation,
    load,
)
from twofold.estimators._asking import choose_pairs

X, LABELS = beside_loud_noise(90)
PAIRS = pairs_within(LABELS, 150)
DIGITS, DIGIT_LABELS = load_digits(return_X_y=True)
SETTING = {"device": "cpu", "random_state": 0}


def fitted(rows=X, relation=PAIRS, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # features that are best as they are
        return MetricLearner(**{**SETTING, **given}).fit(rows, relation=relation)


def keys(left, right):
    return {frozenset(pair) for pair in zip(left.tolist(), right.tolist(), strict=True)}


@pytest.fixture(scope="module")
def learner():
    return fitted()


@pytest.fixture(scope="module")
def digits_learner():
    return fitted(DIGITS, pairs_within(DIGIT_LABELS, 300))


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_asked_twice_and_nobody_about_himself(learner, seed):
    found = learner.suggest_pairs(30, random_state=seed)
    assert len(found) == len(found.right) == len(found.probability) == 30
    asked = keys(found.left, found.right)
    assert len(asked) == 30
    assert not asked & keys(PAIRS.left, PAIRS.right)
    assert (found.left != found.right).all()


def test_no_item_is_asked_about_twice_while_there_are_others(learner):
    found = learner.suggest_pairs(30, random_state=0)
    assert np.unique([found.left, found.right]).size == 60


def test_half_are_likely_alike_and_most_of_these_are(digits_learner):
    found = digits_learner.suggest_pairs(100, random_state=0)
    likely = found.probability >= 0.5
    assert likely.sum() == 50
    assert (np.diff(found.probability) <= 0).all()
    is_alike = DIGIT_LABELS[found.left] == DIGIT_LABELS[found.right]
    assert is_alike[likely].mean() > 0.5 > is_alike[~likely].mean()


def test_probabilities_are_about_as_often_right_as_they_say(digits_learner):
    rng = np.random.default_rng(0)
    candidates = rng.integers(len(DIGITS), size=(4000, 2))
    found = digits_learner.suggest_pairs(3500, candidates=candidates, random_state=0)
    is_alike = DIGIT_LABELS[found.left] == DIGIT_LABELS[found.right]
    assert abs(found.probability.mean() - is_alike.mean()) < 0.05


def test_only_candidates_are_asked(learner):
    left, right = np.arange(0, 30), np.arange(60, 90)
    may_ask = keys(left, right)
    for candidates in ((left, right), np.stack([right, left], axis=1)):
        found = learner.suggest_pairs(10, candidates=candidates, random_state=0)
        assert len(found) == 10
        assert keys(found.left, found.right) <= may_ask


def test_stated_candidates_are_left_out_in_either_order_and_that_is_said(learner):
    candidates = np.stack([PAIRS.right, PAIRS.left], axis=1)
    unknown = next((0, item) for item in range(1, 90) if (0, item) not in keys_of(PAIRS))
    twice = np.concatenate([candidates, [unknown, unknown[::-1], (4, 4)]])
    with pytest.warns(RelationWarning, match="Only 1 of the 5 pairs"):
        found = learner.suggest_pairs(5, candidates=twice, random_state=0)
    assert keys(found.left, found.right) == {frozenset(unknown)}
    with pytest.warns(RelationWarning, match="Only 0 of the 5 pairs"):
        assert len(learner.suggest_pairs(5, candidates=candidates, random_state=0)) == 0


def keys_of(relation):
    """Return the stated pairs as tuples of either order."""
    both = np.concatenate(
        [[relation.left, relation.right], [relation.right, relation.left]], axis=1
    )
    return set(map(tuple, both.T.tolist()))


def test_what_is_stated_of_an_item_is_stated_of_its_equal():
    doubled = np.concatenate([X, X])
    known = PAIRS.over(180)
    found = fitted(doubled, known).suggest_pairs(400, random_state=0)
    assert (found.left % 90 != found.right % 90).all()
    asked = keys(found.left % 90, found.right % 90)
    assert len(asked) == 400
    assert not asked & keys(PAIRS.left, PAIRS.right)


def test_all_that_is_left_is_asked_with_a_warning(learner):
    n_left = 90 * 89 // 2 - len(keys(PAIRS.left, PAIRS.right))
    with pytest.warns(RelationWarning, match=f"Only {n_left} of the 5000 pairs"):
        found = learner.suggest_pairs(5000, random_state=0)
    assert len(keys(found.left, found.right)) == n_left


def test_the_same_seed_asks_the_same(learner):
    first, second = (learner.suggest_pairs(20, random_state=3) for _ in range(2))
    assert first.left.tobytes() == second.left.tobytes()
    assert first.right.tobytes() == second.right.tobytes()
    assert first.probability.tobytes() == second.probability.tobytes()


def test_asking_leaves_the_learner_as_it_is(learner):
    before = learner.transform(X).tobytes()
    known = learner._learnt_from[1].n_pairs
    learner.suggest_pairs(5, random_state=0)
    assert learner.transform(X).tobytes() == before
    assert learner._learnt_from[1].n_pairs == known


def test_what_was_answered_in_an_update_is_not_asked_again():
    learner = fitted()
    first = learner.suggest_pairs(10, random_state=0)
    similar = LABELS[first.left] == LABELS[first.right]
    learner.update(PairRelation(first.left, first.right, similar, len(X)))
    second = learner.suggest_pairs(10, random_state=0)
    assert not keys(first.left, first.right) & keys(second.left, second.right)


@pytest.mark.parametrize(
    ("rows", "given"),
    [
        (X, {"embedder": Ridge()}),
        (X, {"feedback": 0, "max_epochs": 5}),
        (X, {"feedback": 0, "max_epochs": 5, "loss": "contrastive"}),
        (X, {"feedback": 2, "loss": "dot", "max_epochs": 4}),
        (sparse.csr_matrix(X), {}),
        (Rows(X), {"feedback": 2, "max_epochs": 4}),
        (X[:, [0, 1]], {}),  # best as they are
    ],
    ids=["ridge", "once", "once by distance", "dot", "sparse", "dataset", "raw"],
)
def test_any_learner_of_pairs_can_ask(rows, given):
    learner = fitted(rows, **given)
    found = learner.suggest_pairs(10, random_state=0)
    assert isinstance(found, Suggestions)
    assert not keys(found.left, found.right) & keys(PAIRS.left, PAIRS.right)
    assert ((found.probability >= 0) & (found.probability <= 1)).all()


def test_one_alike_pair_is_enough_to_go_on_from():
    relation = PairRelation([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [1, 0, 0, 0, 0, 0], len(X))
    assert len(fitted(relation=relation).suggest_pairs(6, random_state=0)) == 6


def test_features_that_say_nothing_give_every_pair_the_usual_chance():
    rng = np.random.default_rng(0)
    near = rng.normal(size=(40, 3)) * 0.01
    far = near + 100
    rows = np.concatenate([near, far])
    left, right = np.arange(40), np.arange(40) + 40  # only the far are alike
    more = np.arange(39)
    relation = PairRelation(
        np.concatenate([left, more]),
        np.concatenate([right, more + 1]),
        np.repeat([1, 0], [40, 39]),
        80,
    )
    learner = fitted(rows, relation, feedback=1, max_epochs=1, learning_rate=1e-9)
    found = learner.suggest_pairs(10, random_state=0)
    assert found.probability == pytest.approx(40 / 79, abs=0.01)


def test_sixty_thousand_items_take_seconds_and_little_memory():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, 16))
    classes = rng.integers(10, size=60_000)
    rows = (centres[classes] + rng.normal(size=(60_000, 16))).astype(np.float32)
    learner = fitted(rows, pairs_within(classes, 300))
    tracemalloc.start()
    began = time.perf_counter()
    found = learner.suggest_pairs(100, random_state=0)
    seconds = time.perf_counter() - began
    _, n_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 10
    assert n_bytes < 2**28
    is_alike = classes[found.left] == classes[found.right]
    assert is_alike.mean() > 0.3  # 1 in 10 at random


def test_suggested_answers_teach_more_than_random_ones():
    rows, labels = DIGITS[:1000], DIGIT_LABELS[:1000]
    test, asked = DIGITS[1200:], pairs_within(DIGIT_LABELS[1200:], 4000, seed=1)
    gains = []
    for seed in (4, 5):
        pool = pairs_within(labels, 180, seed=seed)
        known = pool.take_pairs(np.arange(50))
        for _ in range(3):
            found = fitted(rows, known).suggest_pairs(40, random_state=0)
            similar = labels[found.left] == labels[found.right]
            known = known.merge(PairRelation(found.left, found.right, similar, 1000))
        random = fitted(rows, pool.take_pairs(np.arange(known.n_pairs)))
        learners = (fitted(rows, known), random)
        taught, at_random = (learner.score(test, relation=asked) for learner in learners)
        gains.append(taught - at_random)
    assert np.mean(gains) > 0.01


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"n": 0}, ValueError, "n must be at least 1, got 0"),
        ({"n": 2.5}, TypeError, "n must be an integer"),
        ({"candidates": [0, 1]}, ValueError, r"shape \(n_candidates, 2\), got \(2,\)"),
        ({"candidates": [(0, 90)]}, ValueError, r"right of candidates .* \(item 90\)"),
        ({"candidates": [(0.5, 1)]}, TypeError, "must hold integers"),
        ({"candidates": ([0, 1], [2])}, ValueError, "left has 2, right has 1"),
        ({"random_state": "x"}, ValueError, "random_state must be"),
    ],
)
def test_what_cannot_be_asked_is_said(learner, given, error, match):
    with pytest.raises(error, match=match):
        learner.suggest_pairs(**{"n": 5, **given})


def test_who_knows_no_statements_cannot_ask(tmp_path):
    with pytest.raises(Exception, match="is not fitted yet"):
        MetricLearner().suggest_pairs(5)
    with pytest.raises(TypeError, match=r"suggest_pairs goes on from statements; .* labels"):
        MetricLearner(max_epochs=1, **SETTING).fit(X, LABELS).suggest_pairs(5)
    triplets = TripletRelation([0, 3, 6, 9, 12], [1, 4, 7, 10, 13], [2, 5, 8, 11, 14], len(X))
    with pytest.raises(TypeError, match="triplets, which this model was fitted to, only compare"):
        fitted(relation=triplets).suggest_pairs(5)
    learner = fitted()
    for opened in (load(learner.save(tmp_path / "model")), pickle.loads(pickle.dumps(learner))):
        with pytest.raises(ValueError, match=r"opened from a file, .* suggest_pairs goes on"):
            opened.suggest_pairs(5)


def test_where_one_half_falls_short_the_other_fills_it_up():
    left, right = np.arange(10), np.arange(10, 20)
    probability = np.array([0.9] + [0.1] * 9, dtype=np.float32)
    nothing = np.zeros(20, dtype=np.int64)
    chosen = choose_pairs(left, right, probability, nothing, 6, np.random.default_rng(0))
    assert len(chosen) == 6
    assert chosen[0] == 0
    chosen = choose_pairs(left, right, 1 - probability, nothing, 6, np.random.default_rng(0))
    assert len(chosen) == 6
    assert chosen[-1] == 0


def test_of_pairs_as_likely_those_of_items_in_statements_come_first():
    left, right = np.arange(10), np.arange(10, 20)
    n_stated = np.zeros(20, dtype=np.int64)
    n_stated[[3, 14]] = 2
    probability = np.full(10, 0.6, dtype=np.float32)
    chosen = choose_pairs(left, right, probability, n_stated, 2, np.random.default_rng(0))
    assert set(chosen.tolist()) == {3, 4}
