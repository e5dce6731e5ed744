"""k-NN accuracy and Jaccard: against loops, against scikit-learn, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import slow_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import jaccard_score
from sklearn.neighbors import KNeighborsClassifier

from twofold.evaluation import _knn, knn_accuracy, knn_jaccard

METRICS = ["euclidean", "cosine", "dot"]
SIDES = ["train", "test"]


def random_case(seed, n_train=40, n_test=30, dim=4, n_labels=5):
    """Return train and test points, classes and indicator matrices."""
    rng = np.random.default_rng(seed)
    points = [rng.normal(size=(n, dim)) for n in (n_train, n_test)]
    classes = [rng.integers(0, 4, n) for n in (n_train, n_test)]
    labels = [(rng.random((n, n_labels)) < 0.4).astype(int) for n in (n_train, n_test)]
    return points, classes, labels


@st.composite
def tied_cases(draw):
    """Points on a small grid, so that many distances are equal."""
    n_train, n_test = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = [rng.integers(-2, 3, (n, 2)) for n in (n_train, n_test)]
    classes = [rng.integers(0, 3, n) for n in (n_train, n_test)]
    labels = [rng.integers(0, 2, (n, 3)) for n in (n_train, n_test)]
    return points, classes, labels, draw(st.integers(1, n_train))


@settings(deadline=None, max_examples=60)
@given(tied_cases(), st.sampled_from(["euclidean", "dot"]))
def test_scores_are_those_of_a_loop_where_distances_tie(case, metric):
    (train, test), (known, true), (labels, wanted), k = case
    assert knn_accuracy(train, known, test, true, k, metric) == pytest.approx(
        slow_scores.accuracy(train, known, test, true, k, metric)
    )
    assert knn_jaccard(train, labels, test, wanted, k, metric) == pytest.approx(
        slow_scores.jaccard(train, labels, test, wanted, k, metric)
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 4, 5, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_random_points_are_those_of_a_loop(metric, k, dtype):
    points, (known, true), (labels, wanted) = random_case(0)
    train, test = (table.astype(dtype) for table in points)
    assert knn_accuracy(train, known, test, true, k, metric) == pytest.approx(
        slow_scores.accuracy(train.astype(float), known, test.astype(float), true, k, metric)
    )
    assert knn_jaccard(train, labels, test, wanted, k, metric) == pytest.approx(
        slow_scores.jaccard(train.astype(float), labels, test.astype(float), wanted, k, metric)
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_scores_are_those_of_scikit_learn(metric, seed, k):
    (train, test), (known, true), (labels, wanted) = random_case(seed, 60, 50)
    search = KNeighborsClassifier(k, metric=metric, algorithm="brute")
    assert knn_accuracy(train, known, test, true, k, metric) == pytest.approx(
        search.fit(train, known).score(test, true)
    )
    predicted = search.fit(train, labels).predict(test)
    assert knn_jaccard(train, labels, test, wanted, k, metric) == pytest.approx(
        jaccard_score(wanted, predicted, average="samples", zero_division=1)
    )


@pytest.mark.parametrize("metric", METRICS)
def test_a_better_placement_scores_better(metric):
    train, test = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.1]]
    assert knn_accuracy(train, ["a", "b"], test, ["a"], 1, metric) == 1.0
    assert knn_accuracy(train, ["b", "a"], test, ["a"], 1, metric) == 0.0
    good, bad = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    assert knn_jaccard(train, good, test, [[1, 0]], 1, metric) == 1.0
    assert knn_jaccard(train, bad, test, [[1, 0]], 1, metric) == 0.0


def test_metrics_disagree_as_they_should():
    train, test = [[10.0, 9.0], [1.0, 0.5], [1.0, 0.1]], [[1.0, 0.2]]

    def nearest(metric):
        return [knn_accuracy(train, [0, 1, 2], test, [name], 1, metric) for name in range(3)]

    assert nearest("dot") == [1.0, 0.0, 0.0]
    assert nearest("euclidean") == [0.0, 0.0, 1.0]
    assert nearest("cosine") == [0.0, 0.0, 1.0]
    assert knn_accuracy([[9.0, 0.0], [1.0, 1.0]], [0, 1], [[1.0, 0.0]], [0], 1, "cosine") == 1.0
    assert knn_accuracy([[9.0, 0.0], [1.0, 1.0]], [0, 1], [[1.0, 0.0]], [1], 1) == 1.0


def test_of_classes_with_equal_votes_the_smallest_wins():
    train = [[1.0], [2.0], [3.0], [4.0]]
    assert knn_accuracy(train, [7, 7, 3, 3], [[0.0]], [3], 4) == 1.0
    assert knn_accuracy(train, ["cat", "ape", "ape", "cat"], [[0.0]], ["ape"], 4) == 1.0


def test_of_equal_distances_the_lowest_index_counts():
    assert knn_accuracy([[1.0], [-1.0]], ["a", "b"], [[0.0]], ["a"], 1) == 1.0
    assert knn_accuracy([[1.0], [-1.0]], ["b", "a"], [[0.0]], ["b"], 1) == 1.0


def test_half_of_the_neighbours_are_not_enough_for_a_label():
    train, labels = [[1.0], [2.0], [3.0], [4.0]], [[1, 1], [1, 1], [0, 1], [0, 0]]
    assert knn_jaccard(train, labels, [[0.0]], [[0, 1]], 4) == 1.0
    assert knn_jaccard(train, labels, [[0.0]], [[1, 1]], 4) == 0.5


def test_nothing_predicted_where_nothing_is_true_is_right():
    train, labels = [[0.0], [9.0]], [[0, 0], [1, 1]]
    assert knn_jaccard(train, labels, [[0.0]], [[0, 0]], 1) == 1.0
    assert knn_jaccard(train, labels, [[0.0]], [[0, 1]], 1) == 0.0
    assert knn_jaccard(train, labels, [[9.0]], [[0, 0]], 1) == 0.0


def test_default_is_five_neighbours_at_euclidean_distance():
    points, classes, labels = random_case(3)
    for score, names in ((knn_accuracy, classes), (knn_jaccard, labels)):
        case = (points[0], names[0], points[1], names[1])
        assert score(*case) == score(*case, k=5, metric="euclidean")
        assert score(*case) != score(*case, k=4)


@pytest.mark.parametrize(
    "rename",
    [
        lambda codes: np.array(["d", "a", "c", "b"])[codes],
        lambda codes: [["d", "a", "c", "b"][code] for code in codes],
        lambda codes: np.array(["d", "a", "c", "b"], dtype=object)[codes],
        lambda codes: codes.astype(np.uint8),
        lambda codes: codes * 0.5,
        lambda codes: np.array(["2001-01-01", "2002-02-02", "2003-03-03", "2004"], "M8[D]")[codes],
    ],
)
def test_classes_are_of_any_kind(rename):
    (train, test), (known, true), _ = random_case(1)
    # One neighbour: with votes that tie, names decide.
    assert knn_accuracy(train, rename(known), test, rename(true), 1) == knn_accuracy(
        train, known, test, true, 1
    )


def test_text_of_two_lengths_and_containers_is_still_one_kind():
    train, test = [[0.0], [1.0]], [[0.0]]
    assert knn_accuracy(train, np.array(["ab", "c"]), test, ["ab"], 1) == 1.0
    assert knn_accuracy(train, np.array(["abc", "c"]), test, np.array(["ab"]), 1) == 0.0


def test_a_class_that_no_training_point_has_is_never_right():
    assert knn_accuracy([[0.0], [1.0]], [0, 1], [[0.0], [1.0]], [0, 5], 1) == 0.5


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, list])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float64])
def test_indicators_may_be_dense_or_sparse(form, dtype):
    (train, test), _, (labels, wanted) = random_case(2)
    found = knn_jaccard(train, form(labels.astype(dtype)), test, form(wanted.astype(dtype)), 3)
    assert found == knn_jaccard(train, labels, test, wanted, 3)


def test_zeros_stored_in_a_sparse_matrix_are_no_labels():
    stored = sparse.csr_array((np.array([1.0, 0.0]), [0, 1], [0, 2]), shape=(1, 2))
    assert knn_jaccard([[0.0]], stored, [[0.0]], [[1, 0]], 1) == 1.0
    assert stored.nnz == 2, "the caller's matrix is left alone"


@pytest.mark.parametrize("numbers", [1, 7, 10**6])
def test_scores_do_not_depend_on_the_chunks_of_votes(monkeypatch, numbers):
    (train, test), (known, true), (labels, wanted) = random_case(4)
    before = knn_accuracy(train, known, test, true), knn_jaccard(train, labels, test, wanted)
    monkeypatch.setattr(_knn, "VOTE_NUMBERS", numbers)
    after = knn_accuracy(train, known, test, true), knn_jaccard(train, labels, test, wanted)
    assert after == pytest.approx(before)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_order_of_points_and_a_rotation_change_nothing(seed):
    (train, test), (known, true), (labels, wanted) = random_case(seed % 1000, 20, 10, 3)
    rng = np.random.default_rng(seed)
    a, b = rng.permutation(20), rng.permutation(10)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for metric in METRICS:
        assert knn_accuracy(train[a] @ turn, known[a], test[b] @ turn, true[b], 3, metric) == (
            knn_accuracy(train, known, test, true, 3, metric)
        )
        assert knn_jaccard(
            train[a] @ turn, labels[a], test[b] @ turn, wanted[b], 3, metric
        ) == pytest.approx(knn_jaccard(train, labels, test, wanted, 3, metric))


def test_points_are_left_as_they_were():
    (train, test), (known, true), _ = random_case(5)
    before = train.copy(), test.copy()
    for metric in METRICS:
        knn_accuracy(train, known, test, true, 5, metric)
    np.testing.assert_array_equal(train, before[0])
    np.testing.assert_array_equal(test, before[1])


def score_with(score, **changed):
    """Call a score on a small right case with some arguments changed."""
    labels = [0, 1, 0] if score is knn_accuracy else np.eye(3, dtype=int)
    case = {
        "train_points": np.eye(3), "train_labels": labels,
        "test_points": np.eye(3), "test_labels": labels, "k": 1, "metric": "euclidean",
    }  # fmt: skip
    return score(**(case | changed))


both_scores = pytest.mark.parametrize("score", [knn_accuracy, knn_jaccard])


@both_scores
def test_the_small_case_itself_is_right(score):
    assert score_with(score) == 1.0


@both_scores
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_points_that_are_not_finite_are_refused_with_their_row(score, side, value):
    points = np.eye(3)
    points[1, 2] = points[2, 0] = value
    sentence = rf"{side}_points must be finite; 2 row.*first row 1 \({value} in column 2\).*Leave"
    with pytest.raises(ValueError, match=sentence):
        score_with(score, **{f"{side}_points": points})


@both_scores
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("points", "error", "sentence"),
    [
        ([1.0, 2.0, 3.0], ValueError, r"must have shape \(n_items, dim\), got \(3,\)"),
        (np.empty((0, 3)), ValueError, r"is empty \(shape \(0, 3\)\)"),
        (np.empty((3, 0)), ValueError, r"is empty \(shape \(3, 0\)\)"),
        ([["a", "b"]], TypeError, r"must hold numbers, got <U1 \(first: .*'a'"),
        (np.eye(3) * 1j, TypeError, r"must hold numbers, got complex128"),
    ],
)
def test_points_of_a_wrong_form_are_refused(score, side, points, error, sentence):
    with pytest.raises(error, match=f"{side}_points {sentence}"):
        score_with(score, **{f"{side}_points": points})


@both_scores
def test_points_of_two_spaces_are_refused(score):
    with pytest.raises(ValueError, match="dimensions differ: train_points has 3, test_points has"):
        score_with(score, test_points=np.ones((3, 4)))


@both_scores
@pytest.mark.parametrize("side", SIDES)
def test_labels_that_are_not_one_a_point_are_refused(score, side):
    labels = [0, 1] if score is knn_accuracy else np.ones((2, 3))
    sentence = rf"{side}_points has 3 row\(s\) and {side}_labels has 2"
    with pytest.raises(ValueError, match=sentence):
        score_with(score, **{f"{side}_labels": labels})


@both_scores
@pytest.mark.parametrize(
    ("k", "error", "sentence"),
    [
        (
            4,
            ValueError,
            r"k=4 neighbours cannot be found among 3 training point.*set k to at most 3",
        ),
        (0, ValueError, "k must be at least 1, got 0"),
        (1.0, TypeError, "k must be an integer, got 1.0"),
        (True, TypeError, "k must be an integer, got True"),
    ],
)
def test_a_k_that_cannot_be_is_refused(score, k, error, sentence):
    with pytest.raises(error, match=sentence):
        score_with(score, k=k)


@both_scores
def test_an_unknown_metric_is_refused(score):
    with pytest.raises(ValueError, match="one of 'euclidean', 'dot', 'cosine', 'hamming', got"):
        score_with(score, metric="manhattan")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("labels", "error", "sentence"),
    [
        ([0, -1, -1], ValueError, r"2 item\(s\) of unknown class .* first row 1\. Leave them out"),
        ([0.0, 1.0, np.nan], ValueError, r"1 item\(s\) of unknown class .* first row 2"),
        (["a", None, "b"], ValueError, r"1 item\(s\) of unknown class .* first row 1"),
        (np.array(["NaT"] * 3, "M8[D]"), ValueError, r"3 item\(s\) of unknown class"),
        (np.eye(3), TypeError, r"one class per item, got a matrix of shape \(3, 3\).*knn_jaccard"),
        (sparse.eye_array(3), TypeError, r"got a matrix of shape \(3, 3\).*knn_jaccard"),
        (np.zeros((3, 1, 1)), ValueError, r"must have shape \(n_items,\), got \(3, 1, 1\)"),
        ([[1], [1, 2], []], ValueError, "several labels each: .*MultiLabelBinarizer"),
        ([{1}, {1, 2}, set()], ValueError, "several labels each: .*MultiLabelBinarizer"),
    ],
)
def test_classes_of_a_wrong_form_are_refused(side, labels, error, sentence):
    with pytest.raises(error, match=rf"{side}_labels .*{sentence}"):
        score_with(knn_accuracy, **{f"{side}_labels": labels})


def test_classes_of_two_kinds_are_refused_and_not_compared_as_text():
    with pytest.raises(TypeError, match="train_labels holds numbers, test_labels holds text"):
        score_with(knn_accuracy, test_labels=["0", "1", "0"])
    with pytest.raises(TypeError, match="holds numbers, test_labels holds datetime64"):
        score_with(knn_accuracy, test_labels=np.array(["2001"] * 3, "M8[Y]"))


def test_classes_that_cannot_be_compared_are_refused():
    with pytest.raises(TypeError, match=r"train_labels and test_labels mix .* \(int, str\)"):
        score_with(knn_accuracy, train_labels=[0, "a", 1])


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "shown"), [(2.0, r"2\.0"), (-1.0, r"-1\.0"), (np.nan, "nan")])
def test_values_other_than_0_and_1_are_refused_with_their_place(side, form, value, shown):
    labels = np.eye(3)
    labels[1, 0] = labels[2, 0] = value
    sentence = rf"{side}_labels must hold 0 and 1 only; 2 value.* row 1, column 0 \({shown}\)"
    with pytest.raises(ValueError, match=sentence):
        score_with(knn_jaccard, **{f"{side}_labels": form(labels)})


def test_a_label_stored_twice_is_refused():
    twice = sparse.csr_array((np.ones(4), [0, 0, 1, 2], [0, 2, 3, 4]), shape=(3, 3))
    with pytest.raises(ValueError, match=r"1 value\(s\) do not, .* row 0, column 0 \(2\.0\)"):
        score_with(knn_jaccard, train_labels=twice)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("labels", "error", "sentence"),
    [
        ([0, 1, 0], ValueError, r"must be a 0/1 matrix .* got shape \(3,\)\..*use knn_accuracy"),
        (sparse.coo_array([0, 1, 0]), ValueError, r"must be a 0/1 matrix .* got shape \(3,\)"),
        ([["a"], ["b"], ["c"]], TypeError, "must be a matrix of 0 and 1, got"),
        ([[1], [1, 2], []], ValueError, "several labels each: .*MultiLabelBinarizer"),
        (np.empty((3, 0)), ValueError, r"has no columns \(shape \(3, 0\)\)"),
    ],
)
def test_indicators_of_a_wrong_form_are_refused(side, labels, error, sentence):
    with pytest.raises(error, match=f"{side}_labels .*{sentence}"):
        score_with(knn_jaccard, **{f"{side}_labels": labels})


def test_indicators_of_different_labels_are_refused():
    with pytest.raises(ValueError, match=r"train_labels has 3 columns, test_labels has 2 columns"):
        score_with(knn_jaccard, test_labels=np.ones((3, 2)))
