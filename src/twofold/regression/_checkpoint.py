"""A training on disk, so that an interrupted one continues where it stopped.

One safetensors file holds weights, the optimisers' moments and the generators' states; reading it
runs nothing. It names the training it belongs to, and no other takes it up.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from twofold._core.files import check_place, new_file
from twofold._core.reasons import reason_of
from twofold._core.text_files import parse_json
from twofold.regression._averaging import WeightAverage
from twofold.regression._draws import Draws
from twofold.regression._tensor_files import write_tensors

LARGEST_SHARE = 0.05
"""Of the time of training that may go into writing."""
SAME_LOSS = 0.01
Kept = tuple[dict[str, Tensor], dict[str, Any]]
"""What a checkpoint holds: all that is a tensor, and the rest."""


@dataclass(slots=True)
class Progress:
    """How far a training has come.

    Attributes
    ----------
    n_done : int
        Epochs behind it.
    seconds : float
        Of training.
    losses, validation_losses : list of float
        One an epoch; the second is empty without a part to validate on.
    best_epoch : int or None
        The epoch, from 1, with the least validation loss.
    best_weights : dict or None
        The network's state after it.
    """

    n_done: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    best_epoch: int | None = None
    best_weights: dict[str, Tensor] | None = None


@dataclass(slots=True, eq=False)
class Trainer:
    """All that changes while a network is trained.

    Attributes
    ----------
    network : nn.Module
        On its device.
    optimisers : tuple of Optimizer
        Each with one group of parameters, whose rate is a tensor; as it is now the highest.
    rng : Generator
        Of the order of examples.
    draws : Draws
        What else is random.
    average : WeightAverage
        Of the last steps.
    n_steps : int
        Steps taken.
    """

    network: nn.Module
    optimisers: tuple[torch.optim.Optimizer, ...]
    rng: np.random.Generator
    draws: Draws
    average: WeightAverage
    n_steps: int = 0
    _highest: list[Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self._highest = [optimiser.param_groups[0]["lr"].clone() for optimiser in self.optimisers]

    def set_rates(self, share: Tensor) -> None:
        """Set all learning rates to a share of the highest."""
        for optimiser, highest in zip(self.optimisers, self._highest, strict=True):
            torch.mul(highest, share, out=optimiser.param_groups[0]["lr"])


class Checkpoint:
    """The file that one training is kept in.

    Parameters
    ----------
    path : Path
        Of the file.
    training : object
        Whatever tells this training from others, as JSON takes it.
    network : nn.Module
        With its first weights, which tell it apart as well.
    first_loss : float
        Before any step: data, targets and method all tell in it, on a GPU not to the last digit.
    """

    def __init__(self, path: Path, training: Any, network: nn.Module, first_loss: float) -> None:
        self.path = check_place(path)
        self._identity = _identity(training, network)
        self._first_loss = first_loss
        self._write_again = 0.0

    def restore(self, trainer: Trainer) -> Progress:
        """Bring a trainer to where it was, if the file is there; return how far that is."""
        return self.take_up(self.read(), trainer)

    def take_up(self, kept: Kept | None, trainer: Trainer) -> Progress:
        """Bring a trainer to where it was, if something was read; return how far that is."""
        if kept is None:
            return Progress()
        try:
            return _restore(trainer, *kept)
        except _DAMAGE as error:
            raise _unreadable(self.path, error) from error

    def read(self) -> Kept | None:
        """Return what the file holds, if it is there and this training's."""
        if not self.path.exists():
            return None
        tensors, notes = _read(self.path)
        try:
            is_same_loss = math.isclose(notes["first_loss"], self._first_loss, rel_tol=SAME_LOSS)
            if notes["identity"] == self._identity and is_same_loss:
                return tensors, notes
        except _DAMAGE as error:
            raise _unreadable(self.path, error) from error
        raise ValueError(
            f"{self.path} belongs to another training (with other data, settings or seed): choose "
            "another checkpoint, or remove it to start again."
        )

    def keep(self, trainer: Trainer, progress: Progress) -> None:
        """Write where a trainer is, unless that was done a moment ago."""
        began = time.perf_counter()
        if began < self._write_again:
            return
        _write(self.path, _tensors(trainer, progress), self._notes(trainer, progress))
        ended = time.perf_counter()
        self._write_again = ended + (ended - began) / LARGEST_SHARE

    def remove(self) -> None:
        """Forget a training that is done."""
        self.path.unlink(missing_ok=True)

    def _notes(self, trainer: Trainer, progress: Progress) -> dict[str, Any]:
        return {
            "identity": self._identity,
            "first_loss": self._first_loss,
            "n_steps": trainer.n_steps,
            "n_averaged": trainer.average.n_seen,
            "rng": trainer.rng.bit_generator.state,
            "progress": {
                name: getattr(progress, name)
                for name in ("n_done", "seconds", "losses", "validation_losses", "best_epoch")
            },
        }


def _restore(trainer: Trainer, tensors: dict[str, Tensor], notes: dict[str, Any]) -> Progress:
    """Bring a trainer to where it was; return how far that is."""
    best = _part(tensors, "best.")
    progress = Progress(**notes["progress"], best_weights=best or None)
    trainer.network.load_state_dict(_part(tensors, "network."))
    for place, optimiser in enumerate(trainer.optimisers):
        _restore_moments(optimiser, _part(tensors, f"optimiser.{place}."))
    trainer.average.restore(_part(tensors, "average."), notes["n_averaged"])
    trainer.n_steps = notes["n_steps"]
    trainer.rng.bit_generator.state = notes["rng"]
    trainer.draws.restore(_part(tensors, "random."))
    return progress


def _tensors(trainer: Trainer, progress: Progress) -> dict[str, Tensor]:
    tensors = {f"network.{name}": value for name, value in trainer.network.state_dict().items()}
    for place, optimiser in enumerate(trainer.optimisers):
        for number, moments in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{place}.{number}.{kind}": v for kind, v in moments.items()}
    tensors |= {f"average.{name}": value for name, value in trainer.average.state().items()}
    if progress.best_weights is not None:
        tensors |= {f"best.{name}": value for name, value in progress.best_weights.items()}
    tensors |= {f"random.{name}": state for name, state in trainer.draws.state().items()}
    return tensors


def _restore_moments(optimiser: torch.optim.Optimizer, moments: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in moments.items():
        place, kind = name.split(".")
        state.setdefault(int(place), {})[kind] = tensor
    for number, weights in enumerate(optimiser.param_groups[0]["params"]):
        for kind, tensor in state.get(number, {}).items():
            if tensor.shape == weights.shape:
                # In the order of the weights' own numbers in memory, which Adam goes by.
                state[number][kind] = torch.empty_like(weights).copy_(tensor)
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})


def _part(tensors: dict[str, Tensor], start: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)
    }


def _identity(training: Any, network: nn.Module) -> str:
    digest = hashlib.sha256(json.dumps(training, sort_keys=True).encode())
    for name, tensor in network.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _write(path: Path, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
    with new_file(path) as beside:
        write_tensors(beside, tensors, {"training": json.dumps(notes, default=_as_list)})


def _as_list(value: Any) -> Any:
    """Some generators hold arrays in their state."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON.")


def _read(path: Path) -> Kept:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            notes = parse_json((file.metadata() or {})["training"], "Its text", "remove it")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise _unreadable(path, error) from error
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and torch.isnan(tensor).any():  # limits may be infinite
            raise _unreadable(path, ValueError(f"{name} holds NaN"))
    return tensors, notes


_DAMAGE = (LookupError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError)
"""What fields that are missing, of other types or of other shapes raise."""


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path} cannot be read as a checkpoint ({reason_of(error)}): remove it to start again."
    )
