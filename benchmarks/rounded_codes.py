"""Bits rounded together beside the sign of each by itself, on held-out thirds of training items.

Of images of which a network is often unsure, also beside bits refitted to the labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from torch import nn

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold import HashLearner, LabelRelation, Network
from twofold.datasets import load_mnist
from twofold.evaluation import ranking_scores
from twofold.experiments import CODE_METHODS
from twofold.experiments._code_reproduce import code_protocol
from twofold.experiments._methods import RunConfig
from twofold.experiments._sets import Part, open_set
from twofold.regression import BitClassifiers, take_rows, with_bit_layer
from twofold.targets import refine_bits

TITLE = "Bits rounded together, and each by itself"
RUNS = (
    ("scene", "codes-trees-overlap", (16, 64)),
    ("scene", "codes-trees", (16, 64)),
    ("scene", "codes", (16, 64)),
    ("yeast", "codes-trees-overlap", (16,)),
    ("yeast", "codes-trees", (16,)),
    ("digits", "codes", (16, 32, 64)),
    ("digits", "codes-trees", (16, 64)),
)
N_FOLDS, SPLIT = 3, 1
UNSURE_BITS, N_UNSURE, N_QUERIES, N_REFITTED = (16, 64), 20_000, 2000, 10_000
SIDE, HIDDEN, NOISE = 28, 9, 0.3
"""Of MNIST's images a square is hidden and noise is added: five in six are then recognised."""
SETTING = {"statistic": f"mAP, mean over {N_FOLDS} held-out parts of the training items, seed 0"}


def why_not() -> str | None:
    return why_no_data() if find_spec("lightgbm") else "LightGBM is not installed"


def measure() -> list[Figure]:
    figures = []
    for name, method, lengths in RUNS:
        for n_bits in lengths:
            scores = np.array(list(_scores(open_set(name, None).train, name, method, n_bits)))
            (plain, plain_within), (together, within) = scores.mean(axis=0)
            figures.append(
                Figure(
                    f"{name}, {CODE_METHODS[method].title}, {n_bits} bits: together less signs",
                    float(together - plain),
                    0.0,
                    note=f"mAP {plain:.4f} and {together:.4f}, precision within two bits "
                    f"{plain_within:.3f} and {within:.3f}",
                )
            )
    return figures + [_unsure_figure(n_bits) for n_bits in UNSURE_BITS]


def _unsure_figure(n_bits: int) -> Figure:
    """Return what rounding together is worth where a network is often unsure, over refitting."""
    part = _blurred(np.random.default_rng(0))
    gallery, queries = part.take(np.arange(N_UNSURE)), part.take(np.arange(-N_QUERIES, 0))
    network = Network("mlp", max_epochs=4, dropout=0.5, weight_decay=0.3)
    learner = HashLearner(n_bits, embedder=network, random_state=0)
    learner.fit(gallery.features, gallery.labels)
    together, within = _scored(learner, gallery, queries)
    learner.embedder_ = _by_themselves(learner.embedder_)
    plain, plain_within = _scored(learner, gallery, queries)
    some = np.arange(N_REFITTED)
    expected = learner.embedder_.predict(take_rows(gallery.features, some))
    bits = refine_bits(expected, gallery.labels[some], None)
    learner.embedder_ = with_bit_layer(learner.embedder_, bits.matrix, bits.offset)
    refitted, refitted_within = _scored(learner, gallery, queries)
    return Figure(
        f"hidden and noisy MNIST, {n_bits} bits: together less refitted",
        together - refitted,
        0.0,
        note=f"mAP of signs {plain:.4f}, refitted {refitted:.4f}, together {together:.4f}; "
        f"precision within two bits {plain_within:.3f}, {refitted_within:.3f} and {within:.3f}",
    )


def _blurred(rng: np.random.Generator) -> Part:
    """Return training images of MNIST, each with a square hidden, and with noise."""
    known = load_mnist("train")
    rows = rng.permutation(len(known.classes))[: N_UNSURE + N_QUERIES]
    images = known.images[rows].reshape(-1, SIDE, SIDE) / np.float32(255)
    for image in images:
        top, left = rng.integers(4, 14, 2)
        image[top : top + HIDDEN, left : left + HIDDEN] = 0
    noisy = images + rng.normal(0, NOISE, images.shape).astype(np.float32)
    return Part(noisy.reshape(len(rows), -1), known.classes[rows])


def _scores(part: Part, name: str, method: str, n_bits: int) -> Iterator[list[tuple[float, float]]]:
    """Yield, of each fold, mAP and precision of signs and of bits rounded together."""
    classes = part.labels if part.labels.ndim == 1 else None
    split = KFold if classes is None else StratifiedKFold
    folds = split(N_FOLDS, shuffle=True, random_state=SPLIT)
    for rows, others in folds.split(np.zeros(len(part.labels)), classes):
        gallery, queries = part.take(rows), part.take(others)
        config = RunConfig(code_protocol(name, n_bits), len(rows), 0, "cpu")
        learner, grade = CODE_METHODS[method].make(config), CODE_METHODS[method].grade
        assert isinstance(learner, HashLearner)
        if grade is None:
            learner.fit(gallery.features, gallery.labels)
        else:
            learner.fit(gallery.features, relation=LabelRelation(gallery.labels, grade))
        together = _scored(learner, gallery, queries)
        learner.embedder_ = _by_themselves(learner.embedder_)
        yield [_scored(learner, gallery, queries), together]


def _by_themselves(embedder: Any) -> Any:
    """Return what predicts the bits, without what rounds them."""
    if isinstance(embedder, BitClassifiers):
        return BitClassifiers(embedder.models)
    return replace(embedder, network=nn.Sequential(*list(embedder.network)[:-1]).eval())


def _scored(learner: HashLearner, gallery: Part, queries: Part) -> tuple[float, float]:
    order = np.random.default_rng(0).permutation(len(gallery.labels))
    found = ranking_scores(
        learner.transform(queries.features),
        queries.labels,
        gallery_points=learner.transform(gallery.features)[order],
        gallery_labels=gallery.labels[order],
    )
    return found.mean_average_precision, float(found.precision_within or 0)
