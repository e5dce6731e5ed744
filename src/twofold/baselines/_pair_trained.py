"""Networks that are trained on pairs or triplets: what the two have in common."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from twofold._core.checks import check_count
from twofold.baselines._network_learner import NetworkLearner
from twofold.regression import TrainingConfig
from twofold.relations import LabelRelation, PairRelation, Relation, TripletRelation


@dataclass(eq=False, repr=False)
class PairTrainedLearner(NetworkLearner):
    """A network trained on statements; which statements, and with what loss, is the subclass's."""

    n_components: int = 16
    _: KW_ONLY
    n_similar: int = 10
    n_dissimilar: int = 10
    margin: float = 1.0
    epoch_size: int | None = None

    def _config(self, relation: Relation) -> TrainingConfig:
        config = super()._config(relation)
        if self.epoch_size is None:
            return config
        return replace(config, epoch_size=check_count("epoch_size", self.epoch_size))

    def _stated_pairs(self, relation: Relation, rng: np.random.Generator) -> PairRelation:
        if isinstance(relation, LabelRelation):
            return relation.sample_pairs(self.n_similar, self.n_dissimilar, random_state=rng)
        if isinstance(relation, TripletRelation):
            raise TypeError(
                f"{type(self).__name__} learns from pairs or labels; for triplets use "
                "TripletLearner."
            )
        return relation
