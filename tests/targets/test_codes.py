"""`solve_codes` against the slow definition of its objectives, and what codes must be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold._core.warnings import RelationWarning
from twofold.evaluation import pair_auroc
from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets import CodeSolution, PairBits, codewords, random_signs, solve_codes
from twofold.targets._codewords import MOST_ARRANGED, least_distance

RNG = np.random.default_rng


def slow_loss(relation: PairRelation, codes: np.ndarray) -> float:
    """1/W Σ w (s − z·z' / b)², one pair after the other."""
    total = total_weight = 0.0
    for k in range(relation.n_pairs):
        weight = 1.0 if relation.weight is None else float(relation.weight[k])
        i, j, wanted = relation.left[k], relation.right[k], 2 * float(relation.similar[k]) - 1
        product = sum(int(a) * int(b) for a, b in zip(codes[i], codes[j], strict=True))
        total += weight * (wanted - product / codes.shape[1]) ** 2
        total_weight += weight
    return total / total_weight


def some_pairs(seed=0, n_items=12, n_pairs=30, *, weighted=False, grades=(0.0, 0.5, 1.0)):
    rng = RNG(seed)
    every = np.array(list(itertools.combinations(range(n_items), 2)))
    left, right = rng.permuted(every[rng.choice(len(every), n_pairs, replace=False)], axis=1).T
    weight = rng.integers(1, 4, n_pairs).astype(float) if weighted else None
    return PairRelation(left, right, rng.choice(grades, n_pairs), n_items, weight)


def groups(n_items=60, n_groups=4) -> LabelRelation:
    return LabelRelation(np.arange(n_items) % n_groups)


def labels_in_threes(seed=0, n_items=40) -> np.ndarray:
    labels = RNG(seed).random((n_items, 6)) < 0.35
    labels[np.arange(n_items), np.arange(n_items) % 6] = True
    return labels.astype(int)


def auroc_of(solution: CodeSolution, pairs: PairRelation) -> float:
    codes = solution.codes.astype(float)
    return pair_auroc(pairs.similar > 0.5, (codes[pairs.left] * codes[pairs.right]).sum(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_pair_codes_is_that_of_the_definition(seed, weighted):
    relation = some_pairs(seed, weighted=weighted)
    solution = solve_codes(relation, 6, random_state=seed)
    assert solution.loss == pytest.approx(slow_loss(relation, solution.codes), rel=1e-6)
    assert solution.history[-1] == solution.loss
    assert (np.diff(solution.history) <= 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_no_sweep_over_a_bit_raises_the_loss(weighted):
    relation, rng = some_pairs(3, weighted=weighted), RNG(0)
    bits = PairBits(relation, 4)
    for number in range(4):
        bits.set(number, random_signs(12, rng))
    losses = [bits.loss()]
    for number in [0, 1, 2, 3, 1, 0]:
        bits.solve(number, bits.bits[number])
        losses.append(bits.loss())
        assert losses[-1] == pytest.approx(slow_loss(relation, bits.bits.T.astype(int)))
    assert (np.diff(losses) <= 1e-12).all()
    assert losses[-1] < losses[0]


def test_no_single_bit_could_be_turned_for_the_better():
    relation = some_pairs(1, n_items=9, n_pairs=20)
    solution = solve_codes(relation, 3, random_state=0)
    bits = PairBits(relation, 3)
    for number in range(3):
        bits.set(number, solution.codes[:, number].astype(np.float32))
    while any(bits.solve(number, bits.bits[number]) for number in range(3)):
        pass
    settled = bits.bits.T.astype(int)
    least = slow_loss(relation, settled)
    for item, number in itertools.product(range(9), range(3)):
        turned = settled.copy()
        turned[item, number] *= -1
        assert slow_loss(relation, turned) >= least - 1e-9


def test_a_margin_is_what_the_other_sign_would_cost():
    relation = some_pairs(2, weighted=True)
    bits = PairBits(relation, 3)
    for number in range(3):
        bits.solve(number, random_signs(12, RNG(number)))
    margins, codes = bits.margins(2), bits.bits.T.astype(int)
    costs = []
    for item in range(12):
        turned = codes.copy()
        turned[item, 2] *= -1
        costs.append(slow_loss(relation, turned) - slow_loss(relation, codes))
    assert margins.mean() == pytest.approx(1)
    np.testing.assert_allclose(margins, np.array(costs) / np.mean(costs), atol=1e-5)


@given(st.integers(0, 1000))
def test_the_order_of_pairs_and_of_their_ends_changes_no_bit(seed):
    relation = some_pairs(seed % 7)
    order = RNG(seed).permutation(relation.n_pairs)
    turned = PairRelation(
        relation.right[order], relation.left[order], relation.similar[order], relation.n_items
    )
    one, other = (solve_codes(each, 5, random_state=0) for each in (relation, turned))
    np.testing.assert_array_equal(one.codes, other.codes)


def test_a_weight_of_two_is_a_pair_stated_twice():
    left, right, similar = [0, 1, 2, 0, 1], [1, 2, 3, 3, 3], [1, 0, 1, 0, 1]
    weighted = PairRelation(left, right, similar, 4, [2, 1, 1, 2, 1])
    doubled = PairRelation([*left, 0, 0], [*right, 1, 3], [*similar, 1, 0], 4)
    one, other = (solve_codes(each, 4, random_state=0) for each in (weighted, doubled))
    np.testing.assert_array_equal(one.codes, other.codes)


def test_alike_agree_and_others_differ_in_their_codes():
    relation = PairRelation([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, 0, 0], 4)
    codes = solve_codes(relation, 8, random_state=0).codes
    assert (codes[0] == codes[1]).all()
    assert (codes[2] == codes[3]).all()
    assert (codes[0] == -codes[2]).all()


def test_a_grade_of_one_half_asks_for_half_of_the_bits():
    codes = solve_codes(PairRelation([0], [1], [0.5], 2), 8, random_state=0).codes
    assert (codes[0] == codes[1]).sum() == 4


def test_codes_order_the_pairs_they_were_solved_on_and_pairs_drawn_anew():
    relation = groups()
    solution = solve_codes(relation.sample_pairs(6, 6, random_state=0), 16, random_state=0)
    assert auroc_of(solution, relation.sample_pairs(6, 6, random_state=0)) >= 0.99
    assert auroc_of(solution, relation.sample_pairs(6, 6, random_state=1)) >= 0.99


def test_classes_get_codewords_in_any_order_of_their_names():
    named, renamed = LabelRelation(["a", "b", "a", "c"]), LabelRelation([2, 7, 2, 9])
    one, other = (solve_codes(each, 12, random_state=0) for each in (named, renamed))
    assert one.method == "codewords"
    np.testing.assert_array_equal(one.codes, other.codes)
    np.testing.assert_array_equal(one.codes[0], one.codes[2])
    assert least_distance(one.table) >= 7


def test_the_loss_of_codewords_is_that_of_all_pairs_of_items():
    solution = solve_codes(LabelRelation([0, 1, 0, 2, 2, 2]), 7, random_state=0)
    left, right = np.triu_indices(6, 1)
    classes = np.array([0, 1, 0, 2, 2, 2])
    every = PairRelation(left, right, (classes[left] == classes[right]).astype(float), 6)
    assert solution.loss == pytest.approx(slow_loss(every, solution.codes))


def test_an_item_of_unknown_class_has_no_code():
    codes = solve_codes(LabelRelation([0, -1, 1]), 4, random_state=0).codes
    assert (codes[1] == 0).all()
    assert (codes[[0, 2]] != 0).all()


@pytest.mark.parametrize(
    ("n_classes", "n_bits", "least"),
    [(2, 8, 8), (4, 6, 3), (10, 16, 7), (10, 64, 33), (MOST_ARRANGED + 1, 16, 1), (16, 4, 1)],
)
def test_codewords_are_all_different_and_far_apart(n_classes, n_bits, least):
    codes = codewords(n_classes, n_bits, RNG(0))
    assert codes.shape == (n_classes, n_bits)
    assert set(np.unique(codes)) == {-1, 1}
    assert least_distance(codes) >= least


def test_more_classes_than_codes_are_refused():
    with pytest.raises(
        ValueError, match=r"n_bits=2 has 4 codes, but there are 5 classes.* at least 3"
    ):
        solve_codes(LabelRelation(range(5)), 2)


@pytest.mark.parametrize("method", ["whole", "rotated"])
@pytest.mark.parametrize("n_bits", [3, 32])
def test_codes_of_several_labels_order_pairs(n_bits, method, monkeypatch):
    if method == "rotated":
        monkeypatch.setattr("twofold.targets._codes.MOST_WHOLE", 2)
    relation = LabelRelation(labels_in_threes(), grade="jaccard")
    solution = solve_codes(relation, n_bits, random_state=0)
    assert (solution.method, solution.n_bits) == (method, n_bits)
    left, right = np.triu_indices(relation.n_items, 1)
    grades = relation.similarity(np.arange(40), np.arange(40))[left, right]
    pairs = PairRelation(left, right, (grades > 0).astype(float), 40)
    assert auroc_of(solution, pairs) > {3: 0.7, 32: 0.85}[n_bits]


def test_codes_of_label_vectors_are_those_of_all_pairs_of_items():
    labels = labels_in_threes(n_items=15)[np.arange(40) % 15]
    relation = LabelRelation(labels, grade="jaccard")
    solution = solve_codes(relation, 6, random_state=0)
    left, right = np.triu_indices(40, 1)
    differ = solution.which[left] != solution.which[right]
    left, right = left[differ], right[differ]
    every = relation.similarity(np.arange(40), np.arange(40))[left, right]
    pairs = PairRelation(left, right, every, 40)
    assert solution.loss == pytest.approx(slow_loss(pairs, solution.codes), rel=1e-5)
    sizes = np.abs(solution.points[solution.which])
    np.testing.assert_allclose(sizes.mean(axis=0), 1, rtol=1e-4)


@pytest.mark.parametrize("most_whole", [99, 2])
def test_equal_label_vectors_share_a_code_and_no_label_is_far_from_all(most_whole, monkeypatch):
    monkeypatch.setattr("twofold.targets._codes.MOST_WHOLE", most_whole)
    labels = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]])
    with pytest.warns(RelationWarning, match="1 of 6 rows have no label"):
        relation = LabelRelation(labels)
    codes = solve_codes(relation, 16, random_state=0).codes.astype(int)
    np.testing.assert_array_equal(codes[0], codes[1])
    agreement = codes @ codes.T
    assert agreement[0, 2] > agreement[0, 3]
    assert agreement[3, [0, 2]].max() < 4


def test_codes_of_triplets_put_them_in_order():
    rng, classes = RNG(0), np.arange(30) % 3
    anchors = rng.integers(30, size=300)
    positive = (anchors + 3 * rng.integers(1, 10, 300)) % 30
    negative = (positive + rng.integers(1, 3, 300)) % 30
    assert (classes[anchors] == classes[positive]).all()
    relation = TripletRelation(anchors, positive, negative, 30)
    codes = solve_codes(relation, 16, random_state=0).codes.astype(int)
    agree = codes @ codes.T
    in_order = agree[relation.anchor, relation.positive] > agree[relation.anchor, relation.negative]
    assert in_order.mean() > 0.95


def test_the_same_seed_gives_the_same_codes():
    relation = some_pairs(4)
    one, other = (solve_codes(relation, 8, random_state=5) for _ in range(2))
    assert one.points.tobytes() == other.points.tobytes()
    assert not one.points.flags.writeable
    assert "CodeSolution(12 codes of 8 bits" in repr(one)


@pytest.mark.parametrize("n_bits", [0, -8, 1.5])
def test_a_number_of_bits_that_is_none_is_refused(n_bits):
    with pytest.raises((ValueError, TypeError), match=f"n_bits.*{n_bits}"):
        solve_codes(groups(), n_bits)


def test_what_is_no_relation_is_refused():
    with pytest.raises(TypeError, match="got list"):
        solve_codes([0, 1, 1], 8)
