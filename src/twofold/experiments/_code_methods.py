"""The methods whose codes are compared, by name: same network, batches and epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twofold.baselines import (
    FixedCodeLearner,
    ITQLearner,
    LSHLearner,
    SiameseCodeLearner,
    TwoStepCodeLearner,
)
from twofold.estimators import EmbeddingLearner, HashLearner, MetricLearner
from twofold.experiments._methods import Method, RunConfig, pair_training, training
from twofold.regression import trees


def _real(config: RunConfig) -> EmbeddingLearner:
    return MetricLearner(config.protocol.n_components, metric="seen", **training(config))


def _codes(config: RunConfig) -> EmbeddingLearner:
    return HashLearner(config.protocol.n_components, **training(config))


def _seeded(config: RunConfig) -> dict[str, Any]:
    return {"random_state": config.seed}


CODE_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "codes",
            "Twofold, codes",
            "codes solved from all that the labels say, predicted by a network: `HashLearner`",
            "twofold",
            "labels",
            _codes,
        ),
        Method(
            "codes-trees",
            "Twofold, codes by trees",
            "the same codes, predicted by boosted trees, a bit each",
            "twofold",
            "labels",
            lambda config: HashLearner(
                config.protocol.n_components, embedder="trees", **_seeded(config)
            ),
        ),
        Method(
            "codes-trees-overlap",
            "Twofold, codes by trees, a label in common",
            "codes of what has a label in common, not of how many: what mAP counts, and what "
            "two-step hashing learns from",
            "twofold",
            "labels",
            lambda config: HashLearner(
                config.protocol.n_components, embedder="trees", **_seeded(config)
            ),
            grade="overlap",
        ),
        Method(
            "real-valued",
            "Twofold, real-valued",
            "as many real numbers as codes have bits, by the same network: what codes stand in for",
            "twofold",
            "labels",
            _real,
        ),
        Method(
            "lsh",
            "LSH",
            "signs of random directions of the features",
            "rival",
            "labels",
            lambda config: LSHLearner(config.protocol.n_components, **_seeded(config)),
        ),
        Method(
            "itq",
            "ITQ",
            "signs of leading directions of the features, rotated",
            "rival",
            "labels",
            lambda config: ITQLearner(config.protocol.n_components, **_seeded(config)),
        ),
        Method(
            "two-step",
            "Two-step hashing",
            "bits solved for sampled pairs one by one, each predicted by boosted trees before the "
            "next",
            "rival",
            "labels",
            lambda config: TwoStepCodeLearner(config.protocol.n_components, **_seeded(config)),
        ),
        Method(
            "siamese-codes",
            "Siamese, signs",
            "signs of a Siamese network's points about their medians",
            "rival",
            "labels",
            lambda config: SiameseCodeLearner(
                config.protocol.n_components, **pair_training(config)
            ),
        ),
        Method(
            "fixed-codes",
            "Fixed codes",
            "a random code per class, learnt by a softmax over cosines, as OrthoHash does",
            "today",
            "labels",
            lambda config: FixedCodeLearner(config.protocol.n_components, **training(config)),
        ),
    )
}
DEFAULT_CODE_METHODS = tuple(name for name, method in CODE_METHODS.items() if method.grade is None)
"""What is run where none are named: on classes every grade is the same."""
OF_TREES = ("codes-trees", "codes-trees-overlap", "two-step")


def choose_code_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Return methods by name, or say which there is not."""
    unknown = [name for name in names if name not in CODE_METHODS]
    if unknown:
        raise ValueError(
            f"There is no method {unknown[0]!r} of codes; there are {', '.join(CODE_METHODS)}."
        )
    if not names:
        raise ValueError("There is nothing to run: give at least one method.")
    if set(names) & set(OF_TREES):
        trees()  # says what to install, before the work
    return tuple(CODE_METHODS[name] for name in dict.fromkeys(names))
