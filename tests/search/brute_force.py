"""Neighbours by their definition: every similarity in float64, rounded once, sorted whole."""

from __future__ import annotations

import numpy as np


def similarities(queries, points, metric):
    left, right = np.asarray(queries, np.float32), np.asarray(points, np.float32)
    left, right = left.astype(np.float64), right.astype(np.float64)
    table = np.empty((len(left), len(right)), dtype=np.float32)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            table[i, j] = one_similarity(a, b, metric)
    return table


def one_similarity(a, b, metric):
    if metric == "euclidean":
        return -np.sqrt(np.sum((a - b) ** 2))
    if metric == "dot":
        return np.sum(a * b)
    lengths = np.sqrt(np.sum(a * a)) * np.sqrt(np.sum(b * b))
    return np.clip(np.sum(a * b) / lengths, -1, 1) if lengths else 0.0


def nearest(queries, points, k, metric):
    table = similarities(queries, points, metric)
    rows = np.broadcast_to(np.arange(len(points)), table.shape)
    order = np.lexsort((rows, -table), axis=-1)[:, :k]
    return order, np.take_along_axis(table, order, axis=1)
