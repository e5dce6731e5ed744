"""The input of a classifier's last layer: the network without that layer."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch import nn

from twofold.regression import Chain


def hidden_layer(network: nn.Module) -> nn.Sequential:
    """Return a network that gives the input of `network`'s last linear layer, sharing its weights.

    The last layer is replaced by the identity as a linear layer, x ↦ I x, which changes no bit: so
    the network keeps the form that its name stands for, and is saved and opened like any other.

    Parameters
    ----------
    network : nn.Sequential
        Input scaling, then an nn.Sequential that ends in nn.Linear.
    """
    assert isinstance(network, nn.Sequential)
    scaling, body = network
    assert isinstance(body, nn.Sequential)
    # Not named_children(), which leaves out a layer that stands in two places.
    layers = OrderedDict(body._modules)
    name, head = layers.popitem()
    assert isinstance(head, nn.Linear)
    return nn.Sequential(scaling, nn.Sequential(layers | {name: _identity(head)}))


def hidden_width(network: nn.Module) -> int:
    """Return the number of inputs of a network's last linear layer."""
    assert isinstance(network, nn.Sequential)
    body = network[1]
    assert isinstance(body, nn.Sequential)
    head = body[-1]
    assert isinstance(head, nn.Linear)
    return head.in_features


def refuse_other_heads(embedder: Any, n_labels: int) -> None:
    """Refuse a user's network that does not end in a linear layer with an output per label."""
    if not isinstance(embedder, nn.Module):
        return
    head = _last_of_several(embedder)
    if not isinstance(head, nn.Linear):
        raise TypeError(
            "ClassifierLearner uses the input of the last layer as points, so a network of your "
            "own must be a plain nn.Sequential of several layers that ends in nn.Linear, got "
            f"{type(embedder).__name__}{'' if head is None else f', {type(head).__name__} last'}."
        )
    if head.out_features != n_labels:
        raise ValueError(
            f"The network's last layer must have one output for each of {n_labels} classes or "
            f"labels, got {head.out_features}: make it nn.Linear({head.in_features}, {n_labels})."
        )


def _last_of_several(network: nn.Module) -> nn.Module | None:
    """Return the last layer of a chain of several; None for any other network."""
    is_chain = isinstance(network, nn.Sequential) and (
        # Another subclass may do more than the chain.
        type(network).forward in (nn.Sequential.forward, Chain.forward)
    )
    return network[-1] if is_chain and len(network) > 1 else None  # type: ignore[arg-type, index]


def _identity(head: nn.Linear) -> nn.Linear:
    # Without drawing first weights, for which torch's global generator would be used.
    layer = nn.utils.skip_init(  # type: ignore[no-untyped-call]
        nn.Linear,
        head.in_features,
        head.in_features,
        bias=head.bias is not None,
        device=head.weight.device,
        dtype=head.weight.dtype,
    )
    assert isinstance(layer, nn.Linear)
    nn.init.eye_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
