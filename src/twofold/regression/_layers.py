"""The layers of a trained embedder that give a vector for each item.

For a network: the features, every inner layer whose output is a vector, and the output. For any
other regressor, whose inside nobody knows: the features and the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold.regression._features import as_numbers, item_shape, open_features, spread_evenly
from twofold.regression._network_embedder import NetworkEmbedder, bounded_batch
from twofold.regression._regressor import RegressorEmbedder

FEATURES, OUTPUT = "features", "output"
WIDEST = 2**14
"""Values of a layer, or columns of features, beyond which it is left out."""


def layer_names(
    embedder: NetworkEmbedder | RegressorEmbedder,
    X: Any,
    layers: Sequence[str] | None = None,
) -> list[str]:
    """Return the layers that can be read: "features", inner ones by their module's name, "output".

    Parameters
    ----------
    embedder : NetworkEmbedder or RegressorEmbedder
        Trained.
    X : n_items rows
        Features; a few are tried.
    layers : sequence of str, optional
        The inner layers that are wanted; all that give a vector by default.
    """
    inner: list[str] = []
    if isinstance(embedder, NetworkEmbedder) and isinstance(embedder.network, nn.Sequential):
        inner = _vector_layers(embedder, X)
    if layers is not None:
        missing = [name for name in layers if name not in inner]
        if missing:
            known = ", ".join(map(repr, inner)) or "none"
            raise ValueError(
                f"layers names {missing[0]!r}, which is no inner layer of the network that gives a "
                f"vector for each item. Those that do: {known}."
            )
        inner = list(layers)
    narrow = [FEATURES] if int(np.prod(item_shape(as_numbers(X)))) <= WIDEST else []
    return [*narrow, *inner, OUTPUT]


def read_layers(
    embedder: NetworkEmbedder | RegressorEmbedder, X: Any, names: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """Return what layers give for the rows of `X`, each float32 of shape (n_items, n_values)."""
    if isinstance(embedder, RegressorEmbedder):
        outputs = {OUTPUT: embedder.predict(X)} if OUTPUT in names else {}
    else:
        outputs = _read_network(embedder, X, names)
    if FEATURES in names:
        outputs[FEATURES] = _flat_features(X)
    return outputs


def _flat_features(X: Any) -> NDArray[np.float32]:
    features = open_features(as_numbers(X), "cpu")
    size = bounded_batch(item_shape(as_numbers(X)))
    parts = [
        features.rows(some).float().flatten(1)
        for some in torch.split(torch.arange(features.n_items), size)
    ]
    return torch.cat(parts).numpy()


def _read_network(
    embedder: NetworkEmbedder, X: Any, names: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    features = open_features(X, embedder.device)
    every = torch.arange(features.n_items, device=features.index_device)
    inner = [name for name in names if name not in (FEATURES, OUTPUT)]
    parts: dict[str, list[NDArray[np.float32]]] = {name: [] for name in [*inner, OUTPUT]}
    with _watched(embedder.network) as seen, torch.inference_mode():
        for some in torch.split(every, bounded_batch(embedder.input_shape)):
            seen.clear()
            output = embedder.network(features.rows(some))
            found = {path: value for path, _, value in seen}
            for name in inner:
                parts[name].append(found[name].float().cpu().numpy())
            parts[OUTPUT].append(output.float().cpu().numpy())
    read = {name: np.concatenate(values) for name, values in parts.items()}
    if embedder.output_scale is not None:
        read[OUTPUT] = embedder.output_scale.apply(read[OUTPUT])
    return read


Seen = list[tuple[str, nn.Module, Tensor]]
"""Name, module and output, in the order of the network's work."""


def _vector_layers(embedder: NetworkEmbedder, X: Any) -> list[str]:
    """Return the inner layers that give a vector, each once; not what only reshapes the input."""
    features = open_features(X, embedder.device)
    items = features.rows(spread_evenly(features, 2))
    with _watched(embedder.network) as seen, torch.inference_mode():
        output = embedder.network(items)
        names: list[str] = []
        places = {output.data_ptr()}
        has_learnt = False
        for name, module, value in seen:
            has_learnt |= any(True for _ in module.parameters(recurse=False))
            is_vector = value.ndim == 2 and len(value) == len(items)
            if has_learnt and is_vector and value.shape[1] <= WIDEST:
                if value.data_ptr() not in places and name not in names:  # dropout adds nothing
                    names.append(name)
                places.add(value.data_ptr())
    return names


@contextmanager
def _watched(network: nn.Module) -> Iterator[Seen]:
    """Note the output of every module without children, by its name in the user's network."""
    seen: Seen = []
    assert isinstance(network, nn.Sequential)
    body = network[1]

    def watch(name: str) -> Any:
        def note(module: nn.Module, _: Any, value: Any) -> None:
            if isinstance(value, Tensor):
                seen.append((name, module, value))

        return note

    leaves = [pair for pair in body.named_modules() if not any(pair[1].children())]
    handles = [module.register_forward_hook(watch(name)) for name, module in leaves]
    network.eval()
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
