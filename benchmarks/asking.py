"""Asking what `suggest_pairs` suggests, beside asking at random: AUROC by answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.sparse_pairs import PROBLEMS
from twofold import LabelRelation, MetricLearner, PairRelation, RelationWarning

TITLE = "What to ask next: suggested pairs beside random ones"
SEEDS = 5
N_START, N_BATCH = 50, 20
N_SUGGESTED, N_RANDOM = 250, 500
"""The bar: so many answers to suggestions are worth at least so many to random questions."""
COUNTS = (50, 90, 150, 190, 250, 290, 350, 390, 450, 490)
"""Answers at which both are scored beside."""
SETTING = {
    "seeds": SEEDS,
    "start": f"{N_START} random pairs, {N_BATCH} more at a time, the learner fitted anew each time",
    "learner": "MetricLearner with its defaults, on a CPU",
    "digits": "70 % to learn from, stratified, by seed; any two of them may be asked, of which a "
    "tenth are alike; test pairs 10 similar and 10 dissimilar an item",
    "dblp-acm": "the training part's 7,417 pairs may be asked, of which 18 % are alike; features "
    "as in few_pairs; all test pairs",
    "bar": f"random asking's mean at {N_RANDOM} answers, for suggestions at {N_SUGGESTED}",
}

Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What is learnt, and who answers.

    Attributes
    ----------
    train, test : array, an item a row
        Features.
    asked : PairRelation
        Over the rows of `test`.
    candidates : ndarray of int64, shape (n_candidates, 2), or None
        Rows of `train` that may be asked about; any two if None.
    answer : callable
        From pairs, shape (n, 2), to which of them are alike.
    """

    train: Any
    test: Any
    asked: PairRelation
    candidates: Pairs | None
    answer: Callable[[Pairs], NDArray[np.bool_]]

    def random_pairs(self, n: int, rng: np.random.Generator) -> Pairs:
        """Return different pairs that may be asked about."""
        if self.candidates is not None:
            return rng.permutation(self.candidates)[:n]
        drawn = np.sort(rng.integers(len(self.train), size=(2 * n, 2)), axis=1)
        _, first = np.unique(drawn, axis=0, return_index=True)
        different = drawn[np.sort(first)]
        return different[different[:, 0] != different[:, 1]][:n]

    def learn(self, pairs: Pairs, seed: int) -> MetricLearner:
        """Learn from the answers to some pairs."""
        relation = PairRelation.from_pairs(pairs, self.answer(pairs), len(self.train))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RelationWarning)  # features best as given
            learner = MetricLearner(device="cpu", random_state=seed)
            return learner.fit(self.train, relation=relation)


def _digits(seed: int) -> Subject:
    X, y = load_digits(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    X, labels = X.astype(np.float32), y[train]
    asked = LabelRelation(y[test]).sample_pairs(random_state=seed)
    return Subject(
        X[train], X[test], asked, None, lambda pairs: labels[pairs[:, 0]] == labels[pairs[:, 1]]
    )


def _records(seed: int) -> Subject:
    problem = PROBLEMS["dblp-acm"](seed)
    stated = problem.relation
    candidates = np.stack([stated.left, stated.right], axis=1)
    known = {
        frozenset(pair): similar > 0.5
        for pair, similar in zip(candidates.tolist(), stated.similar.tolist(), strict=True)
    }

    def answer(pairs: Pairs) -> NDArray[np.bool_]:
        return np.array([known[frozenset(pair)] for pair in pairs.tolist()])

    return Subject(problem.train, problem.test, problem.asked, candidates, answer)


SUBJECTS: dict[str, Callable[[int], Subject]] = {"digits": _digits, "dblp-acm": _records}


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    return [figure for name in SUBJECTS for figure in _figures(name)]


def _figures(name: str) -> list[Figure]:
    """Return the bar's figure, then how both kinds of asking went."""
    random, suggested, shares = [], [], []
    for seed in range(SEEDS):
        subject = SUBJECTS[name](seed)
        start = starting_pairs(subject, seed)
        random.append(_ask_at_random(subject, start, seed))
        scores, share = ask_suggestions(subject, start, seed)
        suggested.append(scores)
        shares.append(share)
        print(name, seed, random[-1], suggested[-1], share, flush=True)
    goal = _column(random, N_RANDOM)
    figures = [
        Figure(
            f"{name}: AUROC after {N_SUGGESTED} answers to suggestions",
            float(_column(suggested, N_SUGGESTED).mean()),
            float(goal.mean()),
            note=f"{_spread(suggested, N_SUGGESTED)}; the bar is {N_RANDOM} random answers, "
            f"{_spread(random, N_RANDOM)}",
        ),
        Figure(
            f"{name}: share of suggestions that are alike",
            float(np.mean(shares)),
            note="over all batches",
        ),
    ]
    for kind, scores in (("suggestions", suggested), ("random pairs", random)):
        for n in scores[0]:
            figures.append(
                Figure(
                    f"{name}: {n} answers to {kind}",
                    float(_column(scores, n).mean()),
                    note=_spread(scores, n),
                )
            )
    return figures


def starting_pairs(subject: Subject, seed: int) -> Pairs:
    """Return random pairs in the order of asking, some of each kind among the first."""
    rng = np.random.default_rng(seed)
    while True:
        pairs = subject.random_pairs(N_RANDOM, rng)
        n_alike = int(subject.answer(pairs[:N_START]).sum())
        if 2 <= n_alike <= N_START - 2:
            return pairs


def _ask_at_random(subject: Subject, pairs: Pairs, seed: int) -> dict[int, float]:
    """Return AUROC by answers."""
    return {
        n: subject.learn(pairs[:n], seed).score(subject.test, relation=subject.asked)
        for n in (*COUNTS, N_RANDOM)
    }


def ask_suggestions(
    subject: Subject, start: Pairs, seed: int, counts: tuple[int, ...] = COUNTS
) -> tuple[dict[int, float], float]:
    """Return AUROC by answers, and the share of suggestions that were alike."""
    pairs, scores = start[:N_START], {}
    while True:
        learner = subject.learn(pairs, seed)
        if len(pairs) in counts:
            scores[len(pairs)] = learner.score(subject.test, relation=subject.asked)
        if len(pairs) >= max(counts):
            return scores, float(subject.answer(pairs[N_START:]).mean())
        asked = learner.suggest_pairs(N_BATCH, candidates=subject.candidates, random_state=seed)
        pairs = np.concatenate([pairs, np.stack([asked.left, asked.right], axis=1)])


def _column(scores: list[dict[int, float]], n: int) -> NDArray[np.float64]:
    return np.array([one[n] for one in scores])


def _spread(scores: list[dict[int, float]], n: int) -> str:
    column = _column(scores, n)
    return f"± {column.std(ddof=1) / np.sqrt(len(column)):.4f}"
