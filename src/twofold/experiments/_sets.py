"""The sets of a reproduction, each as features and labels in two official parts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twofold._core.random import as_generator
from twofold.datasets import (
    MULTILABEL_SETS,
    ImageSet,
    has_nus_wide_images,
    load_cifar10,
    load_mnist,
    load_multilabel,
    load_nus_wide,
    load_nus_wide_labels,
    load_pubfig83,
)
from twofold.experiments._paper import MOST_VALIDATION, VALIDATION_SHARE
from twofold.regression import is_memory_mapped, n_rows

DIGITS_TEST_SHARE, DIGITS_SPLIT = 0.25, 0


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some items.

    Attributes
    ----------
    features : array, memory-mapped array or sparse matrix, or None
        A row per item; None where only labels are at hand.
    labels : ndarray, shape (n_items,) or (n_items, n_labels)
        Classes, or a 0/1 indicator matrix.
    """

    features: Any
    labels: NDArray[Any]

    def take(self, rows: NDArray[np.int64] | slice) -> Part:
        """Return some of the items."""
        features = None if self.features is None else self.features[rows]
        return replace(self, features=features, labels=self.labels[rows])


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentSet:
    """A set in its official parts.

    Attributes
    ----------
    train, test : Part
        The two parts.
    label_names : tuple of str
        What classes or labels are called.
    """

    train: Part
    test: Part
    label_names: tuple[str, ...]

    @property
    def is_phase_1_only(self) -> bool:
        """Whether there is nothing to regress from."""
        return self.train.features is None


def open_set(name: str, data_dir: str | os.PathLike[str] | None) -> ExperimentSet:
    """Read a set by its name."""
    if name in MULTILABEL_SETS:
        return _multilabel(name, data_dir)
    if name == "digits":
        return _digits()
    if name == "nuswide":
        return _nus_wide(data_dir)
    load = {"mnist": load_mnist, "cifar10": load_cifar10, "pubfig83": load_pubfig83}[name]
    return _images(load("train", data_dir), load("test", data_dir))


def part_validation(train: Part, seed: int) -> tuple[Part, Part]:
    """Part training items into those to learn from and those that only choose the epoch.

    Features that lie in a file are cut in two and stay there; all others are parted at random.
    """
    n_items = len(train.labels)
    n_held_out = min(int(VALIDATION_SHARE * n_items), MOST_VALIDATION)
    if is_memory_mapped(train.features):
        return train.take(slice(n_held_out, None)), train.take(slice(n_held_out))
    order = as_generator(seed).permutation(n_items)
    return train.take(np.sort(order[n_held_out:])), train.take(np.sort(order[:n_held_out]))


def _images(train: ImageSet, test: ImageSet) -> ExperimentSet:
    return ExperimentSet(
        Part(train.images, train.classes), Part(test.images, test.classes), train.class_names
    )


def undivided_digits() -> ExperimentSet:
    """Return scikit-learn's digits, all of them to train on and none to test on."""
    digits = load_digits()
    whole = Part(digits.data.astype(np.float32), digits.target.astype(np.int64))
    return ExperimentSet(whole, whole.take(slice(0)), tuple("0123456789"))


def _digits() -> ExperimentSet:
    undivided = undivided_digits()
    whole = undivided.train
    train, test = train_test_split(
        np.arange(n_rows(whole.features)),
        test_size=DIGITS_TEST_SHARE,
        stratify=whole.labels,
        random_state=DIGITS_SPLIT,
    )
    return replace(undivided, train=whole.take(train), test=whole.take(test))


def _multilabel(name: str, data_dir: str | os.PathLike[str] | None) -> ExperimentSet:
    data = load_multilabel(name, data_dir)
    whole = Part(data.features, data.labels)
    return ExperimentSet(
        whole.take(slice(data.n_train)), whole.take(slice(data.n_train, None)), data.label_names
    )


def _nus_wide(data_dir: str | os.PathLike[str] | None) -> ExperimentSet:
    """Read images and labels, or, where there are no images, the labels alone."""
    labels = {part: load_nus_wide_labels(part, data_dir) for part in ("train", "test")}
    if not has_nus_wide_images(data_dir):
        train, test = (Part(None, labels[part].labels) for part in ("train", "test"))
    else:
        train, test = (
            Part(load_nus_wide(part, data_dir).images, labels[part].labels)
            for part in ("train", "test")
        )
    return ExperimentSet(train, test, labels["train"].concepts)
