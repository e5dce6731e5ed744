"""How well codes, or the points that they stand in for, rank a gallery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators import EmbeddingLearner
from twofold.evaluation import (
    Metric,
    knn_accuracy,
    knn_jaccard,
    pair_auroc,
    pair_similarity,
    ranking_scores,
)
from twofold.experiments._examples import empty_rows_unsaid
from twofold.experiments._kind_scores import spread_evenly
from twofold.experiments._paper import N_NEIGHBOURS, Score
from twofold.experiments._sets import ExperimentSet
from twofold.relations import LabelRelation

DEPTHS = (1000, 5000)
RADIUS = 2
MOST_QUERIES = 2000
GALLERY_SEED = 0
"""The gallery is in an order that is drawn once: what is equally near comes in that order."""


@dataclass(frozen=True, slots=True)
class CodeScores:
    """What a run on codes came to; each score is in [0, 1], and large is good.

    Attributes
    ----------
    n_bits : int
        Of a code; of real-valued points their components.
    metric : str
        How points were compared: "hamming" for codes.
    map_at_1000, map_at_5000, mean_average_precision : float
        Of test items as queries among the training items; see `ranking_scores`.
    precision_within_2 : float or None
        Of codes, among what differs in at most two bits.
    neighbours : float
        5-NN accuracy or Jaccard index.
    auroc : float
        On pairs of test items.
    n_queries : int
        Test items that were scored.
    """

    n_bits: int
    metric: Metric
    map_at_1000: float
    map_at_5000: float
    mean_average_precision: float
    precision_within_2: float | None
    neighbours: float
    auroc: float
    n_queries: int


def score_codes(
    learner: EmbeddingLearner, data: ExperimentSet, n_bits: int, score: Score, seed: int
) -> CodeScores:
    """Return the scores of a fitted learner on the test items of a set."""
    gallery = data.train.take(
        np.random.default_rng(GALLERY_SEED).permutation(len(data.train.labels))
    )
    queries = data.test.take(spread_evenly(len(data.test.labels), MOST_QUERIES))
    points, others = learner.transform(queries.features), learner.transform(gallery.features)
    metric = learner.metric_
    with empty_rows_unsaid():
        found = ranking_scores(
            points,
            queries.labels,
            gallery_points=others,
            gallery_labels=gallery.labels,
            k=DEPTHS,
            metric=metric,
            radius=RADIUS,
        )
        nearest = (knn_accuracy if score == "accuracy" else knn_jaccard)(
            others, gallery.labels, points, queries.labels, N_NEIGHBOURS, metric
        )
        auroc = _auroc(points, queries.labels, metric, seed)
    return CodeScores(
        n_bits=n_bits,
        metric=metric,
        map_at_1000=found.map_at[DEPTHS[0]],
        map_at_5000=found.map_at[DEPTHS[1]],
        mean_average_precision=found.mean_average_precision,
        precision_within_2=found.precision_within,
        neighbours=nearest,
        auroc=auroc,
        n_queries=len(points),
    )


def _auroc(points: NDArray[Any], labels: Any, metric: Metric, seed: int) -> float:
    pairs = LabelRelation(labels).sample_pairs(random_state=seed)
    return pair_auroc(pairs.similar, pair_similarity(points, pairs.left, pairs.right, metric))
