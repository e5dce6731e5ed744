"""Galleries of kinds never seen: our neighbours of an image, and a rival's beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from twofold.experiments import Gallery, Shown
from twofold.report._gallery import images_of
from twofold.report._groups import leading_groups
from twofold.report._standings import OURS_ON_UNSEEN
from twofold.report._titles import method_title, set_title
from twofold.report._unseen_summaries import UnseenGroup

MOST_CHARACTERS = 900_000
"""Of all these images together: with the other galleries the page stays below 3 MB."""


@dataclass(frozen=True, slots=True)
class Found:
    """Whose neighbours, how many of how many are alike, and those of each image asked for."""

    method: str
    n_alike: int
    n_neighbours: int
    items: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Images of kinds never seen, with the neighbours that one or two methods found.

    Attributes
    ----------
    title : str
        Of the protocol.
    seed : int
        Of the runs.
    found : tuple of Found
        Ours, then the best rival's if there is one; their items are of the same images.
    """

    title: str
    seed: int
    found: tuple[Found, ...]


def side_by_side(
    galleries: Iterable[Gallery], groups: Sequence[UnseenGroup]
) -> tuple[SideBySide, ...]:
    """Return a pair of galleries for every protocol that has one of ours."""
    every = tuple(galleries)
    pairs = [pair for group in leading_groups(groups) if (pair := _pair(every, group))]
    cut = (_cut(pair, MOST_CHARACTERS // len(pairs)) for pair in pairs)
    return tuple(
        SideBySide(set_title(pair[0].data_set), pair[0].seed, tuple(map(_found, pair)))
        for pair in cut
        if pair[0].items
    )


def _pair(galleries: Sequence[Gallery], group: UnseenGroup) -> tuple[Gallery, ...]:
    """Return our gallery of a protocol and the rival's of the same seed; nothing without ours."""
    there = {(g.method, g.seed): g for g in galleries if g.data_set == group.data_set}
    ours = next(
        (there[key] for method in OURS_ON_UNSEEN for key in sorted(there) if key[0] == method), None
    )
    if ours is None:
        return ()
    rivals = group.ranked_rivals("map_at_r")
    rival = next((there[m, ours.seed] for m in rivals if (m, ours.seed) in there), None)
    return (ours,) if rival is None or _asked(rival) != _asked(ours) else (ours, rival)


def _asked(gallery: Gallery) -> list[str]:
    return [item.image for item in gallery.items]


def _cut(pair: Sequence[Gallery], most_characters: int) -> tuple[Gallery, ...]:
    """Return galleries without the images that would be too much, the same ones in both."""
    sizes = [
        sum(len(image) for item in items for image in images_of(item))
        for items in zip(*(gallery.items for gallery in pair), strict=True)
    ]
    n_kept = sum(sum(sizes[: number + 1]) <= most_characters for number in range(len(sizes)))
    return tuple(replace(gallery, items=gallery.items[:n_kept]) for gallery in pair)


def _found(gallery: Gallery) -> Found:
    alike = [neighbour.alike for item in gallery.items for neighbour in item.neighbours]
    return Found(method_title(gallery.method), sum(alike), len(alike), gallery.items)
