"""Evenings of a simulated person: AUROC on new items by the looks that they took."""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.entity_features import text_features
from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold import RelationWarning
from twofold.ask import Answer, Engine, Question, Snapshot
from twofold.asking import Askable, weighted_auroc
from twofold.datasets import load_entity_pairs, load_mnist, load_omniglot
from twofold.evaluation import Metric, pair_similarity

TITLE = "Evenings: what a simulated person's answers come to, by looks"
SEEDS = 5
COUNTS = (50, 100, 200, 250, 500)
REPEAT_EVERY, REPEAT_AFTER = 25, 20
"""As the page does: looks between questions that were answered before, and since that answer."""
LEARNT_AT = (*range(10, 51, 10), *range(75, 201, 25), *range(250, 501, 50))
"""Looks after which the engine learns: less often than the page lets it."""
MODES = ("pairs", "both", "random")
PERSONS = (0.0, 0.05)
"""Shares of wrong answers."""
MOST_PAIRS = 1_000_000
"""That an AUROC is measured on; of fewer all are taken."""
SETTING = {
    "seeds": SEEDS,
    "persons": "always right; 5 % of their answers wrong, at random",
    "modes": "pairs: two by two alone; both: with one against nine; random: any two items, or any "
    "two of both tables, each as likely. One look in five of the first two is a test and is not "
    "learnt from; all random answers are",
    "learning": "after every 10 looks to 50, every 25 to 200, every 50 to 500",
    "score": "AUROC over the pairs of items that were never in the project, three tenths of all; "
    "of MNIST 2,000 of the official test part, and a project of 10,000",
    "digits": "scikit-learn's, pixels",
    "omniglot": "small 1, 28 x 28 pixels",
    "dblp-acm": "two tables, features as in few_pairs; things are held out with all their records",
    "bar": "the better of random questions at twice the looks (100 and 200, 250 and 500) and the "
    "features as given",
}

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A project, and items that never were in it.

    `kind` is the same number for items that are the same; `n_left` and `n_left_new` are sizes of
    the left tables, None for one table.
    """

    features: Any
    kind: NDArray[np.int64]
    new: Any
    new_kind: NDArray[np.int64]
    n_left: int | None = None
    n_left_new: int | None = None


def split_items(X: Any, kind: NDArray[np.int64], seed: int) -> Subject:
    """Return a project of seven tenths of the items."""
    project, new = train_test_split(
        np.arange(len(kind)), test_size=0.3, stratify=kind, random_state=seed
    )
    return Subject(X[project], kind[project], X[new], kind[new])


def digits(seed: int) -> Subject:
    X, y = load_digits(return_X_y=True)
    return split_items(X.astype(np.float32), y, seed)


@lru_cache(maxsize=1)
def _mnist() -> tuple[Any, Any, Any, Any]:
    train, test = load_mnist("train"), load_mnist("test")
    return tuple(  # type: ignore[return-value]
        part
        for one in (train, test)
        for part in (
            one.images.reshape(len(one.images), -1).astype(np.float32) / np.float32(255),
            one.classes,
        )
    )


def mnist(seed: int, n: int = 10_000) -> Subject:
    X, y, new, new_y = _mnist()
    rng = np.random.default_rng(seed)
    project, some = (
        rng.choice(len(y), n, replace=False),
        rng.choice(len(new_y), 2000, replace=False),
    )
    return Subject(X[project], y[project], new[some], new_y[some])


@lru_cache(maxsize=1)
def _omniglot() -> tuple[Any, Any]:
    drawn = load_omniglot("small1", size=28)
    images = drawn.images.reshape(len(drawn.images), -1).astype(np.float32) / np.float32(255)
    return images, drawn.classes


def omniglot(seed: int) -> Subject:
    return split_items(*_omniglot(), seed)


@lru_cache(maxsize=1)
def _records() -> tuple[Any, NDArray[np.int64], NDArray[np.bool_]]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = load_entity_pairs("dblp-acm")
    features = text_features(pairs.records)
    parts = (pairs.train, pairs.valid, pairs.test)
    left = np.concatenate([part.left for part in parts])
    right = np.concatenate([part.right for part in parts])
    same = np.concatenate([part.similar for part in parts]) > 0
    is_left = np.zeros(len(features), dtype=bool)
    is_left[left] = True
    n = len(features)
    graph = coo_array((np.ones(same.sum()), (left[same], right[same])), shape=(n, n))
    kind = connected_components(graph, directed=False)[1].astype(np.int64)
    return features, kind, is_left


def records(seed: int) -> Subject:
    """Return seven tenths of the things that records describe, with all records of each."""
    features, kind, is_left = _records()
    rng = np.random.default_rng(seed)
    is_new = rng.random(kind.max() + 1)[kind] < 0.3

    def table(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.concatenate([np.flatnonzero(chosen & is_left), np.flatnonzero(chosen & ~is_left)])

    project, new = table(~is_new), table(is_new)
    return Subject(
        features[project],
        kind[project],
        features[new],
        kind[new],
        int((~is_new & is_left).sum()),
        int((is_new & is_left).sum()),
    )


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "digits": digits,
    "mnist": mnist,
    "omniglot": omniglot,
    "dblp-acm": records,
}


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
    """Run all evenings, one after another."""
    rows = [
        row
        for name in SUBJECTS
        for wrong in PERSONS
        for mode in MODES
        for seed in range(SEEDS)
        for row in run(name, seed, mode, wrong)
    ]
    return figures(rows)


def run(name: str, seed: int, mode: str, wrong: float) -> list[dict[str, Any]]:
    """Return the scores of one evening, a row each count."""
    rows = []
    for look, scored in evening(name, seed, mode, wrong):
        rows.append({"set": name, "seed": seed, "mode": mode, "wrong": wrong, "looks": look})
        rows[-1] |= scored
        print(json.dumps(rows[-1]), flush=True)
    return rows


def figures(rows: list[dict[str, Any]]) -> list[Figure]:
    """Return means over seeds.

    The bar is the better of random questions at twice the looks and the features as given.
    """
    made = []
    cases = dict.fromkeys((r["set"], r["wrong"], r["mode"], r["looks"]) for r in rows)
    for name, wrong, mode, looks in cases:
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
            covered = [row["covered"] for row in mine if row["covered"] is not None]
            note += f"; features {given:.4f}; interval covers {sum(covered)} of {len(covered)}"
        person = f"{wrong:.0%} wrong" if wrong else "always right"
        title = f"{name}, {person}, {mode}: AUROC on new items after {looks} looks"
        made.append(Figure(title, float(values.mean()), bar, note=note))
    return made


def _of(
    rows: list[dict[str, Any]], name: str, wrong: float, mode: str, looks: int
) -> list[dict[str, Any]]:
    wanted = (name, wrong, mode, looks)
    return [r for r in rows if (r["set"], r["wrong"], r["mode"], r["looks"]) == wanted]
