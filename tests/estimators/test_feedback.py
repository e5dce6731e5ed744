"""Learning from few statements: from the features on, and never past what statements confirm."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from little_problems import (
    OwnNetwork,
    Rows,
    beside_loud_noise,
    exclusive_or,
    pairs_within,
    raw_auroc,
    three_blobs,
    triplets_within,
)
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from twofold import LabelRelation, MetricLearner, PairRelation, TripletRelation, load
from twofold._core.warnings import RelationWarning
from twofold.estimators import _choice as choice_module
from twofold.estimators import _metric_learner as metric_learner_module
from twofold.estimators._ways import MAPS, Ways

LOUD, LOUD_Y = beside_loud_noise(120)
OTHER_LOUD, OTHER_LOUD_Y = beside_loud_noise(120, seed=1)
XOR, XOR_Y = exclusive_or(160)
OTHER_XOR, OTHER_XOR_Y = exclusive_or(160, seed=1)
LOUD_PAIRS, XOR_PAIRS = pairs_within(LOUD_Y, 150), pairs_within(XOR_Y, 300)
OTHER_LOUD_PAIRS = pairs_within(OTHER_LOUD_Y, 1000)
OTHER_XOR_PAIRS = pairs_within(OTHER_XOR_Y, 1000)


class OwnImages(nn.Module):
    """A user's small network of images of 2 × 2 bytes, brought to 0 .. 1 before."""

    def __init__(self, dim: int = 4) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 2), nn.Tanh(), nn.Flatten(), nn.Linear(16, dim)
        )

    def forward(self, images):
        assert images.max() <= 1
        return self.layers(6 * images - 3)


def as_images(X):
    """Return four features as the pixels of byte images, shape (n_items, 1, 2, 2)."""
    return (128 + 50 * X).clip(0, 255).astype(np.uint8).reshape(-1, 1, 2, 2)


def seeded(network: type[nn.Module], *sizes: int) -> nn.Module:
    """Return a user's network that is always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return network(*sizes)


def a_learner(**parameters) -> MetricLearner:
    return MetricLearner(**{"random_state": 0, "device": "cpu", **parameters})


def found_by(learner: MetricLearner) -> str:
    return learner.history_["feedback"]["way"]


# ---- what is learnt, and what is not ----


@pytest.mark.parametrize(
    ("embedder", "ways"),
    [("mlp", MAPS), (DummyRegressor(), MAPS), (Ridge(), ("embedder",))],
    ids=["mlp", "one_that_learns_nothing", "as_good_a_one_that_was_brought"],
)
def test_weighing_loud_columns_down_takes_a_map(embedder, ways):
    learner = a_learner(embedder=embedder, feedback=8, max_epochs=16).fit(LOUD, relation=LOUD_PAIRS)
    assert raw_auroc(OTHER_LOUD, OTHER_LOUD_PAIRS) < 0.65
    assert learner.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) > 0.98
    assert max(learner.history_["feedback"]["judged"]["linear"]) > 0.98
    assert found_by(learner) in ways


@pytest.fixture(scope="module")
def network() -> tuple[MetricLearner, list, np.ndarray]:
    """A network that was chosen, the epochs that it told of, and what it embedded at the last."""
    seen = []
    last = None

    def watch(epoch):
        nonlocal last
        seen.append((epoch.number, epoch.n_epochs))
        last = epoch.embed(XOR)

    learner = a_learner(embedder="mnist", callback=watch).fit(XOR, relation=XOR_PAIRS)
    assert found_by(learner) == "embedder"
    return learner, seen, last


def test_what_no_linear_map_parts_is_parted_by_a_network_that_was_asked_for(network):
    learner, *_ = network
    judged = learner.history_["feedback"]["judged"]
    assert max(judged["linear"]) < 0.9 < 0.98 < max(judged["embedder"])
    assert raw_auroc(OTHER_XOR, OTHER_XOR_PAIRS) < 0.6
    assert learner.score(OTHER_XOR, relation=OTHER_XOR_PAIRS) > 0.98


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_what_no_linear_map_parts_is_parted_by_landmarks(embedder):
    learner = a_learner(embedder=embedder).fit(XOR, relation=XOR_PAIRS)
    assert found_by(learner) == "landmarks"
    assert learner.score(OTHER_XOR, relation=OTHER_XOR_PAIRS) > 0.98


def test_a_linear_map_is_not_enough_there():
    judged = a_learner(embedder=Ridge()).fit(XOR, relation=XOR_PAIRS).history_["feedback"]["judged"]
    assert max(judged["linear"]) < 0.9
    assert max(judged["embedder"]) < 0.9


def test_two_phases_alone_learn_less_from_few_pairs():
    few = pairs_within(LOUD_Y, 60)
    learnt = [a_learner(feedback=n, max_epochs=8).fit(LOUD, relation=few) for n in (4, 0)]
    found = [one.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) for one in learnt]
    assert found[0] > found[1]


def test_features_that_nothing_beats_are_returned_with_a_warning():
    X, y = three_blobs(120)
    with pytest.warns(RelationWarning, match=r"Nothing learnt orders the 146 .* \(1\.0000\), so"):
        learner = a_learner(feedback=4, max_epochs=4).fit(X, relation=pairs_within(y, 150))
    assert found_by(learner) == "raw"
    assert learner.history_["feedback"]["round"] == 0
    ratio = pdist(learner.transform(X)) / pdist(X)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)
    assert learner.metric_ == "euclidean"


def test_statements_that_say_nothing_mostly_leave_the_features_as_they_are():
    X, y = three_blobs(150)
    ways, scores, is_said = [], [], []
    left, right = np.triu_indices(150, 1)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(left.size)[:200]
        relation = PairRelation(left[rows], right[rows], rng.integers(2, size=200), 150)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            learner = a_learner(embedder=Ridge(), random_state=seed).fit(X, relation=relation)
        ways.append(found_by(learner))
        scores.append(learner.score(X, y))
        is_said.append(any("the features as they are" in str(one.message) for one in said))
    assert [way == "raw" for way in ways] == is_said
    assert ways.count("raw") >= 6
    assert np.median(scores) == pytest.approx(a_score_of_the_features(X, y))


def a_score_of_the_features(X, y) -> float:
    return raw_auroc(X, LabelRelation(y).sample_pairs(random_state=0))


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_statements_too_few_to_check_leave_the_features_as_they_are(embedder, kind):
    relation = pairs_within(LOUD_Y, 22) if kind == "pairs" else triplets_within(LOUD_Y, 90)
    assert len(relation) < 23  # a fifth is less than five
    with pytest.warns(RelationWarning, match=rf"{len(relation)} statement\(s\) are too few to"):
        learner = a_learner(embedder=embedder).fit(LOUD, relation=relation)
    assert found_by(learner) == "raw"
    assert learner.history_["feedback"]["judged"] == {}
    np.testing.assert_allclose(
        learner.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS),
        raw_auroc(OTHER_LOUD, OTHER_LOUD_PAIRS),
        atol=1e-4,
    )


def test_one_pair_of_the_fewer_kind_is_too_few_to_check():
    left = np.arange(60)
    relation = PairRelation(left, left + 60, left == 0, 120)
    with pytest.warns(RelationWarning, match=r"60 statement\(s\) are too few to learn from"):
        assert found_by(a_learner().fit(LOUD, relation=relation)) == "raw"


def test_features_that_are_all_equal_stay_one_point():
    learner = a_learner(feedback=4, max_epochs=4)
    with pytest.warns(RelationWarning, match=r"better than the features do \(0\.5000\)"):
        learner.fit(np.ones((120, 3)), relation=LOUD_PAIRS)
    np.testing.assert_array_equal(learner.transform(np.ones((4, 3))), 0)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_one_statement_made_again_and_again_is_too_few_and_no_error(kind):
    if kind == "pairs":
        relation = PairRelation([0, 2] * 50, [1, 3] * 50, [1, 0] * 50, 120)
    else:
        relation = TripletRelation([0] * 100, [1] * 100, [2] * 100, 120)
    with pytest.warns(RelationWarning, match="too few"):
        assert found_by(a_learner().fit(LOUD, relation=relation)) == "raw"


def test_one_alike_for_ten_that_are_not_is_learnt_from():
    rng = np.random.default_rng(0)
    left, right = rng.integers(120, size=(2, 4000))
    alike = (LOUD_Y[left] == LOUD_Y[right]) & (left != right)
    rows = np.r_[np.flatnonzero(alike)[:20], np.flatnonzero(LOUD_Y[left] != LOUD_Y[right])[:200]]
    relation = PairRelation(left[rows], right[rows], alike[rows], 120)
    learner = a_learner(embedder=Ridge()).fit(LOUD, relation=relation)
    assert learner.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) > 0.95


@pytest.mark.parametrize("loss", ["auto", "contrastive", "dot"])
@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_triplets_are_learnt_from(loss, embedder):
    learner = a_learner(loss=loss, embedder=embedder, feedback=4, max_epochs=8)
    learner.fit(LOUD, relation=triplets_within(LOUD_Y))
    assert learner.metric_ == "euclidean"
    assert learner.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) > 0.95
    assert learner.score(OTHER_LOUD, relation=triplets_within(OTHER_LOUD_Y)) > 0.95


def test_triplets_are_judged_by_distance_whatever_the_loss_of_pairs():
    relation = triplets_within(LOUD_Y)
    found = [
        a_learner(loss=loss, embedder=Ridge()).fit(LOUD, relation=relation)
        for loss in ("contrastive", "dot")
    ]
    assert found[0].history_["feedback"] == found[1].history_["feedback"]
    np.testing.assert_array_equal(found[0].transform(LOUD), found[1].transform(LOUD))


def test_graded_pairs_are_learnt_from():
    rng = np.random.default_rng(0)
    grades = np.where(LOUD_PAIRS.similar == 1, 0.8, 0.1) + rng.uniform(-0.1, 0.1, len(LOUD_PAIRS))
    relation = PairRelation(LOUD_PAIRS.left, LOUD_PAIRS.right, grades, 120)
    learner = a_learner(embedder=Ridge()).fit(LOUD, relation=relation)
    assert learner.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) > 0.95


def test_weights_are_heard():
    wrong = pairs_within(LOUD_Y[::-1], 150, seed=1)
    n_wrong = len(wrong)
    weight = np.r_[np.ones(len(LOUD_PAIRS)), np.full(n_wrong, 1e-3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # the two contradict each other
        both = LOUD_PAIRS.merge(wrong)
        weighted = PairRelation(both.left, both.right, both.similar, 120, weight)
    learnt = [
        a_learner(embedder=Ridge()).fit(LOUD, relation=relation) for relation in (both, weighted)
    ]
    right = LOUD_PAIRS
    gaps = [one.targets_[right.left] - one.targets_[right.right] for one in learnt]
    found = [roc_auc_score(right.similar, -np.linalg.norm(gap, axis=1)) for gap in gaps]
    assert found[0] < found[1]
    assert learnt[1].score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) > 0.95


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_the_dot_product_can_be_asked_for(embedder):
    learner = a_learner(loss="dot", embedder=embedder, feedback=4, max_epochs=8)
    learner.fit(LOUD, relation=LOUD_PAIRS)
    assert learner.metric_ == "dot"
    assert learner.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) > 0.9


# ---- when it is taken ----


@pytest.mark.parametrize(
    ("feedback", "is_taken"), [("auto", True), (0, False), (2, True), (np.int64(2), True)]
)
def test_pairs_are_learnt_by_feedback_unless_it_is_0(feedback, is_taken):
    learner = a_learner(embedder=Ridge(), feedback=feedback).fit(LOUD, relation=LOUD_PAIRS)
    assert ("feedback" in learner.history_) == is_taken
    assert learner.metric_ == ("euclidean" if is_taken else "dot")


def test_labels_are_learnt_by_feedback_only_if_it_is_asked_for():
    assert "feedback" not in a_learner(embedder=Ridge()).fit(LOUD, LOUD_Y).history_
    asked = a_learner(embedder=Ridge(), feedback=2).fit(LOUD, LOUD_Y)
    assert "feedback" in asked.history_
    assert asked.score(OTHER_LOUD, OTHER_LOUD_Y) > 0.95


def test_rows_of_unknown_class_have_no_target_with_feedback_either():
    y = np.where(np.arange(120) < 20, -1, LOUD_Y)
    learner = a_learner(embedder=Ridge(), feedback=2).fit(LOUD, y)
    assert np.isnan(learner.targets_[:20]).all()
    assert np.isfinite(learner.targets_[20:]).all()


def several_labels(n_pairs: int, seed: int = 0) -> PairRelation:
    """Return pairs of items with several labels each, alike if they share one."""
    rng = np.random.default_rng(seed)
    labels = rng.random((60, 6)) < 0.3
    left, right = np.triu_indices(60, 1)
    rows = rng.permutation(left.size)[:n_pairs]
    left, right = left[rows], right[rows]
    return PairRelation(left, right, (labels[left] & labels[right]).any(axis=1), 60)


@pytest.mark.parametrize(("n_pairs", "is_taken"), [(1770, False), (100, True)])
def test_statements_that_decide_a_relation_that_is_not_transitive_need_none(n_pairs, is_taken):
    features = np.random.default_rng(0).normal(size=(60, 4))
    relation = several_labels(n_pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # noise tells nothing
        learner = a_learner(embedder=Ridge()).fit(features, relation=relation)
    assert ("feedback" in learner.history_) == is_taken


def test_a_transitive_relation_takes_it_without_being_gauged(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("gauged")

    monkeypatch.setattr(metric_learner_module, "gauge_targets", refuse)
    learner = a_learner(embedder=Ridge(), feedback="auto").fit(LOUD, relation=LOUD_PAIRS)
    assert "feedback" in learner.history_


def with_quiet_columns(n_features: int) -> np.ndarray:
    """Return the loud problem beside columns of hardly any noise."""
    rng = np.random.default_rng(0)
    return np.column_stack([LOUD, rng.normal(size=(120, n_features - 5)) / 99])


@pytest.mark.parametrize(
    ("n_features", "dim", "expected"),
    [(5, "auto", 5), (64, "auto", 32), (300, "auto", 32), (300, 99, 99), (5, 3, 3), (5, 9, 9)],
)
def test_the_embedding_has_as_many_components_as_features_that_tell(n_features, dim, expected):
    X = with_quiet_columns(n_features)
    learner = a_learner(dim=dim, embedder=Ridge(), feedback=1).fit(X, relation=LOUD_PAIRS)
    assert found_by(learner) != "raw"
    assert learner.dim_ == expected
    assert learner.transform(X).shape == (120, expected)
    assert learner.targets_.shape == (120, expected)


@pytest.mark.parametrize(
    ("n_features", "dim", "expected"), [(5, "auto", 5), (100, "auto", 100), (300, "auto", 256)]
)
@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_features_as_they_are_have_all_components_up_to_256(n_features, dim, expected, embedder):
    X = with_quiet_columns(n_features)
    learner = a_learner(dim=dim, embedder=embedder)
    with pytest.warns(RelationWarning, match="too few"):
        learner.fit(X, relation=pairs_within(LOUD_Y, 20))
    assert learner.dim_ == expected
    assert learner.transform(X).shape == learner.targets_.shape == (120, expected)


# ---- rounds ----


def test_so_many_rounds_of_a_network_share_the_epochs():
    seen = []
    learner = a_learner(feedback=3, max_epochs=9, callback=seen.append)
    learner.fit(LOUD, relation=LOUD_PAIRS)
    judged = learner.history_["feedback"]["judged"]
    assert len(judged["embedder"]) == 4
    assert judged["linear"][0] == judged["landmarks"][0]  # others judge the embedder
    assert [epoch.number for epoch in seen[:9]] == list(range(1, 10))
    assert {epoch.n_epochs for epoch in seen} == {9}


@pytest.mark.parametrize("feedback", [1, 5])
def test_so_many_rounds_of_a_regressor(feedback):
    learner = a_learner(feedback=feedback, embedder=Ridge()).fit(LOUD, relation=LOUD_PAIRS)
    assert len(learner.history_["feedback"]["judged"]["embedder"]) == feedback + 1


def test_what_was_chosen_is_learnt_again_from_all_statements(network):
    learner, seen, _ = network
    told = learner.history_["feedback"]
    n_tried = len(told["judged"]["embedder"]) - 1
    again = [*range(1, n_tried + 1), *range(1, told["round"] + 1)]
    assert seen == [(number, n_tried) for number in again]
    assert len(learner.history_["regression"]) == told["round"]


def test_the_round_is_within_those_judged_and_better_than_the_start(network):
    told = network[0].history_["feedback"]
    judged = told["judged"][told["way"]]
    assert 1 <= told["round"] < len(judged)
    assert judged[told["round"]] > judged[0]


def test_a_callback_can_embed_by_the_network_as_it_stands(network):
    learner, _, last = network
    np.testing.assert_array_equal(last, learner.transform(XOR))


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_the_share_that_chooses_can_be_given(share, monkeypatch):
    seen = []
    split = PairRelation.split

    def watched(self, held_out, random_state=None):
        parts = split(self, held_out, random_state)
        seen.append((len(parts[1]), len(self)))
        return parts

    monkeypatch.setattr(PairRelation, "split", watched)
    learner = a_learner(embedder=Ridge(), validation_fraction=share)
    learner.fit(LOUD, relation=LOUD_PAIRS)
    n_stated = len(LOUD_PAIRS)  # of distinct pairs, and some are stated twice
    of_maps, of_embedder = seen[:5], seen[5:]
    assert of_maps == [(pytest.approx(share * n_stated, abs=1.5), n_stated)] * 5
    if share < 0.2:  # most items are left, so that the embedder can do with what maps have
        assert not of_embedder
    else:  # it is judged on half of the items at most
        n_most = LOUD_PAIRS.linked.sum() / 4
        assert of_embedder == [(pytest.approx(n_most, abs=1.5), n_stated)]


@pytest.mark.parametrize("problem", ["loud", "xor"])
def test_no_statement_held_out_is_learnt_from_while_ways_are_tried(problem, monkeypatch):
    X, relation = (LOUD, LOUD_PAIRS) if problem == "loud" else (XOR, XOR_PAIRS)
    tried, learnt = [], []

    def watch(name):
        learn = getattr(Ways, name)

        def watched(self, first, statements, judge=None, *rest, **named):
            if judge is None:
                learnt.append(statements)
            else:
                tried.append((statements, judge._judge.relation))
            return learn(self, first, statements, judge, *rest, **named)

        monkeypatch.setattr(Ways, name, watched)

    watch("by_map")
    watch("by_embedder")
    a_learner(embedder=Ridge()).fit(X, relation=relation)

    def stated(relation):
        return {frozenset(pair) for pair in zip(relation.left, relation.right, strict=True)}

    every = stated(relation.take(relation.linked))
    assert len(tried) > 2
    for statements, held_out in tried:
        assert not stated(held_out) & stated(statements)
        assert stated(held_out) | stated(statements) == every
    assert learnt
    for statements in learnt:
        assert stated(statements) == every


def test_a_callback_that_returns_true_stops_a_network():
    seen = []

    def stop(epoch):
        seen.append(epoch.number)
        return epoch.number == 2

    learner = a_learner(callback=stop).fit(LOUD, relation=LOUD_PAIRS)
    assert seen == [1, 2]  # a map is better than two epochs
    assert len(learner.history_["feedback"]["judged"]["embedder"]) == 2
    assert found_by(learner) in MAPS


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"checkpoint": "training.pt"}, "checkpoint keeps .* or set feedback=0"),
        ({"regression": "likelihood"}, "regression='likelihood' needs .* or feedback=0"),
        ({"margin": 0}, "margin must be finite and above 0, got 0"),
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"flips": True}, "flips=True mirrors images"),
        ({"embedder": OwnNetwork(5, 3), "dim": 4}, r"got \(2, 3\)"),
    ],
)
def test_what_does_not_go_with_feedback_is_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        a_learner(**parameters).fit(LOUD, relation=LOUD_PAIRS)


def test_features_that_are_no_numbers_are_refused_with_the_way_out():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 60, "size": np.arange(120)})
    with pytest.raises(ValueError, match=r"must be finite numbers: .* Set feedback=0"):
        a_learner(embedder=Ridge()).fit(frame, relation=LOUD_PAIRS)


@pytest.mark.parametrize("embedder", ["mlp", OwnNetwork(5, 5)])
@pytest.mark.parametrize("n_pairs", [150, 10])
def test_a_dataset_that_holds_nan_is_refused(embedder, n_pairs):
    wrong = LOUD.copy()
    wrong[7, 2] = np.nan
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        a_learner(embedder=embedder).fit(Rows(wrong), relation=pairs_within(LOUD_Y, n_pairs))


# ---- kinds of features and embedders ----


@pytest.mark.parametrize(
    "embedder",
    [
        Ridge(),
        RandomForestRegressor(10, max_depth=6, random_state=0),
        KNeighborsRegressor(5),
        make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
        "mnist",
    ],
    ids=lambda embedder: embedder if isinstance(embedder, str) else type(embedder).__name__,
)
def test_any_embedder_learns_from_pairs(embedder):
    learner = a_learner(embedder=embedder, feedback=5, max_epochs=10)
    learner.fit(LOUD, relation=LOUD_PAIRS)
    assert learner.score(OTHER_LOUD, relation=OTHER_LOUD_PAIRS) > 0.9


@pytest.mark.parametrize(
    "embedder", [RandomForestRegressor(10, random_state=0), KNeighborsRegressor(3)]
)
def test_a_regressor_learns_to_change_the_features(embedder):
    learner = a_learner(embedder=embedder).fit(XOR, relation=XOR_PAIRS)
    assert found_by(learner) == "embedder"
    assert learner.embedder_.path is not None
    assert type(learner.embedder_.regressor) is type(embedder)
    assert learner.score(OTHER_XOR, relation=OTHER_XOR_PAIRS) > 0.95


def test_a_users_network_learns_from_pairs_and_is_left_as_it_was():
    own = seeded(OwnNetwork, 4, 4)
    before = {name: tensor.clone() for name, tensor in own.state_dict().items()}
    learner = a_learner(embedder=own, learning_rate=0.1).fit(XOR, relation=XOR_PAIRS)
    assert found_by(learner) == "embedder"
    assert learner.score(OTHER_XOR, relation=OTHER_XOR_PAIRS) > 0.9
    assert all(tensor.equal(before[name]) for name, tensor in own.state_dict().items())


def test_images_of_bytes_are_learnt_from_by_a_users_network():
    learner = a_learner(embedder=seeded(OwnImages), learning_rate=0.1)
    learner.fit(as_images(XOR), relation=XOR_PAIRS)
    assert found_by(learner) == "embedder"
    assert learner.dim_ == 4
    assert learner.score(as_images(OTHER_XOR), relation=OTHER_XOR_PAIRS) > 0.9


def test_images_are_mirrored_in_training_if_asked():
    own = seeded(OwnImages)
    common = {"embedder": own, "feedback": 4, "max_epochs": 40, "learning_rate": 0.1}
    learners = a_learner(flips=True, **common), a_learner(**common)
    found = [one.fit(as_images(XOR), relation=XOR_PAIRS) for one in learners]
    judged = [one.history_["feedback"]["judged"]["embedder"] for one in found]
    assert judged[0] != judged[1]


@pytest.mark.parametrize("embedder", ["mlp", Ridge(), KNeighborsRegressor(3)])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_features_give_what_dense_ones_give(embedder, form):
    X, pairs = (XOR, XOR_PAIRS) if isinstance(embedder, KNeighborsRegressor) else (LOUD, LOUD_PAIRS)
    X = np.where(np.abs(X) < 0.05, 0, X)
    learner = a_learner(embedder=embedder, feedback=3, max_epochs=3).fit(form(X), relation=pairs)
    dense = a_learner(embedder=embedder, feedback=3, max_epochs=3).fit(X, relation=pairs)
    assert found_by(learner) == found_by(dense)
    np.testing.assert_allclose(learner.transform(form(X)), dense.transform(X), atol=2e-3)


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_a_memory_mapped_array_gives_what_it_gives_in_memory(embedder, tmp_path):
    np.save(tmp_path / "X.npy", LOUD)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    learner = a_learner(embedder=embedder, feedback=3, max_epochs=3)
    found = learner.fit(mapped, relation=LOUD_PAIRS).transform(mapped)
    np.testing.assert_array_equal(found, learner.fit(LOUD, relation=LOUD_PAIRS).transform(LOUD))


@pytest.mark.parametrize("embedder", ["mlp", Ridge(), KNeighborsRegressor(3)])
@pytest.mark.parametrize("problem", ["loud", "xor"])
def test_a_data_frame_gives_what_its_array_gives(embedder, problem):
    X, pairs = (LOUD, LOUD_PAIRS) if problem == "loud" else (XOR, XOR_PAIRS)
    frame = pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    learner = a_learner(embedder=embedder, feedback=3, max_epochs=3).fit(frame, relation=pairs)
    plain = a_learner(embedder=embedder, feedback=3, max_epochs=3).fit(X, relation=pairs)
    np.testing.assert_allclose(learner.transform(frame), plain.transform(X), atol=1e-5)
    assert learner.feature_names_in_.tolist() == frame.columns.tolist()


# ---- what is kept ----

KINDS = {
    "raw": ("mlp", LOUD, pairs_within(LOUD_Y, 20)),
    "raw_regressor": (Ridge(), LOUD, pairs_within(LOUD_Y, 20)),
    "raw_own": (OwnNetwork(5, 5), LOUD, pairs_within(LOUD_Y, 20)),
    "linear": ("mlp", LOUD, LOUD_PAIRS),
    "linear_regressor": (DummyRegressor(), LOUD, LOUD_PAIRS),
    "landmarks": ("mlp", XOR, XOR_PAIRS),
    "landmarks_images": ("mnist", as_images(XOR), XOR_PAIRS),
    "landmarks_regressor": (DummyRegressor(), XOR, XOR_PAIRS),
    "landmarks_own": (nn.Linear(4, 4), XOR, XOR_PAIRS),
    "network": ("mnist", XOR, XOR_PAIRS),
    "own": (seeded(OwnNetwork, 4, 4), XOR, XOR_PAIRS),
    "own_images": (seeded(OwnImages), as_images(XOR), XOR_PAIRS),
    "ridge": (Ridge(), LOUD, LOUD_PAIRS),
    "regressor": (KNeighborsRegressor(3), XOR, XOR_PAIRS),
    "forest": (RandomForestRegressor(5, max_depth=4, random_state=0), XOR, XOR_PAIRS),
}
FRESH = {
    "raw_own": lambda: OwnNetwork(5, 5),
    "landmarks_own": lambda: nn.Linear(4, 4),
    "own": lambda: OwnNetwork(4, 4),
    "own_images": OwnImages,
}
"""A user's networks, which are passed again when a model is opened."""


def way_of(kind: str) -> str:
    """Return what is chosen, which is what most kinds are called."""
    first = kind.partition("_")[0]
    return first if first in ("raw", *MAPS) else "embedder"


@pytest.fixture(scope="module", params=KINDS)
def result(request) -> tuple[str, MetricLearner, np.ndarray]:
    """One fit of each kind of result: what it is, the learner, its features."""
    kind = request.param
    embedder, X, relation = KINDS[kind]
    learner = a_learner(embedder=embedder)
    if isinstance(embedder, str | nn.Module):
        learner.set_params(feedback=30, max_epochs=30)
    if isinstance(embedder, nn.Module):
        learner.set_params(learning_rate=0.1)
    if kind == "landmarks_images":
        learner.set_params(feedback=1, max_epochs=1)  # too little for the network
    with warnings.catch_warnings():
        if way_of(kind) == "raw":
            warnings.simplefilter("ignore", RelationWarning)
        learner.fit(X, relation=relation)
    assert found_by(learner) == way_of(kind)
    return kind, learner, X


def test_a_model_is_equal_to_the_bit_after_a_round_trip(result, tmp_path):
    kind, learner, X = result
    folder = learner.save(tmp_path / "model")
    rest = {}
    if kind in FRESH:
        rest["embedder"] = FRESH[kind]()
    if kind in ("regressor", "forest"):
        with pytest.raises(ValueError, match="not trusted by themselves") as refusal:
            load(folder)
        named = str(refusal.value).partition("by themselves: ")[2].partition(". If")[0]
        rest["trusted"] = named.split(", ")
    again = load(folder, device="cpu", **rest)
    assert again.transform(X).tobytes() == learner.transform(X).tobytes()
    assert again.pair_distance(X[:9], X[9:18]).tobytes() == (
        learner.pair_distance(X[:9], X[9:18]).tobytes()
    )
    assert (again.metric_, again.dim_) == (learner.metric_, learner.dim_)
    assert again.feedback == learner.feedback


def test_a_pickled_learner_gives_equal_outputs(result):
    _, learner, X = result
    again = pickle.loads(pickle.dumps(learner))
    assert again.transform(X).tobytes() == learner.transform(X).tobytes()
    np.testing.assert_array_equal(again.targets_, learner.targets_)


def test_a_saved_model_is_saved_again(result, tmp_path):
    kind, learner, X = result
    if kind in FRESH or kind in ("regressor", "forest"):
        pytest.skip("needs the user's own, as the round trip shows")
    once = load(learner.save(tmp_path / "once"), device="cpu")
    twice = load(once.save(tmp_path / "twice"), device="cpu")
    assert twice.transform(X).tobytes() == learner.transform(X).tobytes()


def test_what_was_learnt_is_told(result):
    kind, learner, X = result
    told = learner.history_["feedback"]
    assert set(learner.history_) == {"regression", "feedback"}
    assert set(told) == {"way", "round", "judged"}
    if told["way"] == "raw":
        assert told["judged"] == {}
    else:
        assert list(told["judged"]) == ["linear", "landmarks", "embedder"]
        assert len(told["judged"]["linear"]) == len(told["judged"]["landmarks"]) == 31
        assert told["judged"]["linear"][0] == told["judged"]["landmarks"][0]
    n_epochs = told["round"] if kind in ("network", "own", "own_images") else 0
    assert len(learner.history_["regression"]) == n_epochs
    assert set(learner.timing_) == {"targets", "regression"}
    assert all(type(seconds) is float for seconds in learner.timing_.values())
    if told["way"] != "raw":
        assert min(learner.timing_.values()) > 0
    assert learner.targets_.shape == (len(X), learner.dim_)
    assert learner.targets_.dtype == np.float32


def test_a_threshold_is_calibrated_on_any_result(result):
    kind, learner, X = result
    relation = KINDS[kind][2]
    found = pickle.loads(pickle.dumps(learner))
    accuracy = found.calibrate_threshold(X, relation).accuracy
    alike = found.predict_pairs(X[relation.left], X[relation.right])
    assert np.mean(alike == (relation.similar == 1)) == pytest.approx(accuracy)


def test_items_in_no_statement_have_no_target_and_an_embedding():
    relation = pairs_within(LOUD_Y[:80], 150, n_items=120)
    learner = a_learner(embedder=Ridge()).fit(LOUD, relation=relation)
    linked = relation.linked
    assert not linked.all()
    assert np.isfinite(learner.targets_[linked]).all()
    assert np.isnan(learner.targets_[~linked]).all()
    assert np.isfinite(learner.transform(LOUD)).all()


@pytest.mark.parametrize("embedder", ["mlp", OwnNetwork(4, 4), RandomForestRegressor(3)])
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(embedder):
    def found(seed):
        learner = a_learner(embedder=embedder, random_state=seed, feedback=2, max_epochs=4)
        learner.fit(XOR, relation=XOR_PAIRS)
        judged = learner.history_["feedback"]["judged"]["embedder"]
        return learner.transform(XOR).tobytes(), learner.targets_.tobytes(), judged

    first = found(3)
    assert first == found(3)
    assert first[2] != found(4)[2]


def test_fitting_again_starts_anew():
    learner = a_learner(embedder=Ridge()).fit(LOUD, LOUD_Y)
    learner.calibrate_threshold(LOUD, LOUD_Y)
    again = learner.fit(LOUD, relation=LOUD_PAIRS).transform(LOUD)
    fresh = a_learner(embedder=Ridge()).fit(LOUD, relation=LOUD_PAIRS)
    np.testing.assert_array_equal(again, fresh.transform(LOUD))
    assert not hasattr(learner, "threshold_")
    assert set(learner.fit(LOUD, LOUD_Y).history_) == {"targets"}


def test_with_many_statements_the_linear_map_is_not_tried(monkeypatch):
    monkeypatch.setattr(choice_module, "MOST_FOR_LINEAR", len(LOUD_PAIRS) - 1)
    learner = a_learner(feedback=2, max_epochs=2).fit(LOUD, relation=LOUD_PAIRS)
    assert list(learner.history_["feedback"]["judged"]) == ["landmarks", "embedder"]
    monkeypatch.setattr(choice_module, "MOST_FOR_LINEAR", len(LOUD_PAIRS))
    learner.fit(LOUD, relation=LOUD_PAIRS)
    assert list(learner.history_["feedback"]["judged"]) == ["linear", "landmarks", "embedder"]
