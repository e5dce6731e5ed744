"""The similarity from which a pair is called alike: thresholds fitted on known pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_choice, check_number
from twofold.evaluation._pairs import check_scored_pairs

Strategy = Literal["accuracy", "f_beta", "max_tpr", "max_tnr"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold and the rates it reached on the pairs it was chosen on.

    Attributes
    ----------
    threshold : float
        A pair is called alike if its similarity is at least this.
    strategy : str
        How the threshold was chosen.
    accuracy : float
        Share of pairs decided correctly.
    true_positive_rate : float
        Share of the alike pairs that are called alike (recall).
    true_negative_rate : float
        Share of the other pairs that are not called alike; 1 minus the false-positive rate.
    precision : float
        Share of the pairs called alike that are alike; 1 if no pair is called alike.
    f_beta : float
        (1 + β²) · precision · recall / (β² · precision + recall).
    beta : float
        β.
    n_similar, n_dissimilar : int
        Pairs of either kind.
    """

    threshold: float
    strategy: Strategy
    accuracy: float
    true_positive_rate: float
    true_negative_rate: float
    precision: float
    f_beta: float
    beta: float
    n_similar: int
    n_dissimilar: int


def choose_threshold(
    similar: ArrayLike,
    similarity: ArrayLike,
    strategy: Strategy = "accuracy",
    *,
    min_rate: float | None = None,
    beta: float = 1.0,
) -> Calibration:
    """Choose the similarity from which pairs are called alike.

    Parameters
    ----------
    similar : array_like, shape (n_pairs,)
        1 for alike, 0 for not alike.
    similarity : array_like of float, shape (n_pairs,)
        Large for the alike. Pairs of equal similarity are decided the same way.
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
        Highest accuracy; best F-beta; highest true-positive rate with a true-negative rate of at
        least `min_rate`, so that the false-positive rate is at most 1 − `min_rate`; or the reverse.
    min_rate : float, optional
        In [0, 1]; needed by the last two.
    beta : float
        How many times as important recall is as precision.

    Returns
    -------
    Calibration
        The threshold, half-way between two similarities that occur, and the rates it reached. Of
        several equally good thresholds the highest is chosen, so that pairs in doubt are not alike.
    """
    check_choice("strategy", strategy, get_args(Strategy))
    beta = check_number("beta", beta, 0, strict=True)
    min_rate = _check_min_rate(strategy, min_rate)
    alike, values = check_scored_pairs(similar, similarity, "A threshold needs")
    thresholds, n_hits, n_false = _operating_points(alike, values)
    n_alike = int(np.count_nonzero(alike))
    n_unalike = alike.size - n_alike

    tpr, tnr = n_hits / n_alike, 1 - n_false / n_unalike
    n_called = n_hits + n_false
    precision = np.where(n_called > 0, n_hits / np.maximum(n_called, 1), 1.0)
    f_beta = _f_beta(n_hits, n_false, n_alike, beta)
    accuracy = (n_hits + n_unalike - n_false) / alike.size
    merit = {
        "accuracy": accuracy,
        "f_beta": f_beta,
        "max_tpr": np.where(tnr >= min_rate, tpr, -1.0),
        "max_tnr": np.where(tpr >= min_rate, tnr, -1.0),
    }[strategy]
    best = int(np.argmax(merit))
    return Calibration(
        threshold=float(thresholds[best]),
        strategy=strategy,
        accuracy=float(accuracy[best]),
        true_positive_rate=float(tpr[best]),
        true_negative_rate=float(tnr[best]),
        precision=float(precision[best]),
        f_beta=float(f_beta[best]),
        beta=beta,
        n_similar=n_alike,
        n_dissimilar=n_unalike,
    )


def _f_beta(
    n_hits: NDArray[np.int64], n_false: NDArray[np.int64], n_alike: int, beta: float
) -> NDArray[np.float64]:
    """Return hits / (hits + r misses + (1 − r) false alarms), r = β² / (1 + β²); 0 without hits.

    That is F-beta, without squares that overflow or vanish.
    """
    recall_share = 1 / (1 + (1 / beta) ** 2) if beta > 1 else beta**2 / (1 + beta**2)
    errors = recall_share * (n_alike - n_hits) + (1 - recall_share) * n_false
    return np.where(n_hits > 0, n_hits / np.maximum(n_hits + errors, 1e-300), 0.0)


def _operating_points(
    alike: NDArray[np.bool_], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return every threshold that matters, falling, with the hits and false alarms it lets in."""
    levels, level = np.unique(-values, return_inverse=True)
    levels = -levels  # falling
    n_hits = np.concatenate([[0], np.cumsum(np.bincount(level[alike], minlength=levels.size))])
    n_false = np.concatenate([[0], np.cumsum(np.bincount(level[~alike], minlength=levels.size))])
    between = levels[1:] / 2 + levels[:-1] / 2  # each halved first: the sum may be too large
    # Half-way between neighbouring floats there is none: then the upper one parts them.
    between = np.where(between > levels[1:], between, levels[:-1])
    with np.errstate(over="ignore"):
        above = np.nextafter(levels[0], np.inf)
    thresholds = np.concatenate([[above], between, [levels[-1]]])
    # Above the largest number there is none: no threshold then calls nothing alike.
    reachable = slice(0 if np.isfinite(above) else 1, None)
    return thresholds[reachable], n_hits[reachable], n_false[reachable]


def _check_min_rate(strategy: Strategy, min_rate: float | None) -> float:
    if strategy in ("accuracy", "f_beta"):
        return 0.0
    if min_rate is None:
        bounded = "true-negative" if strategy == "max_tpr" else "true-positive"
        raise ValueError(
            f"strategy={strategy!r} needs min_rate, the {bounded} rate to keep at least "
            "(0.99 for instance)."
        )
    rate = check_number("min_rate", min_rate, 0)
    if rate > 1:
        raise ValueError(f"min_rate must be at most 1, got {rate:g}.")
    return rate
