"""From a score to a probability and a decision, by scores of pairs that were held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """Platt's calibration: log-odds = slope · score + offset."""

    slope: float
    offset: float

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds that scores stand for."""
        return self.slope * scores + self.offset


IDENTITY = Sigmoid(1.0, 0.0)


def fit_sigmoid(scores: NDArray[np.float64], y: NDArray[np.int64]) -> Sigmoid:
    """Fit slope and offset by maximum likelihood, towards Platt's targets.

    These are (n₁ + 1) / (n₁ + 2) and 1 / (n₀ + 2), so that kinds which a score parts wholly do not
    drive the slope to infinity.
    """
    from scipy.optimize import minimize

    n_alike = int(y.sum())
    targets = np.where(y == 1, (n_alike + 1) / (n_alike + 2), 1 / (len(y) - n_alike + 2))
    spread = max(float(np.std(scores)), 1e-12)

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scaled = scores / spread
        log_odds = parameters[0] * scaled + parameters[1]
        error = probability(log_odds) - targets
        value = np.mean(np.logaddexp(0, log_odds) - targets * log_odds)
        return float(value), np.array([np.mean(error * scaled), np.mean(error)])

    slope, offset = minimize(loss, np.array([spread, 0.0]), jac=True, method="L-BFGS-B").x
    return Sigmoid(float(slope / spread), float(offset))


def probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(−log-odds))."""
    from scipy.special import expit

    return np.asarray(expit(log_odds), dtype=np.float64)


def smooth_f1_threshold(probabilities: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Return the probability from which on calling pairs alike has the best F1."""
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(y[order])
    called = np.arange(1, len(y) + 1)
    f1 = 2 * hits / (called + y.sum())
    best = int(np.argmax(f1))
    last = probabilities[order[best]]
    following = probabilities[order[best + 1]] if best + 1 < len(y) else last
    return float((last + following) / 2)
