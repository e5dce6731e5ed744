"""One thread that embeds: what waits is put together, so that sixty clients cost one call each.

A request that cannot be embedded fails alone: its batch is done again without it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold.serving._request import Batching

Points = NDArray[np.float32]


class OverloadedError(Exception):
    """More waits already than may."""


@dataclass(slots=True, eq=False)
class _Job:
    """One request's part: items to embed with others, or, with no items, work of its own."""

    n_items: int
    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


Outcome = tuple[_Job, Any]
"""A job with its result, or with the exception that it ends by."""


class Batcher:
    """The thread, and what waits for it.

    Parameters
    ----------
    embed : callable
        From features, of any number of items, to points.
    batching : Batching
        How many items a batch has, and how long its first one waits.
    most_waiting : int
        Items that may wait.
    on_batch : callable (n_items), optional
        Called after each batch, from the thread.
    """

    def __init__(
        self,
        embed: Callable[[Any], Points],
        batching: Batching,
        most_waiting: int,
        on_batch: Callable[[int], Any] = lambda n_items: None,
    ) -> None:
        self._embed, self._batching, self._most_waiting = embed, batching, most_waiting
        self._on_batch = on_batch
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._next: _Job | None = None
        self._is_ending = False
        self.n_waiting = 0
        """Items that were asked for and are not answered."""
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    async def embed(self, n_items: int, features: Callable[[], Any]) -> Points:
        """Return the points of a request's items; `features` makes them ready in the thread."""
        if self.n_waiting + n_items > self._most_waiting:
            raise OverloadedError
        self.n_waiting += n_items
        try:
            points: Points = await self._asked(n_items, features)
            return points
        finally:
            self.n_waiting -= n_items

    async def run(self, work: Callable[[], Any]) -> Any:
        """Return what other work comes to that uses the model, or the index, between batches."""
        return await self._asked(0, work)

    def close(self) -> None:
        """End the thread, once it has answered what waits."""
        self._jobs.put(None)
        self._thread.join()

    async def _asked(self, n_items: int, work: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        job = _Job(n_items, work, loop.create_future(), loop)
        self._jobs.put(job)
        return await job.answer

    def _run(self) -> None:
        while (first := self._take()) is not None:
            if not first.n_items:
                _tell([(first, _result_of(first.work))])
                continue
            jobs = [first, *self._others(first)]
            _tell(self._done(jobs))
            self._on_batch(sum(job.n_items for job in jobs))

    def _take(self) -> _Job | None:
        """Return the next job, None at the end."""
        if self._next is not None:
            job, self._next = self._next, None
            return job
        return None if self._is_ending else self._jobs.get()

    def _others(self, first: _Job) -> list[_Job]:
        """Return what is to be embedded with a job: what waits, and comes within a short time."""
        others: list[_Job] = []
        n_items = first.n_items
        until = time.monotonic() + self._batching.seconds
        while n_items < self._batching.items:
            try:
                job = self._jobs.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if job is None:
                self._is_ending = True
                break
            if not job.n_items or n_items + job.n_items > self._batching.items:
                self._next = job
                break
            others.append(job)
            n_items += job.n_items
        return others

    def _done(self, jobs: Sequence[_Job]) -> list[Outcome]:
        """Return what each job comes to, those with features of one kind embedded together."""
        outcomes: list[Outcome] = []
        kinds: dict[Hashable, list[tuple[_Job, Any]]] = {}
        for job in jobs:
            features = _result_of(job.work)
            if isinstance(features, Exception):
                outcomes.append((job, features))
            else:
                kinds.setdefault(_kind_of(features), []).append((job, features))
        for ready in kinds.values():
            outcomes += self._together(ready)
        return outcomes

    def _together(self, ready: list[tuple[_Job, Any]]) -> list[Outcome]:
        parts = [features for _, features in ready]
        points = _result_of(lambda: self._embed(_joined(parts)))
        if not isinstance(points, Exception):
            ends = np.cumsum([job.n_items for job, _ in ready])[:-1]
            split = np.split(points, ends)
            return [(job, part) for (job, _), part in zip(ready, split, strict=True)]
        if len(ready) == 1:
            return [(ready[0][0], points)]
        return [outcome for one in ready for outcome in self._together([one])]


def _result_of(work: Callable[[], Any]) -> Any:
    """Return what work comes to: whoever waits gets its exception, and the thread goes on."""
    try:
        return work()
    except Exception as error:
        return error


def _kind_of(features: Any) -> Hashable:
    return sparse.issparse(features), features.dtype.str, features.shape[1:]


def _joined(parts: Sequence[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _tell(outcomes: Sequence[Outcome]) -> None:
    """Hand results to those who wait, all of a batch at once."""
    with suppress(RuntimeError):  # the server ended without waiting: nobody is there to be told
        outcomes[0][0].loop.call_soon_threadsafe(_answer, outcomes)


def _answer(outcomes: Sequence[Outcome]) -> None:
    for job, result in outcomes:
        if job.answer.done():  # the client has gone
            continue
        if isinstance(result, Exception):
            job.answer.set_exception(result)
        else:
            job.answer.set_result(result)
