"""Every parameter means what it says, and the same, in every path."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from little_problems import (
    SHOWN,
    OwnNetwork,
    beside_loud_noise,
    pairs_within,
    quick_learner,
    three_blobs,
    triplets_within,
)
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    PairRelation,
    RelationWarning,
    Targets,
    solve_targets,
)

X, Y = beside_loud_noise()
PAIRS = pairs_within(Y)
PATHS = {
    "labels": ({}, {"y": Y}),
    "statements": ({"feedback": 0}, {"relation": PAIRS}),
    "feedback": ({"validation_fraction": 0}, {"relation": PAIRS}),
}
EVERY_PATH = pytest.mark.parametrize("path", PATHS)
ONE_MORE = PairRelation([0], [1], [int(Y[0] == Y[1])], len(X))


def fitted(path: str, **network) -> MetricLearner:
    parameters, given = PATHS[path]
    return quick_learner(embedder=Network(**network), **parameters).fit(X, **given)


# ---- of the network ----


@EVERY_PATH
@pytest.mark.parametrize("max_epochs", [1, 3])
def test_a_network_takes_as_many_epochs_as_it_is_given(path, max_epochs):
    seen = []
    learner = fitted(path, max_epochs=max_epochs, callback=seen.append)
    expected = [(number, max_epochs) for number in range(1, max_epochs + 1)]
    assert [(epoch.number, epoch.n_epochs) for epoch in seen] == expected
    assert learner.history_["regression"] == [epoch.loss for epoch in seen]


@pytest.mark.parametrize("path", ["statements", "feedback"])
@pytest.mark.parametrize(("max_epochs", "of_update"), [(1, 1), (4, 1), (30, 3)])
def test_an_update_takes_a_tenth_of_the_epochs_and_at_least_one(path, max_epochs, of_update):
    seen = []
    learner = fitted(path, max_epochs=max_epochs, callback=seen.append)
    seen.clear()
    learner.update(ONE_MORE)
    assert [(epoch.number, epoch.n_epochs) for epoch in seen] == [
        (number, of_update) for number in range(1, of_update + 1)
    ]
    assert learner.history_["regression"] == [epoch.loss for epoch in seen]


@EVERY_PATH
def test_the_plan_keeps_what_was_given(path):
    given = {"max_epochs": 1, "batch_size": 7, "learning_rate": 0.0625, "weight_decay": 0.125}
    config = fitted(path, **given, dropout=0.375).plan_.embedder
    assert {name: getattr(config, name) for name in given} == given
    assert config.dropout == 0.375


@EVERY_PATH
def test_a_higher_learning_rate_moves_further(path):
    def moved(rate):
        SHOWN.clear()
        network = OwnNetwork()
        before = network.layer.weight.detach().clone()
        parameters, given = PATHS[path]
        own = Network(network, max_epochs=1, learning_rate=rate)
        learner = quick_learner(embedder=own, **parameters).fit(X, **given)
        return float((learner.embedder_.network[1].layer.weight - before).detach().abs().max())

    assert moved(1e-6) < 1e-4 < moved(1e-2)


@EVERY_PATH
def test_batches_have_the_size_that_was_given(path):
    parameters, given = PATHS[path]
    own = Network(OwnNetwork(), max_epochs=1, batch_size=20)
    SHOWN.clear()
    quick_learner(embedder=own, **parameters).fit(X, **given)
    assert [len(batch) for batch in SHOWN] == [20, 20, 20]


@EVERY_PATH
@pytest.mark.parametrize("answer", [True, np.bool_(True), np.array([True])[0]])
def test_a_callback_that_answers_true_stops(path, answer):
    learner = fitted(path, max_epochs=5, callback=lambda epoch: answer)
    assert len(learner.history_["regression"]) == 1


@EVERY_PATH
@pytest.mark.parametrize("answer", [None, False, np.bool_(False), 1, "go on"])
def test_any_other_answer_goes_on(path, answer):
    learner = fitted(path, max_epochs=2, callback=lambda epoch: answer)
    assert len(learner.history_["regression"]) == 2


@EVERY_PATH
@pytest.mark.parametrize(("kind", "scale"), [(np.uint8, 255), (np.float32, 1), (np.int64, 1)])
def test_a_users_module_sees_bytes_divided_by_255_and_all_else_as_it_is(path, kind, scale):
    features = (40 * X + 120).clip(0, 255).astype(kind)
    parameters, given = PATHS[path]
    SHOWN.clear()
    quick_learner(embedder=Network(OwnNetwork(), max_epochs=1), **parameters).fit(features, **given)
    shown = np.concatenate([batch.numpy() for batch in SHOWN])
    expected = features.astype(np.float32) / scale
    np.testing.assert_allclose(np.sort(shown, axis=0), np.sort(expected, axis=0), rtol=1e-6)


# ---- of the learner ----


@pytest.mark.filterwarnings("ignore:Nothing learnt")
@pytest.mark.parametrize("n_rounds", [1, 3])
@pytest.mark.parametrize("relation", [PAIRS, triplets_within(Y)], ids=["pairs", "triplets"])
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
    assert (selection.expected, selection.reference, selection.scores) == (None, None, {})
    assert selection.n_validated == 0
    assert selection.n_statements == PAIRS.n_pairs
    kinds = {"auto": "ridge map", "Network": "network", "Ridge": "regressor"}
    named = embedder if isinstance(embedder, str) else type(embedder).__name__
    assert selection.candidate == kinds[named]


@pytest.mark.filterwarnings("ignore:Nothing learnt")
def test_a_larger_validation_fraction_holds_more_out():
    few, many = (
        quick_learner(embedder="auto", validation_fraction=share, feedback=2)
        .fit(X, relation=PAIRS)
        .selection_.n_validated
        for share in (0.1, 0.4)
    )
    assert 0 < few < many


def test_without_feedback_the_validation_fraction_chooses_the_epoch():
    learner = quick_learner(validation_fraction=0.25).fit(X, Y)
    history = learner.history_
    assert len(history["validation"]) == len(history["regression"]) == 2
    assert history["best_epoch"] == 1 + int(np.argmin(history["validation"]))
    assert quick_learner().fit(X, Y).history_["validation"] == []


def test_statements_without_feedback_start_from_the_relations_shape():
    learner = quick_learner(feedback=0).fit(X, relation=PAIRS)
    expected = solve_targets(PAIRS, 4, loss="dot", device="cpu", random_state=0)
    assert learner.selection_ is None
    assert learner.targets_.tobytes() == expected.points.tobytes()
    alone = quick_learner().solve_targets(relation=PAIRS)
    assert alone.points.tobytes() == expected.points.tobytes()


@pytest.mark.parametrize(("name", "loss"), [("fml-c", "contrastive"), ("fml-dp", "dot")])
def test_the_papers_targets_start_at_random_and_take_no_feedback(name, loss):
    learner = quick_learner(targets=name).fit(X, relation=PAIRS)
    paper = {"init": "random", "tol": 1e-5, "max_epochs": 1000}
    expected = solve_targets(PAIRS, 4, loss=loss, device="cpu", random_state=0, **paper)
    assert learner.selection_ is None
    assert learner.metric_ == ("dot" if loss == "dot" else "euclidean")
    assert learner.targets_.tobytes() == expected.points.tobytes()
    zero = quick_learner(targets=name, feedback=0).fit(X, relation=PAIRS)
    assert zero.transform(X).tobytes() == learner.transform(X).tobytes()


def test_the_margin_is_that_of_the_targets():
    near, far = (
        quick_learner(targets=Targets("contrastive", margin=margin), feedback=0, embedder=Ridge())
        .fit(X, relation=PAIRS)
        .targets_
        for margin in (1.0, 3.0)
    )
    different = PAIRS.similar == 0
    left, right = PAIRS.left[different], PAIRS.right[different]
    gaps = [np.linalg.norm(points[left] - points[right], axis=1).mean() for points in (near, far)]
    assert gaps[1] == pytest.approx(3 * gaps[0], rel=0.1)


@pytest.mark.parametrize(("n_similar", "n_dissimilar"), [(3, 5), (2, 1)])
def test_partners_are_sampled_as_many_as_are_given(n_similar, n_dissimilar):
    targets = Targets("dot", pairs="sampled", n_similar=n_similar, n_dissimilar=n_dissimilar)
    learner = quick_learner(targets=targets, embedder=Ridge()).fit(X, Y)
    rng = np.random.default_rng(0)
    sampled = LabelRelation(Y).sample_pairs(n_similar, n_dissimilar, rng)
    expected = solve_targets(sampled, 4, loss="dot", device="cpu", random_state=rng)
    assert learner.targets_.tobytes() == expected.points.tobytes()


@pytest.mark.parametrize(
    ("parameters", "grade"),
    [
        ({}, "jaccard"),
        ({"grade": "overlap"}, "overlap"),
        ({"grade": "jaccard"}, "jaccard"),
        ({"loss": "contrastive"}, "overlap"),
        ({"loss": "contrastive", "grade": "jaccard"}, "jaccard"),
    ],
)
def test_the_grade_of_several_labels_decides_the_targets(parameters, grade):
    labels = np.column_stack([np.eye(3, dtype=int)[Y], np.arange(60) % 2])
    learner = quick_learner(targets=Targets(**parameters), embedder=Ridge()).fit(X, labels)
    relation = LabelRelation(labels, grade=grade)
    loss = parameters.get("loss", "dot")
    expected = solve_targets(relation, 4, loss=loss, device="cpu", random_state=0)
    np.testing.assert_allclose(learner.targets_, expected.points, atol=1e-5)


# ---- what "auto" came to ----


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"y": Y}, (16, "dot", "dot", False, 0.0, "likelihood if shared")),
        ({"y": np.arange(60) % 20}, (20, "dot", "dot", False, 0.0, "likelihood if shared")),
        ({"relation": PAIRS}, (None, "contrastive", "euclidean", True, 0.2, "squared")),
        (
            {"relation": triplets_within(Y)},
            (None, "contrastive", "euclidean", True, 0.2, "squared"),
        ),
    ],
    ids=["classes", "twenty classes", "pairs", "triplets"],
)
def test_the_plan_has_a_value_for_every_auto(given, expected):
    plan = MetricLearner(random_state=0).fit(X, **given).plan_
    names = ("n_components", "loss", "metric", "uses_feedback", "validation_fraction", "regression")
    assert tuple(getattr(plan, name) for name in names) == expected
    parts = [plan, *([plan.embedder] if dataclasses.is_dataclass(plan.embedder) else [])]
    values = [getattr(part, one.name) for part in parts for one in dataclasses.fields(part)]
    assert "auto" not in [value for value in values if isinstance(value, str)]
    assert plan.device in ("cpu", "cuda")


@pytest.mark.parametrize(
    ("architecture", "given", "dropout", "weight_decay"),
    [
        ("auto", {"y": Y}, 0.2, 0.03),
        ("auto", {"y": np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])[Y]}, 0.5, 1.0),
        ("auto", {"relation": PAIRS}, 0.2, 0.03),
        ("mnist", {"y": Y}, 0.2, 0.0),
    ],
    ids=["classes", "several labels", "feedback", "a network of the paper's"],
)
def test_regularisation_is_mild_for_classes_and_feedback(
    architecture, given, dropout, weight_decay
):
    network = Network(architecture, max_epochs=1)
    config = quick_learner(embedder=network, validation_fraction=0).fit(X, **given).plan_.embedder
    assert (config.dropout, config.weight_decay) == (dropout, weight_decay)
    assert (config.architecture, config.learning_rate) == (
        "mlp" if architecture == "auto" else architecture,
        0.002,
    )


def test_single_statements_without_feedback_are_regularised_strongly():
    config = quick_learner(feedback=0).fit(X, relation=PAIRS).plan_.embedder
    assert (config.dropout, config.weight_decay) == (0.5, 1.0)


def test_statements_that_decide_a_relation_that_is_not_transitive_take_no_feedback():
    rng = np.random.default_rng(0)
    labels = rng.random((60, 6)) < 0.3
    left, right = np.triu_indices(60, 1)
    for n_pairs, uses_feedback in ((left.size, False), (100, True)):
        rows = rng.permutation(left.size)[:n_pairs]
        similar = (labels[left[rows]] & labels[right[rows]]).any(axis=1)
        relation = PairRelation(left[rows], right[rows], similar, 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RelationWarning)  # nothing is to be learnt from noise
            learner = quick_learner(embedder=Ridge()).fit(X, relation=relation)
        assert learner.plan_.uses_feedback is uses_feedback


def test_a_grid_search_reaches_networks_and_targets():
    features, labels = three_blobs(36)
    learner = quick_learner(embedder=Network(), targets=Targets("contrastive"))
    grid = {"embedder__max_epochs": [1, 2], "targets__margin": [1.0, 5.0]}
    search = GridSearchCV(learner, grid, cv=2).fit(features, labels)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_
    assert best.plan_.embedder.max_epochs == search.best_params_["embedder__max_epochs"]
    assert best.plan_.targets.margin == search.best_params_["targets__margin"]
    assert len(best.history_["regression"]) == best.plan_.embedder.max_epochs
