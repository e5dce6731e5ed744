"""How much of an item's point is the output: all that can be for a kind that was seen, else little.

The output says most about the kinds it was trained on and next to nothing about others. Which of
the two an item is shows in how near it lies to the mean of some training class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from twofold.metric._layer_space import Vectors

MOST_CLASSES = 1000
"""That an item is compared with; with more there is no gate."""


@dataclass(frozen=True, slots=True)
class GateCurve:
    """share · σ(slope · cosine + offset), of the cosine to the nearest class mean.

    Attributes
    ----------
    slope, offset : float
        Of the chance that an item is of a kind that was seen.
    share : float
        Of the point that the output takes at most, in [0, 1).
    """

    slope: float
    offset: float
    share: float

    def apply(self, cosine: Vectors) -> Vectors:
        """Return the output's share of each item's point."""
        return np.asarray(self.share * expit(self.slope * cosine + self.offset), np.float32)


def fit_curve(seen: Vectors, unseen: Vectors) -> GateCurve:
    """Return the curve that tells kinds seen from others by the cosine to the nearest class mean.

    Parameters
    ----------
    seen, unseen : ndarray of float32, shape (n_items,)
        Cosines of items that were not trained on, of classes that were and were not.
    """
    cosines = np.concatenate([seen, unseen]).astype(np.float64)
    centre, spread = float(cosines.mean()), float(cosines.std()) or 1.0
    curve = LogisticRegression(class_weight="balanced", C=100.0).fit(
        ((cosines - centre) / spread)[:, None], np.arange(len(cosines)) < len(seen)
    )
    slope = float(curve.coef_[0, 0]) / spread
    return GateCurve(slope, float(curve.intercept_[0]) - slope * centre, 0.0)


def gated(layers: Vectors, output: Vectors, share: Vectors) -> Vectors:
    """Return [√(1 − share) · layers, √share · output], of length 1 if both are."""
    return np.hstack([np.sqrt(1 - share)[:, None] * layers, np.sqrt(share)[:, None] * output])
