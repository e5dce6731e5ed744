"""What a learner of statements can do later: learn more, suggest pairs, find suspicious ones.

It keeps what it was fitted to, and fits the same again: to more of it, or to parts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from twofold._core.random import RandomState, as_generator
from twofold.asking import Suggestions, calibrate_similarity, held_out_similarity, suggest
from twofold.estimators._embedding_learner import EmbeddingLearner
from twofold.estimators._fitting import Fit, Fitting
from twofold.estimators._plan import Plan
from twofold.estimators._training_data import TrainingData
from twofold.estimators._updating import refit_without, update_fit
from twofold.evaluation import SimilarityCalibration
from twofold.feedback import Selection, Watch
from twofold.regression import check_features, n_rows, survives_fork
from twofold.relations import PairRelation, TripletRelation
from twofold.targets import SuspiciousPairs


class StatementLearner(EmbeddingLearner):
    """A learner that keeps the statements it was fitted to, and can continue from them."""

    plan_: Plan
    selection_: Selection | None
    _training_data: TrainingData | None

    @abstractmethod
    def _fitting(self, checkpoint: Path | None = None) -> Fitting:
        """Return what fits, as the plan says."""

    @abstractmethod
    def _store(self, fit: Fit) -> Self:
        """Become what was fitted."""

    @survives_fork
    def update(
        self,
        relation: PairRelation | TripletRelation | None = None,
        X_new: Any = None,
        *,
        withdrawn: ArrayLike | None = None,
    ) -> Self:
        """Learn from statements and items that arrive later, without starting over.

        A ridge map is fitted again, and candidates are compared again once there are as many new
        statements as they were compared on; a network continues training for a fifth of its epochs;
        a regressor is fitted once more. Calibrate the threshold again afterwards.

        Parameters
        ----------
        relation : PairRelation or TripletRelation, optional
            New statements, of the same type as in `fit`. Items are numbered as rows of `fit`'s `X`,
            followed by those of earlier updates, and then those of `X_new`.
        X_new : n_new rows, optional
            Features of new items.
        withdrawn : array_like of int, shape (n, 2), or (n, 3) for triplets, optional
            Pairs, or triplets, whose earlier statements are withdrawn.
        """
        data = self._fitted_to("update")
        if X_new is not None:
            X_new = check_features(self, X_new, reset=False)
        data = data.extended(relation, X_new, withdrawn)
        fitting = replace(self._fitting(), projections=data.projections)
        fit = update_fit(fitting, self.embedder_, self.selection_, data)
        self._training_data = replace(data, targets=fit.targets)
        return self._store(fit)

    @survives_fork
    def suggest_pairs(
        self,
        n: int,
        *,
        candidates: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        random_state: RandomState = None,
    ) -> Suggestions:
        """Suggest which pairs to ask about next: those whose answers would help most.

        The pairs are uncertain, and half of them likely alike, assuming that the stated pairs were
        drawn at random. None has a statement already, or follows from one about items with equal
        features. Items that are in statements are preferred. To estimate how likely pairs are
        alike, the embedding is fitted five more times, each time without some statements, which
        takes about as long as `fit`.

        Parameters
        ----------
        n : int
            Number of pairs; fewer are returned, with a warning, if there are not enough.
        candidates : array_like of int, shape (n_candidates, 2), or a pair of arrays, optional
            The pairs that may be asked about, as rows of the training data, for instance pairs of
            records of two tables. By default any two rows.
        random_state : int, Generator or None
            Random seed.

        Returns
        -------
        Suggestions
            `left`, `right` and the `probability` that they are alike, those likely alike first.
        """
        data, known = self._fitted_to_pairs("suggest_pairs")
        rng = as_generator(random_state)
        refit = refit_without(self._quiet_fitting(data, rng), self.selection_, data)
        points = self._embed(data.X)
        return suggest(n, data.X, known, points, self.metric_, refit, candidates, rng)

    @survives_fork
    def calibrate_similarity(
        self, points: NDArray[np.float32], random_state: RandomState = None, *, n_folds: int = 5
    ) -> SimilarityCalibration:
        """Estimate how likely pairs are alike from their similarity, if drawn as the stated ones.

        The embedding is fitted a few more times, each time without some statements. Only their
        items are embedded again, so this costs little if there are many items.

        Parameters
        ----------
        points : ndarray of float32, shape (n_items, n_components_)
            The embedding of all rows of the training data, as returned by `transform`.
        random_state : int, Generator or None
            Parts the statements.
        n_folds : int
            Number of folds, each of which is scored by a fit without it.

        Returns
        -------
        SimilarityCalibration
            Maps similarities, as returned by `pair_similarity`, to probabilities.
        """
        data, known = self._fitted_to_pairs("calibrate_similarity")
        rng = as_generator(random_state)
        refit = refit_without(self._quiet_fitting(data, rng), self.selection_, data)
        return calibrate_similarity(known, points, self.metric_, refit, rng, n_folds)

    @survives_fork
    def suspicious_pairs(self, *, random_state: RandomState = None) -> SuspiciousPairs:
        """Return the stated pairs that the others contradict, the most suspicious first.

        The embedding is fitted five more times, as in `suggest_pairs`, so that each statement is
        compared with what was learnt without it.

        Parameters
        ----------
        random_state : int, Generator or None
            Parts the statements.

        Returns
        -------
        SuspiciousPairs
            All stated pairs, with how strongly the others contradict each.
        """
        data, known = self._fitted_to_pairs("suspicious_pairs")
        rng = as_generator(random_state)
        refit = refit_without(self._quiet_fitting(data, rng), self.selection_, data)
        similarity = held_out_similarity(known, self._embed(data.X), self.metric_, refit, rng)
        return SuspiciousPairs.of(known, similarity)

    @survives_fork
    def fit_parts(
        self, relation: PairRelation, *, random_state: RandomState = None
    ) -> Callable[[PairRelation], NDArray[np.float32]]:
        """Return a function that embeds the training rows, fitted to some of the statements only.

        It fits the candidate that `fit` has selected, without another validation, to the statements
        that it is called with, so that other statements can be scored by points that have not seen
        them.

        Parameters
        ----------
        relation : PairRelation
            All statements, of which the function will be given parts.
        random_state : int, Generator or None
            Random seed of the fits.

        Returns
        -------
        callable
            Takes part of the statements, and returns points of all rows, shape (n_rows,
            n_components).
        """
        data = replace(self._fitted_to("fit_parts"), relation=relation)
        if self.metric_step_ is not None:
            raise ValueError(
                "fit_parts fits only the output, but this model's points join several layers: fit "
                'it with metric="none".'
            )
        fitting = self._quiet_fitting(data, as_generator(random_state))
        refit, rows = refit_without(fitting, self.selection_, data), np.arange(n_rows(data.X))
        if refit is None:
            return lambda _: self._embed(data.X)
        return lambda kept: refit(kept, rows)

    def _quiet_fitting(self, data: TrainingData, rng: np.random.Generator) -> Fitting:
        return Fitting(self.plan_, rng, Watch(), data.projections)

    def _fitted_to_pairs(self, action: str) -> tuple[TrainingData, PairRelation]:
        """Return what was learnt from, and its statements, if they are about pairs."""
        data = self._fitted_to(action)
        if isinstance(data.relation, PairRelation):
            return data, data.relation
        raise TypeError(
            f"{action} needs to know how likely pairs are alike, but this model was fitted to "
            "triplets, which only compare. Fit it to a PairRelation."
        )

    def _fitted_to(self, action: str) -> TrainingData:
        """Return what was learnt from; `action` is who asks for it."""
        check_is_fitted(self)
        if not hasattr(self, "_training_data"):
            raise ValueError(
                f"This model was saved without its training data, which {action} needs. Save it "
                "with save(folder, with_data=True)."
            )
        if self._training_data is not None:
            return self._training_data
        raise TypeError(
            f"{action} needs a model fitted to statements, but this one was fitted to labels, "
            "which state all pairs at once. To add labels, call fit with all of them."
        )

    def __getstate__(self) -> dict[str, Any]:
        # What was learnt from stays with its owner: a pickle is the model.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training_data"}
