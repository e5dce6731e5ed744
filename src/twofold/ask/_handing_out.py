"""Hands out questions: none that somebody else has, or whose answer is known."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twofold.ask._questions import Kind, Question
from twofold.ask._standing import StandingAnswers
from twofold.ask._tally import Pair, in_order

N_AHEAD = 12
"""Questions that a page holds ahead: enough for a fast hand, few enough to follow the model."""
N_KEPT = 2
"""Of them, those that stay when the model changes: the page may be showing them already."""
REPEAT_EVERY, REPEAT_AFTER = 25, 20
"""Looks between questions that a person has answered before, and looks since that answer."""


@dataclass(eq=False)
class Visitor:
    """A page that somebody has open.

    Attributes
    ----------
    tell : callable (message)
        Sends it something.
    who : str
        The person's name.
    kinds : tuple of {"pair", "nine"}
        What they want to be asked.
    held : OrderedDict of str to Question
        The questions that it was given and has not answered, by their tickets.
    n_given : int
        Questions that it was given in all.
    watches_map : bool
        Whether it shows the map.
    """

    tell: Callable[[dict[str, Any]], None]
    who: str = "me"
    kinds: tuple[Kind, ...] = ("pair", "nine")
    held: OrderedDict[str, Question] = field(default_factory=OrderedDict)
    n_given: int = 0
    watches_map: bool = False


def pairs_of_question(question: Question) -> Iterator[Pair]:
    """Yield the pairs that a question asks about."""
    first, *others = question.items
    for other in others:
        yield in_order(first, other)


class QuestionDesk:
    """Hands out questions that were made ahead.

    Parameters
    ----------
    standing : StandingAnswers
        What is known.
    rng : Generator
        Chooses what is asked twice.
    """

    def __init__(self, standing: StandingAnswers, rng: np.random.Generator) -> None:
        self._standing = standing
        self._rng = rng
        self._made_ahead: Sequence[Question] = ()

    def restock(self, questions: Sequence[Question]) -> None:
        """Take newer questions in place of those that were there."""
        self._made_ahead = questions

    def draw(self, visitor: Visitor, others: Iterable[Visitor]) -> list[Question]:
        """Return questions for a page, until it holds enough."""
        taken = {
            pair
            for one in (visitor, *others)
            for question in one.held.values()
            for pair in pairs_of_question(question)
        }
        drawn: list[Question] = []
        for question in self._in_order(visitor):
            if len(visitor.held) + len(drawn) >= N_AHEAD:
                break
            pairs = set(pairs_of_question(question))
            if question.kind in visitor.kinds and pairs.isdisjoint(taken):
                drawn.append(question)
                taken |= pairs
                visitor.n_given += 1
        return drawn

    def _in_order(self, visitor: Visitor) -> Iterator[Question]:
        """Yield what is open, in its order; now and then something that was answered before."""
        for question in self._made_ahead:
            if any(map(self._standing.is_answered, pairs_of_question(question))):
                continue
            if visitor.n_given % REPEAT_EVERY == REPEAT_EVERY - 1:
                yield from self._repeat(visitor)
            yield question

    def _repeat(self, visitor: Visitor) -> list[Question]:
        """Return one of a person's own questions, if there are old ones."""
        old = self._standing.to_repeat(visitor.who, REPEAT_AFTER)
        if not old:
            return []
        kept = old[int(self._rng.integers(len(old)))]
        return [Question("pair", kept.look.items, (), "repeat")]
