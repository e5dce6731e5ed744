"""What every learner of an embedding shares: all but how it is fitted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from twofold._core.model_card import plain_parameters
from twofold.estimators._mahalanobis import PointSource
from twofold.estimators._model import NESTED, Fitted, Model, save_model
from twofold.estimators._neighbours import nearest_points
from twofold.estimators._onnx_file import InputType, write_onnx
from twofold.estimators._pair_function import PairFunction
from twofold.evaluation import (
    Calibration,
    Metric,
    Strategy,
    choose_threshold,
    pair_auroc,
    pair_similarity,
    triplet_ranks,
)
from twofold.metric import MetricStep
from twofold.regression import (
    Embedder,
    NetworkEmbedder,
    RegressorEmbedder,
    as_numbers,
    check_features,
    check_points,
    is_network,
    layer_batches,
    n_rows,
    refuse_unknown_embedder,
    survives_fork,
)
from twofold.relations import Relation, TripletRelation, as_relation, stated_pairs
from twofold.search import Neighbours, distance_of

LEARNERS: dict[str, type[EmbeddingLearner]] = {}
"""Learners by name: what a model may ask for."""


class EmbeddingLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What a fitted embedding can do: points, similarities, a threshold, a score, saving.

    A learner sets, in its `fit`, `embedder_`, `metric_` and `n_components_`.
    """

    embedder: Any
    device: str
    n_components_: int
    input_shape_: tuple[int, ...]
    embedder_: Embedder
    metric_: Metric
    metric_step_: MetricStep | None
    threshold_: float
    calibration_: Calibration

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        LEARNERS[cls.__name__] = cls

    @survives_fork
    def transform(self, X: Any) -> NDArray[Any]:
        """Return the embedding of `X`.

        Parameters
        ----------
        X : array, memory-mapped array, sparse matrix or torch Dataset, n_items rows
            Features.

        Returns
        -------
        points : ndarray of float32, shape (n_items, n_components_)
            Compare them by `metric_`.
        """
        check_is_fitted(self)
        return self._points(X)

    def _points(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of features that are yet to be checked."""
        return self._embed(check_features(self, X, reset=False))

    def _embed(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of features that were checked."""
        if isinstance(self.embedder_, NetworkEmbedder) and not is_network(self.embedder):
            X = as_numbers(X)
        step: MetricStep | None = getattr(self, "metric_step_", None)
        if step is None:
            points = self._finish(self.embedder_.predict(X))
        else:
            points = step.embed(layer_batches(self.embedder_, X, step.layer_names), n_rows(X))
        return check_points(points, self.n_components_)

    def _finish(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return an embedder's points as the embedding, of length 1 if the learner says so."""
        if not self._has_unit_points:
            return points
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return np.asarray(points / lengths.clip(1e-12), dtype=np.float32)

    @property
    def _has_unit_points(self) -> bool:
        """Whether the embedder's points are divided by their lengths."""
        return False

    def pair_similarity(self, A: Any, B: Any) -> NDArray[np.float32]:
        """Return the similarity of row k of `A` and row k of `B`.

        It is −‖a − b‖, a·b, the cosine, or minus the number of bits that differ.

        Large for the alike; `metric_` says which.
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
        """Return the distance of row k of `A` and row k of `B`.

        It is ‖a − b‖, the number of bits that differ, or 1 − their similarity.

        Small for the alike. 1 − a·b is about 0 for alike items and 1 for others, but it is not a
        metric: it can be negative.
        """
        similarity = self.pair_similarity(A, B)
        return distance_of(self.metric_, similarity)

    def neighbours(self, X: Any, k: int = 10, *, among: Any = None) -> Neighbours:
        """Return the `k` items that are most like each row of `X`.

        Parameters
        ----------
        X : n_items rows
            Features of the items to find neighbours of.
        k : int
            Number of neighbours; all items if there are fewer.
        among : n_others rows, optional
            Features of the items to search. By default those of `X` itself, where an item is never
            its own neighbour. A learner does not store items to search: to search the same ones
            repeatedly, put ``transform(among)`` into a `twofold.search.NeighbourIndex`.

        Returns
        -------
        Neighbours
            `rows` (and `ids`, which are the same here) in `among` or `X`, `similarity` and
            `distance`, shape (n_items, k), most similar first, equally similar ones by row. Exact.
        """
        points = self.transform(X)
        others = None if among is None else self.transform(among)
        return nearest_points(points, k, self.metric_, others)

    def get_metric(self) -> PairFunction:
        """Return the distance as a function of two vectors, for instance for k-NN.

        ``metric(u, v)`` equals `pair_distance` of two rows, up to rounding. It is meant for one
        pair at a time: nothing is validated, and a vector is only embedded once. It is still much
        faster to ``transform`` first and search with scikit-learn's own metrics.
        """
        check_is_fitted(self)
        source = self._point_source()
        return PairFunction(self._embed, self.metric_, source.shape, source.components())

    @property
    def components_(self) -> NDArray[np.float64]:
        """L, shape (n_components_, n_features), where the distance of u and v is ‖L u − L v‖."""
        check_is_fitted(self)
        source = self._point_source()
        components = source.components()
        if components is None:
            raise AttributeError(source.why_not())
        return components

    def get_mahalanobis_matrix(self) -> NDArray[np.float64]:
        """Return M = Lᵀ L, shape (n_features, n_features): see `components_`.

        It exists if a linear regressor learnt targets that are compared by distance.
        """
        components = self.components_
        return components.T @ components

    def _point_source(self) -> PointSource:
        shape = getattr(self.embedder_, "input_shape", None) or (self.n_features_in_,)
        is_finished = getattr(self, "metric_step_", None) is None and not self._has_unit_points
        return PointSource(self.embedder_, self.metric_, tuple(shape), is_finished)

    def score(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> float:
        """Return the pairwise AUROC: the chance that an alike pair is more similar than another.

        Parameters
        ----------
        X : n_items rows
            Features.
        y : classes or 0/1 indicator matrix, n_items rows, optional
            Items that share a label are alike. 10 similar and 10 dissimilar partners per item are
            compared, the same every time.
        relation : PairRelation, LabelRelation or TripletRelation, optional
            Instead of `y`. Grades above one half count as alike. For triplets the score is the
            share of those in the right order.
        """
        check_is_fitted(self)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        points = self.transform(X)
        if isinstance(known, TripletRelation):
            near = pair_similarity(points, known.anchor, known.positive, self.metric_)
            far = pair_similarity(points, known.anchor, known.negative, self.metric_)
            return float(triplet_ranks(near, far)[0].mean())
        pairs = stated_pairs(known)
        similarity = pair_similarity(points, pairs.left, pairs.right, self.metric_)
        return pair_auroc(pairs.similar > 0.5, similarity)

    def calibrate_threshold(
        self,
        X: Any,
        y: Any = None,
        *,
        relation: Relation | None = None,
        strategy: Strategy = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Choose the similarity from which a pair is called alike, on pairs that were held out.

        This sets `threshold_`, and `calibration_` with the rates reached.

        Parameters
        ----------
        X : n_items rows
            Features.
        y : classes or 0/1 indicator matrix, n_items rows, optional
            Items that share a label are alike.
        relation : PairRelation or LabelRelation, optional
            In place of `y`.
        strategy, min_rate, beta
            See `twofold.evaluation.choose_threshold`.
        """
        check_is_fitted(self)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        if isinstance(known, TripletRelation):
            raise TypeError("A threshold needs pairs or labels; triplets only compare.")
        pairs = stated_pairs(known)
        similarity = pair_similarity(self.transform(X), pairs.left, pairs.right, self.metric_)
        self.calibration_ = choose_threshold(
            pairs.similar > 0.5, similarity, strategy, min_rate=min_rate, beta=beta
        )
        self.threshold_ = self.calibration_.threshold
        return self

    def predict_pairs(self, A: Any, B: Any) -> NDArray[np.bool_]:
        """Return whether row k of `A` and row k of `B` are alike, by the threshold."""
        check_is_fitted(self)
        if getattr(self, "threshold_", None) is None:
            raise ValueError(
                "There is no threshold yet: call calibrate_threshold on held-out pairs first, or "
                "set threshold_ to a similarity."
            )
        return self.pair_similarity(A, B) >= self.threshold_

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the model to a folder that `twofold.load` opens; see `MetricLearner.save`."""
        check_is_fitted(self)
        return save_model(self.to_model(), folder)

    def to_onnx(self, path: str | os.PathLike[str], *, input_type: InputType = "float32") -> Path:
        """Write the embedding as one ONNX file, for onnxruntime and other runtimes without torch.

        Its input "features" is what `transform` takes, and its output "points" is what `transform`
        returns, up to float32 rounding: the file contains scaling, network or map, and the metric
        step. It takes any number of items. The metadata of the file (`custom_metadata_map`) have
        the metric, the threshold as a similarity, the number of components and the feature names.
        Needs the extra ``onnx``.

        Parameters
        ----------
        path : path
            The file to write; an existing one is replaced once the new one is complete.
        input_type : {"float32", "uint8"}
            Type of the input, of shape (n_items, *item_shape). It is dense, also for a model that
            was fitted to a sparse matrix.

        Returns
        -------
        Path
            Of the file.

        Notes
        -----
        Networks by name, ridge maps, the features as given and modules that are an nn.Sequential of
        usual layers are written directly; any other module goes through torch's exporter, which
        needs ``onnxscript``. Of scikit-learn's regressors linear models, KernelRidge, MLPRegressor
        and pipelines of StandardScaler or PCA with these can be exported; others raise a TypeError.
        """
        check_is_fitted(self)
        return write_onnx(self.to_model(), path, input_type, self._has_unit_points)

    def to_model(self) -> Model:
        """Return what is saved of a fitted learner."""
        names = getattr(self, "feature_names_in_", None)
        fitted = Fitted(
            metric=self.metric_,
            n_components=self.n_components_,
            threshold=getattr(self, "threshold_", None),
            input_shape=list(getattr(self, "input_shape_", ())),
            n_features_in=getattr(self, "n_features_in_", None),
            feature_names_in=None if names is None else [str(name) for name in names],
        )
        step = getattr(self, "metric_step_", None)
        return Model(
            type(self).__name__,
            plain_parameters(self, NESTED),
            self.embedder_,
            fitted,
            metric_step=step,
        )

    def take_model(self, model: Model) -> Self:
        """Become fitted as a model says."""
        fitted = model.fitted
        self.embedder_, self.metric_step_ = model.embedder, model.metric_step
        if isinstance(model.embedder, RegressorEmbedder) and "embedder" in self.get_params():
            self.embedder = model.embedder.template
        self.metric_, self.n_components_ = fitted.metric, fitted.n_components
        self.input_shape_ = tuple(getattr(model.embedder, "input_shape", fitted.input_shape))
        if fitted.threshold is not None:
            self.threshold_ = fitted.threshold
        if fitted.n_features_in is not None:
            self.n_features_in_ = fitted.n_features_in
        if fitted.feature_names_in is not None:
            self.feature_names_in_ = np.asarray(fitted.feature_names_in, dtype=object)
        return self

    def check_embedder(self) -> None:
        """Refuse an `embedder` that this learner cannot fit."""
        refuse_unknown_embedder(self.embedder)

    def _forget_threshold(self) -> None:
        """A threshold belongs to the embedding it was chosen on."""
        self.__dict__.pop("threshold_", None)
        self.__dict__.pop("calibration_", None)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

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
