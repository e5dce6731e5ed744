"""A table to features: each column by its kind, side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold._core.checks import check_choice
from twofold._core.names import SHOWN_CHARACTERS, shown_names
from twofold._core.reasons import on_one_line
from twofold.preparation._blocks import Block, ColumnBlock, EmbeddingBlock, TogetherBlock
from twofold.preparation._kinds import Told, odd_numbers, tell
from twofold.preparation._plan import KINDS, ColumnPlan, Kind
from twofold.preparation._table_store import restore_blocks, save_blocks
from twofold.preparation._tables import as_table, pick
from twofold.preparation._values import as_texts, one_array

TEXTS = ("together", "apart")
BESIDE_TEXT = 0.1
"""What a standard deviation of a number counts beside a text of length 1."""


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features of a table's rows.

    The kind of each column is detected automatically; `columns_` says how each was understood.
    Numbers and dates are scaled by median and quartiles, frequent categories get one feature each,
    and text is turned into n-grams with TF-IDF. Missing values are 0 after scaling, and in numbers
    and dates an additional feature marks them. Infinite numbers, and those beyond 1e30, count as
    missing, and the column's note says how many there are and where the first one is. If there is
    text, a row's text features have length 1 and all others count less.

    Parameters
    ----------
    kinds : mapping of str to str, optional
        Columns whose kind is known: "number", "category", "date", "text", "vector", "image", "id"
        or "dropped".
    columns : sequence of str, optional
        The columns to use; by default all. For an array, it may also be names for all columns.
    text : {"together", "apart"}
        Whether the text columns of a row are treated as a single text, so that a maker's name in a
        title is the same as in a column of its own, or separately, each with n-grams of length 1
        that a metric can weight. On amazon-google's validation pairs, a MetricLearner had an AUROC
        of .959 together and .943 apart.
    text_model : path, optional
        Folder of a model2vec or sentence-transformers model on this computer; its vectors for each
        text column are added to the n-grams. It is not copied when the preparation is saved.

    Attributes
    ----------
    columns_ : tuple of ColumnPlan
        How each column is turned into features.
    n_features_out_ : int
        Number of features.
    is_sparse_ : bool
        Whether features are returned as a csr_array, which is the case if there is text.

    Examples
    --------
    >>> from twofold.preparation import TablePreparation
    >>> table = {"title": ["red chair", "red table", "a chair"], "price": ["$10", "$1,250.00", ""]}
    >>> preparation = TablePreparation().fit(table)
    >>> [(plan.name, plan.kind, plan.n_missing) for plan in preparation.columns_]
    [('title', 'text', 0), ('price', 'number', 1)]
    """

    def __init__(
        self,
        kinds: Mapping[str, str] | None = None,
        *,
        columns: Sequence[str] | None = None,
        text: Literal["together", "apart"] = "together",
        text_model: str | os.PathLike[str] | None = None,
    ) -> None:
        self.kinds = kinds
        self.columns = columns
        self.text = text
        self.text_model = text_model

    def fit(self, X: Any, y: Any = None, *, right: Any = None) -> Self:
        """Detect the kinds of the columns, and fit each column.

        Parameters
        ----------
        X : pyarrow.Table, DataFrame, mapping of str to sequence, or array of shape (n, p)
            A row per item.
        y : object
            Ignored, as pipelines pass one.
        right : table, optional
            A second table with the same columns, for pairs between it and `X`: both are fitted.
        """
        _refuse_second_table(y)
        check_choice("text", self.text, TEXTS)
        table = self._joined(X, right)
        n_left = None if right is None else as_table(X, self.columns).num_rows
        self._blocks, self.columns_ = self._fit_columns(table, n_left)
        self.feature_names_in_ = np.array([plan.name for plan in self.columns_], dtype=object)
        self.n_features_in_ = len(self.columns_)
        self.n_features_out_ = sum(block.n_features for block in self._blocks)
        self.is_sparse_ = any(block.is_sparse for block in self._blocks)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of a table that has the fitted columns; other columns are ignored.

        Returns
        -------
        features : ndarray or csr_array of float32, shape (n_rows, n_features_out_)
        """
        check_is_fitted(self, "columns_")
        used = [plan.name for plan in self.columns_ if plan.n_features]
        table = pick(as_table(X, list(self.feature_names_in_)), used)
        columns = {name: one_array(table[name]) for name in used}
        features = [block.transform(columns) for block in self._blocks]
        if self.is_sparse_:
            weighed = (
                one if block.is_text else BESIDE_TEXT * one
                for block, one in zip(self._blocks, features, strict=True)
            )
            stacked = sparse.hstack(list(map(sparse.csr_array, weighed)), format="csr")
            return sparse.csr_array(stacked, dtype=np.float32)
        return np.ascontiguousarray(np.hstack(features), dtype=np.float32)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return a name for each feature: that of the column, and what the feature is."""
        del input_features
        check_is_fitted(self, "columns_")
        names = [name for block in self._blocks for name in block.feature_names()]
        return np.array(names, dtype=object)

    def save(self, folder: str | os.PathLike[str]) -> dict[str, Any]:
        """Write the arrays to a folder that is there; return the rest, plain enough for JSON."""
        check_is_fitted(self, "columns_")
        return save_blocks(Path(folder), self._blocks, self.columns_, self.get_params())

    @classmethod
    def open(cls, description: Mapping[str, Any], folder: str | os.PathLike[str]) -> Self:
        """Return a preparation that was saved; whatever is damaged is a sentence.

        Parameters
        ----------
        description : mapping
            What `save` returned.
        folder : path
            What it was given.
        """
        blocks, columns, parameters = restore_blocks(description, Path(folder))
        opened = cls(**parameters)
        opened._blocks, opened.columns_ = blocks, columns
        opened.feature_names_in_ = np.array([plan.name for plan in columns], dtype=object)
        opened.n_features_in_ = len(columns)
        opened.n_features_out_ = sum(block.n_features for block in blocks)
        opened.is_sparse_ = any(block.is_sparse for block in blocks)
        return opened

    def _joined(self, X: Any, right: Any) -> Any:
        """Return all rows that are fitted, and the columns that are wanted."""
        import pyarrow as pa

        table = as_table(X, self.columns)
        if self.columns is not None:
            table = pick(table, list(self.columns))
        if self.kinds:
            pick(table, list(self.kinds))
            for kind in self.kinds.values():
                check_choice("kinds", kind, KINDS)
        if not table.num_rows:
            raise ValueError("The table has no rows: there is nothing to fit.")
        if right is None:
            return table
        other = pick(as_table(right, self.columns), table.column_names)
        pairs = ((table[name], other[name]) for name in table.column_names)
        joined = [_concatenated(*pair) for pair in pairs]
        return pa.table(dict(zip(table.column_names, joined, strict=True)))

    def _fit_columns(
        self, table: Any, n_left: int | None
    ) -> tuple[list[Block], tuple[ColumnPlan, ...]]:
        hints: Mapping[str, Any] = self.kinds or {}
        blocks: list[Block] = []
        plans = []
        columns = {str(name): one_array(table[name]) for name in table.column_names}
        told = {
            name: _told(name, column, hints.get(name), n_left) for name, column in columns.items()
        }
        texts = {name: columns[name] for name, one in told.items() if one.kind == "text"}
        together = None
        if self.text == "together" and len(texts) > 1:
            together = TogetherBlock.fit(texts)
        for name, column in columns.items():
            if together is not None and name in texts:
                plans.append(_shared(name, column, together))
                continue
            block, plan = _fit_column(name, column, told[name])
            plans.append(plan)
            blocks += [] if block is None else [block]
        if together is not None and together.n_features:
            blocks.append(together)
        if self.text_model is not None:
            embeddings = [EmbeddingBlock.fit(name, self.text_model) for name in texts]
            blocks += embeddings
            sizes = {block.column: block.n_features for block in embeddings}
            plans = [
                replace(plan, n_features=plan.n_features + sizes.get(plan.name, 0))
                for plan in plans
            ]
        if not blocks:
            why = "; ".join(
                f"{on_one_line(plan.name, SHOWN_CHARACTERS)}: {plan.note or plan.kind}"
                for plan in plans[:5]
            )
            raise ValueError(f"No column of the table can become features ({why}).")
        return blocks, tuple(plans)


def _refuse_second_table(y: Any) -> None:
    import pyarrow as pa

    if isinstance(y, pa.Table | Mapping):
        raise TypeError("Pass a second table by keyword: fit(table, right=other).")


def _concatenated(first: Any, second: Any) -> Any:
    """Return two columns as one; as text, if their types differ."""
    import pyarrow as pa

    first, second = one_array(first), one_array(second)
    if first.type != second.type:
        first, second = as_texts(first), as_texts(second)
    return pa.concat_arrays([first, second])


def _shared(name: str, column: Any, together: TogetherBlock) -> ColumnPlan:
    """Return the plan of a text column whose n-grams are those of all text columns."""
    others = [other for other in together.columns if other != name]
    note = f"n-grams shared with {shown_names(others)}"
    return ColumnPlan(name, "text", _n_missing(column, "text"), together.n_features, note)


def _told(name: str, column: Any, hint: Kind | None, n_left: int | None) -> Told:
    """Return what a column is: what the user says, with what it takes to read it so."""
    told = tell(name, column, n_left)
    if hint is None or hint == told.kind:
        return told
    if told.note == "no row has a value":
        return told
    odd = odd_numbers(column, n_left) if hint == "number" else ""
    return Told(hint, "; ".join(filter(None, ["as was asked", odd])))


def _fit_column(name: str, column: Any, told: Told) -> tuple[Block | None, ColumnPlan]:
    n_missing = _n_missing(column, told.kind)
    block = ColumnBlock.fit(name, column, told)
    n_features = 0 if block is None else block.n_features
    note = told.note
    if block is not None and not n_features:
        block, note = None, "nothing occurs twice in it"
    return block, ColumnPlan(name, told.kind, n_missing, n_features, note)


def _n_missing(column: Any, kind: Kind) -> int:
    from twofold.preparation._values import as_numbers

    if kind == "vector":
        return int(column.null_count)
    if kind == "number":
        return int(np.isnan(as_numbers(column)).sum())
    return int(as_texts(column).null_count)
