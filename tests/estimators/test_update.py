"""Statements and items that arrive later."""

import pickle

import numpy as np
import pytest
from little_problems import exclusive_or
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from twofold import LabelRelation, MetricLearner, PairRelation, TripletRelation, load
from twofold._core.warnings import RelationWarning

X, labels = exclusive_or(200)
PAIRS = LabelRelation(labels).sample_pairs(2, 2, random_state=0)
SETTING = {"device": "cpu", "random_state": 0}


def fitted(relation: PairRelation | TripletRelation = PAIRS, rows: object = X, **given):
    return MetricLearner(**{**SETTING, **given}).fit(rows, relation=relation)


def test_ten_batches_are_as_good_as_a_fit_from_scratch():
    features, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(features))
    train, test = order[:300], order[300:]
    pool = LabelRelation(classes[train]).sample_pairs(1, 1, random_state=0)
    pool = pool.take_pairs(np.random.default_rng(1).permutation(pool.n_pairs)[:300])
    learner = fitted(pool.take_pairs(np.arange(250)), features[train])
    for first in range(250, 300, 5):
        learner.update(pool.take_pairs(np.arange(first, first + 5)))
    scratch = fitted(pool, features[train]).score(features[test], classes[test])
    assert learner.score(features[test], classes[test]) > scratch - 0.005


@pytest.fixture(scope="module")
def unchanged() -> MetricLearner:
    """One fit for all that leave it as it is."""
    return fitted()


def found_by(learner: MetricLearner) -> str:
    return learner.history_["feedback"]["way"]


@pytest.mark.parametrize("embedder", ["mnist", KNeighborsRegressor(3)])
def test_an_embedder_goes_on_and_is_as_good_as_one_from_scratch(embedder):
    unseen, classes = exclusive_or(200, seed=1)
    learner = fitted(PAIRS.take_pairs(np.arange(0, 800, 2)), embedder=embedder)
    assert found_by(learner) == "embedder"
    judged = learner.history_["feedback"]["judged"]
    for first in (1, 3, 5, 7):
        learner.update(PAIRS.take_pairs(np.arange(first, 800, 8)))
    assert found_by(learner) == "embedder"
    assert learner.history_["feedback"]["judged"] == judged  # nothing is held out
    scratch = fitted(embedder=embedder).score(unseen, classes)
    assert learner.score(unseen, classes) > scratch - 0.01


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_a_map_is_chosen_anew_without_what_was_worse_or_takes_long(embedder):
    learner = fitted(PAIRS.take_pairs(np.arange(0, 800, 2)), embedder=embedder)
    assert found_by(learner) == "landmarks"
    judged = learner.history_["feedback"]["judged"]
    assert list(judged) == ["linear", "landmarks", "embedder"]
    learner.update(PAIRS.take_pairs(np.arange(1, 800, 2)))
    assert found_by(learner) == "landmarks"
    again = learner.history_["feedback"]["judged"]
    assert list(again) == ["landmarks"]
    assert again["landmarks"] != judged["landmarks"]
    assert learner.score(X, labels) > 0.98


def test_a_map_is_learnt_again_while_statements_are_a_few_more():
    learner = fitted(PAIRS.take_pairs(np.arange(700)))
    judged, before = learner.history_["feedback"]["judged"], learner.transform(X)
    learner.update(PAIRS.take_pairs(np.arange(700, 800)))
    assert found_by(learner) == "landmarks"
    assert learner.history_["feedback"]["judged"] == judged  # nothing is held out
    assert not np.allclose(learner.transform(X), before)
    assert learner.score(X, labels) > 0.98


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_features_as_they_are_give_way_when_statements_suffice(embedder):
    few = PAIRS.take_pairs(np.arange(0, 800, 50))
    with pytest.warns(RelationWarning, match="too few"):
        learner = fitted(few, embedder=embedder)
    assert found_by(learner) == "raw"
    learner.update(PAIRS)
    assert found_by(learner) == "landmarks"
    assert list(learner.history_["feedback"]["judged"]) == ["linear", "landmarks"]
    assert learner.score(X, labels) > 0.98


@pytest.mark.parametrize("embedder", ["mlp", "mnist", Ridge(), KNeighborsRegressor(3)])
def test_an_update_changes_what_it_speaks_of(embedder):
    learner = fitted(embedder=embedder)
    left, right = 0, int(np.flatnonzero(labels == labels[0])[5])
    before = learner.pair_distance(X[[left]], X[[right]])[0]
    statement = PairRelation([left], [right], [0], len(X), weight=[200.0])
    after = learner.update(statement).pair_distance(X[[left]], X[[right]])[0]
    assert after > before


@pytest.mark.parametrize("feedback", ["auto", 0])
@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_new_items_come_with_their_statements(feedback, embedder):
    known = PAIRS.take(np.arange(150))
    learner = fitted(known, X[:150], feedback=feedback, embedder=embedder, loss="contrastive")
    linked = (PAIRS.left >= 150) | (PAIRS.right >= 150)
    learner.update(PAIRS.take_pairs(np.flatnonzero(linked)), X[150:])
    assert learner.targets_.shape[0] == 200
    assert np.isfinite(learner.targets_[150:]).all()
    learner.update(PairRelation([0], [199], [int(labels[0] == labels[199])], 200))


@pytest.mark.parametrize("as_kind", [sparse.csr_matrix, np.asarray])
def test_new_rows_may_be_of_any_kind_of_matrix(as_kind):
    learner = fitted(PAIRS.take(np.arange(150)), as_kind(X[:150]))
    learner.update(PairRelation([3], [180], [1], 200), as_kind(X[150:]))
    assert learner.transform(as_kind(X)).shape[0] == 200


def test_frames_stay_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])
    learner = fitted(PAIRS.take(np.arange(150)), frame[:150], embedder=Ridge())
    learner.update(PairRelation([3], [180], [1], 200), frame[150:])
    assert list(learner.feature_names_in_) == list(frame.columns)


def test_a_statement_taken_back_is_forgotten():
    wrong = PairRelation([0], [int(np.flatnonzero(labels != labels[0])[0])], [1], len(X))
    misled = fitted(PAIRS.merge(wrong))
    misled.update(withdrawn=[(int(wrong.right[0]), 0)])  # either order will do
    _, known = misled._learnt_from
    assert known.n_pairs == PAIRS.n_pairs


def test_triplets_are_taken_in_and_back():
    rng = np.random.default_rng(0)
    anchor = rng.integers(0, 200, 600)
    same = np.array([rng.choice(np.flatnonzero(labels == labels[i])) for i in anchor])
    other = np.array([rng.choice(np.flatnonzero(labels != labels[i])) for i in anchor])
    proper = anchor != same
    triplets = TripletRelation(anchor[proper], same[proper], other[proper], 200)
    learner = fitted(triplets)
    first = (int(triplets.anchor[0]), int(triplets.positive[0]), int(triplets.negative[0]))
    learner.update(triplets, withdrawn=[first])
    assert learner.score(X, relation=triplets) > 0.9


def test_a_threshold_is_to_be_calibrated_again():
    learner = fitted()
    learner.calibrate_threshold(X, PAIRS)
    learner.update(PairRelation([0], [1], [int(labels[0] == labels[1])], len(X)))
    with pytest.raises(ValueError, match="There is no threshold yet"):
        learner.predict_pairs(X[:2], X[2:4])


def test_the_same_updates_give_the_same_bytes():
    more = PairRelation([0, 5], [9, 11], [1, 0], len(X))
    first, second = (fitted().update(more).transform(X) for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("give", [lambda learner, _: pickle.loads(pickle.dumps(learner)), None])
def test_a_model_from_a_file_has_nothing_to_go_on_from(give, unchanged, tmp_path):
    opened = give(unchanged, tmp_path) if give else load(unchanged.save(tmp_path / "model"))
    with pytest.raises(ValueError, match="opened from a file"):
        opened.update(PAIRS)


def test_labels_are_fitted_again_instead():
    learner = MetricLearner(max_epochs=1, **SETTING).fit(X, labels)
    with pytest.raises(TypeError, match="was fitted to labels"):
        learner.update(PAIRS)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({}, ValueError, "nothing to update"),
        ({"relation": TripletRelation([0], [1], [2], 3)}, TypeError, "must be a PairRelation"),
        ({"relation": PairRelation([0], [300], [1], 301)}, ValueError, "about 301 items"),
        ({"withdrawn": [(0, 0)]}, ValueError, "nothing is stated about"),
        ({"withdrawn": [0, 1]}, ValueError, "shape"),
        (
            {"relation": PAIRS, "X_new": np.zeros((1, X.shape[1] + 1))},
            ValueError,
            "features",
        ),
    ],
)
def test_what_cannot_be_taken_in_is_refused_and_changes_nothing(given, error, match, unchanged):
    before = unchanged.transform(X).tobytes()
    with pytest.raises(error, match=match):
        unchanged.update(**given)
    assert unchanged.transform(X).tobytes() == before
    assert unchanged._learnt_from[1] is PAIRS
