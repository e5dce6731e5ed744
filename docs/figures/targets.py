"""Targets of items with several labels: from sampled pairs, and from the whole relation."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_multilabel_classification
from style import bare

from twofold import LabelRelation, solve_targets
from twofold.evaluation import pair_auroc

N_ITEMS = 240
N_COMPONENTS = 32


def draw() -> Figure:
    """Draw inner products of targets beside the relation that they ought to show."""
    labels = make_multilabel_classification(
        N_ITEMS, n_classes=12, n_labels=2, allow_unlabeled=False, random_state=0
    )[1]
    labels = labels[np.lexsort(labels.T[::-1])[::-1]]
    relation = LabelRelation(labels)
    rows = np.arange(N_ITEMS)
    truth = relation.similarity(rows, rows)
    sampled = relation.sample_pairs(10, 10, random_state=0)
    few = solve_targets(sampled, N_COMPONENTS, loss="dot", init="random", random_state=0)
    whole = solve_targets(relation, N_COMPONENTS, loss="dot", random_state=0)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.9))
    show(axes[0], truth, "Which items share a label")
    for one, name, solution in (
        (axes[1], "Targets of 20 sampled pairs an item", few),
        (axes[2], "Targets of the whole relation", whole),
    ):
        product = solution.points @ solution.points.T
        auroc = unseen_auroc(truth, product, sampled)
        show(one, product, f"{name}:\nAUROC {auroc:.3f} on the other pairs")
    return figure


def unseen_auroc(truth: np.ndarray, product: np.ndarray, sampled: object) -> float:
    """Return the AUROC on pairs that were not sampled."""
    others = np.triu(np.ones_like(truth, dtype=bool), 1)
    others[sampled.left, sampled.right] = others[sampled.right, sampled.left] = False
    return pair_auroc(truth[others], product[others])


def show(axes: plt.Axes, values: np.ndarray, title: str) -> None:
    """Draw a matrix of items by items."""
    values = values - np.diag(np.diag(values))
    axes.imshow(values, cmap="BuPu", vmin=0, vmax=1, interpolation="nearest")
    bare(axes, title)
