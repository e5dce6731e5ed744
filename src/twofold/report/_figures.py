"""Figures as text, to stand inside a page: SVG, and small images as data."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import matplotlib.image
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

COLOURS = ("#0b6e99", "#d9822b", "#3f9b6c", "#8a5fb5")
WIDTHS = (3.0, 1.8, 1.8, 1.8)
WIDE, NARROW = (7.6, 3.8), (4.2, 3.4)
"""Inches of a figure for a screen and for a phone: letters are of one size in both."""
AUROC_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995)
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


def auroc_curves(
    runs: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
    size: tuple[float, float] = WIDE,
) -> str:
    """Draw AUROC against seconds of training for every method; errors and seconds on log scales.

    The vertical scale is that of what is missing to 1, so that 0.99 and 0.999 stand apart. `size`
    is the figure's width and height in inches.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        for colour, width, (name, (seconds, auroc)) in zip(
            COLOURS, WIDTHS, runs.items(), strict=False
        ):
            missing = np.maximum(1 - auroc, 1e-5)
            axes.plot(seconds, missing, color=colour, label=name, linewidth=width)
            axes.plot(seconds[-1], missing[-1], "o", color=colour, markersize=5)
        axes.set(xlabel="seconds of training", ylabel="AUROC", xscale="log", yscale="log")
        axes.yaxis.set_major_locator(FixedLocator([1 - level for level in AUROC_LEVELS]))
        axes.yaxis.set_major_formatter(FixedFormatter([f"{level:g}" for level in AUROC_LEVELS]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.invert_yaxis()
        axes.grid(axis="y", color="#e3e8ed")
        if size == NARROW:  # no room beside the curves
            figure.legend(frameon=False, loc="outside upper center", ncols=2)
        else:
            axes.legend(frameon=False, loc="lower right")
        return _svg(figure)


def class_map(points: NDArray[np.float32], classes: NDArray[np.int64]) -> str:
    """Draw points along the two directions that put the classes' means on a circle.

    The view is the same for all methods, so that what differs is how tight and how far apart the
    classes lie in it.
    """
    labels, codes = np.unique(classes, return_inverse=True)
    angles = 2 * np.pi * np.arange(labels.size) / labels.size
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    means = np.stack([points[codes == code].mean(axis=0) for code in range(labels.size)])
    centre = means.mean(axis=0)
    # Directions in which the means do not differ at all would only magnify noise.
    view = np.linalg.lstsq(means - centre, circle, rcond=0.005)[0]
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


def digit_image(image: NDArray[np.float64]) -> str:
    """Return a grey image, dark where it is high, as the address of an <img>."""
    buffer = io.BytesIO()
    matplotlib.image.imsave(buffer, image, cmap="gray_r", format="png")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
