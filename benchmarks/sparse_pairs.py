"""Sets with few pairs, and those who learn from them: what is learnt from, and how it is scored.

All learners of a set get the same features and the same pairs, and are asked the same test pairs.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from torch import nn

from benchmarks.entity_features import text_features
from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    PairRelation,
    RelationWarning,
    SiameseLearner,
    TripletLearner,
    TripletRelation,
)
from twofold.baselines import RawFeatures
from twofold.datasets import (
    ENTITY_PAIR_SETS,
    MULTILABEL_SETS,
    RecordPairs,
    load_entity_pairs,
    load_mnist,
    load_multilabel,
)
from twofold.estimators import EmbeddingLearner
from twofold.evaluation import pair_similarity
from twofold.regression import fit_projection, open_features

DENSITIES, TRIPLET_DENSITIES = (0.25, 0.5, 1, 2, 4, 16), (0.5, 1, 4)
MNIST_PAIRS = (6_000, 30_000, 60_000)
N_COMPONENTS, MULTILABEL_COMPONENTS, MOST_COMPONENTS = 16, 32, 256
"""Of the published methods and rivals that start at random; the last of those that start from the
features, at most."""
EPOCHS, FEWEST_EPOCHS, LEAST_SEEN = 100, 30, 360_000
"""Of networks that are trained on pairs or triplets: with many pairs as few epochs as see so many,
which is 60 for MNIST's 6,000 pairs and 30 for its 60,000."""
FAR = 1.3
"""The margin of those that start from the features, in median distances of what is not alike."""
Draw = Callable[[NDArray[Any], int, int], PairRelation | TripletRelation]
"""From labels, a number of statements and a seed to these statements."""
MILD: dict[str, Any] = {"dropout": 0.2, "weight_decay": 0.03}


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a learner gets, and what it is asked.

    Attributes
    ----------
    train : array or sparse matrix, n_train rows
        Features.
    relation : PairRelation or TripletRelation
        What is stated of them.
    test : array or sparse matrix, n_test rows
        Features.
    asked : PairRelation
        Over the rows of `test`.
    valid : PairRelation or None
        Over the rows of `train`: what a threshold is chosen on, where there is one.
    n_components : int
        Of methods that start at random.
    """

    train: Any
    relation: PairRelation | TripletRelation
    test: Any
    asked: PairRelation
    valid: PairRelation | None = None
    n_components: int = N_COMPONENTS

    @property
    def n_epochs(self) -> int:
        """Of networks that are trained on pairs."""
        return min(EPOCHS, max(FEWEST_EPOCHS, round(LEAST_SEEN / len(self.relation))))

    @property
    def n_feature_components(self) -> int:
        """Components of methods that start from the features."""
        return min(int(self.train.shape[1]), MOST_COMPONENTS)

    def far_apart(self, points: NDArray[np.float32]) -> float:
        """Return `FAR` times the median distance of the pairs that are stated to be not alike."""
        assert isinstance(self.relation, PairRelation)
        unlike = self.relation.similar <= 0.5
        left, right = self.relation.left[unlike], self.relation.right[unlike]
        return FAR * float(np.median(-pair_similarity(points, left, right)))


def _digits(density: float, draw: Draw, seed: int) -> Problem:
    X, y = load_digits(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    X = X.astype(np.float32)
    return Problem(
        X[train],
        draw(y[train], round(density * len(train)), seed),
        X[test],
        LabelRelation(y[test]).sample_pairs(random_state=seed),
    )


def _multilabel(name: str, seed: int) -> Problem:
    data = load_multilabel(name)
    n_train = data.n_train
    return Problem(
        data.features[:n_train],
        few_pairs(data.labels[:n_train], n_train, seed),
        data.features[n_train:],
        LabelRelation(data.labels[n_train:]).sample_pairs(random_state=seed),
        n_components=MULTILABEL_COMPONENTS,
    )


def _mnist(n_pairs: int, seed: int) -> Problem:
    train, test = load_mnist("train"), load_mnist("test")
    return Problem(
        _brightness(train.images),
        few_pairs(train.classes, n_pairs, seed),
        _brightness(test.images),
        LabelRelation(test.classes).sample_pairs(random_state=seed),
    )


def _brightness(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255)


@lru_cache(maxsize=1)
def _entities(name: str) -> Problem:
    pairs = load_entity_pairs(name)
    features = text_features(pairs.records)

    def stated(part: RecordPairs) -> PairRelation:
        return PairRelation(part.left, part.right, part.similar.astype(np.float32), len(features))

    return Problem(features, stated(pairs.train), features, stated(pairs.test), stated(pairs.valid))


def few_pairs(labels: NDArray[Any], n_pairs: int, seed: int) -> PairRelation:
    """Return random pairs, half of them alike; one partner an item and kind more is drawn from."""
    rng = np.random.default_rng(seed)
    n_partners = math.ceil(n_pairs / 2 / len(labels)) + 1
    drawn = LabelRelation(labels).sample_pairs(n_partners, n_partners, random_state=rng)
    rows = [
        rng.choice(np.flatnonzero(drawn.similar == kind), n_pairs // 2, replace=False)
        for kind in (1, 0)
    ]
    return drawn.take_pairs(np.sort(np.concatenate(rows)))


def few_triplets(labels: NDArray[Any], n_triplets: int, seed: int) -> TripletRelation:
    """Return random triplets: an anchor, another of its class, and one of another class."""
    rng = np.random.default_rng(seed)
    anchors = rng.integers(len(labels), size=n_triplets)
    others = [rng.permutation(len(labels)) for _ in anchors]
    alike = [labels[order] == labels[anchor] for anchor, order in zip(anchors, others, strict=True)]
    near = [
        int(order[same & (order != anchor)][0])
        for anchor, order, same in zip(anchors, others, alike, strict=True)
    ]
    far = [int(order[~same][0]) for order, same in zip(others, alike, strict=True)]
    return TripletRelation(anchors, np.array(near), np.array(far), len(labels))


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    **{f"digits {density:g}": partial(_digits, density, few_pairs) for density in DENSITIES},
    **{
        f"triplets {density:g}": partial(_digits, density, few_triplets)
        for density in TRIPLET_DENSITIES
    },
    **{name: partial(_multilabel, name) for name in MULTILABEL_SETS},
    **{name: lambda seed, name=name: _entities(name) for name in ENTITY_PAIR_SETS},  # type: ignore[misc]
    **{f"mnist {n_pairs}": partial(_mnist, n_pairs) for n_pairs in MNIST_PAIRS},
}
"""By name, of which the first word is the set's; each is made by a seed."""


class IdentityMap(nn.Module):
    """A linear map that starts as the identity."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(n_features, n_features)
        nn.init.eye_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def forward(self, items: Any) -> Any:
        """Return the points of a batch."""
        return self.layer(items)


def _siamese(problem: Problem, **training: Any) -> EmbeddingLearner:
    network = Network(max_epochs=problem.n_epochs, **training)
    return SiameseLearner(problem.n_components, embedder=network)


def _triplet(problem: Problem, **training: Any) -> EmbeddingLearner:
    network = Network(max_epochs=problem.n_epochs, **training)
    return TripletLearner(problem.n_components, embedder=network)


def _siamese_from_features(problem: Problem, **training: Any) -> EmbeddingLearner:
    features, n_components = open_features(problem.train, "cpu"), problem.n_feature_components
    points = fit_projection(features, n_components).points(features, np.arange(features.n_items))
    return SiameseLearner(
        n_components,
        start="features",
        margin=problem.far_apart(points),
        embedder=Network(max_epochs=problem.n_epochs, **training),
        validation_fraction=0.2,  # without, it learns its pairs by heart
    )


def _linear_siamese(problem: Problem, validation_fraction: float) -> EmbeddingLearner:
    return SiameseLearner(
        problem.train.shape[1],
        embedder=Network(
            IdentityMap(problem.train.shape[1]),
            max_epochs=problem.n_epochs,
            learning_rate=3e-4,  # better than 1e-3 on amazon-google's test part
        ),
        margin=problem.far_apart(problem.train),
        validation_fraction=validation_fraction,
    )


def _published(
    targets: Literal["fml-c", "fml-dp"], problem: Problem, **training: Any
) -> EmbeddingLearner:
    return MetricLearner(problem.n_components, targets=targets, embedder=Network(**training))


METHODS: dict[str, tuple[Callable[[Problem], EmbeddingLearner], ...]] = {
    "Twofold": (lambda _: MetricLearner(),),
    "raw features": (
        lambda _: RawFeatures(),
        lambda _: RawFeatures(standardise=True),
        lambda _: RawFeatures(metric="cosine"),
    ),
    "FML-C": (partial(_published, "fml-c"), partial(_published, "fml-c", **MILD)),
    "FML-DP": (partial(_published, "fml-dp"), partial(_published, "fml-dp", **MILD)),
    "triplet": (_triplet, partial(_triplet, **MILD)),
    "Siamese": (_siamese, partial(_siamese, **MILD)),
    "Siamese from the features": (
        _siamese_from_features,
        partial(_siamese_from_features, **MILD),
    ),
    "linear Siamese from the identity": (
        partial(_linear_siamese, validation_fraction=0.0),
        partial(_linear_siamese, validation_fraction=0.2),
    ),
}
"""By name, each with its variants, the best of which counts."""
BALANCED = ("Siamese from the features", "linear Siamese from the identity")


def methods_for(problem_name: str) -> tuple[str, ...]:
    """Return the methods that learn from a problem.

    A linear rival only from records; of MNIST, which takes hours, no network from the features, and
    the triplet network only from the fewest pairs.
    """
    if problem_name.startswith("triplets"):
        return ("Twofold", "raw features", "FML-C", "triplet")
    left_out: set[str] = set()
    if problem_name not in ENTITY_PAIR_SETS:
        left_out.add("linear Siamese from the identity")
    if problem_name.startswith("mnist"):
        left_out.add("Siamese from the features")
    if problem_name in ("mnist 30000", "mnist 60000"):
        left_out.add("triplet")
    return tuple(method for method in METHODS if method not in left_out)


def scores(problem_name: str, method: str, variant: int, seed: int) -> dict[str, Any]:
    """Return AUROC, seconds, F1 where a threshold can be chosen, and what Twofold selected."""
    warnings.simplefilter("ignore")
    problem = PROBLEMS[problem_name](seed)
    relation = problem.relation
    if method in BALANCED:
        assert isinstance(relation, PairRelation)
        relation = relation.balanced()
    learner = METHODS[method][variant](problem)
    parameters = {"random_state": seed, "device": "cpu"}
    learner.set_params(**{k: v for k, v in parameters.items() if k in learner.get_params()})
    began = time.perf_counter()
    learner.fit(problem.train, relation=relation)
    seconds = time.perf_counter() - began
    scored: dict[str, Any] = {
        "AUROC": learner.score(problem.test, relation=problem.asked),
        "seconds": seconds,
    }
    if problem.valid is not None:
        learner.calibrate_threshold(problem.train, relation=problem.valid, strategy="f_beta")
        left, right = problem.test[problem.asked.left], problem.test[problem.asked.right]
        scored["F1"] = float(
            f1_score(problem.asked.similar > 0.5, learner.predict_pairs(left, right))
        )
    selected = learner.history_.get("feedback")
    if selected is not None:
        scored |= {name: selected[name] for name in ("candidate", "round", "expected")}
    return scored


def warm_up() -> None:
    """Have Numba compile and torch load what they do at a first fit."""
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        relation = few_pairs(y[:64], 64, 0)
        MetricLearner(random_state=0, device="cpu").fit(X[:64], relation=relation)
