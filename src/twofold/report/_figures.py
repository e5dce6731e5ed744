"""Figures as SVG text, to stand inside a page."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

COLOURS = ("#0b6e99", "#d9822b", "#b3a369", "#6a4c93")
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a94a0",
    "axes.labelcolor": "#36424f",
    "xtick.color": "#36424f",
    "ytick.color": "#36424f",
    "svg.fonttype": "none",
    "svg.hashsalt": "twofold",
}


def loss_curves(histories: Mapping[str, NDArray[np.float64]]) -> str:
    """Draw the loss of every method after each epoch, on a log scale."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        axes = figure.subplots()
        for colour, (name, history) in zip(COLOURS, histories.items(), strict=False):
            axes.plot(np.maximum(history, 1e-9), color=colour, label=name, linewidth=2)
        axes.set(xlabel="epoch", ylabel="mean loss", yscale="log")
        axes.grid(axis="y", color="#e3e8ed")
        axes.legend(frameon=False)
        return _svg(figure)


def target_map(points: NDArray[np.float32], classes: NDArray[np.int64]) -> str:
    """Draw targets along the two directions that put the classes' means on a circle.

    The view is the same for all methods, so that what differs is how tight and how far apart the
    classes lie in it.
    """
    labels, codes = np.unique(classes, return_inverse=True)
    angles = 2 * np.pi * np.arange(labels.size) / labels.size
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    means = np.stack([points[codes == code].mean(axis=0) for code in range(labels.size)])
    centre = means.mean(axis=0)
    # Directions in which the means hardly differ would only magnify noise.
    view = np.linalg.lstsq(means - centre, circle, rcond=0.05)[0]
    flat = (points - centre) @ view
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.5, 3.2), layout="constrained", dpi=200)
        axes = figure.subplots()
        axes.scatter(
            flat[:, 0],
            flat[:, 1],
            c=codes,
            cmap="tab10",
            s=7,
            alpha=0.6,
            linewidth=0,
            rasterized=True,
        )
        for label, place in zip(labels, 1.3 * circle, strict=True):
            axes.annotate(str(label), place, ha="center", va="center", fontweight="bold")
        axes.set(xlim=(-1.9, 1.9), ylim=(-1.7, 1.7))
        axes.set_axis_off()
        return _svg(figure)


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
