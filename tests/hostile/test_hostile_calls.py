"""Calls that careless and hostile users make: each ends in one sentence, and never in silence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import Ridge
from torch.utils.data import Dataset

from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    PairMetricLearner,
    PairRelation,
    TripletRelation,
)
from twofold.datasets import load_pairs
from twofold.evaluation import choose_threshold, knn_jaccard, pair_auroc, pair_similarity
from twofold.experiments import inspect_pairs, reproduce
from twofold.relations import diagnose, is_transitive, split_folds
from twofold.targets import cross_validated_similarity, gauge_targets, solve_targets, suspicion

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.standard_normal((10, 4)) + 4 * k for k in range(3)])
Y = np.repeat([0, 1, 2], 10)
LABELS = LabelRelation(Y)
PAIRS = LABELS.sample_pairs(2, 2, random_state=0)
HUGE = PairRelation([0, 1], [1, 2], [1, 0], 2**31 - 1)
LARGEST = np.finfo(np.float64).max


class Items(Dataset):
    """A Dataset of whatever is given."""

    def __init__(self, items) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, number: int):
        return self.items[number]


def quick(**parameters) -> MetricLearner:
    return MetricLearner(2, embedder=Network(max_epochs=1), feedback=0, **parameters)


def damaged(kind: str, **changes) -> sparse.sparray:
    """Return a sparse matrix of the shape of X, some of its arrays being others."""
    matrix = sparse.coo_array(X).asformat(kind, copy=True)
    for name, value in changes.items():
        array = getattr(matrix, name).copy()
        array[3] = value
        setattr(matrix, name, array)
    return matrix


def coordinates(row: int, column: int) -> sparse.coo_array:
    matrix = sparse.coo_array(X)
    rows, columns = (array.copy() for array in matrix.coords)
    rows[3], columns[3] = row, column
    matrix.coords = (rows, columns)
    return matrix


def indicator(column: int) -> sparse.csr_array:
    matrix = sparse.csr_array(np.eye(3)[Y])
    matrix.indices[5] = column
    return matrix


def masked(values) -> np.ma.MaskedArray:
    array = np.ma.masked_array(values, mask=False)
    array.mask.flat[3] = True
    return array


def weighted(weight: float) -> PairRelation:
    return PairRelation([0, 1], [1, 2], [1, 0], 3, weight=[weight, weight])


def preprocessed(pairs) -> PairMetricLearner:
    learner = PairMetricLearner(2, preprocessor=X, feedback=0, embedder=Network(max_epochs=1))
    return learner.fit(pairs, [1, -1, 1, -1])


CASES = [
    # Sparse matrices from callers.
    (lambda: quick().fit(damaged("csr", indices=10**6), Y), r"outside 0 \.\. 3, first entry 3"),
    (lambda: quick().fit(damaged("csr", indices=-7), Y), r"column indices are outside 0 \.\. 3"),
    (lambda: quick().fit(damaged("csr", indptr=10**6), Y), "indptr must rise from 0, first wrong"),
    (lambda: quick().fit(damaged("csc", indices=99), Y), r"row indices are outside 0 \.\. 29"),
    (lambda: quick().fit(coordinates(99, 0), Y), r"row indices are outside 0 \.\. 29, first entry 3"),
    (lambda: quick().fit(coordinates(0, -1), Y), r"column indices are outside 0 \.\. 3"),
    (lambda: quick().fit(X, Y).transform(damaged("csr", indices=99)), "X is a damaged sparse"),
    (lambda: MetricLearner(embedder=Ridge()).fit(damaged("csr", indices=99), Y), "X is a damaged"),
    (lambda: MetricLearner().fit(damaged("csr", indices=99), relation=PAIRS), "X is a damaged"),
    (lambda: inspect_pairs(PAIRS, damaged("csr", indices=99)), "X is a damaged sparse matrix"),
    (lambda: LabelRelation(indicator(-7)), r"labels is a damaged .* \(-7\)"),
    (lambda: quick().fit(X, indicator(99)), r"y is a damaged sparse matrix: 1 of .* \(99\)"),
    (lambda: knn_jaccard(X, indicator(99), X, indicator(0)), "train_labels is a damaged sparse"),
    # Numbers that float32 does not hold.
    (lambda: quick().fit(X * 1e300, Y), r"X must hold numbers up to 3.4e\+38, .* first in row 0"),
    (lambda: quick().fit(X, Y).transform(X * 1e300), r"X must hold numbers up to 3.4e\+38"),
    (lambda: quick().fit(X * 1e-300, Y), "Column 0 of X is at most .* becomes 0 in float32"),
    (lambda: quick().fit(Items(torch.tensor(X * 1e300)), Y), "NaN or infinity, as float32"),
    (lambda: weighted(1e38), r"at most 1e\+30; 2 value\(s\) .* Only proportions count"),
    (lambda: weighted(1e-38), r"not be below 1e-30 everywhere, got at most 1e-38"),
    # Masks.
    (lambda: quick().fit(masked(X), Y), r"X has 1 masked value\(s\), first at row 0: drop"),
    (lambda: quick().fit(X, masked(Y)), r"y has 1 masked value\(s\), first at row 3"),
    (lambda: LabelRelation(masked(Y)), r"labels has 1 masked value\(s\), first at row 3"),
    (lambda: LabelRelation(masked(np.eye(3, dtype=int)[Y])), r"labels has 1 masked value"),
    (lambda: PairRelation.from_pairs(masked([[0, 1], [1, 2]]), [1, 0]), "pairs has 1 masked"),
    (lambda: PairRelation([0] * 4, [1] * 4, masked([1.0] * 4), 2), r"similar has 1 masked .* row 3"),
    (lambda: TripletRelation(masked([0] * 4), [1] * 4, [2] * 4, 3), "anchor has 1 masked value"),
    (lambda: pair_auroc([1, 0, 1, 0], masked([1.0, 2, 3, 4])), "similarity has 1 masked value"),
    # Rows that are not there.
    (lambda: preprocessed([[0, -1], [0, 20], [1, 2], [3, 25]]), r"outside 0 \.\. 29, .* \(item -1\)"),
    (lambda: preprocessed([[0, 30], [0, 20], [1, 2], [3, 25]]), r"outside 0 \.\. 29, .* \(item 30\)"),
    (lambda: PAIRS.take_pairs([10**6]), r"outside 0 \.\. \d+, first at position 0 \(1000000\)"),
    (lambda: PAIRS.take_pairs([-1]), r"outside 0 \.\. \d+, first at position 0 \(-1\)"),
    (lambda: PAIRS.take_pairs(np.ones(3, dtype=bool)), r"mask of rows must have shape \(\d+,\)"),
    (lambda: PAIRS.take_pairs([0.5]), "rows must be row numbers, or a mask .* got float64"),
    # Names.
    (lambda: inspect_pairs(PAIRS, keys=["a"] * 30), r"different for every item; .* row 1 \('a'\)"),
    (lambda: load_pairs("nowhere.csv", keys=["a", "a"]), "does not exist"),
    (lambda: inspect_pairs(PAIRS, keys=[1.5] * 30), "all be whole numbers or all be text, got 1.5"),
    (lambda: inspect_pairs(PAIRS, keys=[None] * 30), "or all be text, got None"),
    # Labels where pairs are wanted.
    *[
        (lambda ask=ask: ask(LABELS), r"PairRelation, got LabelRelation\. Its sample_pairs\(\) draws")
        for ask in (diagnose, is_transitive, split_folds, gauge_targets, inspect_pairs)
    ],
    (lambda: cross_validated_similarity(LABELS), "relation must be a PairRelation"),
    (lambda: suspicion(LABELS, np.zeros(30)), "relation must be a PairRelation"),
    (lambda: PAIRS.merge(LABELS), "other must be a PairRelation, got LabelRelation"),
    # What is called back.
    (lambda: inspect_pairs(PAIRS, progress=5), "progress must be callable or None, got 5"),
    (lambda: gauge_targets(PAIRS, progress=5), "progress must be callable or None, got 5"),
    (lambda: cross_validated_similarity(PAIRS, progress=5), "progress must be callable"),
    (lambda: solve_targets(PAIRS, 2, callback=5), "callback must be callable, got 5"),
    (lambda: MetricLearner(embedder=Network(callback=5)).fit(X, Y), "callback must be callable"),
    # Datasets.
    (lambda: quick().fit(Items([torch.ones(4)] * 29 + [torch.ones(3)]), Y), r"item 29 has \(3,\)"),
    (lambda: quick().fit(Items(["a"] * 30), Y), r"tensor or an array of numbers; item 0 is not"),
    (lambda: quick().fit(Items([torch.tensor(1.0)] * 30), Y), "a vector or an image, got one"),
    (lambda: quick().fit(X, Y).transform(Items([torch.full((4,), np.nan)])), "first in item 0"),
    # More than a computer has.
    (lambda: solve_targets(HUGE, 16), r"2147483647 items in 16 dimensions take .* GB, and this"),
    (lambda: diagnose(HUGE), r"Graphs of 2147483647 items take .* Only number the items"),
    (lambda: inspect_pairs(HUGE), "take .* GB, and this computer has"),
    (lambda: solve_targets(PAIRS, 10**10), r"30 items in 10000000000 dimensions take .* GB"),
    (lambda: solve_targets(LABELS, 10**11, loss="dot"), "3 items in 100000000000 dimensions"),
    (lambda: LABELS.sample_pairs(10**9, 10**9), r"2000000000 partners for each of 30 items take"),
    # What cannot be compared.
    (lambda: pair_auroc(["a", "b"], [1, 2]), "similar must hold numbers, got <U1"),
    (lambda: choose_threshold([1, 0], ["a", "b"]), "similarity must hold numbers, got <U1"),
    (lambda: pair_similarity([["a"], ["b"]], [0], [1]), "points must hold numbers, got <U1"),
    (lambda: [*reproduce("digits", "nowhere", methods=[])], "give at least one method"),
    (lambda: [*reproduce("digits", "nowhere", seeds=[])], "give at least one seed"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), CASES, ids=[sentence for _, sentence in CASES])
def test_a_call_is_refused_in_one_sentence(call, sentence):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=sentence) as caught:
        call()
    said = str(caught.value)
    assert "twofold" in str(caught.traceback[-1].path)
    assert "\n" not in said
    assert said.endswith(".")


@pytest.mark.parametrize("size", [1e37, 1e-37])
@pytest.mark.parametrize("given", [{"y": Y}, {"relation": PAIRS}], ids=["labels", "pairs"])
def test_what_float32_holds_is_learnt_from_at_any_size(size, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = MetricLearner(random_state=0, embedder="auto").fit(X * size, **given)
    assert learner.score(X * size, Y) > 0.9


@pytest.mark.parametrize("weight", [1e30, 1e-30])
def test_weights_count_in_proportion_however_large(weight):
    heavy = PairRelation(PAIRS.left, PAIRS.right, PAIRS.similar, 30, [weight] * PAIRS.n_pairs)
    plain, same = (
        solve_targets(one, 3, random_state=0).points for one in (PAIRS, heavy.balanced().balanced())
    )
    again = solve_targets(heavy, 3, random_state=0).points
    np.testing.assert_allclose(again, plain, atol=1e-3)
    assert np.isfinite(same).all()


@pytest.mark.parametrize("values", [[LARGEST, -LARGEST] * 2, [1e-320, 0.0] * 2, [255, 3, 200, 9]])
@pytest.mark.parametrize("beta", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8])
def test_a_threshold_parts_extreme_scores_with_any_beta(values, beta, kind):
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = np.asarray(values).astype(kind)
    if not np.isfinite(scores).all() or len(set(scores.tolist())) < 2 or scores[0] < scores[1]:
        pytest.skip("this type does not hold these numbers")
    chosen = choose_threshold([1, 0, 1, 0], scores, "f_beta", beta=beta)
    assert np.isfinite(chosen.threshold)
    assert chosen.precision == 1
    assert chosen.true_positive_rate > 0


@pytest.mark.parametrize(
    ("values", "metric", "similarity"),
    [(1e30, "euclidean", -1e30), (3e38, "euclidean", -3e38), (1e-30, "euclidean", -1e-30)],
)
def test_distances_of_very_large_and_small_points_are_finite_and_right(values, metric, similarity):
    points = np.array([[0, 0], [values, 0]], dtype=np.float32)
    assert pair_similarity(points, [0], [1], metric)[0] == pytest.approx(similarity)


# Frozen types own what they hold


def test_a_relation_does_not_follow_its_caller_s_arrays():
    left, right, similar = np.array([0, 1]), np.array([1, 2]), np.array([1, 0], np.float32)
    weight = np.ones(2, np.float32)
    relation = PairRelation(left, right, similar, 3, weight)
    for array in (left, right, similar, weight):
        array[:] = 10**6
    assert (relation.left.tolist(), relation.right.tolist()) == ([0, 1], [1, 2])
    assert (relation.similar.tolist(), relation.weight.tolist()) == ([1, 0], [1, 1])
    assert np.isfinite(solve_targets(relation, 2, random_state=0).points).all()


def test_triplets_and_labels_do_not_follow_their_caller_s_arrays():
    anchor, positive, negative = np.array([0]), np.array([1]), np.array([2])
    triplets = TripletRelation(anchor, positive, negative, 3)
    classes, matrix = np.array([0, 1, 0]), sparse.csr_array(np.eye(3)[Y])
    of_classes, of_matrix = LabelRelation(classes), LabelRelation(matrix)
    for array in (anchor, positive, negative, classes, matrix.indices, matrix.data):
        array[:] = 99
    assert [triplets.anchor[0], triplets.positive[0], triplets.negative[0]] == [0, 1, 2]
    assert of_classes.labels.tolist() == [0, 1, 0]
    assert of_matrix.indicator.toarray().tolist() == np.eye(3)[Y].tolist()


@pytest.mark.parametrize("name", ["left", "right", "similar"])
def test_what_a_relation_holds_cannot_be_made_writeable(name):
    array = getattr(PAIRS, name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_targets_are_read_only():
    solution = solve_targets(LABELS, 3, loss="dot")
    with pytest.raises(ValueError, match="read-only"):
        solution.table[0] = 1
    adam = solve_targets(PAIRS, 3, random_state=0)
    with pytest.raises(ValueError, match="read-only"):
        adam.points[0] = 1
