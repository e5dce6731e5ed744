"""Pictures as the page gets them: of the project's items only, scaled, and the latest kept."""

from __future__ import annotations

import io
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from twofold.ask._items import Items
from twofold.preparation import DAMAGE, scaled_picture

SIDES = (64, 256, 512, 1600)
"""Pixels of the longer side that are served: any other is brought to the next of these."""
MOST_BYTES = 64 * 2**20
"""Of pictures that are kept."""
SMALL = 64
"""Pixels up to which a picture is sent without loss."""
UNREADABLE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 240" width="320" height="240">'
    '<rect width="320" height="240" fill="#8884"/><text x="160" y="126" text-anchor="middle" '
    'font-family="sans-serif" font-size="16" fill="#888">This image cannot be read.</text></svg>'
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it is sent."""

    content: bytes
    media_type: str


class Pictures:
    """Reads and scales the pictures of items; not to be used by two threads at once."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self._folders = tuple(folder.resolve() for folder in items.image_folders())
        self._kept: OrderedDict[tuple[int, int], Picture] = OrderedDict()
        self._n_bytes = 0

    def get(self, item: int, side: int) -> Picture:
        """Return the picture of an item; one that cannot be read says so."""
        side = next((one for one in SIDES if one >= side), SIDES[-1])
        key = item, side
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        picture = self._make(item, side)
        self._kept[key] = picture
        self._n_bytes += len(picture.content)
        while self._n_bytes > MOST_BYTES:
            self._n_bytes -= len(self._kept.popitem(last=False)[1].content)
        return picture

    def _make(self, item: int, side: int) -> Picture:
        try:
            return _encoded(self._inside(item), side)
        except DAMAGE:
            return Picture(UNREADABLE.encode(), "image/svg+xml")

    def _inside(self, item: int) -> Path:
        """Return the file of an item, links followed; refuse one outside of the data's folders."""
        path = self._items.image_path(item)
        if path is None:
            raise ValueError("There are no pictures.")
        file = path.resolve(strict=True)
        if not any(file.is_relative_to(folder) for folder in self._folders):
            raise ValueError(f"{path} is outside the data folder.")
        return file


def _encoded(file: Path, side: int) -> Picture:
    image, stream = scaled_picture(file, side), io.BytesIO()
    if max(image.size) <= SMALL:
        image.save(stream, "PNG")
        return Picture(stream.getvalue(), "image/png")
    image.save(stream, "JPEG", quality=85)
    return Picture(stream.getvalue(), "image/jpeg")
