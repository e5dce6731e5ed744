"""The Siamese network: both items of a pair go through the same network."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

from torch import nn

from twofold._core.checks import check_choice, check_count, check_number
from twofold.baselines._pair_tasks import Contrastive, Cosine, PairTask
from twofold.baselines._pair_trained import PairTrainedLearner
from twofold.baselines._task_inputs import TaskInputs
from twofold.regression import Features, Task, TrainingConfig, fit_projection, with_feature_skip
from twofold.relations import Relation

Loss = Literal["contrastive", "cosine"]
Start = Literal["random", "features"]


@dataclass(eq=False, repr=False)
class SiameseLearner(PairTrainedLearner):
    """A Siamese network: both items of a pair go through the same network.

    Parameters
    ----------
    n_components : int
        Number of components of the embedding.
    loss : {"contrastive", "cosine"}
        y ‖a − b‖² + (1 − y) max(0, m − ‖a − b‖)², or for the cosine ½ (2y − 1 − cos(a, b))², where
        the embedding has unit length and is compared by inner product.
    start : {"random", "features"}
        Where training starts: from the network's random weights, or from the features as given,
        which the network then changes. In this case the embedding starts as the `n_components`
        leading directions of the features, or all if there are no more, centred and scaled to a
        root mean square of 1.
    n_similar, n_dissimilar : int
        Partners per item that are sampled from labels.
    margin : float
        m.
    epoch_size : int, optional
        Pairs per epoch, drawn again each time; all of them by default.
    embedder : "auto", Network or its architecture
        What is trained, and how. "auto" is ``Network("mlp")``; an "auto" learning rate is 0.001.
    validation_fraction : float
        Share of the pairs used to select the best epoch; 0 keeps the last.
    device, random_state, verbose
        As for `MetricLearner`.
    """

    _: KW_ONLY
    loss: Loss = "contrastive"
    start: Start = "random"

    def _prepare(self, relation: Relation) -> int:
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("start", self.start, get_args(Start))
        self.metric_ = "euclidean" if self.loss == "contrastive" else "dot"
        return check_count("n_components", self.n_components)

    def _starting_network(
        self, network: nn.Sequential, features: Features, config: TrainingConfig
    ) -> nn.Module:
        if self.start == "random":
            return network
        projection = fit_projection(features, self.n_components_)
        return with_feature_skip(network, projection, is_own=config.name is None)

    @property
    def _has_unit_points(self) -> bool:
        return self.metric_ == "dot"

    def _tasks(self, inputs: TaskInputs) -> tuple[Task, Task | None]:
        pairs = self._stated_pairs(inputs.relation, inputs.rng)
        margin = check_number("margin", self.margin, 0, strict=True)
        loss = Contrastive(margin) if self.loss == "contrastive" else Cosine()
        features, config = inputs.features, inputs.config
        if not inputs.validation_fraction:
            return PairTask(features, pairs, loss, config.device, config.augment), None
        train, held_out = pairs.split(inputs.validation_fraction, random_state=inputs.rng)
        return (
            PairTask(features, train, loss, config.device, config.augment),
            PairTask(features, held_out, loss, config.device),
        )
