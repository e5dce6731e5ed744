"""Pairs that are presumed to be different, beside those that were asked about.

What is asked is hard on purpose: alike ones that are far, and different ones that are near. Who
learns, and validates, on these alone may lose what the features had right about all others, and
never notice. And the different ones are near by the very metric that asked, whose mistakes alone
are found, so that any other looks better on them. So a few random pairs that are far by the
features are learnt from as different; and candidates are compared on as many random pairs, near or
far, as were said to be different. Who was asked about a pair knows better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.ask._tally import Pair, in_order
from twofold.asking import Askable
from twofold.evaluation import pair_similarity

N_PRESUMED = 64
"""Enough to keep what the features had right while answers are few, and few enough to be outvoted
later: some of them are alike after all. Thin evidence, and by AUROC on new items: none, 64 and one
for every statement gave, in single evenings with nines, .722, .779 and .814 after 50 looks at MNIST
(seed 0; features .741); .908, .914 and .919 on digits (seeds 0 and 1), and after 200 .977, .986 and
.981. Another draw of 64 gave .814, .934 and .988: chance is as large as what is compared."""
MOST_COMPARED = 100
"""Random pairs that candidates are compared on, while answers are few. At 2,000 images of MNIST the
slowest learning took 2.0 s of a busy processor without any, 1.8 with 100 and 3.7 with 500."""
COMPARED_WEIGHT = 0.01
"""Of these in learning: next to none, as some are alike. AUROC on new items, from the answers of
one evening each, without them, with this weight and with 1: MNIST (seed 100) after 50, 75 and 100
looks .767, .792, .796; .779, .823, .816; .837, .831, .831; digits (seeds 100, 102, and 101 with 5 %
wrong) after 200 .990, .989, .978; .979, .977, .972; .967, .963, .957."""

Statement = tuple[bool, float]
"""Whether a pair is alike, and what that weighs in learning."""


class Presumed:
    """Random pairs: some that are farther than half of all pairs, and some of any distance.

    Parameters
    ----------
    points : ndarray of float32, shape (n_items, dim)
        The features, compared by Euclidean distance.
    askable : Askable
        Which pairs there are.
    seed : int
        Of the draw.
    """

    def __init__(self, points: NDArray[np.float32], askable: Askable, seed: int) -> None:
        rng = np.random.default_rng([seed, 2**33])
        left, right = askable.random_pairs(2 * N_PRESUMED, rng)
        similarity = pair_similarity(points, left, right)
        far = similarity < np.median(similarity)
        self._far = _different_pairs(left[far], right[far])
        self._any = _different_pairs(*askable.random_pairs(MOST_COMPARED, rng))

    def unlike(self, asked: frozenset[Pair], n_unlike: int) -> dict[Pair, Statement]:
        """Return the pairs as different, without those that somebody was asked about.

        Parameters
        ----------
        asked : frozenset of pair
            What somebody was asked about.
        n_unlike : int
            Pairs that were said to be different: as many are compared on.
        """
        every = dict.fromkeys(self._any[:n_unlike], (False, COMPARED_WEIGHT))
        every |= dict.fromkeys(self._far, (False, 1.0))
        return {pair: presumed for pair, presumed in every.items() if pair not in asked}


def _different_pairs(left: NDArray[np.int64], right: NDArray[np.int64]) -> list[Pair]:
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return [*dict.fromkeys(in_order(*pair) for pair in pairs)]
