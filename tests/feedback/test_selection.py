"""Selection: what is kept, what is learnt, and what is promised about new statements."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import toy_problems
from sklearn.linear_model import Ridge
from toy_problems import beside_loud_noise, far_apart, pairs_within, problem_of

from twofold._core.warnings import RelationWarning
from twofold.evaluation import pair_auroc, pair_similarity
from twofold.feedback import Selection, refit, refit_parts, select_candidate
from twofold.feedback import _candidate as candidate_module
from twofold.feedback import _selection as selection_module
from twofold.regression import TrainingConfig
from twofold.relations import PairRelation

LOUD, LOUD_CLASSES = beside_loud_noise(60)


def select(X=LOUD, statements=None, *, seed: int = 0, watched=None, **options):
    statements = pairs_within(LOUD_CLASSES) if statements is None else statements
    problem = problem_of(X, statements, seed, **(watched or {}))
    return select_candidate(problem, **options)


def auroc(selection, X, y) -> float:
    """Return how well what was selected orders other pairs of some items."""
    pairs, points = pairs_within(y, 1000, seed=7), selection.embedder.predict(X)
    similarity = pair_similarity(points, pairs.left, pairs.right, selection.metric)
    return pair_auroc(pairs.similar, similarity)


@pytest.fixture
def ticking(monkeypatch):
    """Have every look of candidates at the clock take one second."""
    clock = SimpleNamespace(perf_counter=iter(range(10**6)).__next__)
    monkeypatch.setattr(candidate_module, "time", clock)


@pytest.mark.parametrize("n_components", [None, 2])
def test_features_that_are_perfect_are_returned_as_given_and_that_is_said(n_components):
    X, y = far_apart()
    not_kept = "; n_components=2 does not apply" if n_components else ""
    sentence = (
        r"Nothing learnt orders the \d+ held-out statements clearly better than the features do "
        rf"\(1.0000\), so the embedding is the features as given, compared by \w+{not_kept}\."
    )
    with pytest.warns(RelationWarning, match=sentence):
        selection = select(X, pairs_within(y), n_components=n_components)
    assert selection.candidate == "features as given"
    np.testing.assert_array_equal(selection.embedder.predict(X), X)
    assert selection.reference == 1
    assert selection.expected["new items"] == 1
    assert selection.n_rounds == selection.n_directions == 0
    assert len(selection.scores) == 3  # the reference, and the maps that were tried


def test_too_few_statements_are_said_to_be_too_few():
    with pytest.warns(RelationWarning, match=r"2 statement\(s\) are too few for learning"):
        selection = select(statements=PairRelation([0, 2], [1, 3], [0, 1], 60))
    assert selection.candidate == "features as given"
    assert selection.expected is None
    assert selection.n_validated == 0


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_beside_loud_noise_a_map_is_learnt_that_beats_the_features(kind):
    triplets = toy_problems.triplets_within(LOUD_CLASSES) if kind == "triplets" else None
    selection = select(statements=triplets)
    assert selection.candidate == "ridge map"
    others, classes = beside_loud_noise(60, seed=1)
    assert auroc(selection, others, classes) > 0.97
    assert selection.reference < 0.85
    assert selection.targets.shape == (60, 5)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_of_many_statements_some_compare_candidates_and_all_are_fitted(kind, monkeypatch):
    monkeypatch.setattr(selection_module, "MOST_COMPARED_ON", 150)
    draw = toy_problems.triplets_within if kind == "triplets" else pairs_within
    statements = draw(LOUD_CLASSES, 2000)
    lines = []
    selection = select(statements=statements, watched={"report": lines.append})
    assert sum(line.startswith("fitting ") for line in lines) == 1
    assert selection.n_statements == len(statements)
    # Five folds of a fifth each at most: of all statements there would be far more.
    assert 0 < selection.n_validated <= 160
    assert selection.targets.shape == (60, 5)
    others, classes = beside_loud_noise(60, seed=1)
    assert auroc(selection, others, classes) > 0.97


def test_what_no_linear_map_tells_is_learnt_by_the_kernel():
    X, y = toy_problems.exclusive_or()
    selection = select(X, pairs_within(y, 400))
    others, classes = toy_problems.exclusive_or(seed=1)
    assert auroc(selection, others, classes) > 0.95
    selection.embedder.network.dual_coef.zero_()
    assert auroc(selection, others, classes) < 0.65


def test_a_network_is_reported_in_its_last_training_alone():
    seen = []
    network = TrainingConfig("mlp", max_epochs=8, batch_size=16, learning_rate=5e-3, dropout=0.0)
    watched = {"callback": lambda epoch: seen.append(epoch.number)}
    selection = select(embedder=network, watched=watched)
    assert selection.candidate == "network"
    assert seen == list(range(1, 9))
    assert len(selection.losses) == 8


def test_one_round_is_one_round():
    selection = select(n_rounds=1, n_components=4)
    assert {len(scores) for scores in selection.scores.values()} == {1}
    assert (selection.n_rounds, selection.n_directions) == (1, 4)
    assert selection.embedder.predict(LOUD).shape == (60, 4)


@pytest.mark.parametrize(("embedder", "name"), [(None, "ridge map"), (Ridge(), "regressor")])
def test_without_validation_nothing_is_compared(embedder, name):
    X, y = far_apart()
    selection = select(X, pairs_within(y), validation_fraction=0.0, embedder=embedder)
    assert selection.candidate == name
    assert selection.expected is selection.reference is None
    assert (selection.scores, selection.n_validated) == ({}, 0)


def test_what_is_expected_is_what_comes():
    X, y = beside_loud_noise(400, width=0.6)
    pairs = pairs_within(y, 1600)
    selection = select(X, pairs)
    others, classes = beside_loud_noise(400, seed=1, width=0.6)
    fresh = {"new items": auroc(selection, others, classes), "known items": auroc(selection, X, y)}
    assert 0.7 < fresh["new items"] < 0.97
    assert selection.expected == pytest.approx(fresh, abs=0.05)
    assert selection.n_statements == len(pairs)
    assert 100 < selection.n_validated < 1600


def test_the_same_seed_gives_the_same_bytes():
    first, again, other = (select(seed=seed) for seed in (3, 3, 4))
    assert first.embedder.predict(LOUD).tobytes() == again.embedder.predict(LOUD).tobytes()
    assert first.scores == again.scores
    assert first.scores != other.scores


@pytest.mark.parametrize("features", [LOUD, far_apart()[0]], ids=["learnt", "features win"])
@pytest.mark.filterwarnings("ignore:Nothing learnt")
@pytest.mark.usefixtures("ticking")
def test_the_seconds_of_all_that_was_tried_are_counted(features):
    lines, y = [], LOUD_CLASSES if features is LOUD else far_apart()[1]
    selection = select(features, pairs_within(y), watched={"report": lines.append})
    compared = [line for line in lines if line.startswith("ridge map") and ", round " in line]
    # Solving takes one look a round, and what is returned is fitted once more.
    assert selection.seconds["targets"] == len(compared) + selection.n_rounds
    again = refit(problem_of(features, pairs_within(y)), selection)
    assert (again.candidate, again.metric) == (selection.candidate, selection.metric)


@pytest.mark.parametrize("embedder", [None, Ridge(1e-3)])
@pytest.mark.usefixtures("ticking")
def test_refitting_takes_the_same_candidate_to_other_statements(embedder):
    selection = select(embedder=embedder, n_rounds=12)
    assert selection.candidate == ("ridge map" if embedder is None else "regressor")  # as good
    more = pairs_within(LOUD_CLASSES, 500, seed=5)
    again = refit(problem_of(LOUD, more), selection, embedder)
    same = ("candidate", "metric", "n_directions", "unit", "ridge_multiplier", "n_rounds")
    for name in (*same, "expected", "scores", "n_statements"):
        assert getattr(again, name) == getattr(selection, name), name
    n_solved = selection.n_rounds + (embedder is not None)  # targets for what the map guides
    assert again.seconds["targets"] == n_solved <= 13
    moved = again.embedder.predict(LOUD) - selection.embedder.predict(LOUD)
    assert np.abs(moved).max() > 1e-3
    assert auroc(again, LOUD, LOUD_CLASSES) > 0.97


@pytest.mark.parametrize("embedder", [None, Ridge(1e-3)])
def test_a_part_is_fitted_without_the_items_and_answers_of_the_others(embedder):
    selection = select(embedder=embedder, n_rounds=12)
    whole = pairs_within(LOUD_CLASSES)
    is_kept = (whole.left < 40) & (whole.right < 40)
    other_answers = np.where(is_kept, whole.similar, 1 - whole.similar)
    flipped = PairRelation(whole.left, whole.right, other_answers, whole.n_items)
    points = []
    for known in (whole, flipped):
        fit_part = refit_parts(problem_of(LOUD, known), selection, embedder)
        part = fit_part(known.take_pairs(is_kept))
        points.append(part.points(np.arange(len(LOUD))))
    np.testing.assert_array_equal(*points)
    alone = refit(problem_of(LOUD, whole.take_pairs(is_kept)), selection, embedder)
    scores = [
        auroc(SimpleNamespace(embedder=one, metric=selection.metric), LOUD, LOUD_CLASSES)
        for one in (SimpleNamespace(predict=lambda _: points[0]), alone.embedder)
    ]
    assert abs(scores[0] - scores[1]) < 0.02


def test_a_selection_is_outgrown_by_as_many_statements_as_it_was_validated_on_more_or_fewer():
    last = SimpleNamespace(candidate="ridge map", n_statements=100, n_validated=40)
    numbers = (60, 61, 139, 140)
    assert [n for n in numbers if Selection.is_outgrown_by(last, n)] == [60, 140]
    last.candidate = "features as given"  # after which learning is always worth a try
    assert all(Selection.is_outgrown_by(last, n) for n in numbers)
