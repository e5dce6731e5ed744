"""Evenings of a simulated person: AUROC on new items by the looks that they took."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.entity_features import text_features
from twofold import RelationWarning
from twofold.ask import Answer, Engine, Question, Snapshot
from twofold.asking import weighted_auroc
from twofold.datasets import load_entity_pairs, load_mnist, load_omniglot
from twofold.evaluation import pair_similarity

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


def split_items(X: Any, kind: NDArray[np.int64], seed: int, most: int | None = None) -> Subject:
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
    points: NDArray[np.float32],
    metric: Any,
    kind: NDArray[np.int64],
    n_left: int | None,
    most: int = 3_000_000,
) -> float:
    """Return the AUROC over all pairs that may be asked, or over many random ones."""
    left, right = all_pairs(kind, n_left) if len(kind) ** 2 < 4 * most else _many(kind, most)
    similarity = pair_similarity(points, left, right, metric).astype(np.float64)
    same = (kind[left] == kind[right]).astype(np.float64)
    return weighted_auroc(similarity, same, 1 - same)


def _many(kind: NDArray[np.int64], n: int) -> Pairs:
    rng = np.random.default_rng(0)
    left = rng.integers(len(kind), size=n)
    return left, (left + rng.integers(1, len(kind), size=n)) % len(kind)


@dataclass
class Person:
    """Answers as the kinds say, but for a share of slips."""

    kind: NDArray[np.int64]
    wrong: float
    rng: np.random.Generator
    look: int = 0
    answers: list[Answer] = field(default_factory=list)

    def answer(self, question: Question) -> None:
        """Answer a question as this person does."""
        self.look += 1
        first, *others = question.items
        for other in others:
            same = bool(self.kind[first] == self.kind[other])
            if self.rng.random() < self.wrong:
                same = not same
            self.answers.append(
                Answer(first, other, same, question.purpose, question.weight, self.look)
            )


def batch(look: int) -> int:
    return 10 if look < 100 else 25


def new_points(snapshot: Snapshot, subject: Subject) -> tuple[NDArray[np.float32], Any]:
    """Return the points of the new items."""
    learner = snapshot.learner
    if learner is None:
        return np.asarray(subject.new, dtype=np.float32), "euclidean"
    return learner.transform(subject.new), learner.metric_


def evening(
    name: str, seed: int, mode: str, wrong: float, counts: tuple[int, ...], verbose: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield scores after some numbers of looks."""
    warnings.simplefilter("ignore", RelationWarning)
    subject = SUBJECTS[name](seed)
    engine = Engine(
        subject.features, n_left=subject.n_left, nines=mode == "both", random_state=seed
    )
    person = Person(subject.kind, wrong, np.random.default_rng([seed, 7]))
    asked_at_random = _random_questions(engine, subject, seed) if mode == "random" else None
    seconds = []
    while True:
        if mode == "random" and person.look not in counts:
            steps = min(count for count in counts if count > person.look) - person.look
        else:
            began = time.perf_counter()
            snapshot = engine.learn(person.answers)
            seconds.append(time.perf_counter() - began)
            steps = batch(person.look)
            if person.look in counts:
                points, metric = new_points(snapshot, subject)
                q = snapshot.quality
                learnt = [a for a in person.answers if a.purpose != "test"]
                yield (
                    person.look,
                    {
                        "new": auroc(points, metric, subject.new_kind, subject.n_left_new),
                        "project": auroc(
                            snapshot.points, snapshot.metric, subject.kind, subject.n_left
                        ),
                        "quality": None
                        if q is None
                        else (q.auroc, q.low, q.high, q.n_same, q.n_different),
                        "candidate": None
                        if snapshot.learner is None
                        else snapshot.learner.selection_.candidate,
                        "alike": float(np.mean([a.same for a in learnt])) if learnt else None,
                        "n": len(learnt),
                        "seconds": float(np.max(seconds)),
                    },
                )
                seconds = []
                if person.look >= max(counts):
                    return
            if mode == "random":
                steps = min([count for count in counts if count > person.look]) - person.look
        for k in range(steps):
            person.answer(next(asked_at_random) if asked_at_random else snapshot.questions[k])


def _random_questions(engine: Engine, subject: Subject, seed: int) -> Iterator[Question]:
    rng, asked = np.random.default_rng([seed, 3]), set()
    while True:
        if subject.n_left is None:
            left, right = (int(k) for k in rng.choice(len(subject.kind), 2, replace=False))
        else:
            left = int(rng.integers(subject.n_left))
            right = int(rng.integers(subject.n_left, len(subject.kind)))
        if frozenset((left, right)) not in asked:
            asked.add(frozenset((left, right)))
            yield Question("pair", (left, right), (0.5,))
