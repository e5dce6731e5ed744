"""What the tasks of a rival's network are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.regression import Features, TrainingConfig
from twofold.relations import Relation


@dataclass(frozen=True, slots=True, eq=False)
class TaskInputs:
    """What a rival's tasks are made of.

    Attributes
    ----------
    features, relation : Features, Relation
        Of all items, and what is known of them.
    validation_fraction : float
        Share of the examples that the best epoch is chosen on.
    config, rng : TrainingConfig, Generator
        How the network is trained, and all that is random.
    """

    features: Features
    relation: Relation
    validation_fraction: float
    config: TrainingConfig
    rng: np.random.Generator
