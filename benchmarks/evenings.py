"""Evenings of a simulated person: AUROC on new items by the looks that they took."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evening_subjects import SUBJECTS, Subject
from benchmarks.figures import Figure
from benchmarks.kept_jobs import Job, Row, kept_circumstances, kept_rows
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from twofold import RelationWarning
from twofold.ask import Answer, Engine, Question, Snapshot
from twofold.asking import Askable, weighted_auroc
from twofold.evaluation import Metric, pair_similarity

TITLE = "Evenings: what a simulated person's answers come to, by looks"
FIRST_SEED, SEEDS = int(os.environ.get("EVENING_SEED", "2000")), 5
"""Seeds from here on were used for nothing that was chosen."""
COVERAGE_SEEDS = 25
"""Of evenings with both kinds of question: with four sets a hundred for each person."""
COUNTS = (50, 100, 200, 250, 500)
COVERAGE_AT = 200
"""Looks after which an evening's interval counts: one estimate an evening, as several of one are
not independent. The evenings that are there for it alone end then."""
REPEAT_EVERY, REPEAT_AFTER = 25, 20
"""As the page does: looks between questions that were answered before, and since that answer."""
LEARNT_AT = (2, 4, 6, 8, *range(10, 51, 5), *range(75, 201, 25), *range(250, 501, 50))
"""Looks after which the engine learns: less often than the page lets it, which has an answer in the
model within two seconds, or ten of 60,000 items."""
MODES = ("pairs", "both", "random")
PERSONS = (0.0, 0.05)
"""Shares of wrong answers."""
MOST_PAIRS = 1_000_000
"""That an AUROC is measured on; of fewer all are taken."""
SETTING = {
    "seeds": f"{SEEDS} from {FIRST_SEED} on; with both kinds to {COVERAGE_AT} looks "
    f"{COVERAGE_SEEDS}",
    "persons": "always right; 5 % of their answers wrong, at random",
    "modes": "pairs: two by two alone; both: with one against nine; random: any two items, or any "
    "two of both tables, each as likely. One look in five of the first two is a test and is not "
    "learnt from; all random answers are",
    "learning": "after every 2 looks to 10, every 5 to 50, every 25 to 200, every 50 to 500",
    "score": "AUROC over the pairs of items that were never in the project, three tenths of all; "
    "of MNIST 2,000 of the official test part, and a project of 10,000",
    "digits": "scikit-learn's, pixels",
    "omniglot": "small 1, 28 x 28 pixels",
    "dblp-acm": "two tables, features as in few_pairs; things are held out with all their records",
    "bar": "the better of random questions at twice the looks (100 and 200, 250 and 500) and the "
    "features as given",
    "threads": "one",
} | kept_circumstances()

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def all_pairs(kind: NDArray[np.int64], n_left: int | None) -> Pairs:
    if n_left is None:
        return np.triu_indices(len(kind), 1)
    left, right = np.meshgrid(np.arange(n_left), np.arange(n_left, len(kind)), indexing="ij")
    return left.ravel(), right.ravel()


def auroc(
    points: NDArray[np.float32], metric: Metric, kind: NDArray[np.int64], n_left: int | None
) -> float:
    """Return the AUROC over all pairs that may be asked about, or over many random ones."""
    every = len(kind) ** 2 <= 4 * MOST_PAIRS
    left, right = all_pairs(kind, n_left) if every else random_pairs(kind, n_left)
    similarity = pair_similarity(points, left, right, metric).astype(np.float64)
    same = (kind[left] == kind[right]).astype(np.float64)
    return weighted_auroc(similarity, same, 1 - same)


def random_pairs(kind: NDArray[np.int64], n_left: int | None) -> Pairs:
    """Return many pairs that may be asked about, the same ones each time."""
    return Askable(len(kind), n_left).random_pairs(MOST_PAIRS, np.random.default_rng(0))


@dataclass
class Person:
    """Answers as the kinds say, but for a share of slips."""

    kind: NDArray[np.int64]
    wrong: float
    rng: np.random.Generator
    look: int = 0
    answers: list[Answer] = field(default_factory=list)

    def answer(self, question: Question) -> None:
        """Look at a question and answer it."""
        self.look += 1
        first, *others = question.items
        for other in others:
            is_slip = self.rng.random() < self.wrong
            same = bool(self.kind[first] == self.kind[other]) != is_slip
            self.answers.append(
                Answer(first, other, same, question.purpose, question.weight, self.look)
            )

    def again(self) -> Question | None:
        """Return an old question, if it is time for one."""
        if self.look % REPEAT_EVERY != REPEAT_EVERY - 1 or not (old := self._old_pairs()):
            return None
        return Question("pair", old[self.rng.integers(len(old))], (), "repeat")

    def _old_pairs(self) -> list[tuple[int, int]]:
        """Return pairs that were asked once, some time ago, side by side and to be learnt from."""
        said = Counter((one.left, one.right) for one in self.answers)
        size = Counter(one.look for one in self.answers)
        return [
            (one.left, one.right)
            for one in self.answers
            if one.look <= self.look - REPEAT_AFTER
            and one.purpose == "learn"
            and size[one.look] == 1
            and said[one.left, one.right] == 1
        ]


def evening(
    name: str, seed: int, mode: str, wrong: float, counts: tuple[int, ...] = COUNTS
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the scores after so many looks; `mode` is "pairs", "both" or "random"."""
    warnings.simplefilter("ignore", RelationWarning)
    subject = SUBJECTS[name](seed)
    is_random = mode == "random"
    nines = mode == "both"
    engine = Engine(subject.features, n_left=subject.n_left, nines=nines, random_state=seed)
    person = Person(subject.kind, wrong, np.random.default_rng([seed, 7]))
    at_random = random_questions(subject, seed)
    while True:
        began = time.perf_counter()
        snapshot = engine.learn(person.answers)
        seconds = time.perf_counter() - began
        if person.look in counts:
            yield person.look, scores(snapshot, subject, seconds)
            if person.look >= max(counts):
                return
        later = [count for count in (*counts, *LEARNT_AT) if count > person.look]
        until = min(c for c in later if c in counts or not is_random)
        ahead = at_random if is_random else iter(snapshot.questions)
        while person.look < until:
            person.answer((None if is_random else person.again()) or next(ahead))


def scores(snapshot: Snapshot, subject: Subject, seconds: float) -> dict[str, Any]:
    """Return how good a snapshot is on new items, and what it says of itself."""
    quality, learner = snapshot.quality, snapshot.learner
    points = np.asarray(subject.new, dtype=np.float32)
    metric: Metric = "euclidean"
    if learner is not None:
        points, metric = learner.transform(subject.new), learner.metric_
    of_project = auroc(snapshot.points, snapshot.metric, subject.kind, subject.n_left)
    return {
        "new": auroc(points, metric, subject.new_kind, subject.n_left_new),
        "project": of_project,
        "features": auroc(
            np.asarray(subject.new, dtype=np.float32),
            "euclidean",
            subject.new_kind,
            subject.n_left_new,
        ),
        "interval": None if quality is None else (quality.low, quality.high),
        "keeps_features": snapshot.keeps_features,
        "covered": None if quality is None else quality.low <= of_project <= quality.high,
        "seconds": seconds,
    }


def random_questions(subject: Subject, seed: int) -> Iterator[Question]:
    """Yield different pairs, each as likely as any other."""
    rng, asked = np.random.default_rng([seed, 3]), set()
    askable = Askable(len(subject.kind), subject.n_left)
    while True:
        left, right = (int(side[0]) for side in askable.random_pairs(1, rng))
        if frozenset((left, right)) not in asked:
            asked.add(frozenset((left, right)))
            yield Question("pair", (left, right), (0.5,))


def why_not() -> str | None:
    """Return why it cannot be measured here, None if it can."""
    return why_no_data()


def measure() -> list[Figure]:
    """Return figures of what was kept, or run all evenings."""
    kept = kept_rows("evenings")
    rows = [row for _, row in kept] if kept is not None else _run_all()
    return [*figures(rows), *coverage(rows)]


def jobs() -> list[Job]:
    """Return a job an evening, one seed after the other; those for the interval alone come last."""
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
    further = range(FIRST_SEED + SEEDS, FIRST_SEED + COVERAGE_SEEDS)
    cases = [(name, wrong) for name in SUBJECTS for wrong in PERSONS]
    every = [
        (name, seed, mode, wrong, max(COUNTS))
        for seed in seeds
        for mode in MODES
        for name, wrong in cases
    ]
    every += [(name, seed, "both", wrong, COVERAGE_AT) for seed in further for name, wrong in cases]
    return [Job("evenings", args, turn, False) for turn, args in enumerate(every)]


def _run_all() -> list[Row]:
    done = run_side_by_side(work, [(np.inf, *job.args) for job in jobs()])
    return [row for _, rows in done for row in rows]


def work(deadline: float, name: str, seed: int, mode: str, wrong: float, until: int) -> list[Row]:
    """Return the scores of one evening, a row each count of looks."""
    counts = tuple(count for count in COUNTS if count <= until)
    about = {"set": name, "seed": seed, "mode": mode, "wrong": wrong}
    return [
        about | {"looks": look} | scored
        for look, scored in evening(name, seed, mode, wrong, counts)
    ]


def figures(rows: list[Row]) -> list[Figure]:
    """Return means over seeds of the evenings that were gone through to the end.

    The bar is the better of random questions at twice the looks and the features as given.
    """
    ended = {_evening(row) for row in rows if row["looks"] == max(COUNTS)}
    rows = [row for row in rows if _evening(row) in ended]
    cases = dict.fromkeys((r["set"], r["wrong"], r["mode"], r["looks"]) for r in rows)
    return [_figure(rows, *case) for case in cases]


def _evening(row: Row) -> tuple[Any, ...]:
    return row["set"], row["seed"], row["mode"], row["wrong"]


def _figure(rows: list[Row], name: str, wrong: float, mode: str, looks: int) -> Figure:
    mine = _of(rows, name, wrong, mode, looks)
    values = np.array([row["new"] for row in mine])
    bar, note = None, f"{len(values)} seeds"
    if len(values) > 1:
        note += f", ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"
    if mode != "random":
        given = float(np.mean([row["features"] for row in mine]))
        rival = _of(rows, name, wrong, "random", {100: 200, 250: 500}.get(looks, 0))
        at_random = [row["new"] for row in rival if row["seed"] in {r["seed"] for r in mine}]
        bar = max([given, *([float(np.mean(at_random))] if at_random else [])])
        gains = [row["new"] - row["features"] for row in mine]
        note += f"; features {given:.4f}, least gain of an evening {min(gains):+.4f}"
    title = f"{name}, {_said(wrong)}, {mode}: AUROC on new items after {looks} looks"
    return Figure(title, float(values.mean()), bar, note=note)


def coverage(rows: list[Row]) -> list[Figure]:
    """Return how many intervals hold the true AUROC, one an evening, and how wide they are."""
    made = []
    for wrong in PERSONS:
        of_person = [
            row
            for row in rows
            if (row["wrong"], row["mode"], row["looks"]) == (wrong, "both", COVERAGE_AT)
        ]
        said = [row for row in of_person if row["covered"] is not None]
        if not said:
            continue
        widths = [row["interval"][1] - row["interval"][0] for row in said]
        by_set = {name: [row["covered"] for row in said if row["set"] == name] for name in SUBJECTS}
        note = f"{len(of_person)} evenings, {len(said)} with an estimate; " + ", ".join(
            f"{name} {sum(covered)} of {len(covered)}" for name, covered in by_set.items()
        )
        note += f"; median width {np.median(widths):.3f}"
        title = f"{_said(wrong)}: share of intervals that hold the AUROC, {COVERAGE_AT} looks"
        made.append(Figure(title, float(np.mean([r["covered"] for r in said])), 0.9, note=note))
    return made


def _said(wrong: float) -> str:
    return f"{wrong:.0%} wrong" if wrong else "always right"


def _of(rows: list[Row], name: str, wrong: float, mode: str, looks: int) -> list[Row]:
    wanted = (name, wrong, mode, looks)
    return [r for r in rows if (r["set"], r["wrong"], r["mode"], r["looks"]) == wanted]
