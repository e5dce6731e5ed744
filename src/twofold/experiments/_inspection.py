"""What an inspection of pairs found: a record to be printed, stored or made a page of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold.experiments._inspection_reading import (
    Expectation,
    Together,
    read_diagnosis,
    read_expectation,
    read_gauge,
    read_suggestions,
    read_suspects,
    read_together,
)
from twofold.relations import Contradiction, Diagnosis
from twofold.targets import Gauge

FORMAT, FORMAT_VERSION = "twofold-inspection", 2
LARGEST_SIZES = 20
"""Sizes of parts and groups that are stored, the largest first."""
ScoredBy = Literal["targets", "features"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A statement that the others contradict.

    Attributes
    ----------
    row, left, right : int
        Of the statement, from 0 on, and its items.
    similar : float
        What it states.
    suspicion : float
        How strongly the others contradict it, in [0, 1]: see `twofold.targets.suspicion`.
    """

    row: int
    left: int
    right: int
    similar: float
    suspicion: float


@dataclass(frozen=True, slots=True)
class Suggested:
    """A pair to ask about next: its items, and the probability that they are alike."""

    left: int
    right: int
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    """What is to be known of a relation before anything is learnt from it.

    Attributes
    ----------
    keys : ndarray, shape (n_items,)
        Ids of the items.
    diagnosis : Diagnosis
        Counts, parts and contradictions.
    gauge : Gauge or None
        Whether the pairs alone decide the relation; None if they are too few or of one kind.
    why_no_gauge : str
        Then the reason.
    scored_by : {"targets", "features"} or None
        What statements were scored by: targets, or embeddings of features, made from the others.
    together : Together or None
        Held-out statements beside those embeddings, where features are given.
    expectation : Expectation or None
        Of a learner fitted to all pairs, where features are given and pairs are enough to validate.
    suspects : tuple of Suspect
        The most suspicious first.
    suggestions : tuple of Suggested or None
        What to ask next, the likely alike first; None if nobody wanted to know.
    fields : mapping of int to mapping of str to str
        What the items that are shown say of themselves; empty where nothing is known but numbers.
    notes : tuple of str
        What the user should know about the files.
    seed : int
        Random seeds.
    seconds : float
        Of all of it.
    """

    keys: NDArray[Any]
    diagnosis: Diagnosis
    gauge: Gauge | None
    why_no_gauge: str
    scored_by: ScoredBy | None
    together: Together | None
    expectation: Expectation | None
    suspects: tuple[Suspect, ...]
    suggestions: tuple[Suggested, ...] | None
    seed: int
    seconds: float
    fields: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """What pairs and features say together; without features, whether pairs decide alone."""
        return self._lead[0]

    @property
    def reading(self) -> tuple[str, ...]:
        """Sentences below the headline: what it rests on, and what else should be known."""
        return (
            *self._lead[1:],
            *read_diagnosis(self.diagnosis),
            *read_suspects(self.gauge, self.together),
            *read_expectation(self.expectation),
            *read_suggestions(self.suggestions),
        )

    @property
    def _lead(self) -> tuple[str, ...]:
        alone = read_gauge(self.gauge, self.why_no_gauge, self.diagnosis.n_pairs)
        if self.together is None or self.gauge is None:
            return alone
        return (*read_together(self.together, self.gauge, self.expectation), alone[1])

    @property
    def features_auroc(self) -> float | None:
        """Of held-out statements by embeddings of the features; None without features."""
        return None if self.together is None else self.together.auroc

    def key(self, item: int) -> int | str:
        """What an item is called."""
        key = self.keys[item]
        return int(key) if isinstance(key, int | np.integer) else str(key)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON takes it, items by their keys and rows from 0 on."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "headline": self.headline,
            "reading": list(self.reading),
            "counts": _counts(self.diagnosis),
            "both_ways": [list(rows) for rows in self.diagnosis.both_ways],
            "contradictions": [self._contradiction(one) for one in self.diagnosis.contradictions],
            "gauge": None if self.gauge is None else _gauge(self.gauge),
            "scored_by": self.scored_by,
            "features_auroc": self.features_auroc,
            "together": None if self.together is None else asdict(self.together),
            "expectation": None if self.expectation is None else asdict(self.expectation),
            "suspicious": [self._pair(one) for one in self.suspects],
            "suggested": [self._pair(one) for one in self.suggestions or ()],
            "notes": list(self.notes),
            "seed": self.seed,
            "seconds": self.seconds,
        }

    def _pair(self, one: Suspect | Suggested) -> dict[str, Any]:
        """Return a pair by its items' keys and, where they have any, with their fields."""
        content = asdict(one) | {"left": self.key(one.left), "right": self.key(one.right)}
        if one.left in self.fields:
            content["left_fields"] = dict(self.fields[one.left])
            content["right_fields"] = dict(self.fields[one.right])
        return content

    def _contradiction(self, one: Contradiction) -> dict[str, Any]:
        return {
            "row": one.row,
            "left": self.key(one.left),
            "right": self.key(one.right),
            "chain": [self.key(item) for item in one.chain],
        }


def _counts(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "items": diagnosis.n_items,
        "pairs": diagnosis.n_pairs,
        "similar": diagnosis.n_similar,
        "dissimilar": diagnosis.n_dissimilar,
        "graded": diagnosis.n_graded,
        "pairs_per_item": diagnosis.statements_per_item,
        "share_known": diagnosis.share_known,
        "items_in_no_pair": diagnosis.n_unlinked,
        "parts": diagnosis.n_parts,
        "largest_parts": diagnosis.part_sizes[:LARGEST_SIZES].tolist(),
        "similar_groups": diagnosis.n_groups,
        "largest_similar_groups": diagnosis.group_sizes[:LARGEST_SIZES].tolist(),
        "stated_more_than_once": diagnosis.n_repeated,
        "stated_both_ways": diagnosis.n_both_ways,
        "contradictions": diagnosis.n_contradictions,
    }


def _gauge(gauge: Gauge) -> dict[str, Any]:
    named = {
        "folds": "n_folds",
        "undecided": "n_undecided",
        "levelled": "has_levelled",
        "pairs_needed": "n_needed",
    }
    as_named = ("decides", "auroc", "standard_error", "seconds")
    return {
        **{name: getattr(gauge, name) for name in as_named},
        **{name: getattr(gauge, attribute) for name, attribute in named.items()},
        "curve": [asdict(point) for point in gauge.curve],
    }
