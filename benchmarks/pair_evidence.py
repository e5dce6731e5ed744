"""What the embedding's evidence adds to a pair model, by how good columns are alone.

From which average precision on it is not worth its seconds was chosen on this, so that only
training and validation pairs are read.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold.datasets import EntityTables, load_entity_tables
from twofold.estimators import MetricLearner
from twofold.evaluation import choose_threshold, similarity_scale
from twofold.matching import PairClassifier, embedding_evidence
from twofold.preparation import TablePreparation
from twofold.relations import PairRelation

TITLE = "The pair model by columns alone, and with the embedding's evidence (training pairs)"
SEEDS = 2
CASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "amazon-google": ((), ("title",), ("title", "price"), ("manufacturer", "price")),
    "dblp-acm": (
        (),
        ("title",),
        ("authors",),
        ("authors", "year"),
        ("title", "venue"),
        ("venue", "year", "authors"),
    ),
    "fodors-zagats": (("name",), ("addr",), ("name", "city"), ("phone",)),
}
"""By set, the columns that are compared; all, if none is named."""
SETTING = {
    "seeds": SEEDS,
    "pairs": "the official training and validation pairs; each scored by models of folds without "
    "its items",
    "note": "the embeddings of the training folds know the items of the fold that is scored, as in "
    "the fit of a user: this flatters the evidence, so that it is rather asked for than not",
}


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    rows = [
        run(name, columns, seed)
        for name, cases in CASES.items()
        for columns in cases
        for seed in range(SEEDS)
    ]
    return figures(rows)


def run(name: str, columns: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Return average precision and F1 of pairs held out, without and with the evidence."""
    tables = load_entity_tables(name)
    left, right = tables.left, tables.right
    if columns:
        left, right = left.select([*columns]), right.select([*columns])
    pairs, alike = _stated(tables)
    alone = PairClassifier(left, right, random_state=seed).fit(pairs, alike)
    evidence = _evidence(left, right, pairs, alike, seed)
    both = PairClassifier(left, right, random_state=seed).fit(pairs, alike, evidence)
    row: dict[str, Any] = {"set": name, "columns": columns, "seed": seed}
    for how, model in (("alone", alone), ("both", both)):
        row |= {f"{key} {how}": value for key, value in _scores(alike, model.held_out_).items()}
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def _stated(tables: EntityTables) -> tuple[np.ndarray, np.ndarray]:
    parts = (tables.train, tables.valid)
    pairs = np.concatenate([np.column_stack([part.left, part.right]) for part in parts])
    return pairs, np.concatenate([part.similar for part in parts]) > 0.5


def _evidence(left: Any, right: Any, pairs: np.ndarray, alike: np.ndarray, seed: int) -> Any:
    """Return what describes pairs by embeddings of folds, and how long it takes to say so."""
    warnings.simplefilter("ignore")
    preparation = TablePreparation(columns=tuple(left.column_names)).fit(left, right=right)
    parts = [preparation.transform(table) for table in (left, right)]
    n_left, stack = left.num_rows, _stack(parts)
    relation = PairRelation(pairs[:, 0], pairs[:, 1] + n_left, alike, stack.shape[0])
    learner = MetricLearner(random_state=seed).fit(stack, relation=relation)
    fit_part = learner.fit_parts(relation, random_state=seed)

    def evidence(kept: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        points, metric = fit_part(relation.take_pairs(kept)), learner.metric_
        return embedding_evidence(
            points[:n_left],
            points[n_left:],
            pairs[held_out],
            metric=metric,
            scale=similarity_scale(points, metric),
        )

    return evidence


def _stack(parts: list[Any]) -> Any:
    from scipy import sparse

    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)


def _scores(alike: np.ndarray, probability: np.ndarray) -> dict[str, float]:
    there = ~np.isnan(probability)
    y, p = alike[there], probability[there]
    called = p >= choose_threshold(y, p, "f_beta").threshold
    return {
        "average precision": float(average_precision_score(y, p)),
        "F1": 2 * float((called & y).sum()) / float(called.sum() + y.sum()),
    }


def figures(rows: list[dict[str, Any]]) -> list[Figure]:
    """Return the means over seeds, with the evidence; the note has those without."""
    made = []
    for name, columns in dict.fromkeys((row["set"], tuple(row["columns"])) for row in rows):
        mine = [row for row in rows if (row["set"], tuple(row["columns"])) == (name, columns)]
        for what, digits in (("average precision", 5), ("F1", 4)):
            alone, both = (
                float(np.mean([row[f"{what} {how}"] for row in mine])) for how in ("alone", "both")
            )
            title = f"{name}, {', '.join(columns) or 'all columns'}: {what} with the evidence"
            made.append(Figure(title, both, note=f"{alone:.{digits}f} by columns alone"))
    return made
