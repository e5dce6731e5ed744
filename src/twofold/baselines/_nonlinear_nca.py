"""Nonlinear neighbourhood components analysis: a network trained to have alike neighbours."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from twofold._core.checks import check_choice, check_count
from twofold.baselines._batch_task import BatchLoss
from twofold.baselines._label_trained import BatchTrainedLearner
from twofold.regression import TrainingConfig
from twofold.relations import LabelRelation

Loss = Literal["log", "expected"]


class NeighbourhoodLoss:
    """−mean_i log p_i, or 1 − mean_i p_i, of p_i = Σ_{j alike i} softmax_j(−‖z_i − z_j‖²), j ≠ i.

    p_i is the chance that item i picks one that is alike, when it picks another item of its batch
    at random, the closer the likelier. Items without an alike one in the batch are left out of the
    mean. Cost: n² n_components for a batch of n.
    """

    is_recordable = True

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch; 0 if no two of its items are alike."""
        itself = torch.eye(len(points), dtype=torch.bool, device=points.device)
        alike = share_a_label(labels) & ~itself
        # A number, not −∞: the slope of a sum over nothing would be NaN.
        never = torch.finfo(points.dtype).min
        negative_distance = (-squared_distances(points)).masked_fill(itself, never)
        log_chance = torch.logsumexp(negative_distance.masked_fill(~alike, never), dim=1)
        log_chance = log_chance - torch.logsumexp(negative_distance, dim=1)
        losses = -log_chance if self.loss == "log" else 1 - log_chance.exp()
        counted = alike.any(dim=1)
        return losses.masked_fill(~counted, 0).sum() / counted.sum().clamp(min=1)


def squared_distances(points: Tensor) -> Tensor:
    """Return ‖z_i − z_j‖² of all pairs, shape (n, n)."""
    squares = points.square().sum(dim=1)
    return (squares[:, None] + squares - 2 * points @ points.T).clamp(min=0)


def share_a_label(labels: Tensor) -> Tensor:
    """Return which items of a batch share a label, bool of shape (n, n)."""
    if labels.ndim == 1:
        return labels[:, None] == labels
    indicator = labels.float()
    return indicator @ indicator.T > 0


@dataclass(eq=False, repr=False)
class NonlinearNCALearner(BatchTrainedLearner):
    """A network trained with the loss of neighbourhood components analysis over minibatches.

    The method of Salakhutdinov and Hinton (2007), without their pretraining. An item picks one
    other item of its batch, item j with the chance softmax_j(−‖z_i − z_j‖²); p_i is its chance of
    picking one that is alike. With several labels per item, those that share one are alike. With
    many classes, use larger batches, so that they contain alike items.

    Parameters
    ----------
    n_components : int
        Number of components of the embedding, which is compared by distance.
    loss : {"log", "expected"}
        −mean log p_i, or 1 − mean p_i. The paper maximises the expected number of correct picks,
        which is the second; the first also learns from items whose p_i is near 0, and was better on
        digits at every learning rate tried.
    embedder, validation_fraction, device, random_state, verbose
        As for `SiameseLearner`; an epoch is a pass over all items, a batch has at least two.
    """

    n_components: int = 16
    _: KW_ONLY
    loss: Loss = "log"

    def _prepare_labels(self, relation: LabelRelation) -> int:
        check_choice("loss", self.loss, get_args(Loss))
        self.metric_ = "euclidean"
        return check_count("n_components", self.n_components)

    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[BatchLoss, BatchLoss]:
        loss = NeighbourhoodLoss(self.loss)
        return loss, loss
