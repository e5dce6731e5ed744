"""Optimisers by name, and Muon, whose steps are equally long in every direction of a matrix.

Adam scales every weight's step by itself. Muon takes a layer's momentum as one matrix and steps
along the orthogonal matrix that is nearest to it, so that directions in which the gradient is weak
are learnt as fast as those in which it is strong. After K. Jordan's Muon (2024).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from twofold._core.uncompiled import uncompiled

OptimiserName = Literal["adamw", "sgd", "muon"]
SGD_MOMENTUM, MUON_MOMENTUM = 0.9, 0.6
BESIDE_MUON = 0.02
"""AdamW's rate for what is no inner matrix (biases, the output layer), as a share of Muon's."""
TINY = 1e-12
N_ITERATIONS = 3
QUINTIC = (3.4445, -4.7750, 2.0315)
"""a, b, c of s ↦ a s + b s³ + c s⁵, which brings singular values in (0, 1] near 1: to between .68
and 1.21, those from .02 on in three rounds and those from .004 on in five. Three cost less; on
CIFAR-10 rounds of trials with three were as good as those with five (results/gpu/recipes.json)."""


class Uncompiled(torch.optim.Optimizer):
    """An optimiser that does not import torch's compiler."""

    add_param_group = uncompiled(torch.optim.Optimizer.add_param_group)
    zero_grad = uncompiled(torch.optim.Optimizer.zero_grad)
    state_dict = uncompiled(torch.optim.Optimizer.state_dict)
    load_state_dict = uncompiled(torch.optim.Optimizer.load_state_dict)


class AdamW(Uncompiled, torch.optim.AdamW):
    """Torch's own, without its compiler."""

    step = torch.no_grad()(uncompiled(torch.optim.AdamW.step))


class SGD(Uncompiled, torch.optim.SGD):
    """Torch's own, without its compiler."""

    step = torch.no_grad()(uncompiled(torch.optim.SGD.step))


class Muon(Uncompiled):
    """Momentum, made orthogonal, with weights that keep their length.

    For a weight W with as many rows as outputs, its gradient G and rate η:
    M ← μ M + G;  W ← W − η ‖W‖ / √r · O(G + μ M), r being the smaller side and O(·) the nearest
    orthogonal matrix; then W is brought back to the length that it began with. So η is the share of
    its length by which a matrix turns, whatever its size.

    Parameters
    ----------
    weights : iterable of Parameter
        Of two or more dimensions; the first is that of the outputs.
    lr : Tensor, scalar
        η; written to from outside.
    momentum : float
        μ.
    """

    def __init__(self, weights: Iterable[nn.Parameter], lr: Tensor, momentum: float) -> None:
        super().__init__(weights, {"lr": lr, "momentum": momentum})
        for group in self.param_groups:
            for weight in group["params"]:
                self.state[weight]["momentum"] = torch.zeros_like(weight)
                self.state[weight]["length"] = weight.detach().norm()

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step; matrices of one shape together."""
        for group in self.param_groups:
            alike: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    alike[tuple(weight.shape)].append(weight)
            for weights in alike.values():
                self._turn(weights, group["lr"], group["momentum"])

    def _turn(self, weights: list[nn.Parameter], rate: Tensor, momentum: float) -> None:
        kept = [self.state[weight]["momentum"] for weight in weights]
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        torch._foreach_mul_(kept, momentum)
        torch._foreach_add_(kept, gradients)
        ahead = torch._foreach_add(gradients, kept, alpha=momentum)
        matrices = torch.stack([matrix.flatten(1) for matrix in ahead])
        steps = (
            orthogonal(matrices, N_ITERATIONS).to(matrices.dtype) / min(matrices.shape[1:]) ** 0.5
        )
        for weight, step in zip(weights, steps, strict=True):
            length = self.state[weight]["length"]
            weight.sub_(step.view(weight.shape) * (rate * length))
            weight.mul_(length / weight.norm().clamp(min=TINY))


def orthogonal(matrices: Tensor, n_iterations: int) -> Tensor:
    """Return U Vᵀ of matrices U S Vᵀ, about; see `QUINTIC` for how near.

    By Newton and Schulz's iteration: matrix products alone, which a GPU does in half precision.

    Parameters
    ----------
    matrices : Tensor, shape (n_matrices, n_rows, n_columns)
        Not zero, or they stay it.
    n_iterations : int
        Rounds.
    """
    a, b, c = QUINTIC
    values = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    is_tall = values.shape[1] > values.shape[2]
    values = values.mT if is_tall else values
    values = values / values.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(n_iterations):
        square = values @ values.mT
        factor = torch.baddbmm(square, square, square, beta=b, alpha=c)
        values = torch.baddbmm(values, factor, values, beta=a)
    result: Tensor = values.mT if is_tall else values
    return result


def make_optimisers(
    network: nn.Module, name: OptimiserName, rate: float, weight_decay: float, device: str
) -> tuple[torch.optim.Optimizer, ...]:
    """Return what moves the weights of a network that are to be trained.

    Rates are tensors, so that a recorded step reads those of the moment.
    """
    weights = [weight for weight in network.parameters() if weight.requires_grad]

    def rate_of(share: float = 1.0) -> Tensor:
        return torch.tensor(share * rate, device=device)

    def adam(some: list[nn.Parameter], rate: Tensor) -> torch.optim.Optimizer:
        capturable = torch.device(device).type == "cuda"
        return AdamW(some, lr=rate, weight_decay=weight_decay, fused=True, capturable=capturable)

    if name == "adamw":
        return (adam(weights, rate_of()),)
    if name == "sgd":
        settings: dict[str, Any] = {"momentum": SGD_MOMENTUM, "nesterov": True, "fused": True}
        return (SGD(weights, lr=rate_of(), weight_decay=weight_decay, **settings),)
    matrices = [weight for weight in weights if weight.ndim >= 2][:-1]  # the last gives the output
    chosen = set(map(id, matrices))
    others = [weight for weight in weights if id(weight) not in chosen]
    beside = adam(others, rate_of(BESIDE_MUON))
    if not matrices:
        return (beside,)
    return Muon(matrices, rate_of(), MUON_MOMENTUM), beside
