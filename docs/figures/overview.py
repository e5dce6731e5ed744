"""The whole method on 900 digits: what is said, the targets of it, and where new digits land."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from style import GREEN, ORANGE, bare, scatter_kinds

from twofold import LabelRelation, MetricLearner

N_KINDS = 5


def draw() -> Figure:
    """Draw statements, targets, and an embedding of digits that were not trained on."""
    digits = load_digits(n_class=N_KINDS)
    train, test = slice(0, 600), slice(600, None)
    classes = digits.target[train]
    pairs = LabelRelation(classes).sample_pairs(10, 10, random_state=0)
    learner = MetricLearner(2, targets="fml-c", random_state=0)
    learner.fit(digits.data[train], relation=pairs)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), width_ratios=(0.8, 1, 1))
    draw_statements(axes[0], digits.images, classes)
    scatter_kinds(axes[1], learner.targets_, classes)
    bare(axes[1], "1  Targets: a place for each item,\nfrom the statements alone")
    scatter_kinds(axes[2], learner.transform(digits.data[test]), digits.target[test])
    bare(axes[2], "2  Regression: from pixels to places;\nthese digits are new")
    return figure


def draw_statements(axes: plt.Axes, images: np.ndarray, classes: np.ndarray) -> None:
    """Show some pairs of digits as they are, with what is said of them."""
    bare(axes, "What you know: some pairs\nare alike, others are not")
    rows = [(3, 3), (0, 2), (1, 1), (4, 1)]
    axes.set(xlim=(0, 3.4), ylim=(len(rows), 0), aspect="equal")
    for row, (left, right) in enumerate(rows):
        first = np.flatnonzero(classes == left)[2]
        second = np.flatnonzero(classes == right)[5]
        for place, item in ((0.25, first), (2.25, second)):
            box = (place, place + 0.9, row + 0.95, row + 0.05)
            axes.imshow(images[item], cmap="gray_r", extent=box, interpolation="nearest")
        alike = left == right
        sign, colour = ("alike", GREEN) if alike else ("not alike", ORANGE)
        axes.text(1.7, row + 0.5, sign, ha="center", va="center", color=colour, fontsize=9)
    axes.set(xlim=(0, 3.4), ylim=(len(rows), 0))
