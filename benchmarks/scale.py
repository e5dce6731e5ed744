"""What a point costs: seconds to make, bytes to keep, seconds to find; and whether cost is linear.

Costs are measured at one size and foretold for a larger one, which is measured too.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.figures import Figure
from twofold import MetricLearner, Network
from twofold.search.stores import Card, create_store, open_store

TITLE = "What a point costs: to make, to keep and to find"
DIM, K = 64, 10
SMALL, LARGE = 50_000, 400_000
TURNS = 3
N_TAKEN_IN, PIECE = 5_000, 2_500
N_QUERIES = 200
SETTING = {
    "points": f"Gaussian, {DIM} numbers, Euclidean; k = {K}; seed 0",
    "networks": "the paper's MNIST network and CIFAR-10 network, 2,048 and 512 images of noise",
    "foretold": f"seconds a query at {SMALL:,} points, times {LARGE // SMALL}, beside those "
    f"measured at {LARGE:,}",
    "stores": f"{N_TAKEN_IN:,} points with one column of text, {PIECE:,} at a time, and "
    f"{N_QUERIES} queries, one after the other; no index of the database's own is made",
}
PACKAGES = {"faiss": "faiss", "lance": "lancedb", "qdrant": "qdrant_client"}


def why_not() -> str | None:
    missing = [package for package in PACKAGES.values() if not find_spec(package)]
    return f"{', '.join(missing)} not installed" if missing else None


def measure() -> list[Figure]:
    figures = [*_network_figures(), *_search_figures()]
    with tempfile.TemporaryDirectory(prefix="twofold-scale-") as name:
        for store in ("folder", *PACKAGES):
            figures += _store_figures(store, Path(name) / store)
    return figures


def _network_figures() -> list[Figure]:
    rng = np.random.default_rng(0)
    figures = []
    for name, shape, n_images in (("mnist", (1, 28, 28), 2048), ("cifar10", (3, 32, 32), 512)):
        images = rng.integers(0, 256, (n_images, *shape), dtype=np.uint8)
        learner = MetricLearner(16, embedder=Network(name, max_epochs=1), random_state=0)
        learner.fit(images[:256], np.arange(256) % 4)
        learner.transform(images)
        began = time.process_time()
        learner.transform(images)
        rate = n_images / (time.process_time() - began)
        figures.append(Figure(f"the paper's {name} network: images a second of a processor", rate))
    return figures


def _points(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, DIM), dtype=np.float32)


def _search_figures() -> list[Figure]:
    from twofold.search import NeighbourIndex

    queries = np.random.default_rng(1).standard_normal((1000, DIM), dtype=np.float32)
    seconds = {}
    for n in (SMALL, LARGE) * TURNS:
        index = NeighbourIndex("euclidean", backend="faiss", approximate=False)
        index.add(np.arange(n), _points(n))
        index.query(queries[:10], K)
        began = time.process_time()
        index.query(queries, K)
        taken = (time.process_time() - began) / len(queries)
        seconds[n] = min(taken, seconds.get(n, taken))
    ratio = seconds[LARGE] / (seconds[SMALL] * LARGE / SMALL)
    return [
        Figure(
            f"exact search of {n:,} points: milliseconds of a processor a query", 1e3 * seconds[n]
        )
        for n in (SMALL, LARGE)
    ] + [Figure("measured beside foretold", ratio, note=f"exact search, the best of {TURNS} each")]


def _store_figures(store: str, folder: Path) -> list[Figure]:
    points = _points(N_TAKEN_IN)
    names = pa.table({"name": [f"item {n}" for n in range(N_TAKEN_IN)]})
    card = Card(store=store, model="m" * 64, metric="euclidean", dim=DIM, columns=("name",))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Qdrant's client says that its folder is for trying out
        made = create_store(folder, card)
        began = time.perf_counter()
        for first in range(0, N_TAKEN_IN, PIECE):
            some = slice(first, first + PIECE)
            ids = list(range(first, first + PIECE))
            made.upsert(ids, points[some], names.slice(first, PIECE))
        made.flush()
        taken_in = time.perf_counter() - began
        made.close()
        opened, _ = open_store(folder)
        opened.query(points[:1], K)
        began = time.perf_counter()
        found = [opened.query(points[n : n + 1], K)[0][0].id for n in range(N_QUERIES)]
        query = (time.perf_counter() - began) / N_QUERIES
        opened.close()
    n_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return [
        Figure(
            f"{store}: points taken in a second",
            N_TAKEN_IN / taken_in,
            note=f"{n_bytes / N_TAKEN_IN:.0f} bytes a point on the disk, of which its numbers "
            f"are {4 * DIM}; {1e3 * query:.1f} ms a query, alone; "
            f"{np.mean(np.array(found) == np.arange(N_QUERIES)):.3f} found themselves; load "
            f"average of the machine {os.getloadavg()[0]:.1f}",
        )
    ]
