"""Targets that follow what is learnt.

The joint objective 1/|Z| Σ_Z L(t_i, t_j, y_ij) + λ/2n Σ ‖t_i − g(x_i)‖² with g fixed: every item's
target is drawn to where the embedder puts it, and moved as far as its statements ask.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from twofold.evaluation import pair_similarity
from twofold.relations import PairRelation, TripletRelation
from twofold.targets import solve_targets

Stated = PairRelation | TripletRelation
Points = NDArray[np.float32]
PULL = 1.0
"""λ, times items a statement: an item in one pair moves four fifths of the way its statement asks.
Ten times as much moves too little a round (digits at a quarter pair an item: AUROC .945 against
.953, scene .746 against .776), a tenth overshoots (.948, .773; amazon-google .924 against .941)."""


MARGIN_OF_TRIPLETS = 0.6
"""Of the median squared distance of anchors and negatives (digits, one triplet an item, seed 100:
AUROC .992 with 0.8 of it, .989 with 0.5, .988 with 1.3; .987 if it is that of the start, and 0.6
times the 1.3 of pairs is 0.8)."""


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
        How far apart is far enough; of triplets, in what is usual of the points as they move.
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
                margin=self._margin_at(points),
                prior=points,
                prior_weight=PULL * self.relation.n_items / n_statements,
                device=self.device,
                random_state=rng,
            ).points

    def _margin_at(self, points: Points) -> float:
        """Return the margin; a fixed one would be met by triplets of points that only spread."""
        if not isinstance(self.relation, TripletRelation):
            return self.margin
        far = _distances(points, self.relation.anchor, self.relation.negative)
        return self.margin * _median(far**2)


def ask_of(
    relation: Stated,
    points: Points,
    loss: Literal["contrastive", "dot"],
    margin: float,
    device: str,
) -> MovingTargets:
    """Return what statements ask, far enough being `margin` times what is usual of `points`.

    Usual is the median distance of what is stated to be different, at the start. Triplets compare
    squared distances: of these, at any time, `MARGIN_OF_TRIPLETS` is usual.
    """
    if isinstance(relation, TripletRelation):
        return MovingTargets(relation, loss, MARGIN_OF_TRIPLETS * margin, device)
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
