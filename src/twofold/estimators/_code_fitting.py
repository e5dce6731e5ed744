"""Phase 2 of codes: bits are predicted by a network, a regressor, or a classifier each.

Of classes a network gives the expected code, whose signs are the likeliest class's code unless
several are likely. The signs of the outputs that its log-odds are made of vary more: of 10,000
items of MNIST, 64 bits, eight epochs, mAP of the whole ranking was .927 by these and .957 by the
expected code, .964 by the embedding of 16 numbers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.regression import (
    Callback,
    Embedder,
    NetworkEmbedder,
    OutputScale,
    TrainingConfig,
    TrainingHistory,
    fit_bit_classifiers,
    fit_embedder,
    is_bit_classifier,
    possible_regression,
    take_rows,
    with_rotation,
)
from twofold.targets import CodeSolution, rotate_to_binary, standardise_targets

N_TURNS = 20
"""Of alternating least squares on outputs, which begin where the targets' rotation ended."""


@dataclass(frozen=True, slots=True, eq=False)
class BitFit:
    """What predicts bits, and how it came about."""

    embedder: Embedder
    history: TrainingHistory | None
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class BitFitting:
    """What a fit of bits is made with."""

    embedder: TrainingConfig | Any
    rng: np.random.Generator
    validation_fraction: float = 0.0
    callback: Callback | None = None
    checkpoint: Path | None = None

    def fit(self, X: Any, solution: CodeSolution, items: NDArray[np.int64]) -> BitFit:
        """Learn the bits of some items, rows of `X`, that phase 1 has solved."""
        which = None if solution.which is None else solution.which[items]
        points = solution.points if which is not None else solution.points[items]
        if is_bit_classifier(self.embedder):
            began = time.perf_counter()
            wanted = points if which is None else points[which]
            fitted = fit_bit_classifiers(self.embedder, X, wanted, items, self.rng)
            return BitFit(fitted, None, time.perf_counter() - began)
        if solution.method in ("two-step", "whole"):
            points = np.where(points >= 0, np.float32(1), np.float32(-1))
        return self._regressed(X, solution.method, points, which, items)

    def _regressed(
        self,
        X: Any,
        method: str,
        points: NDArray[np.float32],
        which: NDArray[np.int64] | None,
        items: NDArray[np.int64],
    ) -> BitFit:
        counts = None if which is None else np.bincount(which, minlength=len(points))
        targets, mean, scale = standardise_targets(points, counts)
        is_network = isinstance(self.embedder, TrainingConfig)
        is_shared = method in ("codewords", "whole") and is_network
        regression = possible_regression(
            "likelihood if shared" if is_shared else "squared",
            len(items),
            len(points),
            is_spread=method == "codewords" and is_network and len(points) > points.shape[1],
            is_network=is_network,
        )
        fitted = fit_embedder(
            self.embedder,
            X,
            targets,
            self.rng,
            items=items,
            which=which,
            output_scale=OutputScale(mean, scale),
            regression=regression,
            validation_fraction=self.validation_fraction,
            callback=self.callback,
            checkpoint=self.checkpoint,
        )
        embedder: Embedder = fitted.embedder
        began = time.perf_counter()
        if method == "rotated" and isinstance(embedder, NetworkEmbedder):
            embedder = rotated_further(embedder, take_rows(X, items))
        seconds = fitted.seconds + time.perf_counter() - began
        return BitFit(embedder, fitted.history, seconds)


def rotated_further(embedder: NetworkEmbedder, X: Any) -> NetworkEmbedder:
    """Return a network whose outputs on what it learnt from lie nearer to their signs.

    What a network gives is drawn to the mean where it is not sure, so that another rotation suits
    it than its targets.
    """
    outputs = embedder.predict(X)
    rotation, _ = rotate_to_binary(outputs, outputs.shape[1], None, n_turns=N_TURNS)
    return with_rotation(embedder, rotation)
