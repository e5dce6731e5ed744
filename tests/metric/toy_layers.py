"""Layers of made-up items, of which it is known what tells their kinds apart."""

from __future__ import annotations

import numpy as np
import torch

from twofold.metric import ClassKinds, LayerSample


def kinds(n_classes, n_each=30, *, rng, n_signal=6, n_nuisance=6, noise=0.3):
    """Return vectors and classes: kinds differ in some directions, items in others."""
    classes = np.repeat(np.arange(n_classes), n_each)
    signal = rng.normal(size=(n_classes, n_signal))[classes]
    signal = signal + noise * rng.normal(size=signal.shape)
    nuisance = 2 * rng.normal(size=(len(classes), n_nuisance))
    return np.hstack([signal, nuisance]).astype(np.float32), classes


def part(n_classes, *, rng, collapsed, n_each=30):
    """Return layers of some items; the output of an embedder knows its own kinds and no others.

    `collapsed` says whether these are kinds that it was trained on.
    """
    vectors, classes = kinds(n_classes, n_each, rng=rng)
    inner = vectors * np.where(np.arange(12) < 6, 1.0, 0.3).astype(np.float32)
    output = np.eye(20, dtype=np.float32)[classes]
    if not collapsed:
        output = np.eye(20, dtype=np.float32)[rng.integers(5, size=len(classes))]
    output += 0.05 * rng.normal(size=output.shape).astype(np.float32)
    layers = {"features": vectors, "inner": inner, "output": output}
    tensors = {name: torch.from_numpy(values) for name, values in layers.items()}
    return LayerSample(tensors, ClassKinds(classes))
