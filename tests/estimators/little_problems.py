"""Small problems and networks that the suites of the learners share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import make_blobs
from torch import nn
from torch.utils.data import Dataset

from twofold import MetricLearner, Network, PairRelation, TripletRelation


def quick_learner(**parameters) -> MetricLearner:
    """Return a learner of 4 components, and of 2 epochs if it has a network."""
    defaults = {"n_components": 4, "embedder": Network(max_epochs=2), "random_state": 0}
    return MetricLearner(**{**defaults, "device": "cpu", **parameters})


def three_blobs(n_items: int = 60):
    """Return float32 features and three classes that are far apart."""
    X, y = make_blobs(n_items, 5, centers=3, cluster_std=0.5, random_state=0)
    return X.astype(np.float32), y


def three_rays():
    """Return float32 features and three classes, told apart by direction and not by length."""
    X, y = three_blobs()
    lengths = np.random.default_rng(0).lognormal(0, 1.2, size=(60, 1))
    return ((X - X.mean(axis=0)) * lengths).astype(np.float32), y


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


def pairs_within(y, n_pairs: int = 200, n_items: int | None = None, seed: int = 0) -> PairRelation:
    """Return random pairs among the first rows, alike if of one class."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(len(y), size=(2, n_pairs))
    keep = left != right
    left, right = left[keep], right[keep]
    return PairRelation(left, right, y[left] == y[right], len(y) if n_items is None else n_items)


def triplets_within(y, n_drawn: int = 600, seed: int = 0) -> TripletRelation:
    """Return random triplets, the positive of the anchor's class and the negative of another."""
    rng = np.random.default_rng(seed)
    a, p, n = rng.integers(len(y), size=(3, n_drawn))
    keep = (y[a] == y[p]) & (y[a] != y[n]) & (a != p)
    return TripletRelation(a[keep], p[keep], n[keep], len(y))


def table(X) -> pd.DataFrame:
    """Return features as a table with named columns."""
    return pd.DataFrame(np.asarray(X), columns=list("abcdefgh")[: np.shape(X)[1]])


X, Y = beside_loud_noise()
OTHER = beside_loud_noise(seed=1)
PAIRS, TRIPLETS = pairs_within(Y), triplets_within(Y)
"""The problem of most tests: what is stated of X is learnt, and holds for OTHER."""


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
    """A user's network, which keeps what it was shown in training."""

    def __init__(self, n_features: int = 5, n_components: int = 4) -> None:
        super().__init__()
        self.layer = nn.Linear(n_features, n_components)

    def forward(self, items):
        if self.training:
            SHOWN.append(items.detach().clone())
        return self.layer(items.flatten(1))


SHOWN: list[torch.Tensor] = []
"""Batches that an OwnNetwork has seen in training mode."""
