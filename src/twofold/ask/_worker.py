"""Learning beside the page: a process that takes all answers and gives a snapshot back, whole.

Points go through a file, which the server maps; everything else goes through the pipe. A worker
ends when its pipe does, so that none outlives its server.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.ask._questions import Answer, Question
from twofold.ask._snapshot import Review, Snapshot
from twofold.evaluation import Metric

NICENESS = 10
"""Added to the process's: the page goes first."""
SAVE_EVERY = 30.0
"""Seconds between models that are written into the project, and one at the end."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is started with.

    Attributes
    ----------
    scratch : Path
        Folder with the features, as `save_features` writes them; it gets points and maps.
    model : Path
        Folder that gets the latest model.
    n_left : int or None
        Items of the left of two tables.
    source, preparation, image_column
        Of the items, for the model.
    seed : int
        Random seeds.
    """

    scratch: Path
    model: Path
    n_left: int | None
    source: str
    preparation: Any
    image_column: str | None
    seed: int


@dataclass(frozen=True, slots=True)
class Learn:
    """All answers that stand, to learn from."""

    answers: Sequence[Answer]
    n_looks: int


@dataclass(frozen=True, slots=True)
class DrawMap:
    """Somebody looks at the map."""


@dataclass(frozen=True, slots=True)
class Inspect:
    """Somebody wants to know how good the features are, and which answers are suspicious."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Save the latest model and end."""


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """A snapshot, as the server takes it.

    `learner` is None where the points are the features as given, compared by cosines if
    `is_cosine`.
    """

    n_looks: int
    points: Path
    metric: Metric
    questions: tuple[Question, ...]
    quality: Any
    learner: bytes | None
    is_cosine: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Inspected:
    """What `Inspect` came to."""

    review: Review


@dataclass(frozen=True, slots=True)
class Drawn:
    """A map that was drawn."""

    places: Path


@dataclass(frozen=True, slots=True)
class Failed:
    """Learning failed, in a sentence; the next answers are tried again."""

    sentence: str
    n_looks: int


@contextmanager
def one_thread() -> Iterator[None]:
    """Have everything inside computed by one thread: the page has the other processors.

    It is quicker, too, where others are at work: threads that wait for one another while a browser
    has one of their two processors took 1.8 s for what one alone does in .3 (1,257 digits).
    """
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def work(connection: Connection, setup: Setup) -> None:
    """Run a worker until its pipe ends or it is told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which says Stop
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    with one_thread(), suppress(EOFError, BrokenPipeError, ConnectionResetError):
        Worker(connection, setup).run()


class Worker:
    """The loop of the process: the newest answers are learnt from, older ones are passed over."""

    def __init__(self, connection: Connection, setup: Setup) -> None:
        from twofold.ask._engine import Engine
        from twofold.ask._map import MapMaker
        from twofold.regression import load_features, n_rows

        self._connection = connection
        self._setup = setup
        features = load_features(setup.scratch)
        self._engine = Engine(features, n_left=setup.n_left, random_state=setup.seed)
        self._maps = MapMaker(n_rows(features), setup.seed)
        self._snapshot: Snapshot | None = None
        self._answers: Sequence[Answer] = ()
        self._n_files = 0
        self._saved_at = time.monotonic()
        self._is_saved = True

    def run(self) -> None:
        """Take messages until the end."""
        while True:
            learn, others = self._take()
            stops = Stop in others
            if learn is not None and not stops:
                self._learn(learn)
            if Inspect in others and self._snapshot is not None:
                self._connection.send(Inspected(self._engine.inspect(self._answers)))
            if DrawMap in others and self._snapshot is not None:
                self._draw(self._snapshot)
            if not self._is_saved and (stops or time.monotonic() - self._saved_at > SAVE_EVERY):
                self._save()
            if stops:
                return

    def _take(self) -> tuple[Learn | None, set[type]]:
        """Wait for messages; return the newest answers there are, and what else is asked for."""
        learn, others = None, set()
        wait = None if self._is_saved else SAVE_EVERY
        while self._connection.poll(wait):
            message = self._connection.recv()
            if isinstance(message, Learn):
                learn = message
            else:
                others.add(type(message))
            wait = 0
        return learn, others

    def _learn(self, message: Learn) -> None:
        began = time.perf_counter()
        try:
            snapshot = self._engine.learn(message.answers)
        except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
            # The page goes on with the last snapshot, and says so.
            self._connection.send(Failed(f"Learning failed: {error}", message.n_looks))
            return
        self._snapshot, self._answers = snapshot, message.answers
        self._is_saved = snapshot.learner is None
        learnt = Learnt(
            n_looks=message.n_looks,
            points=self._written("points", snapshot.points),
            metric=snapshot.metric,
            questions=snapshot.questions,
            quality=snapshot.quality,
            learner=None if snapshot.keeps_features else pickle.dumps(snapshot.learner),
            is_cosine=snapshot.learner is not None and snapshot.learner.metric_ == "cosine",
            seconds=time.perf_counter() - began,
        )
        self._connection.send(learnt)

    def _draw(self, snapshot: Snapshot) -> None:
        places = self._maps.draw(snapshot.points, snapshot.metric)
        self._connection.send(Drawn(self._written("map", places)))

    def _written(self, name: str, array: NDArray[np.float32]) -> Path:
        """Write an array under a new name, which the server removes when it is outdated."""
        self._n_files += 1
        file = self._setup.scratch / f"{name}-{os.getpid()}-{self._n_files}.npy"
        np.save(file, np.asarray(array, dtype=np.float32), allow_pickle=False)
        return file

    def _save(self) -> None:
        """Write the latest model into the project."""
        from twofold.tasks import Decision, PreparedModel

        setup, snapshot = self._setup, self._snapshot
        assert snapshot is not None
        assert snapshot.learner is not None
        decision = Decision("embedding", snapshot.threshold)
        if snapshot.threshold is not None:
            snapshot.learner.threshold_ = snapshot.threshold
        model = PreparedModel(
            snapshot.learner,
            setup.source,  # type: ignore[arg-type]
            setup.preparation,
            decision,
            setup.image_column if setup.source == "images" else None,
        )
        with suppress(OSError):  # a full disk costs the copy, not the evening
            model.save(setup.model)
        self._saved_at, self._is_saved = time.monotonic(), True
