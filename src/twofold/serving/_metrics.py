"""Counts of what was served, in Prometheus' text format."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BATCH_ITEMS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Histogram:
    """How many values lie up to each of some bounds, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, label: str = "") -> Iterator[str]:
        """Yield what stands for it."""
        n_up_to = 0
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            n_up_to += count
            more = f"{label}," if label else ""
            yield f'{name}_bucket{{{more}le="{bound}"}} {n_up_to}'
        inside = f"{{{label}}}" if label else ""
        yield f"{name}_sum{inside} {self._sum!r}"
        yield f"{name}_count{inside} {n_up_to}"


class Metrics:
    """What was asked and answered since the start.

    Parameters
    ----------
    paths : sequence of str
        That are counted by their names; all others are "other".
    n_waiting : callable
        Returns how many items wait to be embedded.
    """

    def __init__(self, paths: Sequence[str], n_waiting: Callable[[], int]) -> None:
        self._paths, self._n_waiting = frozenset(paths), n_waiting
        self._answers: Counter[tuple[str, int]] = Counter()
        self._seconds = {path: Histogram(SECONDS) for path in (*paths, "other")}
        self._batches = Histogram(BATCH_ITEMS)
        self._started = time.time()
        self.n_in_flight = 0
        """Requests that are not answered yet."""

    @property
    def n_answered(self) -> int:
        """Requests that were answered."""
        return self._answers.total()

    def count(self, path: str, status: int, seconds: float) -> None:
        """Take note of an answer."""
        known = path if path in self._paths else "other"
        self._answers[known, status] += 1
        self._seconds[known].add(seconds)

    def count_batch(self, n_items: int) -> None:
        """Take note of a batch that was embedded."""
        self._batches.add(n_items)

    def text(self) -> str:
        """Return all of it in Prometheus' text format."""
        lines = [
            *_head("twofold_requests_total", "counter", "Number of answered requests."),
            *(
                f'twofold_requests_total{{path="{path}",status="{status}"}} {count}'
                for (path, status), count in sorted(self._answers.items())
            ),
            *_head("twofold_request_seconds", "histogram", "Time from a request to its answer."),
            *(
                line
                for path, histogram in self._seconds.items()
                for line in histogram.lines("twofold_request_seconds", f'path="{path}"')
            ),
            *_head("twofold_batch_items", "histogram", "Number of items embedded at a time."),
            *self._batches.lines("twofold_batch_items"),
            *_head("twofold_requests_in_flight", "gauge", "Number of requests not answered yet."),
            f"twofold_requests_in_flight {self.n_in_flight}",
            *_head("twofold_items_waiting", "gauge", "Number of items not embedded yet."),
            f"twofold_items_waiting {self._n_waiting()}",
            *_head(
                "twofold_start_time_seconds",
                "gauge",
                "Start time of the server, in seconds since 1970.",
            ),
            f"twofold_start_time_seconds {self._started!r}",
        ]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"
