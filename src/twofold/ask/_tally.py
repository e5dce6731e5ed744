"""All answers combined pair by pair: the majority, what was asked, and the tests separately."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from twofold.ask._questions import Answer
from twofold.asking import Repeats

Pair = tuple[int, int]
"""The smaller item first."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Answers by pair.

    Attributes
    ----------
    learnt : dict of pair to bool
        What the majority says of pairs that are learnt from; ties are left out.
    tests : dict of pair to (bool, float)
        What the majority says of pairs that are held out, and their weight; none of them is learnt
        from, whatever else was asked about it.
    asked : frozenset of pair
        Everything that was answered, unsure or not.
    n_looks, n_tests : int
        Looks in all, and those that were tests.
    repeats : Repeats
        How often a person was asked the same once more, and said the same.
    """

    learnt: dict[Pair, bool]
    tests: dict[Pair, tuple[bool, float]]
    asked: frozenset[Pair]
    n_looks: int
    n_tests: int
    repeats: Repeats


def tally(answers: Sequence[Answer]) -> Tally:
    """Count answers."""
    votes: dict[Pair, list[bool]] = {}
    test_votes: dict[Pair, list[bool]] = {}
    weights: dict[Pair, float] = {}
    for answer in answers:
        pair = in_order(answer.left, answer.right)
        if answer.purpose == "test":
            weights.setdefault(pair, answer.weight)
        if answer.same is not None:
            kind = test_votes if answer.purpose == "test" else votes
            kind.setdefault(pair, []).append(answer.same)
    tests = _majority(test_votes)
    looks = {(answer.who, answer.look) for answer in answers}
    test_looks = {(a.who, a.look) for a in answers if a.purpose == "test"}
    return Tally(
        {pair: same for pair, same in _majority(votes).items() if pair not in weights},
        {pair: (same, weights[pair]) for pair, same in tests.items()},
        frozenset(in_order(answer.left, answer.right) for answer in answers),
        len(looks),
        len(test_looks),
        agreement(_by_person(answers)),
    )


def agreement(said: Iterable[Sequence[bool]]) -> Repeats:
    """Return how often people said the same once more, of all that each said of a pair, in turn."""
    again = [first == second for answers in said for first, second in pairwise(answers)]
    return Repeats(len(again), sum(again))


def in_order(left: int, right: int) -> Pair:
    """Return a pair with the smaller item first."""
    return (left, right) if left < right else (right, left)


def _by_person(answers: Sequence[Answer]) -> Iterable[list[bool]]:
    """Return what each person said of each pair, unsure or not asked left out."""
    said: dict[tuple[str, Pair], list[bool]] = {}
    for answer in sorted(answers, key=lambda one: one.look):
        if answer.same is not None:
            key = answer.who, in_order(answer.left, answer.right)
            said.setdefault(key, []).append(answer.same)
    return said.values()


def _majority(votes: dict[Pair, list[bool]]) -> dict[Pair, bool]:
    said_more = {pair: 2 * sum(said) - len(said) for pair, said in votes.items()}
    return {pair: more > 0 for pair, more in said_more.items() if more}
