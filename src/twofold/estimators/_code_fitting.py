"""Phase 2 of codes: bits are predicted by a network, a regressor, or a classifier each.

Of classes a network gives the expected code, whose signs are the likeliest class's code unless
several are likely. The signs of the outputs that its log-odds are made of vary more: of 10,000
items of MNIST, 64 bits, eight epochs, mAP of the whole ranking was .927 by these and .957 by the
expected code, .964 by the embedding of 16 numbers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
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
    code_agreement,
    fit_bit_classifiers,
    fit_embedder,
    is_bit_classifier,
    possible_regression,
    take_rows,
    with_bit_layer,
    with_joint_signs,
    workers,
)
from twofold.relations import LabelRelation, Relation
from twofold.targets import (
    CodeSolution,
    refine_bits,
    rotate_to_binary,
    solve_targets,
    standardise_targets,
)

N_TURNS = 20
"""Of alternating least squares on outputs, which begin where the targets' rotation ended. What a
network gives is drawn to the mean where it is not sure, so that another rotation suits it."""
MOST_REFINED = 10_000
"""Items that this is worked out on, drawn of more: four seconds of one core for 64 bits."""
FEWEST_REFINED = 5000
"""Items from which on bits of many label vectors are refitted to the relation (`refine_bits`).
Held-out training items, 64 bits, mAP before and after: delicious .813 and .829. A network fits
fewer items so closely that its outputs on them say nothing of new ones: 3,400 of corel5k .446 and
.442, 900 of scene .85 and .847, with 16 bits .81 and .80.

Bits of classes are rounded together instead (`JointSigns`), unless several views of an image are
averaged. Held-out training items, 64 bits, mAP refitted and rounded together: CIFAR-10, a small
convolutional network on 12,000, .7096 and .7145 (10 epochs, 5-NN accuracy .76), .6144 and .6155
(5, .69), .4858 and .4827 (2, .63); 45,000 of MNIST with a part hidden and noise, .8436 and .8473,
.8540 and .8562 (2 seeds), among items that the network was not trained on .7796 and .7970, .7909
and .8061; 10,000 of MNIST .9637 and .9664, .9688 and .9689. Only a dense network that is hardly
sure of any image of CIFAR-10 was better refitted: .3610 and .3500 (5-NN .47)."""


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

    @property
    def device(self) -> str:
        """Where a network is trained."""
        return self.embedder.device if isinstance(self.embedder, TrainingConfig) else "cpu"

    def fit(
        self, X: Any, solution: CodeSolution, relation: Relation, items: NDArray[np.int64]
    ) -> BitFit:
        """Learn the bits of some items, rows of `X`, that phase 1 has solved for a relation."""
        which = None if solution.which is None else solution.which[items]
        points = solution.points if which is not None else solution.points[items]
        if is_bit_classifier(self.embedder):
            began = time.perf_counter()
            wanted = points if which is None else points[which]
            agreement = _agreement(solution, items)
            fitted = fit_bit_classifiers(self.embedder, X, wanted, items, self.rng, agreement)
            return BitFit(fitted, None, time.perf_counter() - began)
        if solution.method in ("two-step", "whole"):
            points = np.where(points >= 0, np.float32(1), np.float32(-1))
        fit, regression = self._regressed(X, solution.method, points, which, items)
        if not isinstance(fit.embedder, NetworkEmbedder) or regression == "direction":
            return fit
        began = time.perf_counter()
        is_expected = regression == "likelihood"
        embedder = self._fitted_to_signs(fit.embedder, X, solution, relation, items, is_expected)
        return replace(fit, embedder=embedder, seconds=fit.seconds + time.perf_counter() - began)

    def _regressed(
        self,
        X: Any,
        method: str,
        points: NDArray[np.float32],
        which: NDArray[np.int64] | None,
        items: NDArray[np.int64],
    ) -> tuple[BitFit, str]:
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
        return BitFit(fitted.embedder, fitted.history, fitted.seconds), regression

    def _fitted_to_signs(
        self,
        embedder: NetworkEmbedder,
        X: Any,
        solution: CodeSolution,
        relation: Relation,
        items: NDArray[np.int64],
        is_expected: bool,
    ) -> NetworkEmbedder:
        """Return a network with a map after it that suits what it gives, not what it should."""
        agreement = _agreement(solution, items)
        # Views are averaged after the bits.
        if agreement is not None and is_expected and embedder.n_views == 1:
            return with_joint_signs(embedder, agreement)
        is_refined = isinstance(relation, LabelRelation) and len(items) >= FEWEST_REFINED
        is_rotated = solution.method == "rotated"
        if not is_rotated and not (is_refined and solution.method == "codewords"):
            return embedder
        if len(items) > MOST_REFINED:
            items = np.sort(self.rng.choice(items, MOST_REFINED, replace=False))
        outputs = workers(embedder.device).agreed(embedder.predict(take_rows(X, items)), self.rng)
        turn = np.eye(solution.n_bits)
        if is_rotated:
            turn, _ = rotate_to_binary(outputs, solution.n_bits, None, n_turns=N_TURNS)
        if not is_refined:
            return with_bit_layer(embedder, turn)
        which, table = solution.which, None
        if is_rotated:
            factors = solve_targets(relation, solution.n_bits, loss="dot", random_state=self.rng)
            which, table = factors.which, factors.table
        wanted = items if which is None else which[items]
        refined = refine_bits(outputs @ turn, wanted, table, embedder.device)
        return with_bit_layer(embedder, turn @ refined.matrix, refined.offset)


def _agreement(solution: CodeSolution, items: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return what codes of labels are rounded together by, see `JointSigns`; None of others."""
    if solution.which is None or solution.method == "rotated":
        return None
    counts = np.bincount(solution.which[items], minlength=len(solution.points))
    return code_agreement(solution.table, counts)
