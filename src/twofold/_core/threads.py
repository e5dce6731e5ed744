"""Threads around compiled code of our own, and how many of them there may be.

Numba's threading layers are not used. Its OpenMP layer overwrites the number of threads that torch
has in the same library, and ends or hangs a forked child; its own queue ends the process when two
threads use it at once. Python threads that call compiled code without the interpreter's lock
have none of this, and cost 50 µs where the work takes 5 ms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What users say how many threads a process may use with: the least of them counts."""


def allowed_threads() -> int:
    """Return how many threads our own code may use: as many as processors, or variables, allow."""
    return min([_n_processors(), *filter(None, map(_number_in, VARIABLES))])


def _n_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _number_in(variable: str) -> int | None:
    """Return the number that a variable holds; of OpenMP's "4,2" it is the outer level's."""
    text = os.environ.get(variable, "").partition(",")[0].strip()
    return int(text) if text.isdecimal() and int(text) else None


def describe_threads() -> dict[str, str]:
    """Describe which threads Twofold uses in this process, and why.

    Returns
    -------
    dict of str
        "targets" (phase 1 on a CPU), "networks" (everything that torch computes), and the
        environment "variables" that limit them. The process's own settings are never changed.
    """
    import torch  # takes a second

    return {
        "targets": f"at most {allowed_threads()} Python threads that call compiled code, fewer for "
        "little work. No threading layer of Numba's: its OpenMP layer changes torch's number of "
        "threads and does not survive a fork, its work queue not two callers at once.",
        "networks": f"at most {torch.get_num_threads()} threads of torch's OpenMP, fewer for "
        "little work; one in a forked child, where OpenMP's threads are gone.",
        "variables": ", ".join(VARIABLES) + "; the least of them counts",
    }


class Workers:
    """Threads that share out the parts of one computation; one thread is the caller's own.

    Parameters
    ----------
    n_threads : int
        How many. They live until the `with` block ends, so that no thread is there at a fork.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="twofold")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def run(self, work: Callable[..., Any], parts: Iterable[tuple[Any, ...]]) -> None:
        """Call `work` with the arguments of each part, and wait until all are done."""
        if self._pool is None:
            for part in parts:
                work(*part)
            return
        for done in [self._pool.submit(work, *part) for part in parts]:
            done.result()
