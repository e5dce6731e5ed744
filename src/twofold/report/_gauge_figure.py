"""The gauge's curve: how well pairs order other pairs, against how many there are."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from twofold.report._curve_figure import inline_svg
from twofold.report._figures import STYLE
from twofold.targets import DECIDING_AUROC, Gauge

BLUE, GREY = "#0072b2", "#8a8a8a"


def gauge_figure(gauge: Gauge) -> str:
    """Draw held-out AUROC against the number of pairs, and how it would go on to deciding."""
    sizes = [point.n_pairs for point in gauge.curve]
    aurocs = [point.auroc for point in gauge.curve]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 2.8), layout="constrained")
        axes = figure.subplots()
        axes.axhline(DECIDING_AUROC, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(
            "pairs decide",
            (0.01, DECIDING_AUROC + 0.008),
            xycoords=("axes fraction", "data"),
            color="#55626f",
            fontsize=9,
        )
        errors = [2 * point.standard_error for point in gauge.curve]
        axes.errorbar(
            sizes, aurocs, errors, color=BLUE, linewidth=2.4, marker="o", markersize=6, capsize=3
        )
        _continue(axes, gauge)
        axes.set(xlabel="pairs that targets are made from", ylabel="AUROC on other pairs")
        axes.set(xscale="log", ylim=(min(0.45, *aurocs), 1.02))
        axes.grid(axis="y", color="#e3e8ed")
        _label_sizes(axes, gauge, sizes)
        said = ", ".join(f"{point.auroc:.3f} with {point.n_pairs:,}" for point in gauge.curve)
        return inline_svg(figure, f"AUROC on held-out pairs: {said} pairs", "gauge")


def _continue(axes: Axes, gauge: Gauge) -> None:
    """Draw the way to the level where the pairs would decide, dotted."""
    last, needed = gauge.curve[-1], gauge.n_needed
    if needed is not None and needed > last.n_pairs:
        axes.plot(
            [last.n_pairs, needed],
            [last.auroc, DECIDING_AUROC],
            color=BLUE,
            linewidth=1.6,
            linestyle=(0, (1, 2)),
        )
        axes.plot(needed, DECIDING_AUROC, "o", color=BLUE, markersize=6, fillstyle="none")


def _label_sizes(axes: Axes, gauge: Gauge, sizes: list[int]) -> None:
    """Label the points there are, and the one that would decide."""
    ticks = list(sizes)
    if gauge.n_needed is not None and gauge.n_needed > 1.3 * sizes[-1]:
        ticks.append(gauge.n_needed)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{size:,}" for size in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
