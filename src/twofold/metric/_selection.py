"""Selection in the metric step, on kinds that were held out: whole kinds, not items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from twofold.metric._gate import MOST_CLASSES, GateCurve, fit_curve
from twofold.metric._kinds import Kinds
from twofold.metric._layer_space import (
    SHRINKAGE,
    LayerSpace,
    Variant,
    fit_layer_spaces,
    unit_rows,
    variants_of,
)
from twofold.metric._weights import Ends, draw_both, fit_weights

SHRINKAGES: tuple[float, ...] = (SHRINKAGE, 0.5, 0.2)
"""Of the covariance within kinds: the one that tells kinds held out apart best is taken."""
FEWEST_COMPARED = 5
"""Kinds held out from which on shrinkages are compared: fewer make six pairs of kinds at most, and
which shrinkage suits these is chance. Learnt from a random half of the classes, scored on the other
by metric="unseen", what comparing gains over .8: on pixels of 60 people, six of 30 held out (five
halves), recall@1 +.057 and AUROC +.008; of 50 letters, five of 25 (five halves), +.001 and +.007;
on 24 factors, 20 of 100 (three halves), -.002 and -.0002. On digits and MNIST's training images,
one or two of five, it would lose .003 and .011 AUROC (two halves each)."""
MAP_SHARE = 1.0
"""What the weight of a map's means is drawn to, beside 1 for a layer that gives a vector itself."""


@dataclass(frozen=True, slots=True)
class MetricSelection:
    """Which layers count, how much, and the scores on the held-out kinds.

    Attributes
    ----------
    spaces : tuple of (str, str)
        Layer and variant of each space that is used.
    weights : tuple of float
        How much each counts; they sum to 1.
    gate : GateCurve or None
        The output's share; None without one.
    shrinkage : float
        Shrinkage of the covariance used for whitening.
    n_held_out : int
        Number of classes, labels or groups that were held out; 0 if nothing could be selected.
    scores : dict
        AUROC on the held-out kinds ("unseen") and of the features as given on these ("features");
        on new items of the other kinds ("seen") and of the output on these ("output").
    """

    spaces: tuple[tuple[str, Variant], ...]
    weights: tuple[float, ...]
    gate: GateCurve | None = None
    shrinkage: float = SHRINKAGE
    n_held_out: int = 0
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class LayerSample:
    """Layers and kinds of some items.

    Attributes
    ----------
    layers : mapping of str to Tensor of float32, shape (n_items, n_values)
        By name, in the order of the network; the last is "output".
    kinds : Kinds
        Of the items.
    """

    layers: Mapping[str, Tensor]
    kinds: Kinds

    @property
    def device(self) -> str:
        """Where the layers lie."""
        return str(self.layers["output"].device)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What a choice is made on: samples of an embedder that was trained without some kinds.

    Attributes
    ----------
    trained : LayerSample
        Items that it was trained on.
    unseen : LayerSample
        Items of the kinds held out.
    seen : LayerSample or None
        Items that it was not trained on, of kinds that it was; None if the output is to have no
        share in their points.
    n_kinds : int
        How many were held out.
    """

    trained: LayerSample
    unseen: LayerSample
    seen: LayerSample | None
    n_kinds: int


def select_metric(
    held_out: HeldOut, shares: Mapping[str, float], rng: np.random.Generator
) -> tuple[MetricSelection, list[LayerSpace]]:
    """Choose on kinds that an embedder was trained without; return the spaces that count, too.

    Parameters
    ----------
    held_out : HeldOut
        Samples of three kinds.
    shares : mapping of str to float
        What a layer's weight is drawn to, up to one factor; 1 for those that it does not name. 0
        for those that come after the last hidden one: they know the training kinds alone, and
        count only as far as kinds held out say so.
    rng : Generator
        Draws pairs.
    """
    pairs = draw_both(*held_out.unseen.kinds.blocks(held_out.unseen.device), rng)
    shrinkages = SHRINKAGES if held_out.n_kinds >= FEWEST_COMPARED else (SHRINKAGE,)
    candidates = [_weigh(held_out, shares, shrinkage, pairs) for shrinkage in shrinkages]
    selection, spaces, _ = min(candidates, key=lambda candidate: candidate[2])
    if held_out.seen is not None and 0 < held_out.trained.kinds.n_classes <= MOST_CLASSES:
        selection = replace(selection, gate=_fit_gate(selection, spaces, held_out))
    return selection, spaces


def _weigh(
    held_out: HeldOut, shares: Mapping[str, float], shrinkage: float, pairs: tuple[Ends, Ends]
) -> tuple[MetricSelection, list[LayerSpace], float]:
    """Return the spaces that count by one shrinkage, and the loss on kinds held out."""
    trained, unseen = held_out.trained, held_out.unseen
    named = [
        (name, variant)
        for name, vectors in trained.layers.items()
        for variant in variants_of(name, vectors.shape[1], trained.kinds.n_classes)
    ]
    spaces = fit_layer_spaces(named, trained.layers, trained.kinds, shrinkage)
    points = [space.apply(unseen.layers[space.layer]) for space in spaces]
    similarity = torch.stack([some @ some.T for some in points])
    prior = np.array([shares.get(space.layer, 1.0) for space in spaces])
    blocks = unseen.kinds.blocks(unseen.device)
    fitted = fit_weights(similarity, *blocks, prior, held_out.n_kinds, pairs)
    kept = np.flatnonzero(fitted.weights)
    selection = MetricSelection(
        tuple(named[k] for k in kept),
        tuple(float(weight) for weight in fitted.weights[kept]),
        shrinkage=shrinkage,
        n_held_out=held_out.n_kinds,
    )
    return selection, [spaces[k] for k in kept], fitted.loss


def prior_selection(
    names: Sequence[str], shares: Mapping[str, float] | None = None
) -> MetricSelection:
    """Return the selection where none can be made: each layer counts by its share."""
    shares = dict.fromkeys(names, 1.0) | dict(shares or {})
    counted = {name: shares[name] for name in names if shares[name] > 0}
    spaces: tuple[tuple[str, Variant], ...] = tuple((name, "whitened") for name in counted)
    whole = sum(counted.values())
    return MetricSelection(spaces, tuple(share / whole for share in counted.values()))


def join_layers(
    spaces: Sequence[LayerSpace],
    weights: tuple[float, ...],
    layers: Mapping[str, Tensor],
) -> Tensor:
    """Return [√w_k · points of space k], of length 1; a space without length adds nothing."""
    parts = [
        weight**0.5 * space.apply(layers[space.layer])
        for space, weight in zip(spaces, weights, strict=True)
    ]
    return unit_rows(torch.cat(parts, dim=1))


def _fit_gate(selection: MetricSelection, spaces: list[LayerSpace], held_out: HeldOut) -> GateCurve:
    assert held_out.seen is not None
    of_trained, of_unseen, of_seen = (
        join_layers(spaces, selection.weights, part.layers)
        for part in (held_out.trained, held_out.unseen, held_out.seen)
    )
    means = unit_rows(held_out.trained.kinds.means(of_trained))
    return fit_curve((of_seen @ means.T).amax(dim=1), (of_unseen @ means.T).amax(dim=1))
