"""The worker's latest results: a snapshot, its inspection, and its map."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from twofold.ask._published import Published
from twofold.ask._questions import Answer
from twofold.ask._snapshot import Review
from twofold.ask._worker import DrawMap, Drawn, Failed, Inspect, Inspected, Learn, Learnt


class LatestModel:
    """Keeps the worker busy, and what it sent last.

    Parameters
    ----------
    learn : callable (Learn)
        Has all answers learnt from.
    request : callable (DrawMap or Inspect)
        Has a map drawn, or an inspection made, of the latest snapshot.
    answers : callable ()
        Returns all that stand, and the number of looks.
    n_left : int or None
        Items of the left of two tables.

    Attributes
    ----------
    published : Published or None
        The snapshot; None until there is one.
    review : Review
        The latest, which may be of an earlier snapshot.
    map_version, map_places
        How many maps there were, and the latest: float32, little-endian, two per item.
    failure : str or None
        Why the latest answers were not learnt from.
    """

    def __init__(
        self,
        learn: Callable[[Learn], None],
        request: Callable[[DrawMap | Inspect], None],
        answers: Callable[[], tuple[list[Answer], int]],
        n_left: int | None,
    ) -> None:
        self._learn = learn
        self._request = request
        self._answers = answers
        self._n_left = n_left
        self.published: Published | None = None
        self.review = Review(None, {})
        self._inspected_version = 0
        self.map_version = 0
        self.map_places = b""
        self.failure: str | None = None
        self.is_learning = self._has_news = False

    @property
    def version(self) -> int:
        """Of the snapshot; 0 until there is one."""
        return 0 if self.published is None else self.published.version

    def request_learning(self) -> None:
        """Have everything that stands learnt from, now or after what is being learnt."""
        self._has_news = True
        if not self.is_learning:
            self.is_learning, self._has_news = True, False
            self._learn(Learn(*self._answers()))

    def request_inspection(self) -> None:
        """Have suspects and the quality of the features worked out, unless they are known."""
        if self.version > self._inspected_version:
            self._inspected_version = self.version
            self._request(Inspect())

    def request_map(self) -> None:
        """Have a map drawn, as soon as there is a snapshot."""
        if self.published is not None:
            self._request(DrawMap())

    def take(self, message: Learnt | Inspected | Drawn | Failed) -> None:
        """Take in what the worker sends."""
        if isinstance(message, Drawn):
            self.map_places = np.load(message.places).astype("<f4").tobytes()
            self.map_version += 1
            message.places.unlink(missing_ok=True)
        elif isinstance(message, Inspected):
            self.review = message.review
        else:
            self._take_result(message)

    def close(self) -> None:
        """Remove the file of points."""
        if self.published is not None:
            self.published.close()

    def _take_result(self, message: Learnt | Failed) -> None:
        """Take in how learning ended; what came meanwhile is learnt from next."""
        self.is_learning = False
        if isinstance(message, Failed):
            self.failure = message.sentence
        else:
            self.close()
            self.published = Published(message, self.version + 1, self._n_left)
            self.failure = None
        if self._has_news:
            self.request_learning()
