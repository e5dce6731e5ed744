"""The content of `prepared.json`, checked before anything is made of it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

PREPARED, FORMAT, FORMAT_VERSION = "prepared.json", "twofold-prepared", 1
PREPARATION, PAIR_MODEL = "preparation", "pair_model"
LARGEST_THRESHOLD = 1e30
"""Of a similarity: float32 ends at 1e38."""
LARGEST_SCALE = 1e30
Source = Literal["table", "images", "features"]
SOURCES = ("table", "images", "features")


def file_digests(place: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of the further parts, by its path in the model's folder."""
    return {
        file.relative_to(place).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for part in (PREPARATION, PAIR_MODEL)
        for file in sorted((place / part).glob("*"))
        if file.is_file()
    }


def check_digests(place: Path, noted: dict[str, Any]) -> None:
    there = file_digests(place)
    names = sorted(noted.keys() | there.keys())
    changed = next((name for name in names if noted.get(name) != there.get(name)), None)
    if changed is not None:
        what = "is not there" if changed not in there else "is not as saved"
        raise ValueError(
            f"{place} is damaged or was changed: {changed[:80]!r} {what}. Get the model "
            "again, or fit it again."
        )


def check_card(file: Path, card: Any) -> None:
    """Refuse a description that is not whole."""
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{file} is damaged: it does not say {FORMAT!r}.")
    if card.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{file} has format version {card.get('format_version')!r}, but this Twofold reads "
            f"version {FORMAT_VERSION}: fit the model again, or update Twofold."
        )
    keys = {"source", "image_column", "decision", "preparation", "pair_model", "sha256"}
    missing = sorted(keys - card.keys())
    if missing:
        raise ValueError(f"{file} is damaged: it lacks {', '.join(missing)}.")
    decision = card["decision"]
    is_whole = (
        isinstance(card["source"], str)
        and card["source"] in SOURCES
        and isinstance(card["image_column"], str | None)
        and isinstance(decision, dict)
        and decision.keys() == {"by", "threshold"}
        and decision["by"] in ("embedding", "pair model")
        and isinstance(decision["threshold"], float | int | None)
        and not isinstance(decision["threshold"], bool)
        # JSON has no infinity, but 1e999 is read as one.
        and (decision["threshold"] is None or abs(decision["threshold"]) <= LARGEST_THRESHOLD)
        and isinstance(card["pair_model"], dict | None)
        and (card["pair_model"] is None) == (decision["by"] == "embedding")
        and _is_scale(card.get("embedding_scale"))
        and isinstance(card["sha256"], dict)
        and isinstance(card["preparation"], dict) == (card["source"] != "features")
    )
    if not is_whole:
        raise ValueError(f"{file} is damaged: its entries do not fit together. Fit it again.")


def _is_scale(value: Any) -> bool:
    """Whether it is None or a number above 0 that float32 holds."""
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    return value is None or (is_number and 1 / LARGEST_SCALE <= value <= LARGEST_SCALE)
