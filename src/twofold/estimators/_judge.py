"""Statements that were held out judge what is learnt, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._moving_targets import Points, Stated
from twofold.evaluation import pair_similarity
from twofold.relations import TripletRelation

Placements = list[NDArray[np.float64]]
"""Kind by kind, which share of the other kind each statement is right against."""
N_ERRORS = 1.5
"""Standard errors that the best of all rounds has to be above the features: it is the best of many
looks, some of which are above by chance."""
N_ERRORS_OF_EQUALS = 0.5
"""Standard errors within which two looks count as equal. Of equal rounds the latest is taken, since
rounds get better far more often than worse. On a third part of the pairs, AUROC with none, a half
and one: digits at a quarter pair an item .973, .976, .976; scene .812, .809, .799."""
N_ERRORS_OF_FAR = 3
"""Standard errors above which something is out of the question."""


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """How well points order statements that nothing was learnt from."""

    relation: Stated
    metric: Literal["euclidean", "dot"]

    def placements(self, points: Points) -> Placements:
        """Return what each statement is right against; of triplets, whether it is in order."""
        stated = self.relation
        if isinstance(stated, TripletRelation):
            near = pair_similarity(points, stated.anchor, stated.positive, self.metric)
            far = pair_similarity(points, stated.anchor, stated.negative, self.metric)
            return [(near > far) + 0.5 * (near == far)]
        found = pair_similarity(points, stated.left, stated.right, self.metric)
        alike = stated.similar > 0.5
        return [
            _share_below(found[alike], found[~alike]),
            _share_below(-found[~alike], -found[alike]),
        ]

    @property
    def can_judge(self) -> bool:
        """Whether there is something to tell apart."""
        if isinstance(self.relation, TripletRelation):
            return True
        alike = self.relation.similar > 0.5
        return bool(alike.any() and not alike.all())


class Looks:
    """What a judge has seen of one way: the start, then every round.

    Attributes
    ----------
    found : list of float
        The AUROC of each look, or of triplets the share in the right order.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._seen: list[Placements] = []
        self.found: list[float] = []

    def __call__(self, points: Points) -> float:
        """Judge points."""
        seen = self._judge.placements(points)
        found = float(seen[0].mean())
        self._seen.append(seen)
        self.found.append(found)
        return found

    @property
    def best(self) -> float:
        """The best that was found."""
        return max(self.found)

    def is_clearly_better(self) -> bool:
        """Whether the best is above the start by more than chance may give."""
        gain = self.best - self.found[0]
        return gain > N_ERRORS * gain_error(self._seen[0], self._best_seen)

    @property
    def best_round(self) -> int:
        """The round that was found best, the last of equally good ones; 0 if none is."""
        return len(self.found) - 1 - int(np.argmax(self.found[::-1]))

    def choose_round(self) -> int:
        """Return the latest round that may be as good as the best."""
        best = self._best_seen
        return max(
            number
            for number, (found, seen) in enumerate(zip(self.found, self._seen, strict=True))
            if self.best - found <= N_ERRORS_OF_EQUALS * gain_error(best, seen)
        )

    def is_better_than(self, other: Looks) -> bool:
        """Whether the best is above the other's best, and the two do not count as equal."""
        error = gain_error(other._best_seen, self._best_seen)
        return self.best - other.best > N_ERRORS_OF_EQUALS * error

    @property
    def _best_seen(self) -> Placements:
        return self._seen[int(np.argmax(self.found))]


def joined(all_looks: Sequence[Looks]) -> Looks:
    """Return the looks of several judges at as many trials of one way as those of one judge."""
    if len(all_looks) == 1:
        return all_looks[0]
    whole = Looks(all_looks[0]._judge)
    whole._seen = [
        [np.concatenate(kind) for kind in zip(*seen, strict=True)]
        for seen in zip(*(looks._seen for looks in all_looks), strict=True)
    ]
    found = np.array([looks.found for looks in all_looks])
    whole.found = [float(one) for one in found.mean(axis=0)]
    return whole


def is_far_above(after: Placements, before: Placements) -> bool:
    """Whether one look is above another by so much that nobody need try."""
    gain = float(after[0].mean()) - float(before[0].mean())
    return gain > N_ERRORS_OF_FAR * gain_error(before, after)


def gain_error(before: Placements, after: Placements) -> float:
    """Return the standard error of what one look is above another (DeLong's).

    Both are of the same statements, so that most of the chance is common to both.
    """
    gains = [now - then for now, then in zip(after, before, strict=True)]
    return math.sqrt(sum(float(gain.var()) / max(1, gain.size - 1) for gain in gains))


def _share_below(values: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return which share of `others` is below each value; ties count one half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return below / (2 * ordered.size)
