"""What of the metric step is open, chosen on classes held out: whole kinds, not items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import retrieval_scores
from twofold.metric._gate import MOST_CLASSES, GateCurve, fit_curve, gated
from twofold.metric._layer_space import (
    Variant,
    Vectors,
    class_means,
    fit_layer_space,
    unit_rows,
    variants_of,
)
from twofold.metric._weights import fit_weights

SHARES = (0.0, 0.25, 0.5, 0.75)
"""Of the output in the points of kinds seen, that are compared."""


@dataclass(frozen=True, slots=True)
class MetricSelection:
    """Which layers count, how much, and what was measured on the classes held out.

    Attributes
    ----------
    spaces : tuple of (str, str)
        Layer and variant of each space that counts.
    weights : tuple of float
        How much each counts; they sum to 1.
    gate : GateCurve or None
        The output's share; None without one.
    n_held_out : int
        Classes that were held out; 0 if nothing could be chosen.
    scores : dict
        MAP@R on the classes held out ("unseen"), on new items of the others ("seen"), and of the
        features as given on the classes held out ("features").
    """

    spaces: tuple[tuple[str, Variant], ...]
    weights: tuple[float, ...]
    gate: GateCurve | None
    n_held_out: int
    scores: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class LayerSample:
    """Layers and classes of some items.

    Attributes
    ----------
    layers : mapping of str to ndarray of float32, shape (n_items, n_values)
        By name; "features" and "output" among them.
    classes : ndarray of int64, shape (n_items,)
        From 0 on, without gaps.
    """

    layers: Mapping[str, Vectors]
    classes: NDArray[np.int64]


def select_metric(
    trained: LayerSample,
    unseen: LayerSample,
    seen: LayerSample,
    rng: np.random.Generator,
    *,
    with_output: bool,
) -> MetricSelection:
    """Choose on classes that an embedder was trained without.

    Parameters
    ----------
    trained : LayerSample
        Items that it was trained on.
    unseen : LayerSample
        Items of the classes held out.
    seen : LayerSample
        Items that it was not trained on, of classes that it was.
    rng : Generator
        Draws pairs.
    with_output : bool
        Whether the output has a share in the points of kinds seen.
    """
    names = [name for name in trained.layers if name != "output"]
    n_classes = int(trained.classes.max()) + 1
    spaces = [
        fit_layer_space(name, variant, trained.layers[name], trained.classes)
        for name in [*names, "output"]
        for variant in variants_of(name, trained.layers[name].shape[1], n_classes)
    ]
    of_unseen = [space.apply(unseen.layers[space.layer]) for space in spaces]
    weights = fit_weights(of_unseen, unseen.classes, rng)
    kept = np.flatnonzero(weights)
    root = np.sqrt(weights[kept]).astype(np.float32)

    def join(part: LayerSample) -> Vectors:
        parts = [spaces[k].apply(part.layers[spaces[k].layer]) for k in kept]
        return unit_rows(np.hstack([r * points for r, points in zip(root, parts, strict=True)]))

    points = {"unseen": join(unseen), "seen": join(seen)}
    features = unit_rows(unseen.layers["features"])
    scores = {
        "features": _map_at_r(features, unseen.classes),
        "unseen": _map_at_r(points["unseen"], unseen.classes),
        "seen": _map_at_r(points["seen"], seen.classes),
    }
    selection = MetricSelection(
        tuple((spaces[k].layer, spaces[k].variant) for k in kept),
        tuple(float(weight) for weight in weights[kept]),
        None,
        int(unseen.classes.max()) + 1,
        scores,
    )
    if not with_output or n_classes > MOST_CLASSES:
        return selection
    return _with_gate(selection, join(trained), points, trained, unseen, seen)


def equal_selection(names: list[str]) -> MetricSelection:
    """Return the selection where none can be made: every layer, and each counts the same."""
    spaces: tuple[tuple[str, Variant], ...] = tuple((name, "whitened") for name in names)
    return MetricSelection(spaces, (1 / len(spaces),) * len(spaces), None, 0, {})


def _with_gate(
    selection: MetricSelection,
    of_trained: Vectors,
    points: dict[str, Vectors],
    trained: LayerSample,
    unseen: LayerSample,
    seen: LayerSample,
) -> MetricSelection:
    """Add the output's share that is best for kinds seen and unseen alike, by the sum of MAP@R."""
    means = unit_rows(class_means(of_trained, trained.classes).astype(np.float32))
    nearest = {name: (some @ means.T).max(axis=1) for name, some in points.items()}
    curve = fit_curve(nearest["seen"], nearest["unseen"])
    centre = trained.layers["output"].mean(axis=0)
    parts = {"unseen": unseen, "seen": seen}
    best = selection
    for share in SHARES[1:]:
        gate = replace(curve, share=share)
        scores = dict(selection.scores)
        for name, part in parts.items():
            output = unit_rows(part.layers["output"] - centre)
            whole = gated(points[name], output, gate.apply(nearest[name]))
            scores[name] = _map_at_r(whole, part.classes)
        if scores["unseen"] + scores["seen"] > best.scores["unseen"] + best.scores["seen"]:
            best = replace(selection, gate=gate, scores=scores)
    return best


def _map_at_r(points: Vectors, classes: NDArray[np.int64]) -> float:
    return retrieval_scores(points, classes, metric="cosine", n_resamples=0).map_at_r
