"""Who trains together: this process alone, or all that torchrun started."""

from __future__ import annotations

import torch

from twofold._core.processes import process_place
from twofold.regression._workers import OneWorker, Workers, is_alone

ONE_WORKER = OneWorker()


def workers(device: str) -> Workers:
    """Return the processes that train together on devices of this kind, joined if need be."""
    place = process_place()
    if place.n_processes == 1 or is_alone():
        return ONE_WORKER
    # Fabric is an extra, and imports a second's worth of torch.
    from twofold.regression._fabric_workers import join

    return join(torch.device(device).type, place)
