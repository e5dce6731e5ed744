"""`PairClassifier`: whether two records describe one thing, from similarities by column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from twofold._core.checks import check_count
from twofold._core.random import RandomState, as_generator
from twofold.evaluation import Strategy, choose_threshold
from twofold.matching._cross_validated import Describe, columns_and_more, cross_validate
from twofold.matching._decision import Sigmoid, probability
from twofold.matching._item_apart import Fold, item_folds
from twofold.matching._matching_files import read_model, write_model
from twofold.matching._pair_features import PreparedTables, fit_comparison
from twofold.matching._pair_models import fit_pair_model, resolve_model
from twofold.matching._statements import check_given, check_rows, check_statements
from twofold.preparation import as_table

FEWEST_OF_A_KIND = 10
"""Pairs of either kind, with which folds say something; with fewer 0.5 is the threshold."""


GIVEN = "similarity"
"""The name of similarities that were given, beside those of columns."""


class PairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decide whether two records describe the same thing.

    A pair contains evidence that no embedding of single records has, such as a model number in one
    title that the other lacks. So a pair is described by similarities of each column (words,
    character 3-grams, numbers, spelling, weighted by how rare they are) and of all columns joined,
    and a model is fitted to these. Its probabilities and the threshold are calibrated on pairs that
    are held out by items.

    Parameters
    ----------
    records : pyarrow.Table, DataFrame or dict of columns
        The table that the row numbers in pairs refer to.
    right_records : the same, optional
        The table of the right rows, if that is a different one. With a single table the order in a
        pair does not matter.
    model : {"auto", "boosted", "logistic"} or a scikit-learn classifier
        The model on the similarities. "boosted" is LightGBM, or scikit-learn's histogram boosting
        if LightGBM is not installed; "auto" is "boosted", or "logistic" with fewer than 30 pairs of
        a kind.
    kinds : dict, optional
        Known kinds of columns, ``{"price": "number", "title": "text"}``; the others are detected
        from their values.
    n_folds : int
        Number of folds of the cross-validation by items.
    random_state : int, Generator, RandomState or None
        Seed of the folds and the model.

    Attributes
    ----------
    classes_ : ndarray
        0 and 1.
    threshold_ : float
        The probability from which a pair is called alike.
    held_out_ : ndarray of float64, shape (n_pairs,)
        The calibrated probability of every training pair, by models that were not fitted to its
        items.
    columns_score_ : float or None
        If more similarities were passed as a function: the average precision of the columns alone
        on held-out pairs. From .999 on, the function is not called.
    model_ : str
        The value of "auto".

    Examples
    --------
    >>> left = {"title": ["visio 2007", "word 2003", "excel 97", "access"]}
    >>> right = {"title": ["ms visio 2007", "ms word 2003", "ms excel 97", "ms access"]}
    >>> pairs = [[i, j] for i in range(4) for j in range(4)]
    >>> alike = [i == j for i, j in pairs]
    >>> model = PairClassifier(left, right, random_state=0).fit(pairs, alike)
    >>> model.predict([[0, 0], [0, 1]])
    array([1, 0])
    """

    def __init__(
        self,
        records: Any = None,
        right_records: Any = None,
        *,
        model: Any = "auto",
        kinds: Mapping[str, str] | None = None,
        n_folds: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.records = records
        self.right_records = right_records
        self.model = model
        self.kinds = kinds
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(
        self, pairs: ArrayLike, y: ArrayLike, similarity: ArrayLike | Describe | None = None
    ) -> Self:
        """Fit to pairs of rows.

        Parameters
        ----------
        pairs : array_like of int, shape (n_pairs, 2)
            A row of `records` and one of `right_records` (or of `records` again).
        y : array_like, shape (n_pairs,)
            1 (or true) for alike, 0 for not.
        similarity : array_like, shape (n_pairs,) or (n_pairs, n_given), or callable, optional
            Other evidence about the pairs, such as an embedding's similarity; the same is then
            needed for prediction. If the evidence is itself learnt from these pairs, pass a
            function ``(kept, held_out) -> similarities``: it is called once per fold with the
            indices of the pairs to learn from and of the pairs held out, which have no item in
            common, and returns similarities of the latter. If there are too few pairs for folds, or
            the columns alone leave nothing to gain (`columns_score_`), it is not called, and
            prediction needs no similarity.
        """
        check_count("n_folds", self.n_folds, minimum=2)
        rng = as_generator(self.random_state)
        left, right = self._tables(self.records, self.right_records)
        self.comparison_, tables = fit_comparison(left, right, self.kinds)
        self._fitted_tables: PreparedTables | None = tables
        rows, alike = check_statements(pairs, y, tables)
        folds = self._folds(tables.records(rows), alike, rng)
        self.model_ = resolve_model(self.model, alike)
        X = self.comparison_.compare(tables, rows)
        self.columns_score_ = None
        if callable(similarity):
            given, validated, self.columns_score_ = columns_and_more(
                self.model_, X, alike, similarity, folds, rng
            )
            X = np.hstack([X, given])
        else:
            given = check_given(similarity, len(rows))
            X = np.hstack([X, given])
            validated = cross_validate(self.model_, X, alike, folds, rng)
        self.n_given_ = given.shape[1]
        self.calibration_, self.threshold_ = validated.calibration, validated.threshold
        self.held_out_ = validated.held_out
        self._fitted = fit_pair_model(self.model_, X, alike, rng)
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 2
        return self

    def predict_proba(
        self,
        pairs: ArrayLike,
        *,
        records: Any = None,
        right_records: Any = None,
        similarity: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the probability that pairs are not alike, and that they are.

        Parameters
        ----------
        pairs : array_like of int, shape (n_pairs, 2)
            Rows of the tables that were given, or of the following ones.
        records, right_records : table, optional
            Other tables, with the same columns as in `fit`.
        similarity : array_like, optional
            As for `fit`.

        Returns
        -------
        ndarray of float64, shape (n_pairs, 2)
        """
        log_odds = self.decision_function(
            pairs, records=records, right_records=right_records, similarity=similarity
        )
        alike = probability(log_odds)
        return np.column_stack([1 - alike, alike])

    def decision_function(
        self,
        pairs: ArrayLike,
        *,
        records: Any = None,
        right_records: Any = None,
        similarity: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the log-odds that pairs are alike."""
        X, _ = self.similarities(
            pairs, records=records, right_records=right_records, similarity=similarity
        )
        return self.calibration_.log_odds(self._fitted.score(X))

    def predict(
        self,
        pairs: ArrayLike,
        *,
        records: Any = None,
        right_records: Any = None,
        similarity: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        """Return 1 for pairs whose probability is at least `threshold_`, else 0."""
        alike = self.predict_proba(
            pairs, records=records, right_records=right_records, similarity=similarity
        )[:, 1]
        return (alike >= self.threshold_).astype(np.int64)

    def similarities(
        self,
        pairs: ArrayLike,
        *,
        records: Any = None,
        right_records: Any = None,
        similarity: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float32], tuple[str, ...]]:
        """Return the similarities that describe pairs, and their names.

        Returns
        -------
        similarities : ndarray of float32, shape (n_pairs, n_features)
            NaN where a record has nothing to compare.
        names : tuple of str
            ``"title: words cosine"`` and the like.
        """
        check_is_fitted(self, "comparison_")
        tables = self._prepared(records, right_records)
        rows = check_rows(pairs, tables)
        given = check_given(similarity, len(rows), self.n_given_)
        names = (*self.comparison_.feature_names, *(f"{GIVEN}: {n}" for n in range(self.n_given_)))
        return np.hstack([self.comparison_.compare(tables, rows), given]), names

    def explain(
        self,
        pairs: ArrayLike,
        *,
        records: Any = None,
        right_records: Any = None,
        similarity: ArrayLike | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        """Return what each column adds to the log-odds of pairs.

        Returns
        -------
        dict
            By column, "*" for all columns joined and "similarity" for other evidence: an ndarray of
            float64, shape (n_pairs,), above 0 if it speaks for alike. "base" is the same for all
            pairs. Together they add up to `decision_function`.
        """
        X, _ = self.similarities(
            pairs, records=records, right_records=right_records, similarity=similarity
        )
        added = self.calibration_.slope * self._fitted.contributions(X)
        columns = np.array([*self.comparison_.feature_columns, *[GIVEN] * self.n_given_])
        told = {
            name: added[:, :-1][:, columns == name].sum(axis=1)
            for name in dict.fromkeys(columns.tolist())
        }
        return told | {"base": added[:, -1] + self.calibration_.offset}

    def calibrate_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        strategy: Strategy = "f_beta",
        *,
        min_rate: float | None = None,
        beta: float = 1.0,
        similarity: ArrayLike | None = None,
    ) -> Self:
        """Set `threshold_` on other pairs: see `twofold.evaluation.choose_threshold`."""
        alike = self.predict_proba(pairs, similarity=similarity)[:, 1]
        chosen = choose_threshold(y, alike, strategy, min_rate=min_rate, beta=beta)
        self.threshold_ = chosen.threshold
        return self

    def save(self, folder: str | os.PathLike[str]) -> dict[str, Any]:
        """Write the fitted model into a folder, without the tables; return its description.

        Returns
        -------
        dict
            Plain values, to be kept as JSON and passed to `open`.
        """
        check_is_fitted(self, "comparison_")
        written = write_model(self._fitted, self.comparison_, Path(folder))
        return written | {
            "kind": self.model_,
            "n_given": self.n_given_,
            "threshold": self.threshold_,
            "calibration": asdict(self.calibration_),
        }

    @classmethod
    def open(cls, description: Mapping[str, Any], folder: str | os.PathLike[str]) -> PairClassifier:
        """Open a saved model; tables are then given at prediction."""
        model = cls(model=description.get("kind", "auto"))
        model._fitted, model.comparison_ = read_model(description, Path(folder))
        model._fitted_tables = None
        model.model_ = model.model
        model.n_given_ = description["n_given"]
        model.threshold_ = float(description["threshold"])
        model.calibration_ = Sigmoid(**description["calibration"])
        model.classes_ = np.array([0, 1])
        model.n_features_in_ = 2
        return model

    def _folds(
        self, records: NDArray[np.int64], y: NDArray[np.int64], rng: np.random.Generator
    ) -> list[Fold]:
        """Return folds of pairs that keep items apart; none with too few pairs."""
        if min(np.bincount(y, minlength=2)) < FEWEST_OF_A_KIND:
            return []
        one_table = self.comparison_.one_table
        return list(item_folds(records, y, self.n_folds, rng, one_table=one_table))

    def _tables(self, records: Any, right_records: Any) -> tuple[Any, Any]:
        if records is None:
            raise ValueError(
                "records is missing: give the table that the row numbers in the pairs refer to, "
                "PairClassifier(records, right_records)."
            )
        left = as_table(records)
        return left, None if right_records is None else as_table(right_records)

    def _prepared(self, records: Any, right_records: Any) -> PreparedTables:
        """Return the tables that rows number: those fitted on, or others."""
        if records is None and right_records is None:
            if self._fitted_tables is not None:
                return self._fitted_tables
            records, right_records = self.records, self.right_records
        return self.comparison_.prepare(*self._tables(records, right_records))
