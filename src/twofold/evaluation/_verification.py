"""How well a threshold on similarity tells alike pairs from others, as biometrics counts it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_curve

from twofold.evaluation._pairs import check_scored_pairs


@dataclass(frozen=True, slots=True)
class VerificationScores:
    """Error rates of a threshold on similarity; each is in [0, 1], smaller is better.

    A pair matches if its similarity is at least the threshold t. FMR(t) is the share of pairs not
    alike that match, FNMR(t) the share of alike pairs that do not. There is one operating point for
    each distinct similarity, and one for a t above all of them, with FMR 0 and FNMR 1.

    Attributes
    ----------
    eer : float
        Equal error rate: where the line through the operating points (FMR, FNMR) in their order,
        straight between neighbours, has FMR = FNMR.
    fnmr_at_fmr_1_in_100, fnmr_at_fmr_1_in_1000 : float
        Smallest FNMR among the operating points with FMR ≤ 0.01 or 0.001, without interpolation.
        With fewer than 100 or 1000 pairs that are not alike, this allows no false match at all.
    n_similar, n_dissimilar : int
        Number of pairs alike and not alike.
    """

    eer: float
    fnmr_at_fmr_1_in_100: float
    fnmr_at_fmr_1_in_1000: float
    n_similar: int
    n_dissimilar: int


def verification_scores(similar: ArrayLike, similarity: ArrayLike) -> VerificationScores:
    """Return the error rates of telling alike pairs from others by a threshold on similarity.

    Parameters
    ----------
    similar : array_like, shape (n_pairs,)
        1 for alike, 0 for not alike; grades have to be made one of the two first.
    similarity : array_like of float, shape (n_pairs,)
        Large for the alike; for a distance pass its negative.

    Returns
    -------
    scores : VerificationScores
        Equal error rate, and the false non-match rate where false matches are bounded. Costs one
        sort.
    """
    alike, values = check_scored_pairs(similar, similarity, "Verification scores need")
    fmr, match_rate, _ = roc_curve(alike, values, drop_intermediate=False)
    fnmr = 1.0 - match_rate
    return VerificationScores(
        eer=_equal_error_rate(fmr, fnmr),
        fnmr_at_fmr_1_in_100=float(fnmr[fmr <= 1 / 100].min()),
        fnmr_at_fmr_1_in_1000=float(fnmr[fmr <= 1 / 1000].min()),
        n_similar=int(np.count_nonzero(alike)),
        n_dissimilar=int(np.count_nonzero(~alike)),
    )


def _equal_error_rate(fmr: NDArray[np.float64], fnmr: NDArray[np.float64]) -> float:
    """Return where the line through the points, from (0, 1) to (1, 0), has equal coordinates."""
    lead = fnmr - fmr  # falls from 1 to -1, at every step
    after = int(np.argmax(lead <= 0))
    step = lead[after - 1] / (lead[after - 1] - lead[after])
    return float(fmr[after - 1] + step * (fmr[after] - fmr[after - 1]))
