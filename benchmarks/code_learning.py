"""Codes beside the real-valued points that they stand in for, and beside other codes.

Sets, methods, bits and seeds can be named, as in ``TWOFOLD_CODE_SETS=cifar10 python -m benchmarks
code_learning``, and runs can be kept: see `benchmarks.kept_jobs`. Methods that need LightGBM are
left out where it is not installed.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from importlib.util import find_spec

import numpy as np

from benchmarks.figures import Figure
from benchmarks.kept_jobs import Job, Row, kept_rows
from benchmarks.relations import why_no_data
from twofold.experiments import CODE_METHODS, PROTOCOLS, RunRecord, reproduce_codes


def _named(variable: str, default: str) -> tuple[str, ...]:
    return tuple(os.environ.get(variable, default).split(","))


TITLE = "Codes of 16, 32 and 64 bits, the same network for all"
SETS = _named("TWOFOLD_CODE_SETS", "digits,scene,delicious,mnist")
SEEDS = tuple(map(int, _named("TWOFOLD_CODE_SEEDS", "0,1,2")))
BITS = tuple(map(int, _named("TWOFOLD_CODE_BITS", "16,32,64")))
METHODS = _named("TWOFOLD_CODE_METHODS", ",".join(CODE_METHODS))
EPOCHS = {"mnist": 8, "cifar10": 20}
SMALL = ("digits", "scene")
"""Sets that a GPU is not worth starting for."""
LATER = {
    "siamese-codes": 2,
    "itq": 2,
    "lsh": 2,
    "two-step": 2,
    "codes-trees": 2,
    "codes-trees-overlap": 2,
    "fixed-codes": 4,
}
"""The turn of methods: codes and points come first, those that no bar asks for last."""
NO_BAR = 6
"""The turn of points of fewer numbers than the longest codes have bits."""
OURS = ("codes", "codes-trees", "codes-trees-overlap")
RIVALS = ("itq", "lsh", "two-step", "siamese-codes")
OF_TREES = ("codes-trees", "codes-trees-overlap", "two-step")
LARGEST_GAP = {"scene": 0.02, "delicious": 0.02}
SETTING = {
    "sets": SETS,
    "seeds": SEEDS,
    "statistic": "mean over seeds; mAP of the whole ranking of the training items",
    "epochs": "the protocol's; MNIST 8, CIFAR-10 20, and pairs in proportion",
    "bars": "64 bits beside 64 numbers at most .01 below, .02 for several labels; mAP of the "
    "best of ours beside the best of LSH, ITQ, two-step hashing and Siamese signs",
}


def why_not() -> str | None:
    return None if set(SETS) <= {"digits"} else why_no_data()


def measure() -> list[Figure]:
    kept = kept_rows("code_learning")
    if kept is None:
        kept = [(list(job.args), row) for job in jobs() for row in work(np.inf, *job.args)]
    figures = []
    for name in SETS:
        by_run: dict[tuple[int, str], list[RunRecord]] = defaultdict(list)
        for (of, n_bits, method, _), row in kept:
            if of == name:
                by_run[n_bits, method].append(RunRecord.from_json(row))
        figures += _figures(name, by_run)
    return figures


def jobs() -> list[Job]:
    """Return a job a set, length, method and seed; the longest codes first."""
    return [
        Job(
            "code_learning",
            (name, n_bits, method, seed),
            _turn(n_bits, method, seed),
            name not in SMALL,
        )
        for name in SETS
        for n_bits in sorted(BITS, reverse=True)
        for method in METHODS
        for seed in SEEDS
        if _is_run(name, method)
    ]


def _is_run(name: str, method: str) -> bool:
    """Whether a method can be run here, and says something of a set that another does not."""
    if method in OF_TREES and not find_spec("lightgbm"):
        return False
    return CODE_METHODS[method].grade is None or PROTOCOLS[name].score == "jaccard"


def _turn(n_bits: int, method: str, seed: int) -> float:
    """Return when a job is done: a bar with all its seeds, then the next."""
    is_longest = n_bits == max(BITS)
    if method == "real-valued" and not is_longest:
        return NO_BAR + 0.1 * seed
    return LATER.get(method, 0) + (not is_longest) + 0.1 * seed


def work(deadline: float, name: str, n_bits: int, method: str, seed: int) -> list[Row]:
    """Return the record of one run."""
    device = "cpu" if name in SMALL else "auto"
    with tempfile.TemporaryDirectory() as folder:
        (record,) = reproduce_codes(
            name,
            folder,
            bits=[n_bits],
            methods=[method],
            seeds=[seed],
            epochs=EPOCHS.get(name),
            device=device,
        )
    return [record.to_json()]


def _figures(name: str, by_run: dict[tuple[int, str], list[RunRecord]]) -> list[Figure]:
    figures = []
    for n_bits in BITS:
        found = {method: runs for (bits, method), runs in by_run.items() if bits == n_bits}
        if not found:
            continue
        means = {method: _mean(runs, "mean_average_precision") for method, runs in found.items()}
        best_rival = max((means[rival] for rival in RIVALS if rival in means), default=None)
        best = max((means[method] for method in OURS if method in means), default=None)
        for method, runs in found.items():
            figures.append(
                Figure(
                    f"{name}, {n_bits} bits, mAP: {CODE_METHODS[method].title}",
                    means[method],
                    best_rival if method in OURS and means[method] == best else None,
                    note=_note(runs),
                )
            )
        if n_bits == max(BITS) and {"codes", "real-valued"} <= set(found):
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
