"""The same seed in other circumstances: which fits are equal to the last bit, which nearly so.

``python -m benchmarks.reproducibility`` prints the table of docs/reproducibility.md. Circumstances
are compared with one fit alone in a process of its own, with one thread.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_multilabel_classification
from torch import nn

from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    PairRelation,
    SiameseLearner,
    TripletRelation,
    solve_targets,
)

SEED = 0
N_THREADS = (1, 2, 8)
N_SIDE_BY_SIDE = 4
N_ITEMS = 1200
Points = np.ndarray


def _digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return (X[:N_ITEMS] / 16).astype(np.float32), y[:N_ITEMS]


def _learner(**parameters: object) -> MetricLearner:
    return MetricLearner(random_state=SEED, device="cpu", **parameters)  # type: ignore[arg-type]


def _classes(metric: str, batch_size: int = 64) -> Points:
    X, y = _digits()
    network = Network(max_epochs=2, batch_size=batch_size)
    points = _learner(metric=metric, embedder=network).fit(X, y).transform(X)
    # Directions of the metric step have no sign of their own: what is compared is their cosine.
    return points @ points[:200].T if metric == "auto" else points


def _own_module() -> Points:
    X, y = _digits()
    own = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 16))
    generator = np.random.default_rng(SEED)
    for weights in own.parameters():
        weights.data.copy_(nn.Parameter(weights.data.new_tensor(
            0.1 * generator.standard_normal(tuple(weights.shape))
        )))  # fmt: skip
    network = Network(own, max_epochs=2, loss="squared")
    return _learner(n_components=16, metric="seen", embedder=network).fit(X, y).transform(X)


def _pairs() -> tuple[np.ndarray, PairRelation]:
    X, y = _digits()
    return X, LabelRelation(y).sample_pairs(1, 1, random_state=SEED)


def _from_pairs(feedback: int) -> Points:
    X, pairs = _pairs()
    return (
        _learner(feedback=feedback, embedder=_short(feedback)).fit(X, relation=pairs).transform(X)
    )


def _short(feedback: int) -> Network | str:
    return "auto" if feedback else Network(max_epochs=2)


def _triplets() -> Points:
    X, y = _digits()
    rng = np.random.default_rng(SEED)
    anchor = rng.integers(len(y), size=2000)
    same = np.array(
        [rng.choice(np.flatnonzero((y == y[a]) & (np.arange(len(y)) != a))) for a in anchor]
    )
    other = np.array([rng.choice(np.flatnonzero(y != y[a])) for a in anchor])
    known = TripletRelation(anchor, same, other, len(y))
    return _learner(feedback=5).fit(X, relation=known).transform(X)


def _update() -> Points:
    X, pairs = _pairs()
    first, second = pairs.split(0.3, random_state=SEED)
    return _learner(feedback=3).fit(X, relation=first).update(second).transform(X)


def _labels() -> Points:
    _, Y = make_multilabel_classification(2000, n_classes=20, n_labels=3, random_state=SEED)
    return solve_targets(LabelRelation(Y), 16, loss="dot", random_state=SEED).points


def _many_pairs() -> Points:
    rng = np.random.default_rng(SEED)
    kinds, left = rng.integers(10, size=20_000), np.repeat(np.arange(20_000), 40)
    right = (left + 1 + rng.integers(19_999, size=left.size)) % 20_000
    known = PairRelation(left, right, kinds[left] == kinds[right], 20_000)
    return solve_targets(known, 16, random_state=SEED, max_epochs=20).points


def _siamese() -> Points:
    X, pairs = _pairs()
    learner = SiameseLearner(16, embedder=Network(max_epochs=1), random_state=SEED, device="cpu")
    return learner.fit(X, relation=pairs).transform(X)


FITS: dict[str, Callable[[], Points]] = {
    "targets of 800,000 pairs": _many_pairs,
    "targets of several labels, exact": _labels,
    'classes, `metric="seen"`': partial(_classes, "seen"),
    "the same, batches of 1,200": partial(_classes, "seen", 1200),
    'cosines of classes, `metric="auto"`': partial(_classes, "auto"),
    "a module of one's own": _own_module,
    "pairs, `feedback=0`": partial(_from_pairs, 0),
    "pairs, feedback": partial(_from_pairs, 3),
    "triplets, feedback": _triplets,
    "`update`": _update,
    "`SiameseLearner`": _siamese,
}


def fit(name: str) -> Points:
    """Return what a fit gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.ascontiguousarray(FITS[name]())


def difference(points: Points, alone: Points) -> float:
    """Return 0 for equal bytes, else the largest difference in root mean squares of the points."""
    if points.tobytes() == alone.tobytes():
        return 0.0
    if points.shape != alone.shape:
        return np.inf
    gap = np.abs(points - alone).max() / np.sqrt(np.square(alone).mean())
    return float(max(gap, 1e-12))


def by_threads(n_threads: int) -> dict[str, Points]:
    """Return all fits of a process that has so many threads."""
    with tempfile.TemporaryDirectory() as room:
        file = Path(room) / "points.npz"
        variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(n_threads))
        command = [sys.executable, "-m", "benchmarks.reproducibility", str(file)]
        subprocess.run(command, check=True, env=os.environ | variables)
        with np.load(file) as stored:
            return {name: stored[name] for name in FITS}


def in_process(method: str, name: str) -> Points:
    """Return a fit of a child process."""
    # Threads that are just ending hold locks of MKL's, which a forked child would wait for.
    time.sleep(1)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as processes:
        return processes.submit(fit, name).result()


def circumstances(name: str) -> dict[str, list[Points]]:
    """Return a fit beside others, and in processes that came about in different ways."""
    from joblib import Parallel, delayed

    again = [fit(name)]
    with ThreadPoolExecutor(N_SIDE_BY_SIDE) as pool:
        side_by_side = list(pool.map(fit, [name] * N_SIDE_BY_SIDE))
    found = {"again": again, "4 Python threads at once": side_by_side}
    for method in ("fork", "spawn"):
        found[method] = [in_process(method, name)]
    for backend in ("loky", "threading"):
        jobs = (delayed(fit)(name) for _ in range(2))
        found[f"joblib, {backend}"] = Parallel(n_jobs=2, backend=backend)(jobs)
    return found


def main() -> None:
    """Print the table."""
    if len(sys.argv) > 1:
        np.savez(sys.argv[1], **{name: fit(name) for name in FITS})
        return
    counted = {n_threads: by_threads(n_threads) for n_threads in N_THREADS}
    rows = []
    for name in FITS:
        alone, row = counted[1][name], {}
        for n_threads in N_THREADS[1:]:
            row[f"{n_threads} threads"] = difference(counted[n_threads][name], alone)
        here = fit(name)
        for circumstance, found in circumstances(name).items():
            row[circumstance] = max(difference(points, here) for points in found)
        rows.append((name, row))
        print(name, row, file=sys.stderr, flush=True)
    headings = list(rows[0][1])
    print(f"| fit | {' | '.join(headings)} |\n|{' --- |' * (len(headings) + 1)}")
    for name, row in rows:
        shown = ["equal" if not row[at] else f"{row[at]:.0e}" for at in headings]
        print(f"| {name} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
