"""The description of a store, in the folder that stands for it: `vectors.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from twofold._core.files import write_text
from twofold._core.text_files import read_json
from twofold.search._space import Metric

CARD, FORMAT, FORMAT_VERSION = "vectors.json", "twofold-vectors", 1
StoreName = Literal["folder", "faiss", "lance", "qdrant"]
WAY_OUT = "rebuild the index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a store contains, and where it is.

    Attributes
    ----------
    store : {"folder", "faiss", "lance", "qdrant"}
        Type of the store.
    model : str
        Fingerprint of the model that made the points.
    metric : str
        How they are compared.
    dim : int
        Number of dimensions of a point.
    columns : tuple of str
        Columns that are kept with the points.
    kinds : tuple of str
        What each of them holds: "whole numbers", "numbers", "text", "true or false", or another
        type of Arrow's. Empty until the first rows decide.
    url : str or None
        Address of a database server.
    factory : str or None
        FAISS's description of its index.
    memory : str or None
        What points are compressed to, as "64 bytes an item"; None for no compression.
    """

    store: StoreName
    model: str
    metric: Metric
    dim: int
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    url: str | None = None
    factory: str | None = None
    memory: str | None = None

    def write(self, folder: Path) -> None:
        """Write the card into a folder."""
        card = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}
        write_text(folder / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Card:
        """Read a card; say what is wrong with it if it is none."""
        file = folder / CARD
        if not file.is_file():
            raise FileNotFoundError(f"{folder} was not written by twofold index: it has no {CARD}.")
        card = read_json(file, WAY_OUT)
        if not isinstance(card, dict) or card.get("format") != FORMAT:
            raise ValueError(f"{file} does not say {FORMAT!r}: {WAY_OUT}.")
        if card.get("format_version") != FORMAT_VERSION:
            raise ValueError(
                f"{file} has format version {card.get('format_version')!r}, but this Twofold "
                f"reads {FORMAT_VERSION}: update Twofold, or {WAY_OUT}."
            )
        card.setdefault("memory", None)
        card.setdefault("kinds", [])
        if not _is_whole(card):
            raise ValueError(f"{file} is damaged: its entries do not fit together. {WAY_OUT}.")
        return cls(**{field.name: card[field.name] for field in fields(cls)} | _columns(card))


def _columns(card: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(card[name]) for name in ("columns", "kinds")}


def _is_whole(card: dict[str, Any]) -> bool:
    columns, kinds = card.get("columns"), card.get("kinds")
    return (
        {field.name for field in fields(Card)} <= card.keys()
        and card["store"] in get_args(StoreName)
        and card["metric"] in get_args(Metric)
        and type(card["dim"]) is int
        and card["dim"] > 0
        and isinstance(card["model"], str)
        and isinstance(columns, list)
        and isinstance(kinds, list)
        and len(kinds) in (0, len(columns))
        and all(isinstance(name, str) for name in (*columns, *kinds))
        and all(isinstance(card[name], str | None) for name in ("url", "factory", "memory"))
    )
