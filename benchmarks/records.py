"""Decisions on pairs of records: F1 of the pair model, its seconds, and recall of candidates."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold.datasets import ENTITY_PAIR_SETS, EntityTables, RecordPairs, load_entity_tables
from twofold.matching import PairClassifier, candidate_pairs

TITLE = "Pairs of records: test F1 in percent (others: DeepMatcher 70.7 / 98.45, Ditto 75.6 / 99.0)"
SEEDS = 5
N_CANDIDATES = 20
N_SCORED = 100_000
SETTING = {
    "seeds": SEEDS,
    "statistic": "mean over seeds",
    "fitted to": "the official training pairs",
    "threshold": "best F1 on the official validation pairs",
    "candidates a record": N_CANDIDATES,
}
BARS = {"amazon-google": 72.0, "dblp-acm": 98.6, "fodors-zagats": 100.0}
MOST_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Run:
    """One seed's test F1 in percent, with the seconds to fit and to set a threshold."""

    model: PairClassifier
    f1: float
    seconds: float
    cpu_seconds: float


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    return [figure for name in ENTITY_PAIR_SETS for figure in _figures(name)]


def _figures(name: str) -> list[Figure]:
    tables = load_entity_tables(name)
    runs = [_run(tables, seed) for seed in range(SEEDS)]
    f1 = [run.f1 for run in runs]
    seconds = [run.seconds for run in runs]
    cpu = np.median([run.cpu_seconds for run in runs])
    return [
        Figure(f"{name}: test F1", float(np.mean(f1)), BARS[name], note=_spread(f1)),
        Figure(
            f"{name}: seconds to fit",
            float(np.median(seconds)),
            MOST_SECONDS,
            at_least=False,
            note=f"median; {cpu:.1f} s of processor time",
        ),
        _recall(name, tables),
        _scoring(name, tables, runs[0].model),
    ]


def _run(tables: EntityTables, seed: int) -> Run:
    began, cpu_began = time.perf_counter(), time.process_time()
    model = PairClassifier(tables.left, tables.right, random_state=seed)
    model.fit(_rows(tables.train), tables.train.similar)
    model.calibrate_threshold(_rows(tables.valid), tables.valid.similar)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    return Run(model, _f1(model, tables.test), seconds, cpu_seconds)


def _rows(pairs: RecordPairs) -> np.ndarray:
    return np.column_stack([pairs.left, pairs.right])


def _f1(model: PairClassifier, pairs: RecordPairs) -> float:
    called, alike = model.predict(_rows(pairs)), pairs.similar.astype(int)
    return 200 * float((called * alike).sum()) / float(called.sum() + alike.sum())


def _recall(name: str, tables: EntityTables) -> Figure:
    began = time.perf_counter()
    candidates = candidate_pairs(tables.left, tables.right, k=N_CANDIDATES)
    seconds = time.perf_counter() - began
    found = set(map(tuple, candidates.tolist()))
    true = _rows(tables.test)[tables.test.similar == 1].tolist()
    share = sum(tuple(pair) in found for pair in true) / len(true)
    note = f"{len(candidates):,} candidates in {seconds:.1f} s"
    return Figure(f"{name}: recall of {N_CANDIDATES} candidates a record", share, 0.99, note=note)


def _scoring(name: str, tables: EntityTables, model: PairClassifier) -> Figure:
    rng = np.random.default_rng(0)
    sizes = tables.left.num_rows, tables.right.num_rows
    pairs = np.column_stack([rng.integers(size, size=N_SCORED) for size in sizes])
    began, cpu_began = time.perf_counter(), time.process_time()
    model.predict_proba(pairs)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    note = f"{cpu_seconds:.1f} s of processor time"
    return Figure(f"{name}: seconds to score {N_SCORED:,} pairs", seconds, note=note)


def _spread(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f} over {len(values)} seeds"
