"""What is asked and what is answered: a question shows items once, an answer is about one pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["pair", "nine"]
"""Two items side by side, or one item beside its nearest nine."""
Purpose = Literal["learn", "test", "repeat"]
"""Answers are learnt from, or held out to say how good the metric is, or asked once more to see
whether a person agrees with themselves."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is shown at one look.

    Attributes
    ----------
    kind : {"pair", "nine"}
        How it is shown.
    items : tuple of int
        The two items; or the one that is asked about, and those beside it.
    probability : tuple of float
        That each further item is the same as the first, as the model guesses.
    purpose : {"learn", "test", "repeat"}
        What the answer is for; a question of nine is always learnt from.
    weight : float
        Of a test: how many pairs it stands for, which is one over the chance that it was drawn.
    """

    kind: Kind
    items: tuple[int, ...]
    probability: tuple[float, ...]
    purpose: Purpose = "learn"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said about one pair.

    Attributes
    ----------
    left, right : int
        The items.
    same : bool or None
        None is unsure.
    purpose : {"learn", "test", "repeat"}
        What it is for.
    weight : float
        Of a test: how many pairs it stands for.
    look : int
        Answers that were given at one look share it; looks are numbered in their order.
    who : str
        The person.
    """

    left: int
    right: int
    same: bool | None
    purpose: Purpose = "learn"
    weight: float = 1.0
    look: int = 0
    who: str = ""
