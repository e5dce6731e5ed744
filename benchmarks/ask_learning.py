"""How long an answer of `twofold ask` takes to be in the model: one `learn` after another.

After each ten looks the engine learns, makes the next questions and estimates the quality, as the
worker of the page does. The worst case for an answer is that it comes when a learning has just
begun: then it waits for two.
"""

from __future__ import annotations

import time
import warnings
from itertools import pairwise

import numpy as np

from benchmarks.evening_subjects import Subject, digits, mnist
from benchmarks.evenings import Person, why_not
from benchmarks.figures import Figure
from twofold.ask import Engine
from twofold.ask._worker import one_thread

TITLE = "twofold ask: seconds until an answer is in the model"
N_LOOKS, STEP = 300, 10
SETTING = {
    "threads": "one, as the worker has",
    "looks": N_LOOKS,
    "learnt after every": STEP,
    "person": "always right, both kinds",
}
__all__ = ["SETTING", "TITLE", "measure", "why_not"]


def measure() -> list[Figure]:
    cases = (("digits, 1,257 items", digits(0), 2.0), ("MNIST, 60,000 items", mnist(0, 60_000), 10))
    with one_thread():
        return [figure for case in cases for figure in _evening(*case)]


def _evening(name: str, subject: Subject, bar: float) -> list[Figure]:
    warnings.simplefilter("ignore")
    engine = Engine(subject.features, n_left=subject.n_left, random_state=0)
    person = Person(subject.kind, 0.0, np.random.default_rng(0))
    began = time.perf_counter()
    snapshot, seconds = engine.learn([]), []
    first = time.perf_counter() - began
    while person.look < N_LOOKS:
        for question in snapshot.questions[:STEP]:
            person.answer(question)
        began = time.perf_counter()
        snapshot = engine.learn(person.answers)
        seconds.append(time.perf_counter() - began)
    twice = [a + b for a, b in pairwise(seconds)]
    quality = "none" if snapshot.quality is None else f"{snapshot.quality.auroc:.3f}"
    note = (
        f"{len(seconds)} of them, median {np.median(seconds):.2f}; the first snapshot {first:.1f}"
    )
    late = f"an answer just too late; median {np.median(twice):.2f}; estimated AUROC {quality}"
    return [
        Figure(f"{name}: slowest learning", max(seconds), bar, at_least=False, note=note),
        Figure(f"{name}: slowest two in a row", max(twice), bar, at_least=False, note=late),
    ]
