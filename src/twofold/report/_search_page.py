"""The page of a search: each query with its neighbours, as pictures where rows are images."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from twofold.report._page import page_template
from twofold.tasks import SearchResult

MOST_QUERIES, MOST_NEAREST = 30, 12
SIDE = 96
"""Pixels of a picture on the page."""
COMPARISONS = {
    "cosine": "their cosine",
    "euclidean": "distance",
    "dot": "their dot product",
    "hamming": "the bits that differ",
}


@dataclass(frozen=True, slots=True)
class ShownNeighbour:
    """A row that was found: id, distance or similarity, the fields asked for, and its picture."""

    id: str
    measured: float
    fields: tuple[str, ...]
    image: str | None


@dataclass(frozen=True, slots=True)
class ShownQuery:
    """A row that was asked about, its picture if it is one, and its neighbours."""

    id: str
    image: str | None
    nearest: tuple[ShownNeighbour, ...]


def search_page(result: SearchResult) -> str:
    """Return the page as HTML that needs nothing beside itself."""
    shown = [_shown(result, number) for number in range(min(MOST_QUERIES, len(result.query_ids)))]
    return page_template("search.html.j2").render(
        title=result.title,
        shown=shown,
        k=min(MOST_NEAREST, result.neighbours.ids.shape[1]),
        n_items=result.n_items,
        n_queries=len(result.query_ids),
        metric=COMPARISONS[result.metric],
        measure=result.measure,
        columns=list(result.fields),
    )


def _shown(result: SearchResult, number: int) -> ShownQuery:
    found, fields = result.neighbours, result.fields
    measured = getattr(found, result.measure)
    nearest = tuple(
        ShownNeighbour(
            str(found.ids[number, place]),
            float(measured[number, place]),
            tuple(str(values[number][place]) for values in fields.values()),
            _picture(result.index_images.get(found.ids[number, place])),
        )
        for place in range(min(MOST_NEAREST, found.ids.shape[1]))
    )
    image = _picture(result.query_images[number]) if result.query_images else None
    return ShownQuery(str(result.query_ids[number]), image, nearest)


def _picture(path: Path | None) -> str | None:
    """Return a small image as the address of an <img>; None without one."""
    if path is None:
        return None
    from PIL import Image

    with Image.open(path) as image:
        image.draft("RGB", (SIDE, SIDE))
        small = image.convert("RGB")
        small.thumbnail((SIDE, SIDE))
        buffer = io.BytesIO()
        small.save(buffer, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
