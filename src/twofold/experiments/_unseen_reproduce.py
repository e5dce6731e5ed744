"""`reproduce_unseen`: a protocol for kinds never seen, a record per method and seed.

A run that is done is not run again, one that was interrupted goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from twofold._core.checks import check_count
from twofold._core.devices import resolve_device
from twofold._core.files import check_folder_place
from twofold.experiments._gallery import write_gallery
from twofold.experiments._kind_scores import best_score
from twofold.experiments._machine import describe_commit
from twofold.experiments._records import RunRecord, read_finished, record_path, write_record
from twofold.experiments._reproduce import Run, Watcher
from twofold.experiments._unseen_methods import (
    UNSEEN_METHODS,
    UnseenMethod,
    choose_unseen_methods,
)
from twofold.experiments._unseen_protocols import UnseenProtocol, find_unseen_protocol
from twofold.experiments._unseen_run import run_unseen, unseen_configuration, warm_up_unseen
from twofold.experiments._unseen_sets import UnseenSet, open_unseen


def reproduce_unseen(
    name: str,
    folder: str | os.PathLike[str],
    *,
    methods: Sequence[str] = tuple(UNSEEN_METHODS),
    seeds: Sequence[int] = (0,),
    epochs: int | None = None,
    device: str = "auto",
    data_dir: str | os.PathLike[str] | None = None,
    watch: Watcher | None = None,
) -> Iterator[RunRecord]:
    """Run every method with every seed, and yield each record once it is written.

    Parameters
    ----------
    name : str
        One of `UNSEEN_PROTOCOLS`.
    folder : path
        Folder for the records, ``<name>/<method>-seed<seed>.json``.
    methods : sequence of str
        Of `UNSEEN_METHODS`.
    seeds : sequence of int
        Random seeds.
    epochs : int, optional
        Number of epochs, instead of the protocol's.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where it runs.
    data_dir : path, optional
        Folder of the data sets; by default the one in the variable TWOFOLD_DATA.
    watch : callable (run, epoch, n_epochs, auroc), optional
        Called as a run begins and after every epoch, without an AUROC, and with it once the run is
        scored.
    """
    protocol = find_unseen_protocol(name)
    describe_commit()  # before the hours in which another may be made
    if epochs is not None:
        protocol = replace(protocol, n_epochs=check_count("epochs", epochs))
    selected = choose_unseen_methods(methods)
    place, where = check_folder_place(folder), resolve_device(device)
    data = open_unseen(protocol, data_dir)
    is_warm: set[str] = set()
    for seed, method in product(seeds, selected):
        settings = unseen_configuration(protocol, method, data.train, seed)
        path = record_path(place, protocol.name, method.name, seed)
        if path.exists():
            yield read_finished(path, settings, where)
            continue
        if method.name not in is_warm:
            warm_up_unseen(protocol, method, data.train, where)
            is_warm.add(method.name)
        n_epochs = settings["parameters"].get("embedder__max_epochs", 0)
        watched = WatchedRun(method, seed, n_epochs, watch or _nobody)
        checkpoint = _checkpoint(path, settings | {"device": where})
        yield _run(protocol, data, watched, where, place, checkpoint)


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A method with a seed, how many epochs it trains, and who is told of them."""

    method: UnseenMethod
    seed: int
    n_epochs: int
    watch: Watcher

    def tell(self, epoch: int, auroc: float | None = None) -> None:
        """Say how many epochs are done, and the AUROC once it is known."""
        self.watch(Run(self.method, self.seed), epoch, self.n_epochs, auroc)


def _run(
    protocol: UnseenProtocol,
    data: UnseenSet,
    watched: WatchedRun,
    device: str,
    folder: Path,
    checkpoint: Path,
) -> RunRecord:
    """Run one method, and write its record and gallery."""
    watched.tell(0)
    record, gallery = run_unseen(
        protocol,
        watched.method,
        data,
        watched.seed,
        device,
        checkpoint,
        callback=lambda epoch: watched.tell(epoch.number),
    )
    if gallery is not None:
        write_gallery(folder, gallery)
    _forget_trainings(write_record(folder, record))
    assert record.unseen is not None
    watched.tell(watched.n_epochs, best_score(record.unseen.never_seen, "auroc"))
    return record


def _nobody(run: Run, epoch: int, n_epochs: int, auroc: float | None) -> None:
    """Where nobody watches, nobody is told."""


def _checkpoint(path: Path, settings: dict[str, Any]) -> Path:
    """Return where the training of a run is kept: other settings, another file."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.parent / f".{path.stem}-{digest}.safetensors"


def _forget_trainings(path: Path) -> None:
    """Remove what trainings of a run that is done have left, with whatever settings."""
    for left in path.parent.glob(f".{path.stem}-*.safetensors"):
        left.unlink(missing_ok=True)
