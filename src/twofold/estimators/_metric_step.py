"""The third step: how the layers of what was fitted are compared, chosen on classes held out.

The choice needs an embedder that has not seen some classes, so one is trained a second time,
without a fifth of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from twofold._core.warnings import RelationWarning, warn_user
from twofold.estimators._fitting import Fit, Fitting
from twofold.estimators._plan import MetricGoal
from twofold.evaluation import split_classes
from twofold.feedback import Watch
from twofold.metric import MetricSelection, Part, equal_selection, fit_metric, select_metric
from twofold.regression import Embedder, layer_names, read_layers, take_rows
from twofold.relations import LabelRelation

MOST_COMPONENTS = 512
MOST_SOLVED_ON, MOST_CHOSEN_ON = 10_000, 2_000
"""Items that the step is solved on, and those of kinds seen and unseen that it is chosen on."""
HELD_OUT_CLASSES, HELD_OUT_ITEMS = 0.2, 0.1
"""Share of the classes, and of the items of the others, that the second training does without."""
FEWEST_CLASSES = 4


@dataclass(frozen=True, slots=True, eq=False)
class MetricFitting:
    """A fitting that is followed by the metric step.

    `goal` says which kinds it is for, those seen and unseen or these alone; `layers` are those of
    the network that may be used, `n_components` is the points'.
    """

    fitting: Fitting
    goal: MetricGoal
    layers: Literal["auto"] | Sequence[str]
    n_components: int | Literal["auto"]

    def fit(self, X: Any, relation: LabelRelation) -> Fit:
        """Fit to classes, choose on some that were held out, solve the metric on all."""
        fit = self.fitting.fit_once(X, relation)
        began = time.perf_counter()
        codes = relation.class_codes()
        names = layer_names(fit.embedder, X, self.layers)
        selection = self._select(X, relation, codes, names)
        if selection is None:
            return fit
        self.fitting.watch.report(f"metric of {len(selection.spaces)} layers")
        part = _read(fit.embedder, X, np.flatnonzero(codes >= 0), codes, names, MOST_SOLVED_ON)
        most = MOST_COMPONENTS if self.n_components == "auto" else self.n_components
        with threadpool_limits(1, "blas"):  # small matrices; threads that wait cost more
            step = fit_metric(selection, part.layers, part.classes, most)
        return replace(
            fit,
            metric="cosine",
            metric_step=step,
            metric_selection=selection,
            timing=fit.timing | {"metric": time.perf_counter() - began},
        )

    def _select(
        self, X: Any, relation: LabelRelation, codes: NDArray[np.int64], names: list[str]
    ) -> MetricSelection | None:
        """Return what counts; None if the output is to be all that does."""
        rng, watch = self.fitting.rng, self.fitting.watch
        if np.count_nonzero(np.bincount(codes[codes >= 0])) < FEWEST_CLASSES:
            return self._without_choice(names, f"there are fewer than {FEWEST_CLASSES} classes")
        kept, unseen = split_classes(codes, HELD_OUT_CLASSES, rng)
        seen, trained = _part_items(kept, codes, rng)
        if not all(_has_alike(codes[rows]) for rows in (unseen, seen)):
            return self._without_choice(names, "too few items share a class")
        watch.report(f"second training, without {len(np.unique(codes[unseen]))} classes")
        trial = replace(self.fitting, watch=Watch(watch.report))
        embedder = trial.fit_once(take_rows(X, trained), relation.take(trained)).embedder
        parts = (
            _read(embedder, X, rows, codes, names, most)
            for rows, most in (
                (trained, MOST_SOLVED_ON),
                (unseen, MOST_CHOSEN_ON),
                (seen, MOST_CHOSEN_ON),
            )
        )
        trained_part, unseen_part, seen_part = parts
        with_output = self.goal == "both"
        with threadpool_limits(1, "blas"):  # small matrices; threads that wait cost more
            return select_metric(trained_part, unseen_part, seen_part, rng, with_output=with_output)

    def _without_choice(self, names: list[str], why: str) -> MetricSelection | None:
        """Say what is done where no classes can be held out."""
        if self.goal == "both":
            self.fitting.watch.report(f"{why}: points are the output, for these classes")
            return None
        warn_user(
            f"How layers are compared is not chosen on classes held out: {why}. Every layer counts "
            "the same.",
            RelationWarning,
        )
        return equal_selection(names)


def _has_alike(classes: NDArray[np.int64]) -> bool:
    """Whether two items share a class, and two do not."""
    counts = np.bincount(classes)
    return bool(counts.max() > 1 and np.count_nonzero(counts) > 1)


def _part_items(
    rows: NDArray[np.int64], codes: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Part items at random into some to hold out and the rest, which keeps one of each class."""
    order = rng.permutation(rows)
    _, firsts = np.unique(codes[order], return_index=True)
    may_go = np.ones(len(order), dtype=bool)
    may_go[firsts] = False
    free = order[may_go]
    held_out = free[: max(1, round(HELD_OUT_ITEMS * len(order)))]
    return np.sort(held_out), np.setdiff1d(rows, held_out)


def _read(
    embedder: Embedder,
    X: Any,
    rows: NDArray[np.int64],
    codes: NDArray[np.int64],
    names: list[str],
    most: int,
) -> Part:
    """Return the layers of some items, spread evenly over them if they are too many."""
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
    classes = np.unique(codes[rows], return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Part(read_layers(embedder, take_rows(X, rows), names), classes)
