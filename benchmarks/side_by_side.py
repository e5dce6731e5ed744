"""Jobs in processes side by side, one thread each: many quick fits on all cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

Job = TypeVar("Job", bound=tuple[object, ...])
Result = TypeVar("Result")
ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


def run_side_by_side(
    function: Callable[..., Result],
    jobs: Sequence[Job],
    n_at_a_time: int | None = None,
    warm_up: Callable[[], object] | None = None,
) -> Iterator[tuple[Job, Result]]:
    """Yield every job with what `function` returns for it, as they end.

    Parameters
    ----------
    function : callable (*job)
        At the top of a module.
    jobs : sequence of tuples
        Its arguments.
    n_at_a_time : int, optional
        One for each core by default.
    warm_up : callable, optional
        At the top of a module; called once in every process, before its first job.
    """
    spawn = multiprocessing.get_context("spawn")
    with (
        one_thread_each(),
        ProcessPoolExecutor(n_at_a_time, spawn, begin_process, (warm_up,)) as pool,
    ):
        running = {pool.submit(function, *job): job for job in jobs}
        for done in as_completed(running):
            yield running[done], done.result()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Have processes that are started meanwhile use one thread: Numba looks when it is loaded."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def begin_process(warm_up: Callable[[], object] | None = None) -> None:
    """Have this process use one thread, and stand back behind others."""
    import torch

    torch.set_num_threads(1)
    os.nice(5)
    if warm_up is not None:
        warm_up()
