"""How well points tell apart kinds that were not trained on, or new items of kinds that were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import (
    Interval,
    Metric,
    RetrievalScores,
    all_pairs_auroc,
    one_shot_accuracy,
    retrieval_scores,
)

RECALL_DEPTHS = (1, 5, 10)
N_WAY = 20
MOST_SCORED = 6000
"""Items that are scored: all pairs of them are ordered, which takes 4 n² bytes."""


@dataclass(frozen=True, slots=True)
class KindScores:
    """Scores of points by one metric; each is in [0, 1], and large is good.

    Attributes
    ----------
    metric : {"euclidean", "cosine", "dot"}
        How points were compared.
    auroc : float
        Over all pairs of the items.
    retrieval : mapping
        "recall_at_1", "recall_at_5", "recall_at_10", "r_precision" and "map_at_r" among the items.
    one_shot : float or None
        Accuracy by one example of each of 20 classes, over all episodes; None of fewer classes.
    intervals : mapping
        95 % confidence interval of each score of `retrieval`, and of "one_shot".
    resampled : {"classes", "items"}
        What the intervals were drawn from.
    """

    metric: Metric
    auroc: float
    retrieval: Mapping[str, float]
    one_shot: float | None
    intervals: Mapping[str, Interval]
    resampled: Literal["classes", "items"]

    def find(self, name: str) -> float | None:
        """Return a score by its name, None where it was not measured."""
        if name == "auroc":
            return self.auroc
        return self.one_shot if name == "one_shot" else self.retrieval.get(name)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> KindScores:
        """Return the scores that JSON holds; they have been checked."""
        intervals = {name: (low, high) for name, (low, high) in content["intervals"].items()}
        return cls(**{**content, "intervals": intervals})


@dataclass(frozen=True, slots=True)
class UnseenScores:
    """What a run came to on kinds never seen.

    Attributes
    ----------
    trained_on, tested_on : str
        Which kinds were seen, and which were not.
    never_seen : tuple of KindScores
        On the latter, one for each metric.
    seen : tuple of KindScores
        On new items of the former; empty where there are none.
    """

    trained_on: str
    tested_on: str
    never_seen: tuple[KindScores, ...]
    seen: tuple[KindScores, ...] = ()

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> UnseenScores:
        """Return the scores that JSON holds; they have been checked."""
        parts = {
            part: tuple(KindScores.from_json(scores) for scores in content[part])
            for part in ("never_seen", "seen")
        }
        return cls(content["trained_on"], content["tested_on"], **parts)


def retrieval_by_name(found: RetrievalScores) -> dict[str, float]:
    """Return retrieval scores as a record has them."""
    recalls = {f"recall_at_{depth}": share for depth, share in found.recall_at.items()}
    return recalls | {"r_precision": found.r_precision, "map_at_r": found.map_at_r}


def best_score(scores: Iterable[KindScores], name: str) -> float | None:
    """Return a score by the metric that is best for it, None where it was not measured."""
    values = [value for one in scores if (value := one.find(name)) is not None]
    return max(values, default=None)


def scored_rows(n_items: int) -> NDArray[np.int64]:
    """Return the rows to score: all, or some spread evenly over them if they are too many."""
    return spread_evenly(n_items, MOST_SCORED)


def spread_evenly(n_items: int, most: int) -> NDArray[np.int64]:
    """Return up to `most` rows that are spread evenly over all."""
    return np.linspace(0, n_items - 1, min(n_items, most)).astype(np.int64)


def score_kinds(
    points: NDArray[np.floating[Any]], classes: NDArray[np.int64], metric: Metric, seed: int
) -> KindScores:
    """Score points whose neighbours are looked for among themselves.

    Parameters
    ----------
    points : ndarray of float, shape (n_items, dim)
        Of at least two classes, of which one has at least two items.
    classes : ndarray of int64, shape (n_items,)
        What they are.
    metric : {"euclidean", "cosine", "dot"}
        How they are compared.
    seed : int
        Of the bootstrap.
    """
    found = retrieval_scores(points, classes, k=RECALL_DEPTHS, metric=metric, random_state=seed)
    assert found.resampled is not None
    one_shot, intervals = None, dict(found.intervals)
    if len(np.unique(classes)) >= N_WAY:
        episodes = one_shot_accuracy(
            points, classes, n_way=N_WAY, n_episodes="all", metric=metric, random_state=seed
        )
        assert episodes.interval is not None
        one_shot, intervals["one_shot"] = episodes.accuracy, episodes.interval
    auroc = all_pairs_auroc(points, classes, metric=metric)
    return KindScores(metric, auroc, retrieval_by_name(found), one_shot, intervals, found.resampled)
