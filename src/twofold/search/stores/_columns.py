"""The columns that a store takes in: each of its kind, which the first rows decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from twofold.search.stores._card import Card
from twofold.search.stores._kinds import TEXT, as_kind, kind_of

SHOWN_CHARACTERS = 40


def take_columns(card: Card, n_items: int, columns: Any) -> tuple[Card, Any]:
    """Return the card with the kinds of its columns, and new rows' columns as these are kept.

    Parameters
    ----------
    card : Card
        Of the store.
    n_items : int
        Number of items in it.
    columns : pyarrow.Table or None
        Has all of the card's columns, if there are any; others are left out.
    """
    import pyarrow as pa

    if not card.columns or not columns.num_rows:
        return card, columns
    if not card.kinds:
        if n_items:
            raise ValueError(
                "This index does not say what its columns hold, since an earlier Twofold wrote it: "
                "rebuild the index."
            )
        kinds = tuple(kind_of(columns.schema.field(name).type) or TEXT for name in card.columns)
        card = replace(card, kinds=kinds)
    kept = {}
    for name, kind in zip(card.columns, card.kinds, strict=True):
        kept[name], unfit = as_kind(columns[name], kind)
        if unfit.size:
            value = str(columns[name][int(unfit[0])].as_py())[:SHOWN_CHARACTERS]
            raise ValueError(
                f"The column {name!r} keeps {kind} in this index, but row {unfit[0]} has "
                f"{value!r}: correct it, or rebuild the index."
            )
    return card, pa.table(kept)
