"""The metric step of a learner: what is compared, for which kinds, and what cannot be chosen."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from torch import nn

from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    RelationWarning,
    Targets,
    TripletRelation,
    load,
)
from twofold.evaluation import knn_accuracy, retrieval_scores

DIGITS = load_digits()
IMAGES, CLASSES = DIGITS.data.astype(np.float32), DIGITS.target
IS_SEEN = CLASSES < 5
X, Y = IMAGES[IS_SEEN][:400], CLASSES[IS_SEEN][:400]
SEVERAL = np.stack([Y < 3, Y > 1], axis=1)
SEEN, NEW = IMAGES[IS_SEEN][400:], IMAGES[~IS_SEEN][:400]
SEEN_CLASSES, NEW_CLASSES = CLASSES[IS_SEEN][400:], CLASSES[~IS_SEEN][:400]


def learner(metric="auto", **parameters):
    parameters = {"embedder": Network(max_epochs=10), "random_state": 0} | parameters
    return MetricLearner(metric=metric, device="cpu", **parameters)


@pytest.fixture(scope="module")
def fitted():
    return {metric: learner(metric).fit(X, Y) for metric in ("auto", "seen", "unseen")}


def recall_at_1(model, items, classes):
    points = model.transform(items)
    scores = retrieval_scores(points, classes, k=(1,), metric=model.metric_, n_resamples=0)
    return scores.recall_at[1]


def test_new_kinds_are_found_by_the_default_and_not_by_the_output(fitted):
    recall = {name: recall_at_1(model, NEW, NEW_CLASSES) for name, model in fitted.items()}
    assert recall["auto"] > 0.95
    assert recall["unseen"] > 0.95
    assert recall["seen"] < 0.9


def test_kinds_seen_are_found_by_each(fitted):
    for model in fitted.values():
        assert recall_at_1(model, SEEN, SEEN_CLASSES) > 0.95
    points = [fitted["auto"].transform(items) for items in (X, SEEN)]
    assert knn_accuracy(points[0], Y, points[1], SEEN_CLASSES) > 0.95


def test_points_have_length_one_and_an_item_is_its_own_nearest(fitted):
    model = fitted["auto"]
    points = model.transform(NEW)
    assert model.metric_ == "cosine"
    assert points.shape == (400, model.n_components_)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal((points @ points.T).argmax(axis=1), np.arange(400))
    np.testing.assert_allclose(model.pair_distance(NEW[:3], NEW[:3]), 0, atol=1e-5)


def test_what_was_chosen_is_told(fitted):
    selection = fitted["auto"].metric_selection_
    assert selection.n_held_out == 2
    assert set(selection.scores) == {"features", "output", "seen", "unseen"}
    assert fitted["auto"].timing_["metric"] > 0
    assert fitted["seen"].metric_selection_ is None
    assert fitted["unseen"].metric_selection_.gate is None


def test_the_network_is_the_one_that_is_trained_for_kinds_seen(fitted):
    weights = [model.embedder_.network.state_dict() for model in fitted.values()]
    for name, tensor in weights[0].items():
        assert all(torch.equal(tensor, other[name]) for other in weights[1:])


def test_a_model_on_disk_gives_the_same_points(tmp_path, fitted):
    fitted["auto"].save(tmp_path / "model")
    again = load(tmp_path / "model")
    expected = fitted["auto"].transform(NEW)
    np.testing.assert_allclose(again.transform(NEW), expected, atol=1e-5)
    assert again.metric_ == "cosine"


def test_a_number_of_components_is_that_of_the_points():
    model = learner(n_components=20).fit(X, Y)
    assert model.transform(NEW).shape == (400, 20)
    assert recall_at_1(model, NEW, NEW_CLASSES) > 0.85


def test_more_components_than_can_be_had_are_said_to_be_fewer():
    sentence = r"Points have \d components, not n_components=50: the layers that count have no more"
    with pytest.warns(UserWarning, match=sentence) as said:
        model = learner("unseen", n_components=50, embedder=Ridge()).fit(X[:, 2:3], Y)
    assert model.n_components_ == model.transform(X[:3, 2:3]).shape[1] < 10
    assert f"Points have {model.n_components_} components" in str(said[0].message)


def test_a_regressor_has_features_and_output():
    model = learner("unseen", embedder=Ridge()).fit(X, Y)
    layers = {layer for layer, _ in model.metric_selection_.spaces}
    assert layers <= {"features", "output"}
    assert recall_at_1(model, NEW, NEW_CLASSES) > 0.95


def test_ones_own_module_is_compared_by_the_layers_that_are_named():
    body = nn.Sequential(nn.Linear(64, 30), nn.ReLU(), nn.Linear(30, 16))
    model = learner(embedder=Network(body, max_epochs=5, layers=["1"])).fit(X, Y)
    layers = {layer for layer, _ in model.metric_selection_.spaces}
    assert layers <= {"features", "1", "output"}


def test_a_layer_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="layers contains 'neck', which is not an inner layer"):
        learner(embedder=Network(max_epochs=1, layers=["neck"])).fit(X, Y)


@pytest.mark.parametrize("metric", ["auto", "unseen"])
def test_a_module_without_inner_vectors_is_said_to_have_features_and_output_alone(metric):
    model = learner(metric, embedder=Network(nn.Linear(64, 16), max_epochs=3))
    with pytest.warns(UserWarning, match="no inner layer .* so features and output are compared"):
        model.fit(X, Y)
    assert recall_at_1(model, NEW, NEW_CLASSES) > 0.95
    # Whom the layers were named by has said so.
    model.set_params(embedder__layers=[]).fit(X, Y)
    model.set_params(metric="seen", embedder__layers="auto").fit(X, Y)


def test_where_the_features_are_too_wide_too_there_is_only_the_output(monkeypatch):
    monkeypatch.setattr("twofold.regression._layers.WIDEST", 32)
    model = learner(embedder=Network(nn.Linear(64, 16), max_epochs=1))
    with pytest.warns(UserWarning, match="no inner layer .* so points are its output"):
        model.fit(X, Y)
    assert model.metric_ == "dot"
    with pytest.raises(ValueError, match="metric='unseen' joins the layers before the output"):
        model.set_params(metric="unseen").fit(X, Y)


def test_too_few_classes_to_hold_some_out_leave_the_output(caplog):
    few = Y < 3
    with caplog.at_level(logging.INFO, logger="twofold"):
        model = learner(verbose=True).fit(X[few], Y[few])
    assert model.metric_selection_ is None
    assert "fewer than 4 classes: points are the output" in caplog.text
    with pytest.warns(RelationWarning, match=r"fewer than 4 classes\. Every layer counts the same"):
        model = learner("unseen").fit(X[few], Y[few])
    assert len(set(model.metric_selection_.weights)) == 1


def test_too_few_items_to_hold_some_out_leave_the_output():
    items, two_each = X[:16], np.arange(16) // 2
    assert learner().fit(items, two_each).metric_selection_ is None
    only_two_alike = np.append(np.arange(15), 14)
    with pytest.warns(RelationWarning, match="too few items share classes"):
        learner("unseen").fit(items, only_two_alike)


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [(np.zeros(16), "Add items of a second class"), (np.arange(16), "has no similar pair")],
)
def test_one_class_only_or_an_item_each_is_refused(classes, sentence):
    with pytest.raises(ValueError, match=sentence):
        learner().fit(X[:16], classes)


@pytest.mark.parametrize("metric", ["auto", "unseen"])
def test_constant_features_are_said_and_break_nothing(metric):
    quick = learner(metric, embedder=Network(max_epochs=1))
    with pytest.warns(UserWarning, match="All 60 training items .* have the same features, so all"):
        model = quick.fit(np.ones((60, 5)), np.arange(60) % 6)
    assert np.isfinite(model.transform(np.ones((3, 5)))).all()


@pytest.mark.parametrize(
    ("parameters", "given", "step"),
    [
        ({}, Y, "both"),
        ({"metric": "unseen"}, Y, "unseen"),
        ({"metric": "seen"}, Y, "output"),
        ({"metric": "none"}, Y, "output"),
        ({"targets": "fml-c"}, Y, "output"),
        ({"targets": "fml-dp"}, Y, "output"),
        ({"targets": Targets("contrastive")}, Y, "output"),
        ({}, SEVERAL, "output"),
    ],
)
def test_what_is_compared_follows_from_the_relation(parameters, given, step):
    model = learner(**parameters, n_components=8, embedder=Ridge()).fit(X, given)
    assert model.plan_.metric_step == step


def test_several_labels_are_learnt_from_for_kinds_never_seen():
    labels = np.eye(5, dtype=int)[Y]
    labels[::9, 1] = 1  # so that some items have two
    model = learner("unseen").fit(X[:200], labels[:200])
    assert model.metric_ == "cosine"
    assert recall_at_1(model, NEW, NEW_CLASSES) > 0.95


def test_pairs_are_learnt_from_for_kinds_never_seen():
    pairs = LabelRelation(Y).sample_pairs(4, 4, random_state=0)
    model = learner("unseen", embedder="auto").fit(X, relation=pairs)
    assert model.metric_selection_.n_held_out >= 2
    assert recall_at_1(model, NEW, NEW_CLASSES) > 0.95


def test_triplets_do_not_say_what_is_of_one_kind():
    relation = TripletRelation([0, 1], [2, 3], [4, 5], 400)
    with pytest.raises(ValueError, match="triplets do not say which items are of the same kind"):
        learner("unseen").fit(X, relation=relation)


def test_a_metric_is_one_of_a_few():
    with pytest.raises(ValueError, match=r"metric must be one of .* got 'cosine'"):
        learner("cosine").fit(X, Y)
