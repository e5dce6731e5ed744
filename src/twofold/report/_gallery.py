"""Galleries of image sets: read from beside the records, chosen and cut to what a page can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from twofold.experiments import UNSEEN_PROTOCOLS, Gallery, Shown, read_gallery
from twofold.report._titles import method_order, set_order

N_SHOWN = 12
MOST_CHARACTERS = 1_600_000
"""Of all images together: the page stays below 3 MB."""
PREFERRED = ("twofold", "fml-c", "fml-dp")
"""Whose neighbours are shown: the first of these that there is."""
EMBEDDED = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/]+={0,2}")


def read_galleries(folder: Path) -> tuple[Gallery, ...]:
    """Read all galleries in a folder and those below it; a damaged one is refused by name."""
    paths = sorted(folder.rglob("*.gallery.json"))
    return tuple(
        _checked(read_gallery(path), path)
        for path in paths
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def shown_galleries(galleries: Iterable[Gallery]) -> tuple[Gallery, ...]:
    """Return a gallery a set: of the method preferred and the lowest seed, cut to its share.

    Those of kinds never seen stand elsewhere: see `side_by_side`.
    """
    chosen: dict[str, Gallery] = {}
    for gallery in sorted(galleries, key=_preference):
        if gallery.items and gallery.data_set not in UNSEEN_PROTOCOLS:
            chosen.setdefault(gallery.data_set, gallery)
    ordered = sorted(chosen.values(), key=lambda gallery: set_order(gallery.data_set))
    cut = (_cut(gallery, MOST_CHARACTERS // len(ordered)) for gallery in ordered)
    return tuple(gallery for gallery in cut if gallery.items)


def _preference(gallery: Gallery) -> tuple[object, ...]:
    rank = PREFERRED.index(gallery.method) if gallery.method in PREFERRED else len(PREFERRED)
    return rank, method_order(gallery.method), gallery.seed, repr(gallery.items)


def _cut(gallery: Gallery, most_characters: int) -> Gallery:
    """Return a gallery without the items that would be too much."""
    kept, n_characters = [], 0
    for item in gallery.items[:N_SHOWN]:
        n_characters += sum(len(image) for image in images_of(item))
        if n_characters > most_characters:
            break
        kept.append(item)
    return replace(gallery, items=tuple(kept))


def images_of(item: Shown) -> list[str]:
    """Return the images of an item: its own, and its neighbours'."""
    return [item.image, *(neighbour.image for neighbour in item.neighbours)]


def _checked(gallery: Gallery, path: Path) -> Gallery:
    """Return a gallery all of whose images are in it, and whose labels are words."""
    for number, item in enumerate(gallery.items):
        for image in images_of(item):
            if not isinstance(image, str) or EMBEDDED.fullmatch(image) is None:
                raise ValueError(
                    f"{path} is not a valid gallery: item {number} holds {str(image)[:40]!r} "
                    "instead of PNG or JPEG data; remove it."
                )
        for label in (item.label, *(neighbour.label for neighbour in item.neighbours)):
            if not isinstance(label, str):
                raise ValueError(
                    f"{path} is not a valid gallery: a label of item {number} is {label!r}, not "
                    "text; remove it."
                )
    return gallery
