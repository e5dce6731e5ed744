"""The answers that nobody took back, and what they say about each pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from twofold.ask._questions import Answer
from twofold.ask._store import KeptLook
from twofold.ask._tally import Pair, agreement, in_order
from twofold.asking import Repeats


class StandingAnswers:
    """All looks that stand, in memory; the store has them on disk."""

    def __init__(self, looks: Iterable[KeptLook] = ()) -> None:
        self._looks: dict[int, KeptLook] = {}
        self._opinions: dict[Pair, dict[int, bool | None]] = {}
        self._said: Counter[bool | None] = Counter()
        self._of_person: Counter[str] = Counter()
        for kept in looks:
            self.add(kept)

    def __len__(self) -> int:
        return len(self._looks)

    def add(self, kept: KeptLook) -> None:
        """Take in a look."""
        self._looks[kept.number] = kept
        self._of_person[kept.look.who] += 1
        for pair, said in self._pairs(kept):
            self._opinions.setdefault(pair, {})[kept.number] = said
            self._said[said] += 1

    def remove(self, kept: KeptLook) -> None:
        """Take a look out again."""
        if self._looks.pop(kept.number, None) is None:
            return
        self._of_person[kept.look.who] -= 1
        for pair, said in self._pairs(kept):
            opinions = self._opinions[pair]
            del opinions[kept.number]
            self._said[said] -= 1
            if not opinions:
                del self._opinions[pair]

    def answers(self) -> list[Answer]:
        """Return all answers, in their order."""
        return [
            Answer(
                kept.look.items[0],
                other,
                said,
                kept.look.purpose,
                kept.look.weight,
                kept.number,
                kept.look.who,
            )
            for kept in self._looks.values()
            for other, said in zip(kept.look.items[1:], kept.look.same, strict=True)
        ]

    def counts(self, who: str) -> dict[str, int | bool]:
        """Return how many looks and answers there are, what they say, and if `who` has any."""
        same, different, unsure = (self._said[value] for value in (True, False, None))
        return {
            "looks": len(self._looks),
            "answers": same + different + unsure,
            "same": same,
            "different": different,
            "unsure": unsure,
            "can_undo": self._of_person[who] > 0,
        }

    def is_answered(self, pair: Pair) -> bool:
        """Whether something is said of a pair."""
        return pair in self._opinions

    def verdict(self, pair: Pair) -> bool | None:
        """Return what most say of a pair; None if nobody is sure, or as many say the contrary."""
        votes = Counter(self._opinions.get(pair, {}).values())
        return None if votes[True] == votes[False] else votes[True] > votes[False]

    def verdicts(self) -> dict[Pair, bool]:
        """Return what most say of each pair that is decided."""
        said = ((pair, self.verdict(pair)) for pair in self._opinions)
        return {pair: verdict for pair, verdict in said if verdict is not None}

    def disputed(self) -> list[Pair]:
        """Return the pairs that were called the same and not the same."""
        return [
            pair for pair, said in self._opinions.items() if {True, False} <= set(said.values())
        ]

    def looks_at(self, pair: Pair) -> list[KeptLook]:
        """Return the looks in which something was said of a pair, in their order."""
        return [self._looks[number] for number in sorted(self._opinions.get(pair, {}))]

    def said_in(self, kept: KeptLook, pair: Pair) -> bool | None:
        """Return what a look says of a pair."""
        return self._opinions[pair][kept.number]

    def agreement(self) -> Repeats:
        """Return how often a person was asked the same twice, and how often they said the same."""
        by_person: dict[tuple[str, Pair], list[bool]] = {}
        for pair, said in self._opinions.items():
            for number, one in sorted(said.items()):
                if one is not None and len(said) > 1:
                    who = self._looks[number].look.who
                    by_person.setdefault((who, pair), []).append(one)
        return agreement(by_person.values())

    def to_repeat(self, who: str, n_ago: int) -> list[KeptLook]:
        """Return pairs that a person decided once, at least `n_ago` of their looks ago."""
        own = [kept for kept in self._looks.values() if kept.look.who == who]
        return [
            kept
            for kept in own[: max(0, len(own) - n_ago)]
            if kept.look.kind == "pair"
            and kept.look.purpose == "learn"
            and kept.look.same[0] is not None
            and len(self._opinions[in_order(*kept.look.items)]) == 1
        ]

    @staticmethod
    def _pairs(kept: KeptLook) -> Iterator[tuple[Pair, bool | None]]:
        first, *others = kept.look.items
        for other, said in zip(others, kept.look.same, strict=True):
            yield in_order(first, other), said
