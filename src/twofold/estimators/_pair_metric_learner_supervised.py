"""`PairMetricLearnerSupervised`: pairs drawn from classes, as metric-learn's `…_Supervised` do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from twofold._core.checks import as_array, check_count
from twofold._core.random import RandomState, as_generator
from twofold.estimators._pair_metric_learner import PairMetricLearner
from twofold.regression import preprocessed
from twofold.relations import LabelRelation
from twofold.targets import Named, Targets

CONSTRAINTS_PER_SQUARED_CLASS = 20
"""As in metric-learn."""


class PairMetricLearnerSupervised(PairMetricLearner):
    """Learn from pairs that are drawn from classes: metric-learn's supervised interface.

    For code that uses ``ITML_Supervised`` or similar. `MetricLearner` learns from the same classes
    without drawing pairs, is faster and usually better: use it unless you need pairs.

    Parameters
    ----------
    n_components, targets, embedder, feedback, validation_fraction, device, random_state, verbose
        As for `PairMetricLearner`.
    preprocessor : array_like, shape (n_items, n_features), or callable, optional
        With a preprocessor, `fit` accepts item numbers, shape (n_items,).
    n_constraints : int, optional
        Number of pairs to draw of each kind, alike and not alike; by default 20 times the square of
        the number of classes, and at most as many as there are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = PairMetricLearnerSupervised(2, random_state=0).fit(X, y)
    >>> learner.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        targets: Named | Targets = "auto",
        embedder: Any = "auto",
        feedback: Literal["auto"] | int = "auto",
        validation_fraction: float | Literal["auto"] = "auto",
        device: str = "auto",
        random_state: RandomState = None,
        verbose: bool = False,
        preprocessor: Any = None,
        n_constraints: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            targets=targets,
            embedder=embedder,
            feedback=feedback,
            validation_fraction=validation_fraction,
            device=device,
            random_state=random_state,
            verbose=verbose,
            preprocessor=preprocessor,
        )
        self.n_constraints = n_constraints

    def fit(
        self, X: Any, y: ArrayLike, calibration_params: Mapping[str, Any] | None = None
    ) -> Self:
        """Draw pairs of `X` by their classes, and learn from them.

        Parameters
        ----------
        X : array_like, shape (n_items, n_features), or (n_items,) with a preprocessor
            Feature vectors.
        y : array_like, shape (n_items,)
            Classes; -1 for those that are not known.
        calibration_params : mapping, optional
            As for `PairMetricLearner`.
        """
        items, relation = as_array("X", X), LabelRelation(as_array("y", y))
        check_consistent_length(items, relation.class_codes())
        pairs, signs = self._draw_pairs(relation)
        table = self._vectors(items[pairs])
        differ = (table[:, 0] != table[:, 1]).reshape(len(table), -1).any(axis=1)
        return super().fit(table[differ], signs[differ], calibration_params)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the pairwise AUROC of items of known classes; see `MetricLearner.score`."""
        check_is_fitted(self)
        items = as_array("X", X)
        if self.preprocessor is not None and items.ndim == 1:
            items = preprocessed(self.preprocessor, np.column_stack([items, items]))[::2]
        return self.learner_.score(items, y)

    def _draw_pairs(self, relation: LabelRelation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pairs, shape (n_pairs, 2), and +1 or −1 of each."""
        rng = as_generator(self.random_state)
        n_each = CONSTRAINTS_PER_SQUARED_CLASS * relation.n_occurring**2
        if self.n_constraints is not None:
            n_each = check_count("n_constraints", self.n_constraints)
        per_item = -(-n_each // max(1, relation.n_items)) + 1
        drawn = relation.sample_pairs(per_item, per_item, random_state=rng)
        ends = np.sort(np.column_stack([drawn.left, drawn.right]), axis=1)
        pairs, first = np.unique(ends, axis=0, return_index=True)
        alike = drawn.similar[first] > 0.5
        kept = np.concatenate(
            [rng.permutation(np.flatnonzero(kind))[:n_each] for kind in (alike, ~alike)]
        )
        return pairs[kept], np.where(alike[kept], 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = False
        return tags
