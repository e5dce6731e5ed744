"""The engine: what it learns from answers, what it asks next, and what it never asks."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from twofold.ask import Answer, Engine
from twofold.ask._engine import N_QUESTIONS
from twofold.ask._making import TEST_SHARE
from twofold.evaluation import pair_similarity

RNG = np.random.default_rng(0)
KIND = np.arange(80) % 4
CENTRES = RNG.normal(size=(4, 3))
X = np.hstack([2 * CENTRES[KIND] + 0.4 * RNG.normal(size=(80, 3)), 3 * RNG.normal(size=(80, 3))])
X = X.astype(np.float32)


class Person:
    """Answers by kind."""

    def __init__(self, kind=KIND):
        self.kind, self.look, self.answers = kind, 0, []

    def answer(self, question):
        self.look += 1
        first, *others = question.items
        self.answers += [
            Answer(
                first,
                other,
                bool(self.kind[first] == self.kind[other]),
                question.purpose,
                question.weight,
                self.look,
            )
            for other in others
        ]


def evening(engine, person, looks, batch=20):
    snapshot = engine.learn(person.answers)
    while person.look < looks and snapshot.questions:
        for question in snapshot.questions[:batch]:
            person.answer(question)
        snapshot = engine.learn(person.answers)
    return snapshot


def asked_of(questions):
    return [frozenset((q.items[0], other)) for q in questions for other in q.items[1:]]


def auroc(snapshot):
    left, right = np.triu_indices(80, 1)
    similarity = pair_similarity(snapshot.points, left, right, snapshot.metric)
    same = KIND[left] == KIND[right]
    return (similarity[same][:, None] > similarity[~same]).mean()


@pytest.fixture(scope="module")
def spoken():
    engine, person = Engine(X), Person()
    return engine, person, evening(engine, person, 80)


def test_before_the_first_answer_the_features_are_looked_up_in_and_there_is_plenty_to_ask():
    snapshot = Engine(X).learn([])
    np.testing.assert_array_equal(snapshot.points, X)
    assert (snapshot.metric, snapshot.n_answers) == ("euclidean", 0)
    assert snapshot.learner is None
    assert snapshot.quality is None
    assert len(snapshot.questions) == N_QUESTIONS
    near = snapshot.probability(np.array([0]), np.array([4]))
    assert 0 <= near[0] <= 1


def test_answers_make_the_metric_better_and_the_estimate_contains_the_truth(spoken):
    _, person, snapshot = spoken
    assert snapshot.n_answers == len(person.answers)
    assert auroc(snapshot) > auroc(Engine(X).learn([])) + 0.1
    assert snapshot.quality.low <= auroc(snapshot) <= snapshot.quality.high
    tests = [answer for answer in person.answers if answer.purpose == "test"]
    assert snapshot.quality.n_same + snapshot.quality.n_different == len(tests)


def test_the_learner_takes_new_rows_and_can_be_pickled(spoken):
    _, _, snapshot = spoken
    learner = pickle.loads(pickle.dumps(snapshot)).learner
    np.testing.assert_allclose(learner.transform(X), snapshot.points, rtol=1e-4, atol=1e-5)
    assert learner.transform(X[:3] + 1).shape == (3, snapshot.points.shape[1])


def test_nothing_is_asked_twice_and_one_look_in_five_is_a_test(spoken):
    _, person, snapshot = spoken
    answered = [frozenset((a.left, a.right)) for a in person.answers]
    assert len(answered) == len({*answered})
    assert not {*answered} & {*asked_of(snapshot.questions)}
    tests = {a.look for a in person.answers if a.purpose == "test"}
    assert abs(len(tests) / person.look - TEST_SHARE) < 0.03
    assert all(a.weight > 1 for a in person.answers if a.purpose == "test")


def test_a_nine_shows_nine_nearest_of_which_some_of_each_are_expected():
    nines = [q for q in Engine(X).learn([]).questions if q.kind == "nine"]
    assert nines
    for question in nines:
        assert len({*question.items}) == 10
        assert len(question.probability) == 9
        assert 1 <= sum(question.probability) <= 8
        assert question.purpose == "learn"
    pairs = Engine(X, nines=False).learn([]).questions
    assert {question.kind for question in pairs} == {"pair"}


def test_the_same_seed_and_answers_give_the_same_snapshot():
    ends = [evening(Engine(X, random_state=3), Person(), 40) for _ in range(2)]
    assert ends[0].questions == ends[1].questions
    assert ends[0].points.tobytes() == ends[1].points.tobytes()
    assert ends[0].quality == ends[1].quality
    other = evening(Engine(X, random_state=4), Person(), 40)
    assert other.questions != ends[0].questions


def test_test_answers_are_never_learnt_from(spoken):
    _, person, _ = spoken
    turned = [
        Answer(a.left, a.right, not a.same, "test", a.weight, a.look) if a.purpose == "test" else a
        for a in person.answers
    ]
    one, other = Engine(X).learn(person.answers), Engine(X).learn(turned)
    assert one.points.tobytes() == other.points.tobytes()
    assert one.quality.auroc > other.quality.auroc


def test_answers_that_are_taken_back_are_forgotten(spoken):
    _, person, _ = spoken
    engine = Engine(X)
    few = [a for a in person.answers if a.look <= 40]
    engine.learn(person.answers)
    back = engine.learn(few)
    assert back.n_answers == len(few)
    left, right = zip(*((a.left, a.right) for a in few if a.purpose == "learn"), strict=True)
    known = {frozenset(pair) for pair in zip(left, right, strict=True)}
    asked_again = {*asked_of(back.questions)}
    assert not known & asked_again
    assert engine.learn([]).learner is None


def test_a_tie_is_left_out_and_a_majority_counts(spoken):
    _, person, _ = spoken
    wrong = [a for a in person.answers if a.purpose == "learn"][:5]
    said_again = [Answer(a.right, a.left, not a.same, "learn", 1.0, 900, "b") for a in wrong]
    tied = Engine(X).learn([*person.answers, *said_again])
    without = Engine(X).learn([a for a in person.answers if a not in wrong])
    np.testing.assert_allclose(tied.points, without.points, rtol=1e-4, atol=1e-4)
    thrice = [Answer(a.left, a.right, a.same, "learn", 1.0, 901, "c") for a in wrong]
    kept = Engine(X).learn([*person.answers, *said_again, *thrice])
    as_before = Engine(X).learn(person.answers)
    np.testing.assert_allclose(kept.points, as_before.points, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("same", [True, False, None])
def test_answers_of_one_kind_teach_nothing_but_are_not_asked_again(same):
    engine = Engine(X)
    answers = [
        Answer(q.items[0], other, same, look=k)
        for k, q in enumerate(engine.learn([]).questions)
        for other in q.items[1:]
    ]
    snapshot = engine.learn(answers)
    assert snapshot.learner is None
    np.testing.assert_array_equal(snapshot.points, X)
    assert not {frozenset((a.left, a.right)) for a in answers} & {*asked_of(snapshot.questions)}


def test_after_answers_of_one_kind_others_are_looked_for():
    engine = Engine(X, nines=False)
    near = [
        Answer(q.items[0], q.items[1], True, look=k)
        for k, q in enumerate(q for q in engine.learn([]).questions if q.purpose == "learn")
    ]
    before, after = engine.learn([]), engine.learn(near)

    def how_far(snapshot):
        pairs = [q.items for q in snapshot.questions if q.purpose == "learn"]
        return -pair_similarity(X, *np.array(pairs).T).mean()

    assert how_far(after) > how_far(before)


@pytest.mark.parametrize("n_left", [6, 70])
def test_of_two_tables_only_pairs_between_them_are_asked(n_left):
    engine, person = Engine(X, n_left=n_left), Person()
    evening(engine, person, 60)
    assert person.look >= 60
    for answer in person.answers:
        assert (answer.left < n_left) != (answer.right < n_left)


def test_two_items_have_one_question_and_then_none():
    engine = Engine(X[:2])
    (question,) = engine.learn([]).questions
    assert {*question.items} == {0, 1}
    assert engine.learn([Answer(0, 1, True)]).questions == ()


def test_when_everything_is_answered_nothing_is_asked():
    few = 7
    engine = Engine(X[:few])
    answers = [
        Answer(i, j, bool(KIND[i] == KIND[j]), look=k)
        for k, (i, j) in enumerate(combinations(range(few), 2))
    ]
    snapshot = engine.learn(answers)
    assert snapshot.questions == ()
    assert len({*asked_of(engine.learn(answers[:-4]).questions)}) == 4


def test_items_with_equal_features_are_not_compared_and_count_as_one():
    twins = np.concatenate([X[:10], X[:10]])
    engine, person = Engine(twins, nines=False), Person(np.tile(KIND[:10], 2))
    evening(engine, person, 400)
    learnt = [a for a in person.answers if a.purpose == "learn"]
    keys = [frozenset((a.left % 10, a.right % 10)) for a in learnt]
    assert all(len(key) == 2 for key in keys)
    assert len(keys) == len({*keys})


@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_matrix,
        lambda rows: (40 * rows - rows.min()).clip(0, 255).astype(np.uint8).reshape(80, 1, 2, 3),
        lambda rows: np.tile(rows, 50),
    ],
    ids=["sparse", "images", "wide"],
)
def test_any_kind_of_features_is_learnt_from(form):
    engine, person = Engine(form(X)), Person()
    snapshot = evening(engine, person, 40)
    assert snapshot.points.shape[0] == 80
    assert snapshot.points.dtype == np.float32
    assert snapshot.questions
