"""Random numbers of a training: from a torch generator of its own, never the global one.

So the same seed gives the same network in threads side by side, and what others draw is not
disturbed. Only a user's own module may draw for itself, and torch gives it the process's generator:
a step of such a network is taken under a lock, with that generator's state lent and given back.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from twofold.regression._shares import SharedGenerator, drawn_rows

LARGEST_SEED = 2**63
_LENT = threading.RLock()


def torch_generator(
    rng: np.random.Generator,
    device: str | torch.device,
    kind: type[torch.Generator] = torch.Generator,
) -> torch.Generator:
    """Return a generator of torch's, seeded by one of NumPy's."""
    generator = kind(device)
    generator.manual_seed(int(rng.integers(LARGEST_SEED)))
    return generator


class Draws:
    """All that one training draws.

    Parameters
    ----------
    rng : Generator
        Of the seed.
    device : str
        That trains.
    lends : bool
        Whether the network is a user's own, which may draw for itself.
    is_shared : bool
        Whether other processes draw the same, and batches are shared with them.

    Attributes
    ----------
    generator : torch.Generator
        On the device; given to dropout layers and to the task.
    """

    def __init__(
        self, rng: np.random.Generator, device: str, lends: bool = False, is_shared: bool = False
    ) -> None:
        kind = SharedGenerator if is_shared else torch.Generator
        self.generator = torch_generator(rng, device, kind)
        self._device = torch.device(device)
        self._lent: dict[str, Tensor] = {}
        if lends:
            self._lent = {
                kind: torch_generator(rng, place).get_state()
                for kind, place in self._process_wide().items()
            }

    def _process_wide(self) -> dict[str, torch.device]:
        """Return the devices whose generators a module may draw from."""
        places = {"cpu": torch.device("cpu")}
        return places if self._device.type == "cpu" else places | {"cuda": self._device}

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Have torch's own generators draw as ours inside, if that may be needed."""
        if not self._lent:
            yield
            return
        with _LENT:
            theirs = {kind: _state_of(place) for kind, place in self._process_wide().items()}
            for kind, place in self._process_wide().items():
                _set_state(place, self._lent[kind])
            try:
                yield
            finally:
                for kind, place in self._process_wide().items():
                    self._lent[kind] = _state_of(place)
                    _set_state(place, theirs[kind])

    def lend_otherwise(self, rank: int) -> None:
        """Have a module that draws for itself draw other numbers than in the first process.

        What it draws is for its own part of a batch, and cannot be parted.
        """
        if not rank or not self._lent:
            return
        for kind, place in self._process_wide().items():
            state = self._lent[kind].cpu().numpy().tobytes() + bytes([rank % 256, rank // 256])
            seed = int.from_bytes(hashlib.sha256(state).digest()[:7], "little")
            self._lent[kind] = torch.Generator(place).manual_seed(seed).get_state()

    def state(self) -> dict[str, Tensor]:
        """Return where the generators are, to go on from another day."""
        return {"own": self.generator.get_state(), **self._lent}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state; KeyError if it is another training's."""
        self.generator.set_state(state["own"])
        self._lent = {kind: state[kind] for kind in self._lent}


def _state_of(place: torch.device) -> Tensor:
    return torch.get_rng_state() if place.type == "cpu" else torch.cuda.get_rng_state(place)


def _set_state(place: torch.device, state: Tensor) -> None:
    if place.type == "cpu":
        torch.set_rng_state(state)
    else:
        torch.cuda.set_rng_state(state, place)


class Dropout(nn.Dropout):
    """Dropout that draws from the generator of the training it is in.

    Outside of one it is torch's own.
    """

    generator: torch.Generator | None = None

    def forward(self, values: Tensor) -> Tensor:
        """Return values, each 0 with chance p and else 1 / (1 − p) of itself, in training."""
        if not self.training or self.p == 0:
            return values
        if self.generator is None:
            return functional.dropout(values, self.p)
        draw = partial(_kept, values, self.p, self.generator)
        kept = drawn_rows(draw, len(values), self.generator)
        return values * kept.div_(1 - self.p)


def _kept(values: Tensor, p: float, generator: torch.Generator, n_rows: int) -> Tensor:
    """Return 1 with chance 1 - p and else 0, for so many rows like those of `values`."""
    is_whole = n_rows == len(values)
    kept = torch.empty_like(values) if is_whole else values.new_empty((n_rows, *values.shape[1:]))
    return kept.bernoulli_(1 - p, generator=generator)


@contextmanager
def drawing_from(network: nn.Module, generator: torch.Generator) -> Iterator[None]:
    """Have a network's dropout layers draw from a generator inside."""
    layers = [layer for layer in network.modules() if isinstance(layer, Dropout)]
    for layer in layers:
        layer.generator = generator
    try:
        yield
    finally:
        for layer in layers:
            layer.generator = None
