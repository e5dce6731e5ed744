"""The whole metric step: hold kinds out, train without them, select, solve on all.

The choice needs an embedder that has not seen some kinds, so one is trained a second time. Who
trains, and on what, is the caller's: here are only rows, kinds and layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from twofold._core.warnings import RelationWarning, warn_user
from twofold.evaluation import pair_auroc
from twofold.metric._kinds import (
    Rows,
    hold_out_kinds,
    kind_codes,
    kinds_of,
    n_kinds,
    sample_rows,
    thin_rows,
)
from twofold.metric._layer_space import MOST_DIRECTIONS, unit_rows
from twofold.metric._selection import (
    HeldOut,
    LayerSample,
    MetricSelection,
    prior_selection,
    select_metric,
)
from twofold.metric._step import MetricStep, assemble_step, fit_metric
from twofold.metric._weights import draw_both
from twofold.relations import LabelRelation, PairRelation, is_classes

Read = Callable[[Rows], Mapping[str, Tensor]]
"""From rows to what the layers of an embedder give for them."""
MOST_SOLVED_ON, MOST_CHOSEN_ON = 10_000, 1_000
"""Items that the step is solved on, and those of kinds seen and unseen that it is chosen on."""
MOST_USED = 150_000
"""Items that are looked at, and so trained on a second time: more would cost what the choice does
not need."""
HELD_OUT_KINDS, HELD_OUT_ITEMS = 0.2, 0.1
"""Share of the kinds, and of the items of the others, that the second training does without."""
FEWEST_KINDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class MetricProblem:
    """Whose metric is solved.

    Attributes
    ----------
    relation : LabelRelation or PairRelation
        Over all rows.
    read : callable (rows) -> layers
        Of the embedder that was trained on all.
    train : callable (rows) -> callable (rows) -> layers
        Trains another on some rows alone.
    shares : mapping of str to float
        What the weight of a layer is drawn to; see `select_metric`.
    with_output : bool
        Whether it is for kinds seen too, so that the output has a share in their points.
    report : callable (str)
        Told of progress.
    """

    relation: LabelRelation | PairRelation
    read: Read
    train: Callable[[Rows], Read]
    shares: Mapping[str, float]
    with_output: bool
    report: Callable[[str], Any]

    def solve(
        self, rng: np.random.Generator, n_components: int | None = None
    ) -> tuple[MetricStep, MetricSelection] | None:
        """Return the step and what was selected; None if the output is all that should count.

        `n_components` is the points', 512 at most by default.
        """
        rows = thin_rows(self.relation, MOST_USED, rng)
        part_of = self if len(rows) == self.relation.n_items else self._over(rows)
        return part_of._solve(rng, n_components)

    def _solve(
        self, rng: np.random.Generator, n_components: int | None
    ) -> tuple[MetricStep, MetricSelection] | None:
        selection = self._select(rng)
        if selection is None:
            return None
        self.report(f"metric of {len(selection.spaces)} layers")
        part = self._sample(np.arange(self.relation.n_items), MOST_SOLVED_ON, self.read, rng)
        _warn_of_constant(part)
        step = fit_metric(selection, part, n_components or MOST_DIRECTIONS)
        if n_components is not None and step.n_components < n_components:
            warn_user(
                f"Points have {step.n_components} components, not n_components={n_components}: the "
                "layers that count have no more directions on the training items. Nothing is lost; "
                'set n_components to that number, or to "auto".',
                UserWarning,
            )
        return step.to("cpu"), selection

    def _over(self, rows: Rows) -> MetricProblem:
        """Return the problem of some rows alone, numbered anew."""

        def train(some: Rows) -> Read:
            read = self.train(rows[some])
            return lambda others: read(rows[others])

        return replace(
            self,
            relation=self.relation.take(rows),
            read=lambda some: self.read(rows[some]),
            train=train,
        )

    def _select(self, rng: np.random.Generator) -> MetricSelection | None:
        if n_kinds(self.relation, np.arange(self.relation.n_items)) < FEWEST_KINDS:
            return self._without_choice(f"there are fewer than {FEWEST_KINDS} {self._word}")
        kept, unseen = hold_out_kinds(self.relation, HELD_OUT_KINDS, rng)
        seen, trained = self._part_items(kept, rng)
        if not all(self._has_alike(rows, rng) for rows in (unseen, seen) if rows is not None):
            return self._without_choice(f"too few items share {self._word}")
        n_held_out = n_kinds(self.relation, unseen)
        self.report(f"second training, without {n_held_out} {self._word}")
        read = self.train(trained)
        held_out = HeldOut(
            self._sample(trained, MOST_SOLVED_ON, read, rng),
            self._sample(unseen, MOST_CHOSEN_ON, read, rng),
            None if seen is None else self._sample(seen, MOST_CHOSEN_ON, read, rng),
            n_held_out,
        )
        selection, spaces = select_metric(held_out, self.shares, rng)
        step = assemble_step(selection, spaces, held_out.trained, MOST_DIRECTIONS)
        return replace(selection, scores=held_out_scores(step, held_out, rng))

    @property
    def _word(self) -> str:
        if is_classes(self.relation):
            return "classes"
        return "labels" if isinstance(self.relation, LabelRelation) else "groups of alike items"

    def _without_choice(self, why: str) -> MetricSelection | None:
        """Say what is done where no kinds can be held out."""
        if self.with_output:
            self.report(f"{why}: points are the output, for these classes")
            return None
        warn_user(
            f"The weights of the layers cannot be selected on held-out kinds: {why}. Every layer "
            "counts the same.",
            RelationWarning,
        )
        return prior_selection(list(self.read(np.arange(2))), self.shares)

    def _part_items(self, rows: Rows, rng: np.random.Generator) -> tuple[Rows | None, Rows]:
        """Part rows into some to hold out and the rest; none are where the output has no share.

        Of a class two are held out, or a tenth if that is more, and at least one stays; of so many
        classes that a tenth of all items is held out.
        """
        if not self.with_output:
            return None, rows
        order = rng.permutation(rows)
        classes = kind_codes(self.relation)[order]
        order = order[np.argsort(rng.permutation(classes.max() + 1)[classes], kind="stable")]
        classes = kind_codes(self.relation)[order]
        _, first, which, counts = np.unique(
            classes, return_index=True, return_inverse=True, return_counts=True
        )
        place = np.arange(len(order)) - first[which]
        n_each = np.maximum(2, np.round(HELD_OUT_ITEMS * counts))
        is_held_out = place < np.where(counts > 2, n_each, 0)[which]
        held_out = order[is_held_out][: max(2, round(HELD_OUT_ITEMS * len(order)))]
        return np.sort(held_out), np.setdiff1d(rows, held_out)

    def _has_alike(self, rows: Rows, rng: np.random.Generator) -> bool:
        """Whether two items are alike, and two are not."""
        some = sample_rows(self.relation, rows, MOST_CHOSEN_ON, rng)
        alike, known = kinds_of(self.relation, some).blocks("cpu")
        return bool(alike.any() and (known & ~alike).any())

    def _sample(self, rows: Rows, most: int, read: Read, rng: np.random.Generator) -> LayerSample:
        """Return the layers of some items, and their kinds."""
        rows = sample_rows(self.relation, rows, most, rng)
        return LayerSample(read(rows), kinds_of(self.relation, rows))


def _warn_of_constant(part: LayerSample) -> None:
    if all(bool((vectors == vectors[0]).all()) for vectors in part.layers.values()):
        warn_user(
            f"All {len(part.layers['output'])} training items that were checked have the same "
            "features, so all points coincide. Give features that differ.",
            UserWarning,
        )


def held_out_scores(
    step: MetricStep, held_out: HeldOut, rng: np.random.Generator
) -> dict[str, float]:
    """Return the AUROC of a step, and of what it is measured against."""
    unseen, seen = held_out.unseen, held_out.seen
    scores = {"unseen": _auroc(step.transform(unseen.layers), unseen, rng)}
    if "features" in unseen.layers:
        scores["features"] = _auroc(unit_rows(unseen.layers["features"]), unseen, rng)
    if seen is not None:
        output = unit_rows(seen.layers["output"] - step.output_mean)
        scores["seen"] = _auroc(step.transform(seen.layers), seen, rng)
        scores["output"] = _auroc(output, seen, rng)
    return scores


def _auroc(points: Tensor, part: LayerSample, rng: np.random.Generator) -> float:
    alike, known = part.kinds.blocks(part.device)
    pairs = draw_both(alike, known, rng)
    cosines = [(points[left] * points[right]).sum(dim=1).cpu().numpy() for left, right in pairs]
    is_alike = np.repeat([1.0, 0.0], [len(some) for some in cosines])
    return pair_auroc(is_alike, np.concatenate(cosines))
