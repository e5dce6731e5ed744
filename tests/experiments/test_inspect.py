"""What an inspection gathers, how it reads, and what its JSON holds."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

from twofold._core.warnings import RelationWarning
from twofold.experiments import Expectation, inspect_pairs
from twofold.experiments._inspect import embedding_similarity
from twofold.experiments._inspection_reading import read_expectation, read_gauge
from twofold.relations import LabelRelation, PairRelation, diagnose, split_folds
from twofold.targets import Gauge, GaugePoint

DIGITS = load_digits()
N_ITEMS = 500
N_FEW = 300


def flipped_pairs(n_similar, n_dissimilar, share=0.05, n_items=N_ITEMS):
    """Return statements about digits, some of them turned around, and which."""
    pairs = LabelRelation(DIGITS.target[:n_items]).sample_pairs(
        n_similar, n_dissimilar, random_state=0
    )
    wrong = np.random.default_rng(0).random(pairs.n_pairs) < share
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        similar = np.where(wrong, 1 - pairs.similar, pairs.similar)
        return PairRelation(pairs.left, pairs.right, similar, pairs.n_items), wrong


@pytest.fixture(scope="module")
def clear():
    return flipped_pairs(10, 10)


@pytest.fixture(scope="module")
def inspected(clear):
    keys = np.array([f"digit {i}" for i in range(N_ITEMS)], dtype=object)
    return inspect_pairs(clear[0], keys=keys, n_suspicious=30)


def test_everything_is_gathered(clear, inspected):
    relation, wrong = clear
    assert inspected.diagnosis.n_contradictions == diagnose(relation).n_contradictions
    assert inspected.gauge is not None
    assert inspected.gauge.decides
    assert inspected.scored_by == "targets"
    assert inspected.features_auroc is None
    assert len(inspected.suspects) == 30
    assert all(wrong[one.row] for one in inspected.suspects)


def test_suspects_are_the_statements_of_their_rows_the_worst_first(clear, inspected):
    relation, _ = clear
    for one in inspected.suspects:
        assert (one.left, one.right) == (relation.left[one.row], relation.right[one.row])
        assert one.similar == relation.similar[one.row]
    levels = [one.suspicion for one in inspected.suspects]
    assert levels == sorted(levels, reverse=True)


def test_the_json_holds_all_of_it_by_the_items_own_keys(inspected):
    content = json.loads(json.dumps(inspected.to_json(), allow_nan=False))
    assert (content["format"], content["format_version"]) == ("twofold-inspection", 2)
    first = inspected.suspects[0]
    assert content["suspicious"][0] == {
        "row": first.row,
        "left": f"digit {first.left}",
        "right": f"digit {first.right}",
        "similar": first.similar,
        "suspicion": first.suspicion,
    }
    assert content["counts"]["pairs"] == inspected.diagnosis.n_pairs
    assert content["gauge"]["auroc"] == inspected.gauge.auroc
    assert content["gauge"]["curve"][-1]["n_pairs"] == inspected.gauge.curve[-1].n_pairs
    chain = inspected.diagnosis.contradictions[0].chain
    assert content["contradictions"][0]["chain"] == [f"digit {item}" for item in chain]
    assert content["headline"] == "These pairs determine the relation"
    assert tuple(content["reading"]) == inspected.reading


def test_without_keys_items_are_called_by_their_numbers(clear):
    content = inspect_pairs(clear[0], n_suspicious=1).to_json()
    assert type(content["suspicious"][0]["left"]) is int


def test_progress_is_told_in_order(clear):
    told = []
    inspect_pairs(clear[0], progress=lambda what, share: told.append((what, share)))
    assert [what for what, share in told if share == pytest.approx(1.0)] == ["counting", "gauging"]
    shares = [share for what, share in told if what == "gauging"]
    assert shares == sorted(shares)


def inspect_by_features(relation, **options):
    """Return an inspection with features, of few rounds, and what progress it told of."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("twofold.experiments._inspect.N_ROUNDS", 5)
        inspection = inspect_pairs(
            relation,
            DIGITS.data[: relation.n_items].astype(np.float32),
            progress=lambda what, share: told.append(what),
            **options,
        )
    return inspection, told


@pytest.fixture(scope="module")
def by_features():
    """Return an inspection of pairs that do not decide, and which of them are wrong."""
    relation, wrong = flipped_pairs(1, 1, n_items=N_FEW)
    return *inspect_by_features(relation, n_suspicious=10), wrong


def test_pairs_that_do_not_decide_are_scored_by_features(by_features):
    inspection, told, wrong = by_features
    assert inspection.gauge is not None
    assert not inspection.gauge.decides
    assert inspection.scored_by == "features"
    assert inspection.features_auroc > inspection.gauge.auroc
    assert told.count("learning") == 5
    assert any("AUROC of" in line and "features" in line for line in inspection.reading)
    assert wrong[[one.row for one in inspection.suspects]].mean() > 4 * wrong.mean()


def test_what_a_learner_expects_is_told_beside_the_features_as_given(by_features):
    inspection, *_ = by_features
    expectation = inspection.expectation
    assert expectation.candidate == "ridge map"
    assert expectation.new_items > expectation.features_as_given
    assert expectation.known_items > 0.8
    assert inspection.to_json()["expectation"]["new_items"] == expectation.new_items
    assert any(
        f"{expectation.new_items:.3f} on pairs of new items" in s for s in inspection.reading
    )


@pytest.mark.parametrize(
    ("expectation", "sentences"),
    [
        (None, []),
        (
            Expectation("ridge map", 0.93, 0.95, 0.9),
            [
                "A learner fitted to all pairs can expect an AUROC of 0.930 on pairs of new "
                "items and of 0.950 on other pairs of these; the features as given have 0.900."
            ],
        ),
        (
            Expectation("features as given", 0.9, None, 0.9),
            [
                "Nothing learnt from the pairs was clearly better than the features as given: "
                "these have an AUROC of 0.900 on pairs of held-out items."
            ],
        ),
    ],
)
def test_an_expectation_reads_as_what_is_gained(expectation, sentences):
    assert list(read_expectation(expectation)) == sentences


def test_what_to_ask_next_is_unknown_and_partly_alike():
    rng = np.random.default_rng(0)
    left = rng.integers(N_FEW, size=400)
    right = (left + rng.integers(1, N_FEW, size=400)) % N_FEW
    similar = DIGITS.target[left] == DIGITS.target[right]
    relation = PairRelation(left, right, similar, N_FEW)
    inspection, told = inspect_by_features(relation, n_suspicious=0, n_suggested=20)
    assert told[-1] == "asking"
    suggestions = inspection.suggestions
    assert len(suggestions) == 20
    stated = {frozenset(pair) for pair in zip(relation.left, relation.right, strict=True)}
    assert not stated & {frozenset((one.left, one.right)) for one in suggestions}
    alike = [DIGITS.target[one.left] == DIGITS.target[one.right] for one in suggestions]
    assert 5 <= sum(alike) < 20  # two at random
    assert inspection.to_json()["suggested"][0]["probability"] == suggestions[0].probability
    assert any("pairs to ask about next" in sentence for sentence in inspection.reading)


def test_that_nothing_is_left_to_ask_is_said():
    relation = PairRelation([0, 0, 1], [1, 2, 2], [1, 0, 0], n_items=3)
    found = inspect_pairs(relation, np.eye(3), n_suggested=4)
    assert found.suggestions == ()
    assert any("no pairs left to ask about" in sentence for sentence in found.reading)


def test_nothing_is_suggested_unless_wanted_nor_without_features(inspected, clear):
    assert inspected.suggestions is None
    assert inspected.to_json()["suggested"] == []
    with pytest.raises(ValueError, match="n_suggested=3 needs features"):
        inspect_pairs(clear[0], n_suggested=3)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_an_embedding_scores_only_what_it_was_not_told(metric, monkeypatch):
    relation, _ = flipped_pairs(3, 3, share=0)
    features = DIGITS.data[:N_ITEMS].astype(np.float32)
    seen = []

    class Recorder:
        metric_ = metric

        def __init__(self, **_):
            pass

        def fit(self, X, relation):
            seen.append(relation)
            return self

        def transform(self, X):
            return X

    monkeypatch.setattr("twofold.experiments._inspect.MetricLearner", Recorder)
    similarity = embedding_similarity(relation, features, 0, lambda share: None)
    if metric == "cosine":
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
    distance = np.linalg.norm(features[relation.left] - features[relation.right], axis=1)
    for known, fold in zip(seen, split_folds(relation, 5, 0), strict=True):
        assert (known.left == fold.kept.left).all()
        assert (known.similar == fold.kept.similar).all()
        of_fold = distance[fold.held_out]
        expected = -of_fold / np.median(of_fold)
        np.testing.assert_allclose(similarity[fold.held_out], expected, rtol=1e-5)


def test_pairs_of_one_kind_are_counted_but_not_gauged():
    found = inspect_pairs(PairRelation([0, 1, 2], [1, 2, 3], [1, 1, 1], n_items=4))
    assert found.gauge is None
    assert found.scored_by is None
    assert found.suspects == ()
    assert found.headline == "These pairs cannot be gauged"
    assert "3 are alike" in found.reading[0]
    assert found.to_json()["gauge"] is None


def test_keys_and_features_must_be_the_items(clear):
    with pytest.raises(ValueError, match=r"each of the 500 items, got shape \(3,\)"):
        inspect_pairs(clear[0], keys=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"row for each of the 500 items, got 7 row"):
        inspect_pairs(clear[0], np.zeros((7, 2), np.float32))


def test_the_bar_of_average_precision_is_reached_from_targets_alone(clear):
    relation, wrong = clear
    found = inspect_pairs(relation, n_suspicious=relation.n_pairs)
    level = np.empty(relation.n_pairs)
    level[[one.row for one in found.suspects]] = [one.suspicion for one in found.suspects]
    assert average_precision_score(wrong, level) >= 0.9


# How it reads


def gauge_with(*points):
    curve = tuple(GaugePoint(n, auroc, 0.002) for n, auroc in points)
    return Gauge(curve[-1].auroc, 0.002, 5, 0, curve, np.zeros(1, np.float32), 0.1)


@pytest.mark.parametrize(
    ("points", "headline", "ending"),
    [
        (((100, 0.7), (200, 1.0)), "pairs determine the relation", "About 160 of these 250 pairs"),
        (((100, 0.7), (200, 0.91)), "pairs determine the relation", "0.5 is chance."),
        (((100, 0.5), (200, 0.7)), "use features", "400 such pairs would be enough, 1.6 times"),
        (((100, 0.5), (200, 0.85)), "use features", "All 250 together may just be enough."),
        (((100, 0.85), (200, 0.85)), "use features", "the curve has levelled off"),
        (((100, 0.5), (200, 0.5)), "use features", "cannot be said yet"),
    ],
)  # fmt: skip
def test_the_gauge_reads_as_what_to_do(points, headline, ending):
    said, rests_on = read_gauge(gauge_with(*points), "", 250)
    assert headline in said
    assert ending in rests_on


def test_what_is_odd_is_said_and_what_is_not_is_not():
    clean = inspect_pairs(LabelRelation([0, 1] * 20).sample_pairs(random_state=0))
    assert len(clean.reading) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        odd = PairRelation([0, 1, 0, 0, 5], [1, 2, 2, 1, 6], [1, 1, 0, 0, 1], n_items=9)
    text = " ".join(inspect_pairs(odd).reading)
    assert "4 items are in no pair" in text
    assert "fall into 2 parts that no pair connects, the largest with 3 items" in text
    assert "1 pair is stated both as alike and as not alike" in text
    assert "2 dissimilar pairs join two items" in text
    assert "with several labels per item, this is not an error" in text
    assert "A few wrong similar pairs are enough" in text
