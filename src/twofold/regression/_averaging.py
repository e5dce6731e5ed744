"""The mean of the weights over the last steps, which evens out their fluctuations."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class WeightAverage:
    """Weights and running statistics of a network, averaged from some step on.

    Parameters
    ----------
    network : nn.Module
        That is trained.
    n_steps : int
        Of the training.
    share : float
        Of the steps, the last ones, that are averaged over; 0 for none.
    """

    def __init__(self, network: nn.Module, n_steps: int, share: float) -> None:
        self.first = n_steps - round(share * n_steps)
        # Limits may be infinite; they stay as they are, and a mean of infinities is none.
        self._moving = [
            tensor
            for tensor in network.state_dict().values()
            if tensor.is_floating_point() and bool(tensor.isfinite().all())
        ]
        self.means: list[Tensor] = []
        self.n_seen = 0

    def follow(self, n_steps: int) -> None:
        """Note the weights after so many steps."""
        if n_steps <= self.first:
            return
        self.n_seen += 1
        if not self.means:
            self.means = [tensor.detach().clone() for tensor in self._moving]
        else:
            torch._foreach_lerp_(self.means, self._moving, 1 / self.n_seen)

    def state(self) -> dict[str, Tensor]:
        """Return what has been averaged, to go on from another day."""
        return {str(place): mean for place, mean in enumerate(self.means)}

    def restore(self, state: Mapping[str, Tensor], n_seen: int) -> None:
        """Go on from a state, as far as there is one."""
        self.means = [
            torch.empty_like(tensor).copy_(state[str(place)])
            for place, tensor in enumerate(self._moving if state else [])
        ]
        self.n_seen = n_seen

    def settle(self) -> None:
        """Give the network the mean, if there is one."""
        if self.means:
            with torch.no_grad():
                torch._foreach_copy_(self._moving, self.means)
