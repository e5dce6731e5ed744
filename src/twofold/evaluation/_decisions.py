"""How good decisions are: the ranking, the decisions at a threshold, and their intervals.

Pairs that share a record are right or wrong together, so intervals draw whole units: by default the
pairs of one left item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array, check_count, check_number
from twofold._core.random import RandomState, as_generator
from twofold.evaluation._pairs import check_scored_pairs
from twofold.evaluation._resampling import ENDS, Interval, draw_counts
from twofold.evaluation._verification import verification_scores

NAMES = ("auroc", "average_precision", "precision", "recall", "f1")


@dataclass(frozen=True, slots=True)
class DecisionScores:
    """Scores of a similarity, and of calling pairs alike from a threshold on; larger is better.

    Attributes
    ----------
    auroc : float
        Probability that an alike pair is more similar than one not alike; ties count one half.
    average_precision : float
        Σ (R_k − R_{k−1}) P_k over the distinct similarities, in descending order.
    eer : float
        Equal error rate; small is good.
    threshold : float
        The similarity from which pairs are called alike.
    precision, recall, f1 : float
        Scores of these decisions; the precision is 1 if no pair is called alike.
    intervals : dict of str to (float, float)
        95 % confidence interval of each of these except the equal error rate; empty without
        resampling.
    n_similar, n_dissimilar : int
        Pairs of either kind.
    """

    auroc: float
    average_precision: float
    eer: float
    threshold: float
    precision: float
    recall: float
    f1: float
    intervals: dict[str, Interval]
    n_similar: int
    n_dissimilar: int


def decision_scores(
    similar: ArrayLike,
    similarity: ArrayLike,
    threshold: float,
    *,
    units: ArrayLike | None = None,
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> DecisionScores:
    """Score a similarity and a threshold on pairs with known answers.

    Parameters
    ----------
    similar : array_like, shape (n_pairs,)
        1 for alike, 0 for not alike.
    similarity : array_like of float, shape (n_pairs,)
        Large for the alike.
    threshold : float
        The similarity from which a pair is called alike.
    units : array_like, shape (n_pairs,), optional
        Which pairs are resampled together, for instance the left item of each; by default every
        pair on its own.
    n_resamples : int
        Number of bootstrap samples; 0 for no intervals. Costs n_resamples · n_pairs.
    random_state : int, Generator or None
        Seed of the bootstrap; the scores themselves are never random.
    """
    alike, values = check_scored_pairs(similar, similarity, "Scores need")
    threshold = check_number("threshold", threshold, -np.inf)
    check_count("n_resamples", n_resamples, minimum=0)
    ranking = _Ranking.of(alike, values, threshold)
    scores = ranking.scores(np.ones((1, alike.size)))[0]
    intervals: dict[str, Interval] = {}
    if n_resamples:
        codes = _unit_codes(units, alike.size)
        rng = as_generator(random_state)
        drawn = [
            ranking.scores(counts[:, codes])
            for counts in draw_counts(int(codes.max()) + 1, n_resamples, rng, width=alike.size)
        ]
        low, high = np.nanquantile(np.concatenate(drawn), ENDS, axis=0)
        ends = zip(low.tolist(), high.tolist(), strict=True)
        intervals = dict(zip(NAMES, ends, strict=True))
    n_similar = int(np.count_nonzero(alike))
    return DecisionScores(
        **dict(zip(NAMES, scores.tolist(), strict=True)),
        eer=verification_scores(alike, values).eer,
        threshold=float(threshold),
        intervals=intervals,
        n_similar=n_similar,
        n_dissimilar=alike.size - n_similar,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Ranking:
    """Pairs from the most similar down, so that any weights of them are scored by running sums."""

    order: NDArray[np.int64]
    alike: NDArray[np.bool_]
    level_ends: NDArray[np.int64]
    n_called: int

    @classmethod
    def of(
        cls, alike: NDArray[np.bool_], values: NDArray[np.float64], threshold: float
    ) -> _Ranking:
        order = np.argsort(-values, kind="stable")
        falling = values[order]
        level_ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
        return cls(order, alike[order], level_ends, int(np.count_nonzero(values >= threshold)))

    def scores(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores in the order of `NAMES`, shape (n_weightings, 5).

        A weighting without pairs of both kinds has no ranking: NaN.
        """
        falling = weights[:, self.order]
        hits = np.cumsum(np.where(self.alike, falling, 0.0), axis=1)
        called = np.cumsum(falling, axis=1)
        n_alike, n_all = hits[:, -1], called[:, -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            auroc, average_precision = self._ranked(hits, called, n_alike, n_all)
            n_hits = hits[:, self.n_called - 1] if self.n_called else np.zeros_like(n_alike)
            n_calls = called[:, self.n_called - 1] if self.n_called else np.zeros_like(n_alike)
            precision = np.where(n_calls > 0, n_hits / n_calls, 1.0)
            f1 = 2 * n_hits / (n_calls + n_alike)
            return np.column_stack([auroc, average_precision, precision, n_hits / n_alike, f1])

    def _ranked(
        self,
        hits: NDArray[np.float64],
        called: NDArray[np.float64],
        n_alike: NDArray[np.float64],
        n_all: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return AUROC and average precision; equal similarities are one step."""
        at_hits, at_calls = hits[:, self.level_ends], called[:, self.level_ends]
        new_hits = np.diff(at_hits, axis=1, prepend=0.0)
        false = at_calls - at_hits
        passed = false - np.diff(false, axis=1, prepend=0.0) / 2
        n_false = n_all - n_alike
        auroc = 1 - (new_hits * passed).sum(axis=1) / (n_alike * n_false)
        precision = np.where(at_calls > 0, at_hits / at_calls, 0.0)
        return auroc, (new_hits * precision).sum(axis=1) / n_alike


def _unit_codes(units: ArrayLike | None, n_pairs: int) -> NDArray[np.int64]:
    """Return the number of each pair's unit."""
    if units is None:
        return np.arange(n_pairs)
    names = as_array("units", units)
    if names.shape != (n_pairs,):
        raise ValueError(
            f"units must have one unit per pair, shape ({n_pairs},), got {names.shape}."
        )
    return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.int64)
