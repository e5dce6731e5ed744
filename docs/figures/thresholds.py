"""A threshold: how similar pairs of new digits are, and where the line is drawn."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from style import BLUE, ORANGE

from twofold import LabelRelation, MetricLearner


def draw() -> Figure:
    """Draw both kinds of pairs, each to the same area."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    learner = MetricLearner(random_state=0).fit(X_train, y_train)
    learner.calibrate_threshold(X_test, y_test, strategy="max_tpr", min_rate=0.99)
    pairs = LabelRelation(y_test).sample_pairs(10, 10, random_state=1)
    similarity = learner.pair_similarity(X_test[pairs.left], X_test[pairs.right])
    figure, axes = plt.subplots(figsize=(7, 3.2))
    bins = np.linspace(similarity.min(), similarity.max(), 60)
    for name, which, colour in (("not alike", 0, ORANGE), ("alike", 1, BLUE)):
        values = similarity[pairs.similar == which]
        axes.hist(values, bins, density=True, color=colour, alpha=0.6, label=name)
    axes.axvline(learner.threshold_, color="#30363d", linestyle="--")
    says = f" threshold {learner.threshold_:.2f}:\n at most 1 false\n alarm in 100"
    axes.text(learner.threshold_, axes.get_ylim()[1] * 0.97, says, va="top")
    axes.set(xlabel="similarity (cosine) of two new digits", yticks=[])
    axes.spines["left"].set_visible(False)
    axes.legend(loc="upper right")
    return figure
