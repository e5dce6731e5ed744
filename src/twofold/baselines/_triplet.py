"""The triplet network: an anchor, one that is more like it and one that is less."""

from __future__ import annotations

from dataclasses import dataclass

from twofold._core.checks import check_count, check_number
from twofold.baselines._pair_tasks import TripletTask
from twofold.baselines._pair_trained import PairTrainedLearner
from twofold.baselines._task_inputs import TaskInputs
from twofold.baselines._triplets import part_triplets, triplets_from_pairs
from twofold.regression import Task
from twofold.relations import Relation, TripletRelation


@dataclass(eq=False, repr=False)
class TripletLearner(PairTrainedLearner):
    """A triplet network: max(0, m + ‖a − p‖² − ‖a − n‖²), all three through the same network.

    Labels are sampled as for `SiameseLearner`; each similar pair then gets one item that is not
    alike to its anchor.

    Parameters
    ----------
    n_components, n_similar, n_dissimilar, margin, epoch_size, embedder, validation_fraction, \
device, random_state, verbose
        As for `SiameseLearner`, with triplets in place of pairs.
    """

    def _prepare(self, relation: Relation) -> int:
        self.metric_ = "euclidean"
        return check_count("n_components", self.n_components)

    def _tasks(self, inputs: TaskInputs) -> tuple[Task, Task | None]:
        margin = check_number("margin", self.margin, 0, strict=True)
        features, augment = inputs.features, inputs.config.augment
        triplets = inputs.relation
        if not isinstance(triplets, TripletRelation):
            triplets = triplets_from_pairs(self._stated_pairs(triplets, inputs.rng), inputs.rng)
        if not inputs.validation_fraction:
            return TripletTask(features, triplets, margin, augment), None
        train, held_out = part_triplets(triplets, inputs.validation_fraction, inputs.rng)
        return (
            TripletTask(features, train, margin, augment),
            TripletTask(features, held_out, margin),
        )
