"""Something is off: answers that contradict each other or the rest, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from twofold.ask._standing import StandingAnswers
from twofold.ask._tally import Pair, in_order
from twofold.relations import PairRelation, diagnose

MOST_LISTED = 30
MOST_CHAINS = 20
SUSPICIOUS = 0.5
"""How strongly the rest has to contradict an answer for it to be listed."""
Why = Literal["both ways", "chain", "unlike the rest"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """An answer that should be looked at again.

    Attributes
    ----------
    left, right : int
        The items.
    said : bool
        What was said of them last.
    who, when : str
        By whom, and the time in UTC.
    why : {"both ways", "chain", "unlike the rest"}
        What is against it: another answer about the same pair, other pairs, or the model.
    chain : tuple of int
        Items from left to right, each called the same as the next; else the two items.
    suspicion : float
        How strongly the rest contradicts it, in [0, 1].
    sentence : str
        The same in words.
    """

    left: int
    right: int
    said: bool
    who: str
    when: str
    why: Why
    chain: tuple[int, ...]
    suspicion: float
    sentence: str


def find_doubts(
    standing: StandingAnswers, suspicion: Mapping[Pair, float], n_items: int
) -> list[Doubt]:
    """Return answers to look at again, the plainest contradictions first, each pair once.

    `suspicion` says of pairs how strongly the embedding contradicts them, in [0, 1].
    """
    doubts: dict[Pair, Doubt] = {}
    for pair in standing.disputed():
        people = {kept.look.who for kept in standing.looks_at(pair)}
        whose = "Two people differ" if len(people) > 1 else "You said both"
        doubts[pair] = _doubt(
            standing, pair, "both ways", pair, 1.0, f"{whose}: the same, and different."
        )
    for chain in _chains(standing.verdicts(), n_items):
        pair = in_order(chain[0], chain[-1])
        n_links = len(chain) - 1
        sentence = f"Marked as different, but {n_links} answers in a chain connect them."
        doubts.setdefault(pair, _doubt(standing, pair, "chain", chain, 1.0, sentence))
    for pair, strength in sorted(suspicion.items(), key=lambda one: -one[1]):
        if strength <= SUSPICIOUS or len(doubts) >= MOST_LISTED:
            break
        verdict = standing.verdict(pair)
        if verdict is None or pair in doubts:
            continue
        sentence = (
            "Marked as the same, but all other answers place them far apart."
            if verdict
            else "Marked as different, but all other answers place them side by side."
        )
        doubts[pair] = _doubt(standing, pair, "unlike the rest", pair, strength, sentence)
    return list(doubts.values())[:MOST_LISTED]


def _doubt(
    standing: StandingAnswers,
    pair: Pair,
    why: Why,
    chain: tuple[int, ...],
    suspicion: float,
    sentence: str,
) -> Doubt:
    decided = [kept for kept in standing.looks_at(pair) if standing.said_in(kept, pair) is not None]
    last = decided[-1]
    return Doubt(
        pair[0],
        pair[1],
        bool(standing.said_in(last, pair)),
        last.look.who,
        last.answered,
        why,
        chain if chain[0] == pair[0] else tuple(reversed(chain)),
        suspicion,
        sentence,
    )


def _chains(verdicts: Mapping[Pair, bool], n_items: int) -> list[tuple[int, ...]]:
    """Return chains of pairs that are the same, whose ends are said to be different."""
    if not verdicts:
        return []
    pairs = np.array(list(verdicts), dtype=np.int64)
    said = np.fromiter(verdicts.values(), dtype=np.float32)
    relation = PairRelation(pairs[:, 0], pairs[:, 1], said, n_items)
    return [one.chain for one in diagnose(relation, max_chains=MOST_CHAINS).contradictions]
