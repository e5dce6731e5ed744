"""The layers of a trained embedder that give a vector for each item.

For a network: the features, every inner layer whose output is a vector, means of the maps that
convolutions give, of each shape the last, and the output. For any other regressor, whose inside
nobody knows: the features and the output.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from twofold.regression._features import (
    as_numbers,
    item_batches,
    item_shape,
    open_features,
    spread_evenly,
)
from twofold.regression._maps import as_vectors, is_of_map, map_vector_names, module_of
from twofold.regression._network_embedder import NetworkEmbedder, bounded_batch
from twofold.regression._regressor import RegressorEmbedder
from twofold.regression._views import averaged_views

FEATURES, OUTPUT = "features", "output"
WIDEST = 2**14
"""Values of a layer, or columns of features, beyond which it is left out."""


@dataclass(frozen=True, slots=True)
class LayerNames:
    """The layers of an embedder that can be read, in the order of its work.

    Attributes
    ----------
    hidden : tuple of str
        "features", unless they are too wide, and inner layers by their module's name; those of
        maps say which means they are, too.
    outputs : tuple of str
        What comes after the last hidden layer: the log-odds of targets, if it has them, and
        "output".
    """

    hidden: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def every(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.hidden, *self.outputs)

    @property
    def maps(self) -> tuple[str, ...]:
        """Those that are means of maps."""
        return tuple(filter(is_of_map, self.every))

    @property
    def has_inner(self) -> bool:
        """Whether there is a hidden layer beside the features."""
        return not set(self.hidden) <= {FEATURES}


def layer_names(
    embedder: NetworkEmbedder | RegressorEmbedder,
    X: Any,
    layers: Sequence[str] | None = None,
) -> LayerNames:
    """Return the layers that can be read.

    Parameters
    ----------
    embedder : NetworkEmbedder or RegressorEmbedder
        Trained.
    X : n_items rows
        Features; a few are tried.
    layers : sequence of str, optional
        The inner layers that are wanted, by their module's name; all that give a vector by
        default.
    """
    inner, log_odds = _vector_layers(embedder, X)
    if layers is not None:
        known = list(dict.fromkeys(map(module_of, [*inner, *log_odds])))
        missing = [name for name in layers if name not in known]
        if missing:
            raise ValueError(
                f"layers contains {missing[0]!r}, which is not an inner layer of the network that "
                "gives a vector for each item. These are: "
                f"{', '.join(map(repr, known)) or 'none'}."
            )
        inner, log_odds = (
            [one for name in layers for one in some if module_of(one) == name]
            for some in (inner, log_odds)
        )
    narrow = [FEATURES] if int(np.prod(item_shape(as_numbers(X)))) <= WIDEST else []
    return LayerNames((*narrow, *inner), (*log_odds, OUTPUT))


def read_layers(
    embedder: NetworkEmbedder | RegressorEmbedder, X: Any, names: Sequence[str]
) -> dict[str, Tensor]:
    """Return what layers give for the rows of `X`, on the embedder's device.

    Each is float32 of shape (n_items, n_values).
    """
    parts = list(layer_batches(embedder, X, names))
    return {name: torch.cat([part[name] for part in parts]) for name in names}


def layer_batches(
    embedder: NetworkEmbedder | RegressorEmbedder, X: Any, names: Sequence[str]
) -> Iterator[dict[str, Tensor]]:
    """Yield what layers give for the rows of `X`, some rows at a time."""
    if isinstance(embedder, RegressorEmbedder):
        yield from _regressor_batches(embedder, X, names)
        return
    size = bounded_batch(embedder.input_shape, embedder.device)
    for batch in item_batches(X, embedder.device, size):
        with torch.inference_mode():  # not over a yield: it would hold where the rows are used
            read = averaged_views(
                lambda items: _read_network(embedder, items, names), batch, embedder.n_views
            )
        yield read


def _regressor_batches(
    embedder: RegressorEmbedder, X: Any, names: Sequence[str]
) -> Iterator[dict[str, Tensor]]:
    features = open_features(as_numbers(X), "cpu")
    outputs = torch.from_numpy(embedder.predict(X)) if OUTPUT in names else None
    size = bounded_batch(item_shape(as_numbers(X)))
    for some in torch.split(torch.arange(features.n_items), size):
        read = {} if outputs is None else {OUTPUT: outputs[some]}
        if FEATURES in names:
            read[FEATURES] = features.rows(some).float().flatten(1)
        yield read


def _read_network(
    embedder: NetworkEmbedder, items: Tensor, names: Sequence[str]
) -> dict[str, Tensor]:
    modules = {module_of(name) for name in names}
    with _watched(embedder.network, modules, as_vectors) as seen:
        output = embedder.network(items).float()
    if embedder.output_scale is not None:
        mean = torch.from_numpy(embedder.output_scale.mean).to(output.device)
        output = output * embedder.output_scale.scale + mean
    last_calls = {name: vectors for name, _, vectors in seen}
    read = {name: value.float() for some in last_calls.values() for name, value in some.items()}
    read[OUTPUT] = output
    if FEATURES in names:
        read[FEATURES] = items.float().flatten(1)
    return {name: read[name] for name in names}


Seen = list[tuple[str, nn.Module, Any]]
"""Name, module and what is kept of its output, in the order of the network's work."""


def _vector_layers(embedder: Any, X: Any) -> tuple[list[str], list[str]]:
    """Return the hidden layers that give a vector, each once, and the log-odds if there are any.

    What only reshapes the input is none of them. Of maps of one shape the last counts.
    """
    if not isinstance(embedder, NetworkEmbedder) or not isinstance(embedder.network, nn.Sequential):
        return [], []
    features = open_features(X, embedder.device)
    items = features.rows(spread_evenly(features, 2))
    with _watched(embedder.network) as seen, torch.inference_mode():
        output = embedder.network(items)
        names: list[str] = []
        places = {output.data_ptr()}
        maps = _last_maps(seen)
        has_learnt = False
        for name, module, value in seen:
            has_learnt |= any(True for _ in module.parameters(recurse=False))
            if not has_learnt or len(value) != len(items):
                continue
            if value.ndim == 2 and value.shape[1] <= WIDEST:
                if value.data_ptr() not in places and name not in names:  # dropout adds nothing
                    names.append(name)
                places.add(value.data_ptr())
            elif name in maps and value is maps[name]:
                names += map_vector_names(name, value.shape[1:])
    has_head = len(embedder.network) > 2
    return (names[:-1], names[-1:]) if has_head else (names, [])


def _last_maps(seen: Seen) -> dict[str, Tensor]:
    """Return the last map of each shape, by its module; a single place is no map.

    Of a module that is called more than once, what it gives last counts.
    """
    last_calls = {name: value for name, _, value in seen}
    by_shape: dict[tuple[int, ...], tuple[str, Tensor]] = {}
    for name, _, value in seen:
        if value is last_calls[name] and value.ndim == 4 and max(value.shape[2:]) > 1:
            by_shape[tuple(value.shape)] = name, value
    return dict(by_shape.values())


@contextmanager
def _watched(
    network: nn.Module,
    names: Collection[str] | None = None,
    keep: Callable[[str, Tensor], Any] | None = None,
) -> Iterator[Seen]:
    """Note the outputs inside the user's part of a prepared network; see `watch_layers`."""
    network.eval()
    if not isinstance(network, nn.Sequential):
        yield []
        return
    with watch_layers(network[1], names, keep) as seen:
        yield seen


@contextmanager
def watch_layers(
    module: nn.Module,
    names: Collection[str] | None = None,
    keep: Callable[[str, Tensor], Any] | None = None,
) -> Iterator[Seen]:
    """Note the output of modules without children, all or some, by their name in `module`.

    `keep` is given a name and an output, and returns what is noted; the output by default.
    """
    seen: Seen = []
    handles, here = [], threading.get_ident()

    def watch(name: str) -> Any:
        def note(module: nn.Module, _: Any, value: Any) -> None:
            # The network may be at work in other threads, too.
            if isinstance(value, Tensor) and threading.get_ident() == here:
                seen.append((name, module, value if keep is None else keep(name, value)))

        return note

    for name, inner in module.named_modules():
        if not any(inner.children()) and (names is None or name in names):
            handles.append(inner.register_forward_hook(watch(name)))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
