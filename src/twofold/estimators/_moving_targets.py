"""Targets that follow what is learnt, and the statements held out that judge it.

The joint objective 1/|Z| Σ_Z L(t_i, t_j, y_ij) + λ/2n Σ ‖t_i − g(x_i)‖² with g fixed: every item's
target is drawn to where the embedder puts it, and moved as far as its statements ask.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from twofold.evaluation import pair_auroc, pair_similarity
from twofold.relations import PairRelation, TripletRelation
from twofold.targets import solve_targets

Stated = PairRelation | TripletRelation
Points = NDArray[np.float32]
PULL = 1.0
"""λ, times items a statement: an item in one pair moves four fifths of the way its statement asks.
Ten times as much moves too little a round (digits at a quarter pair an item: AUROC .945 against
.953, scene .746 against .776), a tenth overshoots (.948, .773; amazon-google .924 against .941)."""


@dataclass(frozen=True, slots=True, eq=False)
class MovingTargets:
    """What the statements ask of points.

    Attributes
    ----------
    relation : PairRelation or TripletRelation
        Over the items that are learnt from; of pairs, both kinds count alike.
    loss : {"contrastive", "dot"}
        Of pairs.
    margin : float
        How far apart is far enough.
    device : str
        Where phase 1 runs.
    """

    relation: Stated
    loss: Literal["contrastive", "dot"]
    margin: float
    device: str

    def near(self, points: Points, rng: np.random.Generator) -> Points:
        """Return the targets that `points` are to be moved to."""
        n_statements = len(self.relation)
        with warnings.catch_warnings():
            # A round need not settle: the next one goes on.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return solve_targets(
                self.relation,
                points.shape[1],
                loss=self.loss,
                margin=self.margin,
                prior=points,
                prior_weight=PULL * self.relation.n_items / n_statements,
                device=self.device,
                random_state=rng,
            ).points


def ask_of(
    relation: Stated,
    points: Points,
    loss: Literal["contrastive", "dot"],
    margin: float,
    device: str,
) -> MovingTargets:
    """Return what statements ask, far enough being `margin` times what is usual of `points`.

    Usual is the median distance of what is stated to be different, at the start; of triplets,
    which compare squared distances, the median of its square.
    """
    if isinstance(relation, TripletRelation):
        far = _distances(points, relation.anchor, relation.negative) ** 2
        return MovingTargets(relation, loss, margin * _median(far), device)
    unlike = relation.similar <= 0.5
    far = _distances(points, relation.left[unlike], relation.right[unlike])
    return MovingTargets(relation.balanced(), loss, margin * _median(far), device)


def _distances(
    points: Points, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float32]:
    return -pair_similarity(points, left, right, "euclidean")


def _median(distances: NDArray[np.float32]) -> float:
    """Return the median, or 1 where all is one point."""
    found = float(np.median(distances)) if distances.size else 0.0
    return found if found > 0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """How well points order statements that nothing was learnt from."""

    relation: Stated
    metric: Literal["euclidean", "dot"]

    def __call__(self, points: Points) -> float:
        """Return the AUROC, or of triplets the share in the right order."""
        stated = self.relation
        if isinstance(stated, TripletRelation):
            return float(self._placements(points)[0].mean())
        found = pair_similarity(points, stated.left, stated.right, self.metric)
        return pair_auroc(stated.similar > 0.5, found)

    def choose_round(self, judged: Sequence[float]) -> int:
        """Return the latest round that may be as good as the best: within one standard error.

        Rounds get better, or stay as they are, far more often than they get worse, and what few
        statements prefer is mostly chance; with none to tell apart the last is taken.
        """
        best = max(judged)
        return int(np.flatnonzero(np.asarray(judged) >= best - self.standard_error(best))[-1])

    def standard_error(self, judged: float) -> float:
        """Return about how far chance takes what is judged: that of a share, of the rarer kind."""
        n_fewer = len(self.relation)
        if isinstance(self.relation, PairRelation):
            n_alike = int((self.relation.similar > 0.5).sum())
            n_fewer = min(n_alike, n_fewer - n_alike)
        return math.sqrt(judged * (1 - judged) / max(1, n_fewer))

    def gain_error(self, before: Points, after: Points) -> float:
        """Return the standard error of what `after` is judged above `before` (DeLong's).

        Both are judged by the same statements, so that most of the chance is common to both.
        """
        gains = [
            now - then
            for now, then in zip(self._placements(after), self._placements(before), strict=True)
        ]
        return math.sqrt(sum(float(gain.var()) / max(1, gain.size - 1) for gain in gains))

    def _placements(self, points: Points) -> list[NDArray[np.float64]]:
        """Return, kind by kind, which share of the other kind each statement is right against."""
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


def _share_below(values: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return which share of `others` is below each value; ties count one half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return below / (2 * ordered.size)
