"""Pairs that are presumed to be different, beside those that were asked about.

What is asked is hard on purpose: alike ones that are far, and different ones that are near. Who
learns, and validates, on these alone may lose what the features had right about all others, and
never notice. So a few random pairs that are far by the features join in as different, unless
somebody was asked about them.
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


class Presumed:
    """Random pairs that are farther than half of all pairs.

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
        pairs = zip(left[far].tolist(), right[far].tolist(), strict=True)
        self._pairs = [*dict.fromkeys(in_order(*pair) for pair in pairs)]

    def unlike(self, asked: frozenset[Pair]) -> dict[Pair, bool]:
        """Return the pairs as different, without those that somebody was asked about."""
        return {pair: False for pair in self._pairs if pair not in asked}
