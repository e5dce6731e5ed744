"""Every parameter means what it says, and the same, in every path."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from little_problems import PAIRS, SHOWN, TRIPLETS, OwnNetwork, X, Y, quick_learner, three_blobs
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    PairRelation,
    Targets,
    TargetWarning,
    solve_targets,
)

TWO_KINDS = np.column_stack([np.eye(3, dtype=int)[Y], np.arange(60) % 2])
PATHS = {
    "labels": ({}, {"y": Y}),
    "statements": ({"feedback": 0}, {"relation": PAIRS}),
    "feedback": ({"validation_fraction": 0}, {"relation": PAIRS}),
}
EVERY_PATH = pytest.mark.parametrize("path", PATHS)


def fitted(path: str, features=X, **network) -> MetricLearner:
    parameters, given = PATHS[path]
    SHOWN.clear()
    return quick_learner(embedder=Network(**network), **parameters).fit(features, **given)


@EVERY_PATH
@pytest.mark.parametrize(("max_epochs", "of_update"), [(1, 1), (4, 1), (30, 6)])
def test_epochs_are_as_many_as_are_given_and_a_fifth_in_an_update(path, max_epochs, of_update):
    seen = []
    learner = fitted(path, max_epochs=max_epochs, callback=seen.append)
    for expected in (max_epochs, of_update):
        numbers = [(epoch.number, epoch.n_epochs) for epoch in seen]
        assert numbers == [(number, expected) for number in range(1, expected + 1)]
        assert learner.history_["regression"] == [epoch.loss for epoch in seen]
        if path == "labels":
            return  # these are not updated
        seen.clear()
        if expected == max_epochs:
            learner.update(PairRelation([0], [1], [int(Y[0] == Y[1])], 60))


@pytest.mark.filterwarnings("ignore:The network has no inner layer")
@EVERY_PATH
def test_the_plan_keeps_what_was_given_and_training_obeys_it(path):
    given = {"max_epochs": 1, "batch_size": 20, "learning_rate": 1e-6, "weight_decay": 0.125}
    network = OwnNetwork()
    before = network.layer.weight.detach().clone()
    learner = fitted(path, architecture=network, dropout=0.375, **given)
    config = learner.plan_.embedder
    assert {name: getattr(config, name) for name in given} == given
    assert config.dropout == 0.375
    assert [len(batch) for batch in SHOWN] == [20, 20, 20]
    moved = (learner.embedder_.network[1].layer.weight.detach() - before).abs().max()
    assert 0 < moved < 1e-4


@EVERY_PATH
@pytest.mark.parametrize(
    ("answer", "n_epochs"),
    [(True, 1), (np.bool_(True), 1), (False, 2), (np.bool_(False), 2), (None, 2), (1, 2)],
)
def test_a_callback_that_answers_true_stops_and_nothing_else_does(path, answer, n_epochs):
    learner = fitted(path, max_epochs=2, callback=lambda epoch: answer)
    assert len(learner.history_["regression"]) == n_epochs


@pytest.mark.filterwarnings("ignore:The network has no inner layer")
@EVERY_PATH
@pytest.mark.parametrize(("kind", "scale"), [(np.uint8, 255), (np.float32, 1), (np.int64, 1)])
def test_a_users_module_sees_bytes_divided_by_255_and_all_else_as_it_is(path, kind, scale):
    features = (40 * X + 120).clip(0, 255).astype(kind)
    fitted(path, features, architecture=OwnNetwork(), max_epochs=1)
    shown = np.concatenate([batch.numpy() for batch in SHOWN])
    expected = features.astype(np.float32) / scale
    np.testing.assert_allclose(np.sort(shown, axis=0), np.sort(expected, axis=0), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Nothing learnt")
@pytest.mark.parametrize("n_rounds", [1, 3])
@pytest.mark.parametrize("relation", [PAIRS, TRIPLETS], ids=["pairs", "triplets"])
def test_feedback_takes_no_more_rounds_than_it_is_given(n_rounds, relation):
    learner = quick_learner(feedback=n_rounds, validation_fraction=0, embedder="auto")
    selection = learner.fit(X, relation=relation).selection_
    assert (selection.candidate, selection.n_rounds) == ("ridge map", n_rounds)
    learner.set_params(validation_fraction=0.2).fit(X, relation=relation)
    traces = learner.selection_.scores
    assert {len(trace) for name, trace in traces.items() if "ridge" in name} == {n_rounds}
    assert learner.plan_.n_rounds == n_rounds


@pytest.mark.parametrize("embedder", ["auto", Network(max_epochs=1), Ridge()])
def test_without_a_validation_fraction_nothing_is_held_out(embedder):
    learner = quick_learner(embedder=embedder, validation_fraction=0).fit(X, relation=PAIRS)
    selection = learner.selection_
    names = {"auto": "ridge map", Network: "network", Ridge: "regressor"}
    assert selection.candidate == names[embedder if embedder == "auto" else type(embedder)]
    assert (selection.expected, selection.reference, selection.scores) == (None, None, {})
    assert (selection.n_validated, selection.n_statements) == (0, PAIRS.n_pairs)


def test_without_feedback_the_validation_fraction_holds_out_items():
    history = quick_learner(validation_fraction=0.25).fit(X, Y).history_
    assert len(history["validation"]) == 2
    assert history["best_epoch"] == 1 + int(np.argmin(history["validation"]))
    assert quick_learner().fit(X, Y).history_["validation"] == []


PAPER = {"init": "random", "tol": 1e-5, "max_epochs": 1000}


@pytest.mark.parametrize(
    ("parameters", "loss", "start"),
    [
        ({"feedback": 0}, "dot", {}),
        ({"feedback": 0, "targets": Targets("contrastive")}, "contrastive", {}),
        ({"targets": "fml-c"}, "contrastive", PAPER),
        ({"targets": "fml-dp", "feedback": 0}, "dot", PAPER),
    ],
    ids=["auto", "contrastive", "fml-c", "fml-dp"],
)
def test_without_feedback_targets_are_those_of_phase_1_with_its_start(parameters, loss, start):
    learner = quick_learner(**parameters).fit(X, relation=PAIRS)
    expected = solve_targets(PAIRS, 4, loss=loss, device="cpu", random_state=0, **start)
    assert learner.selection_ is None
    assert learner.metric_ == ("dot" if loss == "dot" else "euclidean")
    assert learner.targets_.tobytes() == expected.points.tobytes()
    alone = quick_learner(**parameters).solve_targets(relation=PAIRS)
    assert alone.points.tobytes() == expected.points.tobytes()


@pytest.mark.parametrize("feedback", [1, 0])
def test_the_margin_is_that_of_the_targets(feedback):
    gaps = []
    for margin in (1.0, 3.0):
        targets = Targets("contrastive", margin=margin)
        learner = quick_learner(targets=targets, feedback=feedback, validation_fraction=0)
        points = learner.fit(X, relation=PAIRS).targets_
        apart = np.linalg.norm(points[PAIRS.left] - points[PAIRS.right], axis=1)
        gaps.append(apart[PAIRS.similar == 0].mean())
    assert gaps[1] > 1.2 * gaps[0] if feedback else gaps[1] == pytest.approx(3 * gaps[0], rel=0.1)


@pytest.mark.parametrize(
    ("parameters", "loss", "grade"),
    [
        ({}, "dot", "jaccard"),
        ({"grade": "overlap"}, "dot", "overlap"),
        ({"loss": "contrastive"}, "contrastive", "overlap"),
        ({"loss": "contrastive", "grade": "jaccard"}, "contrastive", "jaccard"),
    ],
)
def test_the_grade_of_several_labels_decides_the_targets(parameters, loss, grade):
    learner = quick_learner(targets=Targets(**parameters), embedder=Ridge()).fit(X, TWO_KINDS)
    relation = LabelRelation(TWO_KINDS, grade=grade)
    expected = solve_targets(relation, 4, loss=loss, device="cpu", random_state=0)
    np.testing.assert_allclose(learner.targets_, expected.points, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "given", "expected", "regularisation"),
    [
        ({}, {"y": Y}, (16, "dot", 0.0, "likelihood if shared"), (0.2, 0.03)),
        ({}, {"y": np.arange(60) % 20}, (20, "dot", 0.0, "likelihood if shared"), (0.2, 0.03)),
        ({}, {"y": TWO_KINDS}, (16, "dot", 0.0, "squared"), (0.5, 1.0)),
        ({"feedback": 0}, {"relation": PAIRS}, (16, "dot", 0.0, "squared"), (0.5, 1.0)),
        ({}, {"relation": PAIRS}, (None, "contrastive", 0.2, "squared"), (0.2, 0.03)),
        ({}, {"relation": TRIPLETS}, (None, "contrastive", 0.2, "squared"), (0.2, 0.03)),
        (
            {"embedder": Network("mnist")},
            {"y": Y},
            (16, "dot", 0.0, "likelihood if shared"),
            (0.2, 0),
        ),
    ],
    ids=["classes", "twenty", "labels", "statements", "feedback", "triplets", "the paper's"],
)
def test_the_plan_has_a_value_for_every_auto(parameters, given, expected, regularisation):
    network = {"embedder": Network(), **parameters}["embedder"].set_params(max_epochs=1)
    learner = quick_learner(n_components="auto", **{**parameters, "embedder": network})
    plan = learner.fit(X, **given).plan_
    names = ("n_components", "loss", "validation_fraction", "regression")
    assert tuple(getattr(plan, name) for name in names) == expected
    assert plan.uses_feedback is (learner.selection_ is not None)
    assert learner.targets_.shape[1] == (plan.n_components or 5)
    assert (plan.embedder.dropout, plan.embedder.weight_decay) == regularisation
    assert plan.embedder.learning_rate == 0.002
    values = [getattr(part, one.name) for part in (plan, plan.embedder) for one in fields(part)]
    assert "auto" not in [value for value in values if isinstance(value, str)]
    assert "auto" not in (plan.targets.loss, plan.targets.grade)


@pytest.mark.filterwarnings("ignore:Nothing learnt", "ignore:.*too few")
@pytest.mark.parametrize(("n_pairs", "uses_feedback"), [(1770, False), (100, True)])
def test_statements_that_decide_a_relation_that_is_not_transitive(n_pairs, uses_feedback):
    rng = np.random.default_rng(0)
    labels = rng.random((60, 6)) < 0.3
    left, right = rng.permutation(np.transpose(np.triu_indices(60, 1)))[:n_pairs].T
    relation = PairRelation(left, right, (labels[left] & labels[right]).any(axis=1), 60)
    learner = quick_learner(embedder=Ridge()).fit(X, relation=relation)
    assert learner.plan_.uses_feedback is uses_feedback


def test_a_grid_search_reaches_networks_and_targets():
    features, labels = three_blobs(36)
    learner = quick_learner(embedder=Network(), targets=Targets("contrastive"))
    grid = {"embedder__max_epochs": [1, 2], "targets__margin": [1.0, 5.0]}
    search = GridSearchCV(learner, grid, cv=2).fit(features, labels)
    best, chosen = search.best_estimator_, search.best_params_
    assert len(best.history_["regression"]) == chosen["embedder__max_epochs"]
    assert best.plan_.targets.margin == chosen["targets__margin"]


def test_squared_error_of_more_classes_than_components_is_warned_of():
    features, classes = X[:40], np.arange(40) % 10
    squared = Network("mlp", loss="squared", max_epochs=1)
    learner = MetricLearner(4, embedder=squared, metric="seen", device="cpu", random_state=0)
    with pytest.warns(TargetWarning, match=r"learn 10 classes well in .* n_components=10\."):
        learner.fit(features, classes)
    learner.set_params(n_components=10).fit(features, classes)
    learner.set_params(n_components=4, embedder=Network("mlp", max_epochs=1)).fit(features, classes)
