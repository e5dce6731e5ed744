"""The step from its beginning: hold classes out, train without them, choose, solve on all.

The choice needs an embedder that has not seen some classes, so one is trained a second time. Who
trains, and on what, is the caller's: here are only rows, classes and layers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from twofold._core.warnings import RelationWarning, warn_user
from twofold.evaluation import split_classes
from twofold.metric._layer_space import MOST_DIRECTIONS
from twofold.metric._selection import LayerSample, MetricSelection, equal_selection, select_metric
from twofold.metric._step import Layers, MetricStep, fit_metric

Rows = NDArray[np.int64]
Read = Callable[[Rows], Layers]
"""From rows to what the layers of an embedder give for them."""
MOST_SOLVED_ON, MOST_CHOSEN_ON = 10_000, 2_000
"""Items that the step is solved on, and those of kinds seen and unseen that it is chosen on."""
HELD_OUT_CLASSES, HELD_OUT_ITEMS = 0.2, 0.1
"""Share of the classes, and of the items of the others, that the second training does without."""
FEWEST_CLASSES = 4


@dataclass(frozen=True, slots=True, eq=False)
class ClassMetric:
    """Whose metric is solved.

    Attributes
    ----------
    classes : ndarray of int64, shape (n_items,)
        Of all rows; -1 if unknown.
    read : callable (rows) -> layers
        Of the embedder that was trained on all.
    train : callable (rows) -> callable (rows) -> layers
        Trains another on some rows alone.
    with_output : bool
        Whether it is for kinds seen too, so that the output has a share in their points.
    report : callable (str)
        Told of progress.
    """

    classes: NDArray[np.int64]
    read: Read
    train: Callable[[Rows], Read]
    with_output: bool
    report: Callable[[str], Any]

    def solve(
        self, rng: np.random.Generator, n_components: int | None = None
    ) -> tuple[MetricStep, MetricSelection] | None:
        """Return the step and what was selected; None if the output is all that should count.

        `n_components` is the points', 512 at most by default.
        """
        selection = self._select(rng)
        if selection is None:
            return None
        self.report(f"metric of {len(selection.spaces)} layers")
        part = self._sample(np.flatnonzero(self.classes >= 0), MOST_SOLVED_ON, self.read)
        # Small matrices: threads that wait for one another cost more than they help.
        with threadpool_limits(1, "blas"):
            step = fit_metric(selection, part.layers, part.classes, n_components or MOST_DIRECTIONS)
        return step, selection

    def _select(self, rng: np.random.Generator) -> MetricSelection | None:
        n_classes = len(np.unique(self.classes[self.classes >= 0]))
        if n_classes < FEWEST_CLASSES:
            return self._without_choice(f"there are fewer than {FEWEST_CLASSES} classes")
        kept, unseen = split_classes(self.classes, HELD_OUT_CLASSES, rng)
        seen, trained = self._part_items(kept, rng)
        if not (self._has_alike(unseen) and self._has_alike(seen)):
            return self._without_choice("too few items share a class")
        self.report(f"second training, without {len(np.unique(self.classes[unseen]))} classes")
        read = self.train(trained)
        parts = (
            self._sample(trained, MOST_SOLVED_ON, read),
            self._sample(unseen, MOST_CHOSEN_ON, read),
        )
        of_seen = self._sample(seen, MOST_CHOSEN_ON, read)
        with threadpool_limits(1, "blas"):
            return select_metric(*parts, of_seen, rng, with_output=self.with_output)

    def _without_choice(self, why: str) -> MetricSelection | None:
        """Say what is done where no classes can be held out."""
        if self.with_output:
            self.report(f"{why}: points are the output, for these classes")
            return None
        warn_user(
            f"How layers are compared is not chosen on classes held out: {why}. Every layer counts "
            "the same.",
            RelationWarning,
        )
        names = self.read(np.flatnonzero(self.classes >= 0)[:2])
        return equal_selection(list(names))

    def _part_items(self, rows: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Part items at random into some to hold out and the rest, which keeps one a class."""
        order = rng.permutation(rows)
        _, firsts = np.unique(self.classes[order], return_index=True)
        held_out = np.delete(order, firsts)[: max(1, round(HELD_OUT_ITEMS * len(order)))]
        return np.sort(held_out), np.setdiff1d(rows, held_out)

    def _has_alike(self, rows: Rows) -> bool:
        """Whether two items share a class, and two do not."""
        counts = np.unique(self.classes[rows], return_counts=True)[1]
        return len(counts) > 1 and bool(counts.max() > 1)

    def _sample(self, rows: Rows, most: int, read: Read) -> LayerSample:
        """Return the layers of some items, spread evenly over them if they are too many."""
        if len(rows) > most:
            rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
        classes = np.unique(self.classes[rows], return_inverse=True)[1]
        return LayerSample(read(rows), classes.reshape(-1).astype(np.int64))
