"""`compare`: methods, also one's own, on arrays of one's own, a record per method and seed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from twofold._core.checks import check_count
from twofold._core.devices import resolve_device
from twofold._core.files import check_folder_place
from twofold.experiments._machine import describe_commit
from twofold.experiments._own_methods import own_methods
from twofold.experiments._own_set import check_set_name, own_protocol, own_set
from twofold.experiments._records import RunRecord
from twofold.experiments._reproduce import Watcher, run_one_seed, with_epochs
from twofold.regression import NetworkName


def compare(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    methods: Sequence[Any] | Mapping[str, Any] = ("twofold", "siamese", "raw"),
    seeds: int | Sequence[int] = 3,
    name: str = "my set",
    out: str | os.PathLike[str] | None = None,
    network: NetworkName = "mlp",
    epochs: int | None = None,
    device: str = "auto",
    watch: Watcher | None = None,
) -> tuple[RunRecord, ...]:
    """Run methods on your own arrays, by the protocol of `reproduce`.

    Every method learns from the same nine tenths of the training items, and our methods that learn
    from pairs use the same pairs; the remaining tenth selects the epoch whose neighbours are
    scored. `twofold.report` turns the result into a page or tables.

    Parameters
    ----------
    X_train, X_test : array or sparse matrix, a row per item
        Features.
    y_train, y_test : array of classes, or 0/1 indicator matrix, a row per item
        Items are alike if they share a label.
    methods : sequence of str and learners, or mapping of names to these
        Built-in methods by name, see `METHODS`, and any object with ``fit(X, y)`` and
        ``transform(X)``, whose points are compared by its `metric_`: "euclidean", unless it says
        "cosine" or "dot". A parameter `random_state` is set to the seed. Your own learners are
        evaluated after fitting; those of `twofold` that train a `Network` also during training.
    seeds : int or sequence of int
        Number of seeds, or the seeds themselves.
    name : str
        Name of the data set.
    out : path, optional
        Folder that gets the records, ``<name>/<method>-seed<seed>.json``. Runs that are there are
        not made again, if arrays and parameters are the same; code is not compared.
    network : str
        What methods of ours train, one of `twofold.regression.NETWORKS`.
    epochs : int, optional
        Number of epochs, by default 30; epochs of pairs are scaled in proportion.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where methods of ours run.
    watch : callable (run, epoch, n_epochs, auroc), optional
        Called wherever a run is evaluated while it trains.

    Returns
    -------
    tuple of RunRecord
        By seed, then by method.
    """
    data = own_set(X_train, y_train, X_test, y_test)
    protocol = with_epochs(own_protocol(check_set_name(name), data, network), epochs)
    selected, numbers = own_methods(methods, protocol), _seeds(seeds)
    if not selected or not numbers:
        raise ValueError(
            f"There is nothing to run: give at least one {'seed' if selected else 'method'}."
        )
    describe_commit()  # before the hours in which another may be made
    place = None if out is None else check_folder_place(out)
    where = resolve_device(device)
    is_cold = dict.fromkeys((method.name for method in selected), True)
    return tuple(
        record
        for seed in numbers
        for record in run_one_seed(protocol, selected, data, seed, where, place, watch, is_cold)
    )


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, int):
        return tuple(range(check_count("seeds", seeds)))
    return tuple(check_count("seeds", seed, minimum=0) for seed in seeds)
