"""What targets say about pairs that were not sampled: AUROC on unseen pairs of training items."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.figures import Figure
from benchmarks.relations import nus_wide, why_no_data
from twofold import LabelRelation, PairRelation, RelationWarning, solve_targets
from twofold.datasets import load_multilabel
from twofold.evaluation import pair_auroc, pair_similarity

TITLE = "AUROC on 100,000 unseen pairs of training items, d = 32"
DIM = 32
N_UNSEEN = 100_000
SEEDS = 5
SETTING = {"dim": DIM, "unseen pairs": N_UNSEEN, "seeds": SEEDS, "statistic": "mean over seeds"}
BARS = {"yeast": 0.99, "scene": 0.99, "corel5k": 0.97, "delicious": 0.97, "NUS-WIDE": 0.97}
SAMPLED = {
    "FML-C": ("contrastive", None),
    "FML-DP, random start (the paper's)": ("dot", "random"),
    "FML-DP, Twofold's start": ("dot", None),
}


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    return [figure for name, bar in BARS.items() for figure in _figures(name, bar)]


def _figures(name: str, bar: float) -> list[Figure]:
    relation = _relation(name)
    exact = solve_targets(relation, DIM, loss="dot")
    aurocs: dict[str, list[float]] = {"exact": []} | {method: [] for method in SAMPLED}
    for seed in range(SEEDS):
        given = _quietly_sampled(relation, seed)
        unseen = _unseen(relation, given, seed)
        aurocs["exact"].append(_auroc(exact.points, unseen, "dot"))
        for method, (loss, init) in SAMPLED.items():
            solution = solve_targets(
                given, DIM, loss=loss, init=init, device="cpu", random_state=seed
            )
            aurocs[method].append(_auroc(solution.points, unseen, loss))
    return [
        Figure(
            f"{name}: {method}",
            float(np.mean(values)),
            bar if method == "exact" else None,
            note=f"{min(values):.4f} to {max(values):.4f} over {len(values)} seed(s)",
        )
        for method, values in aurocs.items()
    ]


def _relation(name: str) -> LabelRelation:
    if name == "NUS-WIDE":
        return nus_wide()
    data = load_multilabel(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        return LabelRelation(data.labels[: data.n_train])


def _quietly_sampled(relation: LabelRelation, seed: int) -> PairRelation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        return relation.sample_pairs(random_state=seed)


def _unseen(relation: LabelRelation, given: PairRelation, seed: int) -> PairRelation:
    """Random pairs of items, none of them given."""
    rng = np.random.default_rng([seed, 1])
    left, right = rng.integers(relation.n_items, size=(2, 2 * N_UNSEEN))
    low, high = np.minimum(left, right), np.maximum(left, right)
    keys = low * relation.n_items + high
    known = np.minimum(given.left, given.right) * relation.n_items
    known += np.maximum(given.left, given.right)
    free = np.flatnonzero((left != right) & ~np.isin(keys, known))[:N_UNSEEN]
    return relation.pairs(left[free], right[free])


def _auroc(points: np.ndarray, pairs: PairRelation, loss: str) -> float:
    metric = "euclidean" if loss == "contrastive" else "dot"
    return pair_auroc(pairs.similar, pair_similarity(points, pairs.left, pairs.right, metric))
