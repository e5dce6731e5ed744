"""Features side by side: blocks of one column each, and those of several."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold.preparation._category_columns import CategoryColumn
from twofold.preparation._kinds import Told
from twofold.preparation._number_columns import DateColumn, NumberColumn
from twofold.preparation._plan import Kind
from twofold.preparation._stored import Arrays, Facts, Stored
from twofold.preparation._text_columns import TextColumn, joined_texts
from twofold.preparation._text_models import Encoder, open_text_model
from twofold.preparation._values import as_texts
from twofold.preparation._vector_columns import VectorColumn

Columns = Mapping[str, Any]
"""Arrow arrays of plain values by name."""


class FittedColumn(Protocol):
    """What a column of one kind has become."""

    def names(self) -> list[str]:
        """Return what the features are called, behind the column's name."""
        ...

    def transform(self, column: Any) -> Any:
        """Return features, dense or CSR, a row a value."""
        ...

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        ...


FITTED: dict[str, Any] = {
    "number": NumberColumn,
    "date": DateColumn,
    "category": CategoryColumn,
    "text": TextColumn,
    "vector": VectorColumn,
}
"""Kinds that become features."""


class Block(Protocol):
    """Features of some columns."""

    @property
    def n_features(self) -> int:
        """Their number."""
        ...

    @property
    def is_sparse(self) -> bool:
        """Whether most of them are 0 in a row."""
        ...

    @property
    def is_text(self) -> bool:
        """Whether a row of them has length 1 by itself."""
        ...

    def feature_names(self) -> list[str]:
        """Return what they are called."""
        ...

    def transform(self, columns: Columns) -> Any:
        """Return them, shape (n_rows, n_features), dense or CSR."""
        ...

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBlock:
    """Features of one column."""

    column: str
    kind: Kind
    fitted: FittedColumn

    @classmethod
    def fit(cls, name: str, column: Any, told: Told) -> Self | None:
        """Fit a column, None if its kind becomes no features."""
        if told.kind not in FITTED:
            return None
        try:
            return cls(name, told.kind, FITTED[told.kind].fit(column, told.written))
        except ValueError as error:
            raise ValueError(f"The column {name!r} is not of kind {told.kind}: {error}.") from error

    @property
    def n_features(self) -> int:
        """Their number."""
        return len(self.fitted.names())

    @property
    def is_sparse(self) -> bool:
        """Whether most of them are 0 in a row."""
        return self.kind == "text"

    @property
    def is_text(self) -> bool:
        """Whether a row of them has length 1 by itself."""
        return self.kind == "text"

    def feature_names(self) -> list[str]:
        """Return what they are called."""
        return [f"{self.column}_{name}" if name else self.column for name in self.fitted.names()]

    def transform(self, columns: Columns) -> Any:
        """Return them, shape (n_rows, n_features), dense or CSR."""
        try:
            features = self.fitted.transform(columns[self.column])
        except ValueError as error:
            raise ValueError(
                f"The column {self.column!r} is not of kind {self.kind}: {error}."
            ) from error
        is_dense = sparse.issparse(features) and self.kind != "text"
        return features.toarray() if is_dense else features

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        facts, arrays = self.fitted.save()
        return {"block": "column", "column": self.column, "kind": self.kind, **facts}, arrays


@dataclass(frozen=True, slots=True, eq=False)
class TogetherBlock:
    """Words and letters of all text columns as one text, in whichever of them they stand."""

    columns: tuple[str, ...]
    fitted: TextColumn

    @classmethod
    def fit(cls, columns: Columns) -> Self:
        """Fit to several columns."""
        return cls(tuple(columns), TextColumn.fit_texts(joined_texts(list(columns.values()))))

    @property
    def n_features(self) -> int:
        """Their number."""
        return len(self.fitted.names())

    @property
    def is_sparse(self) -> bool:
        """Whether most of them are 0 in a row."""
        return True

    @property
    def is_text(self) -> bool:
        """Whether a row of them has length 1 by itself."""
        return True

    def feature_names(self) -> list[str]:
        """Return what they are called."""
        return [f"{'+'.join(self.columns)}_{name}" for name in self.fitted.names()]

    def transform(self, columns: Columns) -> Any:
        """Return them, shape (n_rows, n_features), CSR."""
        return self.fitted.transform_texts(joined_texts([columns[name] for name in self.columns]))

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        facts, arrays = self.fitted.save()
        return {"block": "together", "columns": list(self.columns), **facts}, arrays


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingBlock:
    """Vectors of a text column by a model of the user's own."""

    column: str
    model: str
    n_features: int
    encode: Encoder

    @classmethod
    def fit(cls, column: str, model: str | os.PathLike[str]) -> Self:
        """Open the model, and see how long its vectors are."""
        encode = open_text_model(model)
        return cls(column, os.path.abspath(model), encode(["text"]).shape[1], encode)

    @property
    def is_sparse(self) -> bool:
        """Whether most of them are 0 in a row."""
        return False

    @property
    def is_text(self) -> bool:
        """Whether a row of them has length 1 by itself."""
        return True

    def feature_names(self) -> list[str]:
        """Return what they are called."""
        return [f"{self.column}_vector{number}" for number in range(self.n_features)]

    def transform(self, columns: Columns) -> NDArray[np.float32]:
        """Return them, shape (n_rows, n_features); 0 where there is no text."""
        texts = as_texts(columns[self.column])
        vectors = self.encode(texts.fill_null("").to_pylist())
        vectors[np.asarray(texts.is_null().to_numpy(zero_copy_only=False))] = 0
        return vectors

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved: where the model lies."""
        facts = {
            "block": "embedding",
            "column": self.column,
            "model": self.model,
            "n_features": self.n_features,
        }
        return facts, {}


def restore_block(stored: Stored) -> Block:
    """Return a block that was saved, checked."""
    what = stored.choice("block", ("column", "together", "embedding"))
    if what == "column":
        kind: Any = stored.choice("kind", tuple(FITTED))
        return ColumnBlock(stored.fact("column", str), kind, FITTED[kind].restore(stored))
    if what == "together":
        names = stored.fact("columns", list)
        if not names or not all(isinstance(name, str) for name in names):
            stored.refuse("'columns' must be names")
        return TogetherBlock(tuple(names), TextColumn.restore(stored))
    block = EmbeddingBlock.fit(stored.fact("column", str), stored.fact("model", str))
    if block.n_features != stored.count("n_features"):
        stored.refuse(f"the text model in {block.model} has changed")
    return block
