"""Codes by networks that are not trained on solved codes: signs of others, or fixed codewords."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from twofold._core.checks import check_count, check_number
from twofold.baselines._batch_task import BatchLoss
from twofold.baselines._label_trained import BatchTrainedLearner
from twofold.baselines._siamese import SiameseLearner
from twofold.estimators import CodeLearner
from twofold.regression import NetworkEmbedder, OutputScale, TrainingConfig
from twofold.relations import LabelRelation, Relation
from twofold.targets import random_signs


@dataclass(eq=False, repr=False)
class SiameseCodeLearner(CodeLearner, SiameseLearner):
    """The signs of a Siamese network's points, each component relative to its median in training.

    Parameters
    ----------
    n_components : int
        Bits of a code.
    loss, start, n_similar, n_dissimilar, margin, epoch_size, embedder, validation_fraction, device
        As for `SiameseLearner`.
    """

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from a relation over the rows of `X`; see `MetricLearner.fit`."""
        super().fit(X, y, relation=relation)
        assert isinstance(self.embedder_, NetworkEmbedder)
        self.metric_ = "hamming"
        medians = np.median(self._points(X), axis=0).astype(np.float32)
        self.embedder_.output_scale = OutputScale(-medians, 1.0)
        return self

    @property
    def _has_unit_points(self) -> bool:
        return False


class FixedCodes:
    """Cross-entropy of cosines to fixed codes t_k: softmax(s (cos(o, t_k) − m [k is wanted])).

    Of an item with several labels the chance wanted is shared among them evenly.

    Parameters
    ----------
    codes : Tensor of float32, shape (n_labels, n_bits)
        −1 and 1.
    scale, margin : float
        s and m.
    """

    is_recordable = True

    def __init__(self, codes: Tensor, scale: float, margin: float) -> None:
        self._directions = functional.normalize(codes, dim=1)
        self.scale, self.margin = scale, margin

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        cosines = functional.normalize(points, dim=1) @ self._directions.T
        if labels.ndim == 1:
            wanted = functional.one_hot(labels, len(self._directions)).to(points.dtype)
        else:
            wanted = labels.to(points.dtype)
        log_chance = (self.scale * (cosines - self.margin * wanted)).log_softmax(dim=1)
        shares = wanted / wanted.sum(dim=1, keepdim=True).clamp(min=1)
        return -(shares * log_chance).sum(dim=1).mean()


@dataclass(eq=False, repr=False)
class FixedCodeLearner(CodeLearner, BatchTrainedLearner):
    """One loss for codes, as in OrthoHash: cosines of a network's outputs to fixed random codes.

    Hoe and others, "One Loss for All", 2021: every class has a code that is drawn at random, and
    outputs are drawn to it by a softmax over cosines with a margin; a code is the outputs' signs.

    Parameters
    ----------
    n_bits : int
        Of a code.
    scale : float or None
        s; √2 log(classes − 1) by default, at least 1.
    margin : float
        m.
    embedder, validation_fraction, device, random_state, verbose
        As for `SiameseLearner`.
    """

    n_bits: int = 64
    _: KW_ONLY
    scale: float | None = None
    margin: float = 0.2

    def _prepare_labels(self, relation: LabelRelation) -> int:
        self.metric_ = "hamming"
        check_number("margin", self.margin, 0)
        return check_count("n_bits", self.n_bits)

    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[BatchLoss, BatchLoss]:
        n_labels = relation.n_labels
        scale = max(1.0, math.sqrt(2) * math.log(max(2, n_labels - 1)))
        scale = scale if self.scale is None else check_number("scale", self.scale, 0, strict=True)
        drawn = random_signs(n_labels * self.n_bits, rng).reshape(n_labels, self.n_bits)
        loss = FixedCodes(torch.from_numpy(drawn).to(config.device), scale, self.margin)
        return loss, loss
