"""The worker as the server sees it: answers go in, snapshots come back; if it dies, it restarts.

It gets all valid answers each time, so that another worker can continue where one was killed.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from twofold.ask._worker import (
    DrawMap,
    Drawn,
    Failed,
    Inspect,
    Inspected,
    Learn,
    Learnt,
    Setup,
    Stop,
    work,
)

Message = Learnt | Inspected | Drawn | Failed
MOST_DEATHS = 3
"""Of workers one after the other that never learnt anything: then something is wrong with it."""
PATIENCE = 20.0
"""Seconds that a worker has to save its model when the page is closed."""


class LearningProcess:
    """Keeps a worker at work.

    Parameters
    ----------
    setup : Setup
        What a worker is started with.
    deliver : callable (message)
        Takes what it sends; called from another thread.
    """

    def __init__(self, setup: Setup, deliver: Callable[[Message], object]) -> None:
        self._setup = setup
        self._deliver = deliver
        self._lock = threading.Lock()
        self._latest: Learn | None = None
        self._is_stopping = False
        self._n_deaths = 0
        self._process: BaseProcess
        self._connection: Connection
        self._reader: threading.Thread
        self._start()

    @property
    def pid(self) -> int | None:
        """Of the worker's process."""
        return self._process.pid

    def learn(self, message: Learn) -> None:
        """Have answers learnt from; what comes back is delivered."""
        with self._lock:
            self._latest = message
            self._put(message)

    def request(self, wanted: DrawMap | Inspect) -> None:
        """Have a map drawn, or an inspection made, of the latest snapshot."""
        with self._lock:
            self._put(wanted)

    def stop(self) -> None:
        """Have the latest model saved, and end the worker."""
        with self._lock:
            self._is_stopping = True
            self._put(Stop())
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._reader.join()
        self._connection.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(
            target=work, args=(other, self._setup), name="twofold-ask-worker", daemon=True
        )
        self._process.start()
        other.close()
        self._reader = threading.Thread(
            target=self._read, args=(self._connection,), name="ask-reader", daemon=True
        )
        self._reader.start()

    def _read(self, connection: Connection) -> None:
        while True:
            try:
                message: Message = connection.recv()
            except (EOFError, OSError):
                self._on_death()
                return
            self._n_deaths = 0
            self._deliver(message)

    def _on_death(self) -> None:
        """Start another worker, with all answers, unless this is the end."""
        with self._lock:
            if self._is_stopping:
                return
            self._process.join()
            self._n_deaths += 1
            n_looks = 0 if self._latest is None else self._latest.n_looks
            if self._n_deaths <= MOST_DEATHS:
                self._start()
                if self._latest is not None:
                    self._put(self._latest)
                return
            sentence = (
                f"Learning ended {self._n_deaths} times without a result (exit code "
                f"{self._process.exitcode}): there may be too little memory. Answers are kept."
            )
        self._deliver(Failed(sentence, n_looks))

    def _put(self, message: Learn | DrawMap | Inspect | Stop) -> None:
        with suppress(OSError):  # it died: the reader sees that too, and starts another
            self._connection.send(message)
