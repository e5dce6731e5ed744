"""Small problems that the suites of feedback share."""

from __future__ import annotations

import numpy as np

from twofold.feedback import Problem, Watch, pose_problem
from twofold.relations import PairRelation, Statements, TripletRelation


def beside_loud_noise(n_items: int = 60, seed: int = 0, width: float = 0.15):
    """Return five features and three classes: two columns tell them apart, two are louder noise."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(n_items) % 3
    X = rng.normal(size=(n_items, 5)) * [width, width, 2.0, 2.0, 0.15]
    X[:, 0] += np.cos(2 * np.pi * y / 3)
    X[:, 1] += np.sin(2 * np.pi * y / 3)
    return X.astype(np.float32), y


def exclusive_or(n_items: int = 120, seed: int = 0):
    """Return four features and two classes: the signs of the first two are equal, or differ."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], size=(n_items, 2))
    X = rng.normal(size=(n_items, 4)) * 0.25
    X[:, :2] += signs
    return X.astype(np.float32), (signs[:, 0] == signs[:, 1]).astype(int)


def far_apart(n_items: int = 60, seed: int = 0):
    """Return three features and three classes that their distances tell perfectly."""
    y = np.arange(n_items) % 3
    noise = np.random.default_rng(seed).normal(size=(n_items, 3))
    return (10 * np.eye(3)[y] + 0.1 * noise).astype(np.float32), y


def pairs_within(y, n_pairs: int = 200, seed: int = 0) -> PairRelation:
    """Return random pairs, alike if of one class."""
    left, right = np.random.default_rng(seed).integers(len(y), size=(2, n_pairs))
    left, right = left[left != right], right[left != right]
    return PairRelation(left, right, y[left] == y[right], len(y))


def triplets_within(y, n_drawn: int = 600, seed: int = 0) -> TripletRelation:
    """Return random triplets, the positive of the anchor's class and the negative of another."""
    a, p, n = np.random.default_rng(seed).integers(len(y), size=(3, n_drawn))
    keep = (y[a] == y[p]) & (y[a] != y[n]) & (a != p)
    return TripletRelation(a[keep], p[keep], n[keep], len(y))


def problem_of(X, statements: Statements, seed: int = 0, **watched) -> Problem:
    """Pose a problem on a CPU."""
    rng, watch = np.random.default_rng(seed), Watch(**watched)
    return pose_problem(X, statements, "contrastive", 1.0, "cpu", rng, watch)
