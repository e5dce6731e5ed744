"""Learning from few pairs: Twofold's default beside raw features and networks trained on pairs.

`FEW_PAIRS_SETS=digits,scene` measures some of the sets, `FEW_PAIRS_SETS="digits 0.5"` one density,
`FEW_PAIRS_METHODS=Twofold,Siamese` some of the methods; `FEW_PAIRS_AT_A_TIME` runs so many at a
time, by default one for every two cores.
A run goes on where it was: what the same code measured on the same machine is not measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import twofold
from benchmarks import entity_features, sparse_pairs
from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from benchmarks.sparse_pairs import (
    EPOCHS,
    FEWEST_EPOCHS,
    LEAST_SEEN,
    METHODS,
    PROBLEMS,
    methods_for,
    scores,
    warm_up,
)
from twofold.datasets import ENTITY_PAIR_SETS, MULTILABEL_SETS
from twofold.experiments import describe_machine

TITLE = "Few pairs, the same defaults for all sets, beside raw features and networks of pairs"
SEEDS = 5
SETS = os.environ.get("FEW_PAIRS_SETS", "all")
SOME_METHODS = os.environ.get("FEW_PAIRS_METHODS", ",".join(METHODS)).split(",")
OURS = "Twofold"
NAMED = ("raw features", "Siamese")
RIVALS: dict[str, tuple[str, ...]] = {
    "digits": NAMED,
    "triplets": ("raw features", "triplet"),
    "mnist": NAMED,
    **dict.fromkeys(ENTITY_PAIR_SETS, (*NAMED, *sparse_pairs.BALANCED)),
    **dict.fromkeys(MULTILABEL_SETS, tuple(m for m in methods_for("scene") if m != OURS)),
}
"""Whose best is the bar, by set; the others stand beside."""
LEAST = {
    ("digits 1", "AUROC"): 0.99,
    ("amazon-google", "F1"): 0.62,
    ("dblp-acm", "F1"): 0.965,
    ("fodors-zagats", "F1"): 1.0,
}
SHARE_OF_SECONDS = 0.5
SETTING = {
    "sets": SETS,
    "seeds": SEEDS,
    "digits": "70 % to learn from, stratified, by seed; named by pairs an item",
    "triplets": "of digits in the same way, named by triplets an item; scored by pairs",
    "multi-label sets": "official parts, one pair an item",
    "records": "official parts; TF-IDF of characters and words, reduced to 256 features; the seed "
    "is the learner's; threshold from the validation pairs",
    "mnist": "60,000 items as vectors; named by pairs",
    "pairs": "random, half of them alike; test pairs 10 similar and 10 dissimilar an item; "
    "those of records as they are",
    "FML": "with the same two settings",
    "Siamese and triplet": f"{EPOCHS} epochs, or where pairs are many as few as see "
    f"{LEAST_SEEN} of them, {FEWEST_EPOCHS} at least; with Twofold's weight decay and dropout for "
    "statements and for classes, whichever is better on the test part",
    "from the features": "balanced weights, margin 1.3 median distances of what is not alike, the "
    "best epoch by a fifth of the pairs; the linear one also its last",
    "raw features": "by Euclidean distance, standardised or not, or by cosine, whichever is best",
    "bar": "the best rival's mean, less two standard errors of the difference by seed, but of the "
    "multi-label sets nothing less; the least that was asked for where that is more",
    "threads": "one a run",
}
LEARNING_CODE = (
    "_core", "relations", "datasets", "evaluation", "targets", "regression", "feedback", "asking",
    "estimators", "baselines",
)  # fmt: skip
KEPT = Path("benchmarks") / ".kept" / "few_pairs.jsonl"

Job = tuple[str, str, int, int]
"""Problem, method, variant, seed."""
Scores = dict[str, Any]


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    problems = _problems_to_run()
    jobs = [
        (problem, method, variant, seed)
        for problem in problems
        for seed in range(SEEDS)
        for method in methods_for(problem)
        if method in SOME_METHODS
        for variant in range(len(METHODS[method]))
    ]
    known = _kept()
    results = {job: known[_name(job)] for job in jobs if _name(job) in known}
    longest_first = [job for job in reversed(jobs) if job not in results]
    for job, scored in _run(longest_first):
        _keep(_name(job), scored)
        results[job] = scored
        print(*job, *(f"{k} {_short(v)}" for k, v in scored.items()), flush=True)
    return [figure for problem in problems for figure in _figures(problem, results)]


def _problems_to_run() -> list[str]:
    """Return the problems that `SETS` names, by set or one by one."""
    if SETS == "all":
        return list(PROBLEMS)
    asked = {name.strip() for name in SETS.split(",")}
    unknown = asked - {*PROBLEMS, *map(_set_of, PROBLEMS)}
    if unknown:
        raise ValueError(
            f"FEW_PAIRS_SETS: there is no {', '.join(sorted(unknown))}; there are "
            f"{', '.join(PROBLEMS)}."
        )
    return [problem for problem in PROBLEMS if asked & {problem, _set_of(problem)}]


def _set_of(problem: str) -> str:
    return problem.split()[0]


def _run(jobs: list[Job]) -> Iterator[tuple[Job, Scores]]:
    """Yield every job's scores as they come."""
    n_at_a_time = int(os.environ.get("FEW_PAIRS_AT_A_TIME", max(1, (os.cpu_count() or 1) // 2)))
    return run_side_by_side(scores, jobs, n_at_a_time, warm_up)


def _figures(problem: str, results: dict[Job, Scores]) -> list[Figure]:
    measures = ("AUROC", "F1") if problem in ENTITY_PAIR_SETS else ("AUROC",)
    figures = []
    for what in measures:
        best = {method: _best_variant(problem, method, what, results) for method in METHODS}
        values = {method: _column(rows, what) for method, rows in best.items() if rows}
        for method, column in values.items():
            has_rivals = method == OURS and values.keys() >= set(RIVALS[_set_of(problem)])
            bar = _bar(problem, what, values) if has_rivals else None
            note = f"± {_standard_error(column):.4f}; {_note(best[method])}"
            name = f"{problem}, {what}: {method}"
            figures.append(Figure(name, float(column.mean()), bar, note=note))
        if _set_of(problem) == "mnist" and best[OURS] and best["Siamese"]:
            figures.append(_seconds_figure(problem, best[OURS], best["Siamese"]))
    return figures


def _best_variant(problem: str, method: str, what: str, results: dict[Job, Scores]) -> list[Scores]:
    """Return the scores, a seed each, of the variant that is best; none if it was not measured."""
    variants = [
        [row for job, row in sorted(results.items()) if job[:3] == (problem, method, variant)]
        for variant in range(len(METHODS[method]))
    ]
    return max(variants, key=lambda rows: float(_column(rows, what).mean()) if rows else -1.0)


def _bar(problem: str, what: str, values: dict[str, NDArray[np.float64]]) -> float:
    rivals = RIVALS[_set_of(problem)]
    best = max(rivals, key=lambda method: float(values[method].mean()))
    allowed = 0 if problem in MULTILABEL_SETS else 2 * _standard_error(values[OURS] - values[best])
    return max(float(values[best].mean()) - allowed, LEAST.get((problem, what), 0.0))


def _seconds_figure(problem: str, ours: list[Scores], rival: list[Scores]) -> Figure:
    seconds, rival_seconds = (float(np.median(_column(rows, "seconds"))) for rows in (ours, rival))
    return Figure(
        f"{problem}, seconds of fit / the Siamese network's",
        seconds / rival_seconds,
        SHARE_OF_SECONDS,
        at_least=False,
        note=f"medians, {seconds:.0f} s against {rival_seconds:.0f} s",
    )


def _note(rows: list[Scores]) -> str:
    """Return how long it took, and what Twofold selected and expected."""
    candidates = Counter(row["candidate"] for row in rows if "candidate" in row)
    selected = "".join(f"; {name} {count} times" for name, count in candidates.most_common())
    expected = [row["expected"]["new items"] for row in rows if row.get("expected")]
    expects = f"; expected {np.mean(expected):.4f} on new items" if expected else ""
    return f"{np.median(_column(rows, 'seconds')):.1f} s{selected}{expects}"


def _column(rows: list[Scores], what: str) -> NDArray[np.float64]:
    return np.array([row[what] for row in rows], dtype=np.float64)


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _name(job: Job) -> str:
    """Return what tells a job from others: the code that learns, and the machine."""
    whole = (*job, _code_digest(), describe_machine())
    return "-".join(map(str, job)) + "-" + hashlib.sha256(repr(whole).encode()).hexdigest()[:12]


@cache
def _code_digest() -> str:
    """Return a digest of all that a learner and its scores depend on, as it is when first asked."""
    package = Path(twofold.__file__).parent
    files = [path for room in LEARNING_CODE for path in sorted((package / room).rglob("*.py"))]
    files += [Path(module.__file__ or "") for module in (entity_features, sparse_pairs)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _kept() -> dict[str, Scores]:
    if not KEPT.exists():
        return {}
    return dict(json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines())


def _keep(name: str, scored: Scores) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, scored]) + "\n")


def _short(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
