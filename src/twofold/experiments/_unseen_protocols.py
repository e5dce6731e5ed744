"""Kinds never seen: which classes each set is trained on, which it is scored on, and how.

The network, batch size and epochs of a protocol are the same for every method. Nothing is chosen on
the classes that are scored; but the numbers of Twofold's metric step were chosen in trials on all
of these sets, in which their scores were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from twofold._core.checks import check_choice
from twofold.datasets import OmniglotPart
from twofold.regression import NetworkName

N_COMPONENTS = 512
"""Of every rival's embedding: as many as Twofold's points have at most."""
SmallConv = Literal["small-conv"]


@dataclass(frozen=True, slots=True)
class ClassSplit:
    """Classes of one set by number: those from `first` to `last` are trained on.

    Attributes
    ----------
    first, last : int
        The first and the last of them.
    tests_all : bool
        Whether the other classes are scored on items of both official parts, not on those of the
        test part alone: where classes are small.
    """

    first: int
    last: int
    tests_all: bool = False


@dataclass(frozen=True, slots=True)
class AlphabetSplit:
    """One of Omniglot's small sets is trained on; alphabets of the other are scored.

    Attributes
    ----------
    trained, tested : {"small1", "small2"}
        The two sets.
    alphabets : tuple of str
        Those of `tested` that `trained` does not have.
    """

    trained: OmniglotPart
    tested: OmniglotPart
    alphabets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnseenProtocol:
    """How every method is trained on some classes of a set and scored on others.

    Attributes
    ----------
    name : str
        In records, and of their folder.
    data_set : str
        On the command line.
    title, trained_on, tested_on : str
        On a page.
    split : ClassSplit or AlphabetSplit
        Which classes are which.
    network : str
        One of `twofold.regression.NETWORKS`, or "small-conv".
    n_epochs : int
        Passes over the items; of a method that sees pairs, over as many pairs.
    batch_size, weight_decay : int, float
        Of Adam.
    flips : bool
        Whether training images are mirrored at random.
    n_components : int
        Of a rival's embedding.
    """

    name: str
    data_set: str
    title: str
    trained_on: str
    tested_on: str
    split: ClassSplit | AlphabetSplit
    network: NetworkName | SmallConv
    n_epochs: int
    batch_size: int
    weight_decay: float
    flips: bool = False
    n_components: int = N_COMPONENTS


_DIGITS = UnseenProtocol(
    name="unseen-digits",
    data_set="digits",
    title="scikit-learn's digits 0–4 → 5–9",
    trained_on="0 to 4",
    tested_on="5 to 9",
    split=ClassSplit(0, 4, tests_all=True),
    network="mlp",
    n_epochs=30,
    batch_size=64,
    weight_decay=0.03,
)
_MNIST = replace(
    _DIGITS, name="unseen-mnist-0-4", data_set="mnist", title="MNIST 0–4 → 5–9",
    split=ClassSplit(0, 4), network="mnist", batch_size=128, weight_decay=0.3,
)  # fmt: skip
_MNIST_BACK = replace(
    _MNIST, name="unseen-mnist-5-9", title="MNIST 5–9 → 0–4", trained_on="5 to 9",
    tested_on="0 to 4", split=ClassSplit(5, 9),
)  # fmt: skip
_CIFAR10 = replace(
    _MNIST, name="unseen-cifar10-0-4", data_set="cifar10",
    title="CIFAR-10 airplane–deer → dog–truck",
    trained_on="airplane, automobile, bird, cat and deer",
    tested_on="dog, frog, horse, ship and truck", network="cifar10", n_epochs=50, weight_decay=0.6,
    flips=True,
)  # fmt: skip
_CIFAR10_BACK = replace(
    _CIFAR10, name="unseen-cifar10-5-9", title="CIFAR-10 dog–truck → airplane–deer",
    trained_on=_CIFAR10.tested_on, tested_on=_CIFAR10.trained_on, split=ClassSplit(5, 9),
)  # fmt: skip
_PUBFIG83 = replace(
    _CIFAR10, name="unseen-pubfig83", data_set="pubfig83", title="PubFig83 60 people → 23 others",
    trained_on="the first 60 people", tested_on="the other 23",
    split=ClassSplit(0, 59, tests_all=True), network="pubfig83", n_epochs=150, weight_decay=1.0,
)  # fmt: skip
_OMNIGLOT = replace(
    _DIGITS, name="unseen-omniglot-1", data_set="omniglot",
    title="Omniglot small 1 → three new alphabets", trained_on="Omniglot's small set 1",
    tested_on="Japanese (katakana), Sanskrit and Tagalog",
    split=AlphabetSplit("small1", "small2", ("Japanese_(katakana)", "Sanskrit", "Tagalog")),
    network="small-conv", n_epochs=40, weight_decay=0.0,
)  # fmt: skip
_OMNIGLOT_BACK = replace(
    _OMNIGLOT, name="unseen-omniglot-2", title="Omniglot small 2 → three new alphabets",
    trained_on="Omniglot's small set 2", tested_on="Balinese, Early Aramaic and Korean",
    split=AlphabetSplit("small2", "small1", ("Balinese", "Early_Aramaic", "Korean")),
)  # fmt: skip
UNSEEN_PROTOCOLS: dict[str, UnseenProtocol] = {
    protocol.name: protocol
    for protocol in (
        _MNIST,
        _MNIST_BACK,
        _CIFAR10,
        _CIFAR10_BACK,
        _PUBFIG83,
        _OMNIGLOT,
        _OMNIGLOT_BACK,
        _DIGITS,
    )
}


def unseen_protocols(data_set: str) -> tuple[UnseenProtocol, ...]:
    """Return the protocols of a set by its name, or say which sets have some."""
    protocols = tuple(p for p in UNSEEN_PROTOCOLS.values() if p.data_set == data_set)
    if not protocols:
        sets = dict.fromkeys(protocol.data_set for protocol in UNSEEN_PROTOCOLS.values())
        raise ValueError(
            f"{data_set} cannot be split into kinds seen and never seen, because its items have "
            f"several labels each: choose one of {', '.join(sets)}."
        )
    return protocols


def find_unseen_protocol(name: str) -> UnseenProtocol:
    """Return a protocol by its own name."""
    check_choice("name", name, tuple(UNSEEN_PROTOCOLS))
    return UNSEEN_PROTOCOLS[name]
