"""`reproduce_codes`: codes of several lengths on one set, a record a length, method and seed.

A run that is done is not run again.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from twofold._core.checks import check_choice, check_count
from twofold._core.devices import resolve_device
from twofold._core.files import check_folder_place
from twofold.estimators import EmbeddingLearner
from twofold.experiments._code_methods import DEFAULT_CODE_METHODS, choose_code_methods
from twofold.experiments._code_scores import score_codes
from twofold.experiments._examples import empty_rows_unsaid
from twofold.experiments._machine import describe_circumstances, describe_commit
from twofold.experiments._methods import Method, RunConfig
from twofold.experiments._paper import PROTOCOLS, Protocol
from twofold.experiments._records import RunRecord, read_finished, record_path, write_record
from twofold.experiments._reproduce import Run, Watcher, with_epochs
from twofold.experiments._run import configuration, trains_network
from twofold.experiments._sets import ExperimentSet, open_set
from twofold.regression import Epoch
from twofold.relations import LabelRelation

BITS = (16, 32, 48, 64)
NAME = re.compile(r"(.+)-(\d+)-bits")


def code_protocol(name: str, n_bits: int) -> Protocol:
    """Return the protocol of a set for codes of some length."""
    protocol = PROTOCOLS[name]
    return replace(
        protocol,
        name=f"{name}-{n_bits}-bits",
        title=f"{protocol.title}, {n_bits} bits",
        n_components=n_bits,
        paper=None,
    )


def code_title(name: str) -> str | None:
    """Return the title of a protocol for codes by its name, None if it is none."""
    found = NAME.fullmatch(name)
    if found is None or found[1] not in PROTOCOLS:
        return None
    return code_protocol(found[1], int(found[2])).title


def reproduce_codes(
    name: str,
    folder: str | os.PathLike[str],
    *,
    bits: Sequence[int] = BITS,
    methods: Sequence[str] = DEFAULT_CODE_METHODS,
    seeds: Sequence[int] = (0,),
    epochs: int | None = None,
    most_items: int | None = None,
    device: str = "auto",
    data_dir: str | os.PathLike[str] | None = None,
    watch: Watcher | None = None,
) -> Iterator[RunRecord]:
    """Run every method at every length with every seed, and yield each record once it is written.

    Parameters
    ----------
    name : str
        One of `PROTOCOLS`.
    folder : path
        Folder for the records, ``<name>-<bits>-bits/<method>-seed<seed>.json``.
    bits : sequence of int
        Of codes.
    methods : sequence of str
        Of `CODE_METHODS`; by default all but those of another grade of several labels.
    seeds : sequence of int
        Random seeds.
    epochs : int, optional
        Number of epochs, instead of the protocol's.
    most_items : int, optional
        Training items that are learnt from and searched, drawn once; all by default.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where networks are trained.
    data_dir : path, optional
        Folder of the data sets; by default the one in the variable TWOFOLD_DATA.
    watch : callable (run, epoch, n_epochs, auroc), optional
        Called after every epoch of a network, and once a run is scored.
    """
    check_choice("name", name, tuple(PROTOCOLS))
    describe_commit()  # before the hours in which another may be made
    selected = choose_code_methods(methods)
    lengths = [check_count("bits", length) for length in dict.fromkeys(bits)]
    place, where = check_folder_place(folder), resolve_device(device)
    data = _fewer(open_set(name, data_dir), most_items)
    if data.is_phase_1_only:
        raise ValueError(
            f"{PROTOCOLS[name].title} has no images here, which codes are predicted from: choose "
            "another set."
        )
    for n_bits, seed, method in product(lengths, seeds, selected):
        protocol = with_epochs(code_protocol(name, n_bits), epochs)
        yield _run(protocol, method, data, seed, where, place, watch)


def _fewer(data: ExperimentSet, most_items: int | None) -> ExperimentSet:
    """Return a set of which some training items are drawn, the same every time."""
    n_items = len(data.train.labels)
    if most_items is None or check_count("most_items", most_items) >= n_items:
        return data
    drawn = np.sort(np.random.default_rng(0).permutation(n_items)[:most_items])
    return replace(data, train=data.train.take(drawn))


def _run(
    protocol: Protocol,
    method: Method,
    data: ExperimentSet,
    seed: int,
    device: str,
    folder: Path,
    watch: Watcher | None,
) -> RunRecord:
    """Fit one method, score its codes, write its record."""
    n_items = len(data.train.labels)
    settings = configuration(protocol, method, n_items, seed) | {"n_items": n_items}
    path = record_path(folder, protocol.name, method.name, seed)
    if path.exists():
        return read_finished(path, settings, device)
    learner, run = method.make(RunConfig(protocol, n_items, seed, device)), Run(method, seed)
    n_epochs = settings["parameters"].get("embedder__max_epochs", 0)
    if watch is not None:
        watch(run, 0, n_epochs, None)

    def told(epoch: Epoch) -> None:
        if watch is not None:
            watch(run, epoch.number, n_epochs, None)

    assert isinstance(learner, EmbeddingLearner)
    if trains_network(learner):
        learner.set_params(embedder__callback=told)
    began = time.perf_counter()
    with empty_rows_unsaid():
        if method.grade is None:
            learner.fit(data.train.features, data.train.labels)
        else:
            alike = LabelRelation(data.train.labels, method.grade)
            learner.fit(data.train.features, relation=alike)
    seconds = time.perf_counter() - began
    targets = min(seconds, learner.timing_.get("targets", 0.0))
    codes = score_codes(learner, data, protocol.n_components, protocol.score, seed)
    if watch is not None:
        watch(run, n_epochs, n_epochs, codes.auroc)
    record = RunRecord(
        data_set=protocol.name,
        method=method.name,
        seed=seed,
        configuration=settings,
        data={
            "n_train": n_items,
            "n_validation": 0,
            "n_test": codes.n_queries,
            "n_labels": len(data.label_names),
            "n_pairs": 0,
        },
        score=protocol.score,
        seconds={"targets": targets, "training": seconds - targets},
        codes=codes,
        **describe_circumstances(device),
    )
    write_record(folder, record)
    return record
