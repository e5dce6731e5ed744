"""`reproduce_unseen`: a protocol for kinds never seen, a record a method and seed.

A run that is done is not run again, one that was interrupted goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from twofold._core.checks import check_count
from twofold._core.devices import resolve_device
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
from twofold.regression import Epoch


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
        Gets the records, ``<name>/<method>-seed<seed>.json``.
    methods : sequence of str
        Of `UNSEEN_METHODS`.
    seeds : sequence of int
        Of everything random.
    epochs : int, optional
        In place of the protocol's.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where it runs.
    data_dir : path, optional
        Where the sets lie; by default what the variable TWOFOLD_DATA names.
    watch : callable (run, epoch, n_epochs, auroc), optional
        Called after every epoch, without an AUROC, and with it once a run is scored.
    """
    protocol = find_unseen_protocol(name)
    describe_commit()  # before the hours in which another may be made
    if epochs is not None:
        protocol = replace(protocol, n_epochs=check_count("epochs", epochs))
    selected = choose_unseen_methods(methods)
    place, where = Path(folder), resolve_device(device)
    data = open_unseen(protocol, data_dir)
    is_warm: set[str] = set()
    for seed in seeds:
        for method in selected:
            settings = unseen_configuration(protocol, method, data.train, seed)
            path = record_path(place, protocol.name, method.name, seed)
            if path.exists():
                yield read_finished(path, settings, where)
                continue
            if method.name not in is_warm:
                warm_up_unseen(protocol, method, data.train, where)
                is_warm.add(method.name)
            checkpoint = _checkpoint(path, settings | {"device": where})
            yield _run(protocol, method, data, seed, where, place, checkpoint, watch)


def _run(
    protocol: UnseenProtocol,
    method: UnseenMethod,
    data: UnseenSet,
    seed: int,
    device: str,
    folder: Path,
    checkpoint: Path,
    watch: Watcher | None,
) -> RunRecord:
    """Run one method, and write its record and gallery."""
    run = Run(method, seed)
    record, gallery = run_unseen(
        protocol, method, data, seed, device, checkpoint, _on_epoch(watch, run)
    )
    if gallery is not None:
        write_gallery(folder, gallery)
    _forget_trainings(write_record(folder, record))
    if watch is not None:
        assert record.unseen is not None
        n_epochs = record.configuration["parameters"].get("embedder__max_epochs", 0)
        watch(run, n_epochs, n_epochs, best_score(record.unseen.never_seen, "auroc"))
    return record


def _on_epoch(watch: Watcher | None, run: Run) -> Callable[[Epoch], Any] | None:
    if watch is None:
        return None

    def tell(epoch: Epoch) -> None:
        watch(run, epoch.number, epoch.n_epochs, None)

    return tell


def _checkpoint(path: Path, settings: dict[str, Any]) -> Path:
    """Return where the training of a run is kept: other settings, another file."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.parent / f".{path.stem}-{digest}.safetensors"


def _forget_trainings(path: Path) -> None:
    """Remove what trainings of a run that is done have left, with whatever settings."""
    for left in path.parent.glob(f".{path.stem}-*.safetensors"):
        left.unlink(missing_ok=True)
