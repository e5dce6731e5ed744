"""Codes beside the real-valued points that they stand in for, and beside other codes.

Sets and seeds can be named, as in ``TWOFOLD_CODE_SETS=cifar10 python -m benchmarks code_learning``.
Methods that need LightGBM are left out where it is not installed.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from importlib.util import find_spec

import numpy as np

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold.experiments import CODE_METHODS, RunRecord, reproduce_codes

TITLE = "Codes of 16, 32 and 64 bits, the same network for all"
SETS = tuple(os.environ.get("TWOFOLD_CODE_SETS", "digits,scene,delicious,mnist").split(","))
SEEDS = tuple(map(int, os.environ.get("TWOFOLD_CODE_SEEDS", "0,1,2").split(",")))
BITS = (16, 32, 64)
EPOCHS = {"mnist": 8, "cifar10": None}
OURS = ("codes", "codes-trees")
RIVALS = ("itq", "lsh", "two-step", "siamese-codes")
OF_TREES = ("codes-trees", "two-step")
LARGEST_GAP = {"scene": 0.02, "delicious": 0.02}
SETTING = {
    "sets": SETS,
    "seeds": SEEDS,
    "statistic": "mean over seeds; mAP of the whole ranking of the training items",
    "epochs": "the protocol's; MNIST 8",
    "bars": "64 bits beside 64 numbers at most .01 below, .02 for several labels; mAP of the "
    "better of our two beside the best of LSH, ITQ, two-step hashing and Siamese signs",
}


def why_not() -> str | None:
    return None if set(SETS) <= {"digits"} else why_no_data()


def measure() -> list[Figure]:
    methods = [name for name in CODE_METHODS if find_spec("lightgbm") or name not in OF_TREES]
    figures = []
    for name in SETS:
        by_run: dict[tuple[int, str], list[RunRecord]] = defaultdict(list)
        with tempfile.TemporaryDirectory() as folder:
            for record in reproduce_codes(
                name, folder, bits=BITS, methods=methods, seeds=SEEDS, epochs=EPOCHS.get(name)
            ):
                assert record.codes is not None
                print(name, record.method, record.seed, record.codes, flush=True)
                by_run[record.codes.n_bits, record.method].append(record)
        figures += _figures(name, by_run)
    return figures


def _figures(name: str, by_run: dict[tuple[int, str], list[RunRecord]]) -> list[Figure]:
    figures = []
    for n_bits in BITS:
        found = {method: runs for (bits, method), runs in by_run.items() if bits == n_bits}
        means = {method: _mean(runs, "mean_average_precision") for method, runs in found.items()}
        best_rival = max(means[rival] for rival in RIVALS if rival in means)
        ours = max((method for method in OURS if method in means), key=means.__getitem__)
        for method, runs in found.items():
            figures.append(
                Figure(
                    f"{name}, {n_bits} bits, mAP: {CODE_METHODS[method].title}",
                    means[method],
                    best_rival if method == ours else None,
                    note=_note(runs),
                )
            )
        if n_bits == max(BITS):
            figures += _gaps(name, found)
    return figures


def _gaps(name: str, found: dict[str, list[RunRecord]]) -> list[Figure]:
    most = LARGEST_GAP.get(name, 0.01)
    return [
        Figure(
            f"{name}, {max(BITS)} bits, {what}: real-valued less codes",
            _mean(found["real-valued"], measure) - _mean(found["codes"], measure),
            most,
            at_least=False,
        )
        for what, measure in (("mAP", "mean_average_precision"), ("5-NN", "neighbours"))
    ]


def _mean(runs: list[RunRecord], measure: str) -> float:
    return float(np.mean([getattr(run.codes, measure) for run in runs]))


def _note(runs: list[RunRecord]) -> str:
    at_1000, within = _mean(runs, "map_at_1000"), runs[0].codes
    radius = (
        ""
        if within is None or within.precision_within_2 is None
        else (f", precision within 2 bits {_mean(runs, 'precision_within_2'):.3f}")
    )
    seconds = np.mean([sum(run.seconds.values()) for run in runs])
    return (
        f"mAP@1000 {at_1000:.4f}, 5-NN {_mean(runs, 'neighbours'):.4f}{radius}; {len(runs)} seeds, "
        f"{seconds:.0f} s each"
    )
