"""Current metric losses: every pair of a batch counts, with one pass per item."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import get_args

import numpy as np
from torch import nn

from twofold._core.checks import check_choice, check_count
from twofold.baselines._batch_losses import Loss, batch_losses
from twofold.baselines._batch_task import BatchLoss, BatchTask
from twofold.baselines._label_trained import BatchTrainedLearner
from twofold.baselines._proxies import NetworkWithProxies, ProxyAnchorLoss
from twofold.regression import Task, TrainingConfig
from twofold.relations import LabelRelation


@dataclass(eq=False, repr=False)
class BatchLossLearner(BatchTrainedLearner):
    """A network trained with a loss over all pairs of a batch, as in pytorch-metric-learning.

    The losses have that package's default settings and compare by cosine: the embedding has unit
    length and is compared by inner product. Batches are drawn at random, so with many classes a
    small batch contains few alike pairs: with 83 classes, half of the items in a batch of 64 have
    no alike partner in it, and a twentieth in a batch of 256. Nothing is learnt from a batch
    without any alike pair.

    Parameters
    ----------
    n_components : int
        Number of components of the embedding.
    loss : {"supcon", "proxy-anchor", "multi-similarity", "triplet"}
        Supervised contrastive; proxy-anchor, whose proxies are trained by the same optimiser at 100
        times the learning rate, as its authors do; multi-similarity with its own miner; or semihard
        triplets with a margin of 0.2.
    embedder, validation_fraction, device, random_state, verbose
        As for `SiameseLearner`; an epoch is a pass over all items, a batch has at least two. The
        validation loss is the mean over all pairs or triplets, without mining.
    """

    n_components: int = 16
    _: KW_ONLY
    loss: Loss = "supcon"

    def _prepare_labels(self, relation: LabelRelation) -> int:
        check_choice("loss", self.loss, get_args(Loss))
        if not relation.is_partition:
            raise ValueError(
                "BatchLossLearner learns from classes, but some items have several labels, or "
                "none. For several labels use NonlinearNCALearner."
            )
        self.metric_ = "dot"
        return check_count("n_components", self.n_components)

    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[BatchLoss, BatchLoss]:
        return batch_losses(self.loss, relation.n_labels, self.n_components_, rng)

    @property
    def _has_unit_points(self) -> bool:
        return True

    def _trained(self, network: nn.Module, task: Task) -> nn.Module:
        if not (isinstance(task, BatchTask) and isinstance(task.batch_loss, ProxyAnchorLoss)):
            return network
        return NetworkWithProxies(network, task.batch_loss)
