"""AUROC against seconds for many methods, each with the same line in every figure."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
)

from twofold.report._figures import AUROC_LEVELS, STYLE
from twofold.report._summaries import MeanCurve

HIGH_AUROC = 0.95
"""From here on the vertical scale is that of what is missing to 1."""
LEAST_MISSING = 1e-5
FEW = 5
"""Curves whose bands can be told apart; more of them are drawn fainter."""
SOLID, DASHED, DOTTED, MIXED = (), (4.0, 1.6), (1.2, 1.4), (5.0, 1.5, 1.2, 1.5)


@dataclass(frozen=True, slots=True)
class Line:
    """How a method is drawn: its colour, its dashes in widths of the line, its width."""

    colour: str
    dashes: tuple[float, ...] = SOLID
    width: float = 1.8

    @property
    def dash_array(self) -> str:
        """The dashes as SVG takes them."""
        return " ".join(f"{self.width * dash:g}" for dash in self.dashes)


# Okabe and Ito's colours, told apart by colour-blind readers; its yellow is too light on white.
BLUE, SKY, GREEN, ORANGE = "#0072b2", "#56b4e9", "#009e73", "#e69f00"
RED, PINK, BLACK, GREY = "#d55e00", "#cc79a7", "#222222", "#8a8a8a"
LINES = {
    "twofold": Line(BLUE, width=3.0),
    "fml-c": Line(RED, width=2.2),
    "fml-dp": Line(GREEN, DASHED, 2.2),
    "siamese": Line(BLACK, MIXED, 2.2),
    "siamese-cosine": Line(GREY, MIXED),
    "triplet": Line(PINK, DASHED),
    "nonlinear-nca": Line(ORANGE, DASHED),
    "nca": Line(SKY, DOTTED),
    "lmnn": Line(PINK, DOTTED),
    "itml": Line(ORANGE, DOTTED),
    "raw": Line(GREY, DOTTED),
    "cross-entropy": Line(SKY),
    "one-hot": Line(ORANGE),
    "simplex": Line(PINK),
    "supcon": Line(SKY, DASHED),
    "proxy-anchor": Line(GREEN, MIXED),
    "multi-similarity": Line(RED, MIXED),
    "triplet-miner": Line(PINK, MIXED),
}
OTHERS = tuple(
    Line(colour, dashes, 2.2) for dashes in (SOLID, DASHED) for colour in (PINK, ORANGE, SKY, GREEN)
)
"""Of methods of one's own, in their order; the ninth is drawn as the first."""


def lines_of(methods: Iterable[str]) -> dict[str, Line]:
    """Return how methods are drawn: those that are known always the same, others as they come."""
    every = sorted(set(methods))
    others = dict(zip((m for m in every if m not in LINES), cycle(OTHERS), strict=False))
    return {method: LINES.get(method) or others[method] for method in every}


def curve_figure(
    curves: Mapping[str, MeanCurve], label: str, name: str, lines: Mapping[str, Line]
) -> str:
    """Draw mean curves by method, with bands from the worst to the best seed.

    Seconds are on a logarithmic scale. Where AUROC gets high the vertical scale is the logarithm of
    1 - AUROC, so that 0.99 and 0.999 stand apart. A method without epochs is a point, or, if it
    takes less time than any first epoch, a level.

    Parameters
    ----------
    curves : mapping of str to MeanCurve
        By method.
    label : str
        The figure in words.
    name : str
        Unique among the figures of a page.
    lines : mapping of str to Line
        How each method is drawn.
    """
    missing_scale = max(max(curve.auroc) for curve in curves.values()) >= HIGH_AUROC
    trained = [curve for curve in curves.values() if len(curve.epochs) > 1] or [*curves.values()]
    start = min((s for curve in trained for s in curve.seconds if s > 0), default=1.0)
    shade = 0.16 if len(curves) <= FEW else 0.08
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 3.0), layout="constrained")
        axes = figure.subplots()
        # Twofold's line is drawn last, above the others.
        for method in sorted(curves, key=lambda method: lines[method].width):
            _draw(axes, curves[method], lines[method], start, missing_scale, shade)
        axes.set(xlabel="seconds of training", ylabel="AUROC", xscale="log")
        _scale_seconds(axes)
        if missing_scale:
            _scale_missing(axes)
        else:
            axes.yaxis.set_major_locator(MaxNLocator(6))
        axes.grid(axis="y", color="#e3e8ed")
        return inline_svg(figure, label, name)


def _draw(
    axes: Axes, curve: MeanCurve, line: Line, start: float, missing_scale: bool, shade: float
) -> None:
    auroc, lowest, highest = (
        np.maximum(1 - np.array(values), LEAST_MISSING) if missing_scale else np.array(values)
        for values in (curve.auroc, curve.lowest, curve.highest)
    )
    seconds = np.array(curve.seconds)
    dashes = (0, line.dashes) if line.dashes else "-"
    if seconds[-1] < start:
        axes.axhline(auroc[-1], color=line.colour, linewidth=line.width, linestyle=dashes)
        return
    drawn = seconds > 0
    axes.fill_between(
        seconds[drawn], lowest[drawn], highest[drawn], color=line.colour, alpha=shade, linewidth=0
    )
    axes.plot(
        seconds[drawn], auroc[drawn], color=line.colour, linewidth=line.width, linestyle=dashes
    )
    axes.plot(seconds[-1], auroc[-1], "o", color=line.colour, markersize=5)


def _scale_seconds(axes: Axes) -> None:
    low, high = axes.get_xlim()
    steps = (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _scale_missing(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(FixedLocator([1 - level for level in AUROC_LEVELS]))
    axes.yaxis.set_major_formatter(FixedFormatter([f"{level:g}" for level in AUROC_LEVELS]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.invert_yaxis()


def inline_svg(figure: Figure, label: str, name: str) -> str:
    """Return a figure as SVG that says what it shows and shares no id with another."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)[\"')]", text))

    def renamed(found: re.Match[str]) -> str:
        return f' id="{name}-{found[1]}"' if found[1] in used else ""

    text = re.sub(r' id="([\w.-]+)"', renamed, text)
    text = re.sub(r"(\(#|href=\"#)", rf"\g<1>{name}-", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
