"""Records on which a learnt metric may lose to the plain cosine: never worse than the features.

The columns as given, all TF-IDF columns or 256 SVD columns, are what a user would have without us.
Few or all of the training pairs, few components or as many as it likes: at least as good as these
on the test pairs, and what it expects on statements about known items is what it gets.
"""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from twofold import MetricLearner, PairRelation
from twofold.datasets import ENTITY_PAIR_SETS, load_entity_pairs
from twofold.evaluation import pair_auroc, pair_similarity

TITLE = "Records: never worse than the features as given, and no better than expected"
SEEDS = 5
SHARES = (0.1, 1.0)
COMPONENTS: tuple[int | Literal["auto"], ...] = (16, 64, "auto")
LARGEST_SURPRISE = 0.02
SETTING = {
    "seeds": SEEDS,
    "features": "TF-IDF of three characters and of words, all columns or reduced to 256 by SVD",
    "pairs": "a random tenth of the official training pairs by seed, or all; official test pairs",
    "bar": "the better of cosine and distance of the columns as given, less two standard errors "
    "of the mean over seeds; |AUROC expected on known items - AUROC of the test pairs| <= "
    f"{LARGEST_SURPRISE} in the mean over seeds",
    "threads": "one a run",
}

Case = tuple[str, str, float, int | Literal["auto"], int]
"""Set, features, share of the pairs, components, seed."""


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    cases = [
        (name, kind, share, n_components, seed)
        for name in ENTITY_PAIR_SETS
        for kind in ("TF-IDF", "SVD")
        for share in SHARES
        for n_components in COMPONENTS
        for seed in range(SEEDS)
    ]
    scored: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for case, scores in run_side_by_side(score, cases):
        print(*case, scores, flush=True)
        scored.setdefault(case[:-1], []).append(scores)
    return [figure for case in sorted(scored, key=str) for figure in _figures(case, scored[case])]


def score(
    name: str, kind: str, share: float, n_components: int | Literal["auto"], seed: int
) -> dict[str, Any]:
    """Return the AUROC of a fit and of the features, and what was expected."""
    warnings.simplefilter("ignore")
    X, train, test = _problem(name, kind)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(train), round(share * len(train)), replace=False))
    began = time.perf_counter()
    learner = MetricLearner(n_components, random_state=seed, device="cpu")
    learner.fit(X, relation=train.take_pairs(rows))
    seconds = time.perf_counter() - began
    selection = learner.selection_
    assert selection is not None
    return {
        "AUROC": learner.score(X, relation=test),
        "features": _features_auroc(name, kind),
        "candidate": selection.candidate,
        "expected": selection.expected,
        "seconds": seconds,
    }


@lru_cache(maxsize=2)
def _problem(name: str, kind: str) -> tuple[Any, PairRelation, PairRelation]:
    pairs = load_entity_pairs(name)
    kinds = (
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True),
        TfidfVectorizer(sublinear_tf=True),
    )
    X: Any = sparse.hstack([one.fit_transform(pairs.records) for one in kinds]).tocsr()
    if kind == "SVD":
        X = TruncatedSVD(256, random_state=0).fit_transform(X).astype(np.float32)
    n_items = len(pairs.records)
    train, test = (
        PairRelation(part.left, part.right, part.similar.astype(np.float32), n_items)
        for part in (pairs.train, pairs.test)
    )
    return X, train, test


@lru_cache(maxsize=2)
def _features_auroc(name: str, kind: str) -> float:
    X, _, test = _problem(name, kind)
    points = X.toarray() if sparse.issparse(X) else X
    return max(
        pair_auroc(test.similar > 0.5, pair_similarity(points, test.left, test.right, metric))
        for metric in ("cosine", "euclidean")
    )


def _figures(case: tuple[Any, ...], scores: list[dict[str, Any]]) -> list[Figure]:
    name, kind, share, n_components = case
    title = f"{name}, {kind}, {share:g} of the pairs, n_components={n_components}"
    auroc = np.array([row["AUROC"] for row in scores])
    features = scores[0]["features"]
    error = float(auroc.std(ddof=1) / np.sqrt(len(auroc)))
    kept = sum(row["candidate"] == "features as given" for row in scores)
    seconds = float(np.median([row["seconds"] for row in scores]))
    note = f"± {error:.4f}; features {features:.4f}, kept {kept} times; {seconds:.1f} s"
    figures = [Figure(f"{title}: AUROC", float(auroc.mean()), features - 2 * error, note=note)]
    for about in ("known items", "new items"):
        expected = [row["expected"].get(about) for row in scores if row["expected"] is not None]
        known = [value for value in expected if value is not None]
        if known:
            surprise = float(auroc.mean() - np.mean(known))
            bar = LARGEST_SURPRISE if about == "known items" else None
            figures.append(
                Figure(
                    f"{title}: |AUROC - expected, {about}|",
                    abs(surprise),
                    bar,
                    at_least=False,
                    note=f"{np.mean(known):.4f} expected",
                )
            )
    return figures
