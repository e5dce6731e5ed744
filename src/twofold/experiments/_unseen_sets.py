"""The items of a protocol for kinds never seen: to train on, and of classes seen and not."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from twofold.datasets import load_omniglot
from twofold.experiments._sets import ExperimentSet, Part, open_set, undivided_digits
from twofold.experiments._unseen_protocols import AlphabetSplit, ClassSplit, UnseenProtocol

OMNIGLOT_SIZE = 28


@dataclass(frozen=True, slots=True, eq=False)
class UnseenSet:
    """Items of classes that are trained on, and of others.

    Attributes
    ----------
    train : Part
        To learn from.
    never_seen : Part
        Of classes that `train` does not have.
    seen : Part or None
        New items of classes that `train` has; None where every item of these is in `train`.
    label_names : tuple of str
        What the classes of `never_seen` are called.
    """

    train: Part
    never_seen: Part
    seen: Part | None
    label_names: tuple[str, ...]


def open_unseen(
    protocol: UnseenProtocol, data_dir: str | os.PathLike[str] | None = None
) -> UnseenSet:
    """Read the items of a protocol."""
    if isinstance(protocol.split, AlphabetSplit):
        return _by_alphabet(protocol.split, data_dir)
    if protocol.data_set == "digits":
        return _by_class(protocol.split, undivided_digits())
    return _by_class(protocol.split, open_set(protocol.data_set, data_dir))


def _by_class(split: ClassSplit, data: ExperimentSet) -> UnseenSet:
    is_trained, is_seen = (
        (part.labels >= split.first) & (part.labels <= split.last)
        for part in (data.train, data.test)
    )
    new, seen = data.test.take(np.flatnonzero(~is_seen)), data.test.take(np.flatnonzero(is_seen))
    if split.tests_all:
        new = _joined(data.train.take(np.flatnonzero(~is_trained)), new)
    return UnseenSet(
        train=data.train.take(np.flatnonzero(is_trained)),
        never_seen=new,
        seen=seen if len(seen.labels) else None,
        label_names=data.label_names,
    )


def _joined(one: Part, other: Part) -> Part:
    return Part(
        np.concatenate([one.features, other.features]), np.concatenate([one.labels, other.labels])
    )


def _by_alphabet(split: AlphabetSplit, data_dir: str | os.PathLike[str] | None) -> UnseenSet:
    train, other = (
        load_omniglot(part, data_dir, size=OMNIGLOT_SIZE) for part in (split.trained, split.tested)
    )
    new = [number for number, a in enumerate(other.alphabet_names) if a in split.alphabets]
    rows = np.flatnonzero(np.isin(other.alphabets, new))
    return UnseenSet(
        train=Part(train.images, train.classes),
        never_seen=Part(other.images, other.classes).take(rows),
        seen=None,
        label_names=other.class_names,
    )
