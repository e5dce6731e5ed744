"""What every learner of an embedding shares: all but how it is fitted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from torch import nn

from twofold.estimators._inputs import Relation, as_relation, check_features
from twofold.estimators._persistence import LEARNERS, save_model
from twofold.evaluation import (
    Calibration,
    Strategy,
    choose_threshold,
    pair_auroc,
    pair_similarity,
)
from twofold.regression import NetworkEmbedder, RegressorEmbedder, is_network
from twofold.relations import LabelRelation, PairRelation, TripletRelation

SCORING_SEED = 0
"""Pairs that labels are scored on are the same every time, so that scores can be compared."""


class EmbeddingLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted embedding: points, similarities, a threshold, a score, a folder on disk.

    A learner sets, in its `fit`, `embedder_`, `metric_` and `_mean` and `_scale`, which bring what
    the embedder predicts back to the targets' own coordinates.
    """

    embedder: Any
    dim_: int
    input_shape_: tuple[int, ...]
    embedder_: NetworkEmbedder | RegressorEmbedder
    metric_: Literal["euclidean", "dot"]
    _mean: NDArray[np.float32]
    _scale: float

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        LEARNERS[cls.__name__] = cls

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of `X`, in the targets' own coordinates.

        Parameters
        ----------
        X : array, memory-mapped array, sparse matrix or torch Dataset, n_items rows
            Features.

        Returns
        -------
        points : ndarray of float32, shape (n_items, dim)
            To be compared by `metric_`.
        """
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        return self._own_coordinates(self.embedder_.predict(X))

    def _own_coordinates(self, predicted: NDArray[np.float32]) -> NDArray[np.float32]:
        """Bring what an embedder predicts to the targets' own coordinates."""
        return predicted * np.float32(self._scale) + self._mean

    def _embed_with(self, network: nn.Module, X: Any) -> NDArray[np.float32]:
        """Embed by a network that is still being trained."""
        X = check_features(self, X, reset=False)
        device = next(network.parameters()).device
        return self._own_coordinates(
            NetworkEmbedder(network, self.input_shape_, str(device)).predict(X)
        )

    def pair_similarity(self, A: Any, B: Any) -> NDArray[np.float32]:
        """Return how alike row k of `A` and row k of `B` are: −‖a − b‖, or a·b for dot products.

        Large for the alike.
        """
        left, right = self.transform(A), self.transform(B)
        if len(left) != len(right):
            raise ValueError(
                f"A has {len(left)} rows and B has {len(right)}: row k of A is compared with row k "
                "of B."
            )
        rows = np.arange(len(left))
        both = np.concatenate([left, right])
        return pair_similarity(both, rows, rows + len(left), self.metric_)

    def pair_distance(self, A: Any, B: Any) -> NDArray[np.float32]:
        """Return how far apart row k of `A` and row k of `B` are: ‖a − b‖, or 1 − a·b.

        Small for the alike. 1 − a·b is about 0 for the alike and 1 for others, but no metric: it
        can be negative.
        """
        similarity = self.pair_similarity(A, B)
        return -similarity if self.metric_ == "euclidean" else 1 - similarity

    def score(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> float:
        """Return the pairwise AUROC: the chance that an alike pair is more similar than another.

        Parameters
        ----------
        X : n_items rows
            Features.
        y : classes or 0/1 indicator matrix, n_items rows, optional
            Alike is what shares a label. 10 similar and 10 dissimilar partners an item are
            compared, the same every time.
        relation : PairRelation, LabelRelation or TripletRelation, optional
            In place of `y`. Grades above one half count as alike. For triplets the score is the
            share of those in the right order.
        """
        check_is_fitted(self)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        points = self.transform(X)
        if isinstance(known, TripletRelation):
            near = pair_similarity(points, known.anchor, known.positive, self.metric_)
            far = pair_similarity(points, known.anchor, known.negative, self.metric_)
            return float(np.mean((near > far) + 0.5 * (near == far)))
        pairs = stated_pairs(known)
        found = pair_similarity(points, pairs.left, pairs.right, self.metric_)
        return pair_auroc(pairs.similar > 0.5, found)

    def calibrate_threshold(
        self,
        X: Any,
        relation: Relation | Any,
        strategy: Strategy = "accuracy",
        *,
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Calibration:
        """Choose, on pairs that were held out, from which similarity on a pair is called alike.

        Parameters
        ----------
        X : n_items rows
            Features of items that were not trained on.
        relation : PairRelation, LabelRelation, classes or 0/1 indicator matrix
            What is known of them. Of labels, 10 similar and 10 dissimilar partners an item are
            taken.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
            Most pairs right; best F-beta; highest true-positive rate with the true-negative rate
            (1 minus the false-positive rate) at least `min_rate`; or the reverse.
        min_rate : float, optional
            In [0, 1]; needed by the last two.
        beta : float
            How many times as much recall counts as precision.

        Returns
        -------
        Calibration
            The threshold and what it reached; kept as `calibration_`, the threshold as
            `threshold_`.
        """
        check_is_fitted(self)
        given = isinstance(relation, Relation)
        known = as_relation(
            type(self).__name__,
            X,
            None if given else relation,
            relation if given else None,
            "overlap",
        )
        if isinstance(known, TripletRelation):
            raise TypeError("A threshold needs pairs or labels; triplets only compare.")
        pairs = stated_pairs(known)
        found = pair_similarity(self.transform(X), pairs.left, pairs.right, self.metric_)
        self.calibration_ = choose_threshold(
            pairs.similar > 0.5, found, strategy, min_rate=min_rate, beta=beta
        )
        self.threshold_ = self.calibration_.threshold
        return self.calibration_

    def predict_pairs(self, A: Any, B: Any) -> NDArray[np.bool_]:
        """Say of row k of `A` and row k of `B` whether they are alike, by the threshold."""
        check_is_fitted(self)
        if getattr(self, "threshold_", None) is None:
            raise ValueError(
                "There is no threshold yet: call calibrate_threshold on held-out pairs first, or "
                "set threshold_ to a similarity."
            )
        return self.pair_similarity(A, B) >= self.threshold_

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the model to a folder, whole or not at all; `twofold.load` opens it.

        The folder holds `model.json` and `weights.safetensors`, or `embedder.skops` for a
        scikit-learn embedder. An older model of that name is replaced; any other folder is left
        alone.
        """
        check_is_fitted(self)
        return save_model(self, folder)

    def _forget_threshold(self) -> None:
        """A threshold belongs to the embedding it was chosen on."""
        self.__dict__.pop("threshold_", None)
        self.__dict__.pop("calibration_", None)

    @property
    def _n_features_out(self) -> int:
        return self.dim_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedder_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.non_deterministic = False
        if is_network(self.embedder):
            tags.input_tags.sparse = True
            tags.input_tags.three_d_array = True
        elif hasattr(self.embedder, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.embedder).input_tags
        return tags


def stated_pairs(relation: PairRelation | LabelRelation) -> PairRelation:
    """Return pairs to score: those stated, or a fixed sample of what labels say."""
    if isinstance(relation, LabelRelation):
        return relation.sample_pairs(random_state=SCORING_SEED)
    return relation
