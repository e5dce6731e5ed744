"""A picture that is dropped on the page: its features, made as those of the items were."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twofold.ask._items import Items
from twofold.preparation import ImagePreparation


def dropped_features(items: Items, content: bytes) -> Any:
    """Return the features of a picture's bytes; what cannot be compared is a sentence."""
    preparation = items.preparation
    if not isinstance(preparation, ImagePreparation):
        raise ValueError(
            "Only pictures can be dropped, where the items are pictures: choose an item by its "
            "words instead."
        )
    shape = preparation.shape_
    in_memory = ImagePreparation(size=shape[1:], channels=shape[0], cache=False)
    in_memory.shape_ = shape
    with TemporaryDirectory(prefix="twofold-ask-") as folder:
        file = Path(folder) / "dropped"
        file.write_bytes(content)
        try:
            return in_memory.decode([file]).images
        except ValueError as error:
            raise ValueError("The picture cannot be read: drop a PNG or JPEG file.") from error
