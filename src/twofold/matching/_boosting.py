"""Boosted trees, by LightGBM or else scikit-learn, as a `Forest`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.threads import Workers, allowed_threads
from twofold.matching._forest import LARGEST, LEAF, Forest, join_forests


@dataclass(frozen=True, slots=True)
class BoostingSettings:
    """How trees are boosted.

    The numbers were compared by cross-validation by items on the training and validation pairs of
    amazon-google and dblp-acm (average precision of the first / second): one forest of leaves of
    20 pairs or more .840 / .9998, of 5 or more .845, the mean of four forests of the former .848.
    7 or 31 leaves, 60 or 300 trees and other shares differ by less than the spread over seeds.
    """

    n_trees: int = 120
    learning_rate: float = 0.1
    n_leaves: int = 15
    n_least: int = 5
    feature_share: float = 0.3
    row_share: float = 0.8
    ridge: float = 1.0
    n_forests: int = 3


def fit_boosted(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    settings: BoostingSettings,
    rng: np.random.Generator,
) -> Forest:
    """Return the mean of `settings.n_forests` boosted forests, which differ by their draws.

    They are fitted side by side, each on one thread: on a busy machine the threads of one forest
    wait for one another.
    """
    prepare = _lightgbm_fits if has_lightgbm() else _scikit_learn_fits
    fit_one = prepare(X, y, settings)
    seeds = rng.integers(2**31 - 1, size=settings.n_forests).tolist()
    forests: dict[int, Forest] = {}

    def fit(number: int) -> None:
        forests[number] = fit_one(seeds[number])

    with Workers(min(allowed_threads(), len(seeds))) as workers:
        workers.run(fit, [(number,) for number in range(len(seeds))])
    return join_forests([forests[number] for number in range(len(seeds))], share=1 / len(seeds))


def has_lightgbm() -> bool:
    """Return whether LightGBM is installed."""
    return find_spec("lightgbm") is not None


def _lightgbm_fits(
    X: NDArray[np.float32], y: NDArray[np.int64], settings: BoostingSettings
) -> Callable[[int], Forest]:
    """Return what fits a forest by a seed; the similarities are put into bins once for all."""
    import lightgbm

    parameters = {
        "objective": "binary",
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.n_leaves,
        "min_data_in_leaf": settings.n_least,
        "feature_fraction": settings.feature_share,
        "bagging_fraction": settings.row_share,
        "bagging_freq": 1,
        "lambda_l2": settings.ridge,
        "deterministic": True,
        # By columns a tree reads only those that it has drawn: a quarter less time.
        "force_col_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    binned = lightgbm.Dataset(X, y, params=parameters).construct()

    def fit(seed: int) -> Forest:
        booster = lightgbm.train(parameters | {"seed": seed}, binned, settings.n_trees)
        trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
        return _forest([_lightgbm_nodes(tree) for tree in trees], 0.0)

    return fit


def _scikit_learn_fits(
    X: NDArray[np.float32], y: NDArray[np.int64], settings: BoostingSettings
) -> Callable[[int], Forest]:
    """Return what fits a forest by a seed."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    X = np.where(np.isnan(X).all(axis=0), np.float32(0), X)  # it refuses a column without values

    def fit(seed: int) -> Forest:
        model = HistGradientBoostingClassifier(
            learning_rate=settings.learning_rate,
            max_iter=settings.n_trees,
            max_leaf_nodes=settings.n_leaves,
            min_samples_leaf=settings.n_least,
            l2_regularization=settings.ridge,
            max_features=settings.feature_share,
            early_stopping=False,
            random_state=seed,
        )
        with threadpool_limits(1, user_api="openmp"):
            model.fit(X, y)
        trees = [_scikit_learn_nodes(iteration[0].nodes) for iteration in model._predictors]
        return _forest(trees, float(model._baseline_prediction[0, 0]))

    return fit


Node = tuple[int, float, bool, int, int, float, float]
"""Feature, threshold, whether the missing go left, left, right, value, training rows."""


def _lightgbm_nodes(tree: dict[str, Any]) -> list[Node]:
    """Return the nodes of a tree of LightGBM's description, each before its children."""
    nodes: list[Any] = []

    def add(node: dict[str, Any]) -> int:
        place = len(nodes)
        nodes.append(None)
        if "leaf_value" in node:
            count = float(node.get("leaf_count", 1))
            nodes[place] = (LEAF, 0.0, False, LEAF, LEAF, float(node["leaf_value"]), count)
            return place
        # Where no value was missing in training, LightGBM reads a missing one as 0.
        threshold = float(node["threshold"])
        missing_left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0
        left, right = add(node["left_child"]), add(node["right_child"])
        count = float(node["internal_count"])
        nodes[place] = (
            int(node["split_feature"]), threshold, bool(missing_left), left, right, 0.0, count
        )  # fmt: skip
        return place

    add(tree)
    return nodes


def _scikit_learn_nodes(nodes: NDArray[Any]) -> list[Node]:
    """Return the nodes of a tree of scikit-learn's, which stand before their children, too."""
    return [
        (LEAF, 0.0, False, LEAF, LEAF, float(node["value"]), float(node["count"]))
        if node["is_leaf"]
        else (
            int(node["feature_idx"]),
            float(node["num_threshold"]),
            bool(node["missing_go_to_left"]),
            int(node["left"]),
            int(node["right"]),
            0.0,
            float(node["count"]),
        )
        for node in nodes
    ]


def _forest(trees: list[list[Node]], base: float) -> Forest:
    """Return trees as one forest, whose score is `base` and their sum."""
    firsts = np.cumsum([0] + [len(nodes) for nodes in trees])[:-1]
    feature, threshold, missing_left, left, right, value, count = zip(
        *(
            _moved(node, first)
            for nodes, first in zip(trees, firsts.tolist(), strict=True)
            for node in nodes
        ),
        strict=True,
    )
    return Forest(
        roots=firsts.astype(np.int32),
        feature=np.array(feature, dtype=np.int32),
        # A threshold that only parts the missing from the others may be infinite.
        threshold=np.clip(np.array(threshold, dtype=np.float64), -LARGEST, LARGEST),
        missing_left=np.array(missing_left, dtype=np.bool_),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        value=np.array(_means(left, right, value, count)),
        base=base,
    )


def _moved(node: Node, by: int) -> Node:
    """Return a node of a tree whose first node has the number `by` in the forest."""
    feature, threshold, missing_left, left, right, value, count = node
    if feature == LEAF:
        return node
    return feature, threshold, missing_left, left + by, right + by, value, count


def _means(
    left: Sequence[int], right: Sequence[int], value: Sequence[float], count: Sequence[float]
) -> list[float]:
    """Return the nodes' values; above leaves the mean over the training rows below."""
    means = list(value)
    for node in reversed(range(len(means))):  # children stand behind their parents
        one, other = left[node], right[node]
        if one != LEAF:
            weights = max(count[one], 1e-300), max(count[other], 1e-300)
            total = means[one] * weights[0] + means[other] * weights[1]
            means[node] = total / (weights[0] + weights[1])
    return means
