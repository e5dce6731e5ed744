"""The features of a picture dropped on the page, computed like those of the items."""

from __future__ import annotations

from typing import Any

from twofold.ask._items import Items
from twofold.preparation import ImagePreparation


def dropped_features(items: Items, content: bytes) -> Any:
    """Return the features of a picture's bytes; what cannot be compared is a sentence."""
    preparation = items.preparation
    if not isinstance(preparation, ImagePreparation):
        raise ValueError(
            "Only pictures can be dropped here, and only if the items are pictures: search for "
            "an item by its text instead."
        )
    try:
        return preparation.decode_bytes([content])
    except ValueError as error:
        raise ValueError("The picture cannot be read: drop a PNG or JPEG file.") from error
