"""Evenings on two tables: two by two and with nines, beside the active learner of dedupe.

dedupe is an extra that this project does not install, and needs BTrees below 6 (with 6.5 its index
fails: IFBucket has no byValue): `pip install dedupe==3.0.3 "BTrees<6"`. Without it our own evenings
are measured alone.
"""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.entity_features import text_features
from benchmarks.evening_subjects import Subject
from benchmarks.evenings import LEARNT_AT, Pairs, Person
from benchmarks.figures import Figure
from benchmarks.kept_jobs import Job, Row, kept_circumstances, kept_rows
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from twofold import RelationWarning
from twofold.ask import Engine
from twofold.asking import weighted_auroc
from twofold.datasets import load_entity_tables
from twofold.evaluation import pair_similarity

TITLE = "Evenings on records: AUROC on new records, beside dedupe's active learner"
SETS = ("amazon-google", "dblp-acm")
FIRST_SEED, SEEDS = int(os.environ.get("EVENING_SEED", "2000")), 3
COUNTS = (50, 100, 200, 250, 500)
MODES = ("dedupe", "pairs", "both")
N_OTHERS = 20_000
"""Random pairs of new records that an AUROC is measured on, beside all that are alike."""
SETTING = {
    "seeds": f"{SEEDS} from {FIRST_SEED} on, or as noted",
    "person": "always right",
    "held out": "three tenths of the things, with all their records; AUROC over all alike pairs of "
    f"these and {N_OTHERS:,} random ones",
    "ours": "features as in few_pairs, of the texts of all columns; one look in five is a test and "
    "is not learnt from",
    "dedupe": "3.0.3, String on every column, has_missing; whole tables (prepare_training ignores "
    "sample_size in this version); its classifier fitted to all answers, as train() does, and no "
    "blocking: every pair is scored. It learns from every answer. Parts of it cannot be seeded",
    "bar": "dedupe at twice the looks (100 and 200, 250 and 500), and the features as given",
    "threads": "one",
} | kept_circumstances()
Record = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Linkage:
    """A subject, the records of its items by column, and the new pairs to be scored."""

    subject: Subject
    records: list[Record]
    new_records: list[Record]
    pairs: Pairs
    alike: NDArray[np.bool_]


@lru_cache(maxsize=1)
def _tables(name: str) -> tuple[list[Record], NDArray[np.int64], int, Any]:
    """Return the records, left ones first, what each describes, how many are left, features."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tables = load_entity_tables(name)
    records = [*tables.left.to_pylist(), *tables.right.to_pylist()]
    n_left = len(tables.left)
    parts = (tables.train, tables.valid, tables.test)
    same = np.concatenate([part.similar for part in parts]) > 0
    left = np.concatenate([part.left for part in parts])[same]
    right = np.concatenate([part.right for part in parts])[same] + n_left
    n = len(records)
    graph = coo_array((np.ones(left.size), (left, right)), shape=(n, n))
    kind = connected_components(graph, directed=False)[1].astype(np.int64)
    texts = [" ".join(value for value in record.values() if value) for record in records]
    return records, kind, n_left, text_features(texts)


def linkage(name: str, seed: int) -> Linkage:
    """Return seven tenths of the things that records describe as a project, the others as new."""
    records, kind, n_left, features = _tables(name)
    rng = np.random.default_rng(seed)
    is_new = rng.random(kind.max() + 1)[kind] < 0.3
    is_left = np.arange(len(kind)) < n_left
    project, new = np.flatnonzero(~is_new), np.flatnonzero(is_new)
    counts = int((~is_new & is_left).sum()), int((is_new & is_left).sum())
    subject = Subject(features[project], kind[project], features[new], kind[new], *counts)
    pairs = _pairs_to_score(subject, rng)
    alike = subject.new_kind[pairs[0]] == subject.new_kind[pairs[1]]
    return Linkage(subject, [records[k] for k in project], [records[k] for k in new], pairs, alike)


def _pairs_to_score(subject: Subject, rng: np.random.Generator) -> Pairs:
    """Return all alike pairs of new records, and random others."""
    kind, n_left = subject.new_kind, subject.n_left_new
    assert n_left is not None
    same = np.argwhere(kind[:n_left, None] == kind[None, n_left:])
    others = rng.integers([n_left, len(kind) - n_left], size=(N_OTHERS, 2))
    others = others[kind[others[:, 0]] != kind[others[:, 1] + n_left]]
    left, right = np.concatenate([same, others]).T
    return left, right + n_left


def auroc_of(case: Linkage, similarity: NDArray[np.floating]) -> float:
    """Return the AUROC over the pairs of a linkage."""
    alike = case.alike.astype(np.float64)
    return weighted_auroc(similarity.astype(np.float64), alike, 1 - alike)


def our_evening(case: Linkage, seed: int, nines: bool) -> Iterator[tuple[int, float]]:
    """Yield our AUROC after so many looks."""
    subject = case.subject
    engine = Engine(subject.features, n_left=subject.n_left, nines=nines, random_state=seed)
    person = Person(subject.kind, 0.0, np.random.default_rng([seed, 7]))
    snapshot = engine.learn([])
    for until in sorted({*COUNTS, *LEARNT_AT}):
        questions = iter(snapshot.questions)
        while person.look < until:
            person.answer(person.again() or next(questions))
        snapshot = engine.learn(person.answers)
        if until in COUNTS:
            learner = snapshot.learner
            points = subject.new if learner is None else learner.transform(subject.new)
            metric = "euclidean" if learner is None else learner.metric_
            yield until, auroc_of(case, pair_similarity(points, *case.pairs, metric))


def dedupe_evening(case: Linkage, seed: int) -> Iterator[tuple[int, float]]:
    """Yield dedupe's AUROC after so many answers."""
    import dedupe

    random.seed(seed)
    kind, n_left = case.subject.kind, case.subject.n_left
    assert n_left is not None
    rows = [record | {"row": row} for row, record in enumerate(case.records)]
    columns = [dedupe.variables.String(name, has_missing=True) for name in case.records[0]]
    link = dedupe.RecordLink(columns, num_cores=1)
    link.prepare_training(dict(enumerate(rows[:n_left])), dict(enumerate(rows[n_left:])))
    link.active_learner.rng = np.random.default_rng(seed)
    new = [(case.new_records[a], case.new_records[b]) for a, b in zip(*case.pairs, strict=True)]
    distances = link.data_model.distances(new)
    for look in range(1, max(COUNTS) + 1):
        (pair,) = link.uncertain_pairs()
        is_same = bool(kind[pair[0]["row"]] == kind[pair[1]["row"]])
        link.mark_pairs({"match": [pair] * is_same, "distinct": [pair] * (not is_same)})
        if look in COUNTS:
            match, distinct = link.training_pairs["match"], link.training_pairs["distinct"]
            answers = np.repeat([1, 0], [len(match), len(distinct)])
            link.classifier.fit(link.data_model.distances([*match, *distinct]), answers)
            yield look, auroc_of(case, link.classifier.predict_proba(distances)[:, 1])


def why_not() -> str | None:
    """Return why it cannot be measured here, None if it can."""
    return why_no_data()


def measure() -> list[Figure]:
    """Return figures of what was kept, or run all evenings."""
    kept = kept_rows("evening_records")
    if kept is not None:
        return figures([row for _, row in kept])
    done = run_side_by_side(work, [(np.inf, *job.args) for job in jobs()])
    return figures([row for _, rows in done for row in rows])


def jobs() -> list[Job]:
    """Return a job an evening, one seed after the other."""
    modes = MODES if find_spec("dedupe") else MODES[1:]
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
    every = [(name, seed, mode) for seed in seeds for name in SETS for mode in modes]
    return [Job("evening_records", args, turn, False) for turn, args in enumerate(every)]


def work(deadline: float, name: str, seed: int, mode: str) -> list[Row]:
    """Return the scores of one evening, a row each count of looks."""
    warnings.simplefilter("ignore", RelationWarning)
    case = linkage(name, seed)
    given = auroc_of(case, pair_similarity(case.subject.new, *case.pairs))
    began = time.process_time()
    is_dedupe = mode == "dedupe"
    of_one = dedupe_evening(case, seed) if is_dedupe else our_evening(case, seed, mode == "both")
    about = {"set": name, "seed": seed, "mode": mode, "features": given}
    return [
        about | {"looks": looks, "new": value, "seconds": time.process_time() - began}
        for looks, value in of_one
    ]


def figures(rows: list[Row]) -> list[Figure]:
    """Return means over seeds; the bar is dedupe at twice the looks, or the features."""
    cases = dict.fromkeys((row["set"], row["mode"], row["looks"]) for row in rows)
    return [_figure(rows, *case) for case in cases]


def _figure(rows: list[Row], name: str, mode: str, looks: int) -> Figure:
    mine = _of(rows, name, mode, looks)
    seeds = {row["seed"] for row in mine}
    value = float(np.mean([row["new"] for row in mine]))
    given = float(np.mean([row["features"] for row in mine]))
    note = f"{len(mine)} seed(s), features {given:.5f}, "
    note += f"{np.median([row['seconds'] for row in mine]):.0f} CPU s until then"
    bar = None
    if mode != "dedupe":
        rival = _of(rows, name, "dedupe", {100: 200, 250: 500}.get(looks, 0))
        of_rival = [row["new"] for row in rival if row["seed"] in seeds]
        bar = max([given, *([float(np.mean(of_rival))] if of_rival else [])])
    return Figure(f"{name}, {mode}: AUROC after {looks} looks", value, bar, note=note)


def _of(rows: list[Row], name: str, mode: str, looks: int) -> list[Row]:
    return [r for r in rows if (r["set"], r["mode"], r["looks"]) == (name, mode, looks)]
