"""How long an answer of `twofold ask` takes to be in the model: one `learn` after another.

After each ten looks the engine learns, makes the next questions and estimates the quality, as the
worker of the page does. The worst case for an answer is that it comes when a learning has just
begun: then it waits for two.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from benchmarks.evening_subjects import Subject, digits, mnist
from benchmarks.evenings import Person, why_not
from benchmarks.figures import Figure
from twofold.ask import Engine
from twofold.ask._worker import one_thread

TITLE = "twofold ask: seconds until an answer is in the model"
N_LOOKS, STEP = 300, 10
SIZES: dict[str, tuple[Callable[[], Subject], float]] = {
    "digits, 1,257 items": (lambda: digits(0), 2.0),
    "MNIST, 2,000 items": (lambda: mnist(0, 2_000), 2.0),
    "MNIST, 60,000 items": (lambda: mnist(0, 60_000), 10.0),
}
"""Projects, and the seconds within which an answer has to be in the model."""
SETTING = {
    "threads": "one, as the worker has",
    "looks": N_LOOKS,
    "learnt after every": STEP,
    "person": "always right, both kinds",
}
__all__ = ["SETTING", "TITLE", "measure", "why_not"]


def measure() -> list[Figure]:
    with one_thread():
        return [figure for name in SIZES for figure in measure_one(name)]


def measure_one(name: str) -> list[Figure]:
    """Return the figures of one size, by its name in `SIZES`."""
    subject, bar = SIZES[name]
    return _evening(name, subject(), bar)


def _evening(name: str, subject: Subject, bar: float) -> list[Figure]:
    warnings.simplefilter("ignore")
    engine = Engine(subject.features, n_left=subject.n_left, random_state=0)
    person = Person(subject.kind, 0.0, np.random.default_rng(0))
    began = time.perf_counter()
    snapshot, seconds, busy = engine.learn([]), [], []
    first = time.perf_counter() - began
    while person.look < N_LOOKS:
        for question in snapshot.questions[:STEP]:
            person.answer(question)
        began, began_busy = time.perf_counter(), time.process_time()
        snapshot = engine.learn(person.answers)
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - began_busy)
    twice = [a + b for a, b in pairwise(seconds)]
    quality = "none" if snapshot.quality is None else f"{snapshot.quality.auroc:.3f}"
    note = (
        f"{len(seconds)} of them, median {np.median(seconds):.2f}; the first snapshot {first:.1f}; "
        f"of the processor the slowest took {max(busy):.2f}, two in a row "
        f"{max(a + b for a, b in pairwise(busy)):.2f}, the load of the machine was "
        f"{os.getloadavg()[0]:.1f}"
    )
    late = f"an answer just too late; median {np.median(twice):.2f}; estimated AUROC {quality}"
    return [
        Figure(f"{name}: slowest learning", max(seconds), bar, at_least=False, note=note),
        Figure(f"{name}: slowest two in a row", max(twice), bar, at_least=False, note=late),
    ]
