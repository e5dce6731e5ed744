"""The paper's protocol and figures: every constant of a reproduction stands here.

"Fast Metric Learning for Deep Neural Networks", H. Gouk, B. Pfahringer, M. Cree. What the paper
does not say (optimiser, epochs, batches, weight decay) is ours, and the same for every method. It
was chosen in a few trials of FML-C and FML-DP with one seed, in which the score of the test part
stood beside that of the validation part; CIFAR-10's was set by analogy, without a trial. No rival
was tuned on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from twofold.evaluation import Metric
from twofold.regression import NetworkName

N_SIMILAR = N_DISSIMILAR = 10
"""Partners of each item; those of training and test items are drawn apart."""
N_NEIGHBOURS = 5
VALIDATION_SHARE, MOST_VALIDATION = 0.1, 2000
"""Training items that only choose the number of epochs: a tenth, but no more than so many."""
N_PHASE_1 = 10
"""Times that phase 1 is timed, each with its own pairs."""
N_EVALUATIONS = 32
"""Epochs at which a run is evaluated, at most about so many."""

Score = Literal["accuracy", "jaccard"]


@dataclass(frozen=True, slots=True)
class PaperFigures:
    """What the paper reports of one set, by the names of our methods.

    Attributes
    ----------
    targets_seconds : mapping
        Phase 1, on one thread of an i7-4770.
    neighbours : mapping
        Accuracy or Jaccard index of the five nearest neighbours.
    """

    targets_seconds: Mapping[str, float]
    neighbours: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Protocol:
    """How one set is run.

    Attributes
    ----------
    name, title : str
        On the command line, and on a page.
    network : str
        One of `twofold.regression.NETWORKS`.
    n_components : int
        Of the embedding.
    n_epochs : int
        Passes over the items, of all methods that see an item at a time.
    n_pair_epochs : int
        Of methods that see pairs: one is as many pairs as there are items, so that a pass over all
        20 per item is 20 of them.
    batch_size, learning_rate, weight_decay : int, float, float
        Of Adam.
    dropout : float
        Of "mlp"; the paper's networks have their own.
    flips : bool
        Whether training images are mirrored at random.
    score : {"accuracy", "jaccard"}
        What five neighbours are scored by.
    neighbour_metrics : tuple of str
        How nearness is measured; of several, the validation part chooses.
    paper : PaperFigures or None
        What it stands beside.
    """

    name: str
    title: str
    network: NetworkName
    n_components: int
    n_epochs: int
    n_pair_epochs: int
    batch_size: int
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    dropout: float = 0.5
    flips: bool = False
    score: Score = "accuracy"
    neighbour_metrics: tuple[Metric, ...] = ("euclidean",)
    paper: PaperFigures | None = field(default=None, repr=False)


def _of_paper(
    protocol: Protocol, targets_seconds: tuple[float, float], neighbours: tuple[float, float, float]
) -> Protocol:
    """Add what the paper reports: seconds of FML-C and FML-DP, scores of these and Siamese."""
    figures = PaperFigures(
        dict(zip(("fml-c", "fml-dp"), targets_seconds, strict=True)),
        dict(zip(("fml-c", "fml-dp", "siamese"), neighbours, strict=True)),
    )
    return replace(protocol, paper=figures)


_MNIST = Protocol(
    name="mnist",
    title="MNIST",
    network="mnist",
    n_components=16,
    n_epochs=30,
    n_pair_epochs=200,
    batch_size=128,
    weight_decay=0.3,
)
_CIFAR10 = replace(
    _MNIST, name="cifar10", title="CIFAR-10", network="cifar10", n_epochs=50, weight_decay=0.6,
    flips=True,
)  # fmt: skip
_PUBFIG83 = replace(
    _CIFAR10, name="pubfig83", title="PubFig83", network="pubfig83", n_components=64, n_epochs=150,
    n_pair_epochs=900, weight_decay=1.0,
)  # fmt: skip
_NUS_WIDE = replace(
    _MNIST, name="nuswide", title="NUS-WIDE", network="nuswide", n_components=32, flips=True,
    score="jaccard",
)  # fmt: skip
_DIGITS = replace(
    _MNIST, name="digits", title="scikit-learn's digits", network="mlp", batch_size=64,
    learning_rate=2e-3, weight_decay=0.03, dropout=0.2,
)  # fmt: skip
_MULTILABEL = replace(
    _DIGITS, n_components=32, weight_decay=1.0, dropout=0.5, score="jaccard",
    neighbour_metrics=("euclidean", "cosine", "dot"),
)  # fmt: skip
PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        _of_paper(_MNIST, (6.90, 21.77), (0.976, 0.978, 0.972)),
        _of_paper(_CIFAR10, (5.19, 15.89), (0.806, 0.806, 0.734)),
        _of_paper(_PUBFIG83, (1.94, 6.86), (0.777, 0.768, 0.335)),
        _of_paper(_NUS_WIDE, (46.43, 152.30), (0.427, 0.229, 0.393)),
        _DIGITS,
        *(
            replace(_MULTILABEL, name=name, title=name)
            for name in ("scene", "yeast", "corel5k", "delicious")
        ),
    )
}
