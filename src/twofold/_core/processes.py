"""Processes that train together, as torchrun's environment says; no torch is needed to know it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessPlace:
    """Which process this is, of how many.

    Attributes
    ----------
    rank, n_processes : int
        Among all, from 0.
    local_rank, n_here : int
        Among those of this machine.
    """

    rank: int = 0
    n_processes: int = 1
    local_rank: int = 0
    n_here: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and reports."""
        return self.rank == 0


ALONE = ProcessPlace()
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def process_place() -> ProcessPlace:
    """Return this process's place among those that torchrun started; alone without torchrun."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return ALONE
    try:
        place = ProcessPlace(*(int(os.environ[name]) for name in VARIABLES))
    except (KeyError, ValueError) as error:
        said = ", ".join(f"{name}={os.environ.get(name)}" for name in VARIABLES)
        raise ValueError(
            "torchrun's environment does not say which process this is: TORCHELASTIC_RUN_ID is "
            f"set, with {said}. Start the script by torchrun, or unset TORCHELASTIC_RUN_ID."
        ) from error
    return place if place.n_processes > 1 else ALONE
