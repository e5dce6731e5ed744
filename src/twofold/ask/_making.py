"""Questions made ahead: pairs and nines to learn from, and tests between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.ask._questions import Question
from twofold.ask._tally import Pair, Tally, in_order
from twofold.asking import N_BESIDE, Askable, choose_nines, choose_pairs, propose_partners
from twofold.evaluation import Metric, SimilarityCalibration, pair_similarity

TEST_SHARE = 0.2
"""Of all looks: one in five is a test. Fewer leave the interval too wide to say when to stop (with
100 looks 20 tests), more take from learning what they tell."""
PAIRS_OF_A_NINE = 3.0
"""A look at nine takes about as long as so many looks at two."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What questions are made from.

    Attributes
    ----------
    points, metric, calibration
        Of the snapshot.
    askable : Askable
        Which pairs may be asked about.
    group : ndarray of int64, shape (n_items,)
        The same number for items with equal features: what is known of one is known of all.
    tally : Tally
        What was answered.
    """

    points: NDArray[np.float32]
    metric: Metric
    calibration: SimilarityCalibration
    askable: Askable
    group: NDArray[np.int64]
    tally: Tally

    def probability(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how likely pairs are alike."""
        return self.calibration.probability(pair_similarity(self.points, left, right, self.metric))

    def group_keys(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a number for each pair, the same for pairs of items with equal features."""
        a, b = self.group[left], self.group[right]
        return np.asarray(np.minimum(a, b) * len(self.group) + np.maximum(a, b))

    def is_open(
        self, left: NDArray[np.int64], right: NDArray[np.int64], reserved: set[Pair]
    ) -> NDArray[np.bool_]:
        """Return which pairs may be asked about and are not known or reserved."""
        known = np.array([*self.tally.asked, *reserved], dtype=np.int64).reshape(-1, 2)
        is_known = np.isin(self.group_keys(left, right), self.group_keys(*known.T))
        are_equal = self.group[left] == self.group[right]
        return np.asarray(self.askable.allows(left, right) & ~is_known & ~are_equal)


def make_questions(
    scene: Scene,
    tests: list[tuple[Pair, float]],
    n: int,
    nines: bool,
    rng: np.random.Generator,
) -> tuple[Question, ...]:
    """Return at most `n` questions in the order to be asked."""
    reserved = {in_order(*pair) for pair, _ in tests}
    to_learn = learning_questions(scene, n, nines, reserved, rng)
    to_test = [_test_question(scene, pair, weight) for pair, weight in tests]
    questions: list[Question] = []
    n_looks, n_tests = scene.tally.n_looks, scene.tally.n_tests
    while len(questions) < n and (to_learn or to_test):
        is_test = bool(to_test) and (not to_learn or n_tests < TEST_SHARE * (n_looks + 1) - 0.5)
        questions.append((to_test if is_test else to_learn).pop(0))
        n_looks, n_tests = n_looks + 1, n_tests + is_test
    return tuple(questions)


def _test_question(scene: Scene, pair: Pair, weight: float) -> Question:
    left, right = (np.array([item]) for item in pair)
    chance = float(scene.probability(left, right)[0])
    return Question("pair", pair, (chance,), "test", weight)


def learning_questions(
    scene: Scene, n: int, nines: bool, reserved: set[Pair], rng: np.random.Generator
) -> list[Question]:
    """Return questions to learn from, those that help most first."""
    n_stated = np.zeros(scene.askable.n_items, dtype=np.int64)
    for pair in scene.tally.learnt:
        n_stated[list(pair)] += 1
    anchors, near, others = propose_partners(
        scene.points, scene.metric, scene.askable, n_stated > 0, n, rng
    )
    partners = np.hstack([near, others])
    left, right = np.repeat(anchors, partners.shape[1]), partners.ravel()
    is_open = scene.is_open(left, right, reserved)
    _, first = np.unique(scene.group_keys(left, right), return_index=True)
    is_first = np.zeros(left.size, dtype=bool)
    is_first[first] = True
    rows = np.flatnonzero(is_open & is_first)
    chance = scene.probability(left[rows], right[rows])
    chosen = choose_pairs(left[rows], right[rows], chance, n_stated, n, rng)
    chosen = chosen[rng.permutation(chosen.size)]
    pairs = [
        Question("pair", (int(left[rows[k]]), int(right[rows[k]])), (float(chance[k]),))
        for k in chosen
    ]
    if not nines:
        return pairs
    of_nine = _nines(scene, anchors, near, is_open.reshape(partners.shape)[:, : near.shape[1]], n)
    return _each_pair_once(scene, _mixed(pairs, of_nine))


def _each_pair_once(scene: Scene, questions: list[Question]) -> list[Question]:
    """Return questions without those that hold a pair that an earlier one holds."""
    kept: list[Question] = []
    seen: set[int] = set()
    for question in questions:
        others = np.array(question.items[1:])
        keys = set(scene.group_keys(np.full(others.size, question.items[0]), others).tolist())
        if not keys & seen and len(keys) == others.size:
            kept.append(question)
            seen |= keys
    return kept


def _nines(
    scene: Scene,
    anchors: NDArray[np.int64],
    near: NDArray[np.int64],
    is_open: NDArray[np.bool_],
    n: int,
) -> list[Question]:
    rows = np.flatnonzero(is_open.sum(axis=1) >= N_BESIDE)
    if not rows.size:
        return []
    beside = np.stack([near[row, is_open[row]][:N_BESIDE] for row in rows])
    left = np.repeat(anchors[rows], N_BESIDE)
    chance = scene.probability(left, beside.ravel()).reshape(beside.shape)
    return [
        Question(
            "nine",
            (int(anchors[rows[row]]), *map(int, beside[row])),
            tuple(map(float, chance[row])),
        )
        for row in choose_nines(chance, beside, anchors[rows], n)
    ]


def _mixed(pairs: list[Question], nines: list[Question]) -> list[Question]:
    """Return both kinds, a nine where it tells more in its time than pairs do."""
    mixed: list[Question] = []
    pairs, nines = pairs[:], nines[:]
    while pairs or nines:
        per_pair = np.mean([_doubt(one) for one in pairs[:10]]) if pairs else 0.0
        if nines and _doubt(nines[0]) >= PAIRS_OF_A_NINE * per_pair:
            mixed.append(nines.pop(0))
            if pairs and len(mixed) % 3 == 2:
                mixed.append(pairs.pop(0))
        elif pairs:
            mixed.append(pairs.pop(0))
        else:
            mixed.append(nines.pop(0))
    return mixed


def _doubt(question: Question) -> float:
    return sum(4 * p * (1 - p) for p in question.probability)
