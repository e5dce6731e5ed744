"""Small problems and networks that the suites of the learners share."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.datasets import load_digits, make_blobs
from torch import nn
from torch.utils.data import Dataset

from twofold.evaluation import pair_auroc
from twofold.relations import PairRelation, TripletRelation

FAST = {"dim": 4, "max_epochs": 2, "random_state": 0, "device": "cpu"}
"""Parameters with which a fit takes a blink."""


def three_blobs(n_items: int = 60, n_features: int = 5, seed: int = 0):
    """Return float32 features and three classes that are far apart."""
    X, y = make_blobs(n_items, n_features, centers=3, cluster_std=0.5, random_state=seed)
    return X.astype(np.float32), y


def beside_loud_noise(n_items: int = 60, seed: int = 0):
    """Return float32 features, shape (n_items, 5), and three classes; two columns tell them apart.

    Two others are louder noise, so that the features' own distances tell little; a linear map that
    weighs columns tells all.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(n_items) % 3
    X = rng.normal(size=(n_items, 5)) * [0.15, 0.15, 2.0, 2.0, 0.15]
    X[:, 0] += np.cos(2 * np.pi * y / 3)
    X[:, 1] += np.sin(2 * np.pi * y / 3)
    return X.astype(np.float32), y


def exclusive_or(n_items: int = 120, seed: int = 0):
    """Return float32 features, shape (n_items, 4), and two classes that no linear map parts.

    Of the first two columns the signs are equal in one class, and differ in the other.
    """
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], size=(n_items, 2))
    X = rng.normal(size=(n_items, 4)) * 0.25
    X[:, :2] += signs
    return X.astype(np.float32), (signs[:, 0] == signs[:, 1]).astype(int)


def some_digits(n_items: int = 300):
    """Return features in 0 .. 1 and classes of digits to learn from, and of others."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    return X[:n_items], y[:n_items], X[-200:], y[-200:]


def raw_auroc(X, relation: PairRelation) -> float:
    """Return how well the features' own distances order statements."""
    gaps = np.linalg.norm(X[relation.left] - X[relation.right], axis=1)
    return pair_auroc(relation.similar > 0.5, -gaps)


def triplets_within(y, n_drawn: int = 600, seed: int = 0) -> TripletRelation:
    """Return random triplets, the positive of the anchor's class and the negative of another."""
    rng = np.random.default_rng(seed)
    a, p, n = rng.integers(len(y), size=(3, n_drawn))
    keep = (y[a] == y[p]) & (y[a] != y[n]) & (a != p)
    return TripletRelation(a[keep], p[keep], n[keep], len(y))


def pairs_within(y, n_pairs: int = 200, n_items: int | None = None, seed: int = 0) -> PairRelation:
    """Return random pairs among the first rows, alike if of one class."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(len(y), size=(2, n_pairs))
    keep = left != right
    left, right = left[keep], right[keep]
    return PairRelation(left, right, y[left] == y[right], len(y) if n_items is None else n_items)


class Rows(Dataset):
    """A Dataset over an array: its rows, or (row, something else)."""

    def __init__(self, array, *, as_tuples: bool = False) -> None:
        self.array = array
        self.as_tuples = as_tuples

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, number):
        row = torch.tensor(self.array[number])
        return (row, "label") if self.as_tuples else row


class OwnNetwork(nn.Module):
    """A user's network, which counts the steps it was trained on."""

    def __init__(self, n_features: int = 5, dim: int = 4) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_features, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, items):
        if self.training:
            TRAINED.append(len(items))
        return self.layers(items)


TRAINED: list[int] = []
"""Batch sizes that an OwnNetwork has seen in training mode."""
