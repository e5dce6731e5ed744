"""`reproduce`: the paper's protocol on one set, a record per method and seed.

A run that is done is not run again, one that was interrupted goes on where it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from twofold._core.checks import check_choice, check_count
from twofold._core.devices import resolve_device
from twofold._core.files import check_folder_place
from twofold.experiments._examples import Examples, draw_examples
from twofold.experiments._gallery import gallery_of, write_gallery
from twofold.experiments._machine import describe_commit
from twofold.experiments._methods import DEFAULT_METHODS, Method, choose_methods
from twofold.experiments._paper import PROTOCOLS, Protocol
from twofold.experiments._progress import RunProgress
from twofold.experiments._records import RunRecord, read_finished, record_path, write_record
from twofold.experiments._run import configuration, run_method, run_phase_1, warm_up
from twofold.experiments._sets import ExperimentSet, open_set
from twofold.experiments._unseen_methods import UnseenMethod


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a reproduction: a method with a seed."""

    method: Method | UnseenMethod
    seed: int


AnyProtocol = TypeVar("AnyProtocol", bound=Protocol)
Watcher = Callable[[Run, int, int, float | None], Any]
"""Called with the run, its epoch, the number of epochs, and the AUROC if it is known by then."""


def reproduce(
    name: str,
    folder: str | os.PathLike[str],
    *,
    methods: Sequence[str] = DEFAULT_METHODS,
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
        One of `PROTOCOLS`.
    folder : path
        Folder for the records, ``<name>/<method>-seed<seed>.json``.
    methods : sequence of str
        Of `METHODS`.
    seeds : sequence of int
        Random seeds.
    epochs : int, optional
        Number of epochs, instead of the protocol's; epochs of pairs are scaled in proportion.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where it runs.
    data_dir : path, optional
        Folder of the data sets; by default the one in the variable TWOFOLD_DATA.
    watch : callable (run, epoch, n_epochs, auroc), optional
        Called wherever a run is evaluated.
    """
    check_choice("name", name, tuple(PROTOCOLS))
    describe_commit()  # before the hours in which another may be made
    if not methods or not seeds:
        raise ValueError(
            f"There is nothing to run: give at least one {'seed' if methods else 'method'}."
        )
    protocol = with_epochs(PROTOCOLS[name], epochs)
    selected = choose_methods(methods, protocol)
    place, where = check_folder_place(folder), resolve_device(device)
    data = open_set(name, data_dir)
    if data.is_phase_1_only:
        yield from _phase_1(protocol, selected, data, where, place)
        return
    is_cold = dict.fromkeys((method.name for method in selected), True)
    for seed in seeds:
        yield from run_one_seed(protocol, selected, data, seed, where, place, watch, is_cold)


def run_one_seed(
    protocol: Protocol,
    methods: Sequence[Method],
    data: ExperimentSet,
    seed: int,
    device: str,
    folder: Path | None,
    watch: Watcher | None,
    is_cold: dict[str, bool],
) -> Iterator[RunRecord]:
    """Run every method; `is_cold` says, and keeps, which have not been run in this process.

    Without a folder nothing is kept.
    """
    examples = draw_examples(data, seed)
    for method in methods:
        settings = configuration(protocol, method, examples.relation.n_items, seed)
        path = None if folder is None else record_path(folder, protocol.name, method.name, seed)
        if path is not None and path.exists():
            yield read_finished(path, settings, device)
            continue
        if is_cold[method.name]:
            warm_up(protocol, method, examples, device)
            is_cold[method.name] = False
        kept = None if path is None else path.parent / f".{path.stem}"
        progress = RunProgress(kept, settings | {"device": device})
        told = _watched(watch, Run(method, seed))
        record = run_method(protocol, method, examples, seed, device, progress, told)
        if folder is not None:
            _write(folder, record, examples, progress, data.label_names)
        progress.remove()
        yield record


def _write(
    folder: Path,
    record: RunRecord,
    examples: Examples,
    progress: RunProgress,
    label_names: tuple[str, ...],
) -> None:
    """Write a record and, of images, a gallery."""
    images = examples.test.features
    if record.data_set in PROTOCOLS or (images.ndim == 4 and images.dtype == np.uint8):
        gallery = gallery_of(
            record.data_set, record.method, record.seed, examples, progress.last, label_names
        )
        if gallery is not None:
            write_gallery(folder, gallery)
    write_record(folder, record)


def _phase_1(
    protocol: Protocol,
    methods: Sequence[Method],
    data: ExperimentSet,
    device: str,
    folder: Path,
) -> Iterator[RunRecord]:
    """Time phase 1 of the methods that have one."""
    for method in methods:
        if method.origin not in ("paper", "twofold"):
            continue
        path = record_path(folder, protocol.name, method.name, 0)
        settings = configuration(protocol, method, len(data.train.labels), 0)
        if path.exists():
            yield read_finished(path, settings, device)
            continue
        record = run_phase_1(protocol, method, data.train, device)
        write_record(folder, record)
        yield record


def with_epochs(protocol: AnyProtocol, epochs: int | None) -> AnyProtocol:
    """Return a protocol with another number of epochs; those of pairs follow in proportion."""
    if epochs is None:
        return protocol
    n_epochs = check_count("epochs", epochs)
    share = n_epochs / protocol.n_epochs
    return replace(
        protocol,
        n_epochs=n_epochs,
        n_pair_epochs=max(1, round(share * protocol.n_pair_epochs)),
    )


def _watched(watch: Watcher | None, run: Run) -> Callable[[int, int, float], Any] | None:
    if watch is None:
        return None
    return lambda epoch, n_epochs, auroc: watch(run, epoch, n_epochs, auroc)
