"""Kinds never seen: digits 0 to 4 are trained on, 5 to 9 embedded, with and without the step."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from style import bare, scatter_kinds

from twofold import MetricLearner
from twofold.evaluation import retrieval_scores


def draw() -> Figure:
    """Draw the two leading directions of the new kinds, in three spaces."""
    X, y = load_digits(return_X_y=True)
    seen = y < 5
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.8))
    show(axes[0], X[~seen], y[~seen], "euclidean", "The pixels as they are")
    for one, metric, title in (
        (axes[1], "seen", "The network's output"),
        (axes[2], "unseen", "After the metric step"),
    ):
        learner = MetricLearner(metric=metric, random_state=0).fit(X[seen], y[seen])
        show(one, learner.transform(X[~seen]), y[~seen], learner.metric_, title)
    return figure


def show(axes: plt.Axes, points: np.ndarray, kinds: np.ndarray, metric: str, title: str) -> None:
    """Draw points of new kinds, and say how well they are found among each other."""
    scores = retrieval_scores(points, kinds, metric=metric)
    flat = normalize(points) if metric == "cosine" else points
    scatter_kinds(axes, PCA(2, random_state=0).fit_transform(flat), kinds)
    bare(axes, f"{title}\nrecall@1 {scores.recall_at[1]:.3f}, MAP@R {scores.map_at_r:.3f}")
