"""How the pictures of the documentation look: one width, one set of colours, no frame."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

mpl.use("Agg")

RESULTS = Path(__file__).parents[2] / "results"
PICTURES = Path(__file__).parents[1] / "pictures"

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0b6e99", "#d9822b", "#3f9c6d", "#8c5fb5", "#8a94a0"
KINDS = (BLUE, ORANGE, GREEN, PURPLE, "#c2475a")
"""One colour a kind of item."""

mpl.rcParams.update(
    {
        "figure.dpi": 100,
        "savefig.dpi": 170,
        "figure.constrained_layout.use": True,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "axes.titlesize": 10.5,
        "axes.grid.axis": "y",
        "grid.color": "#e6e9ec",
        "legend.frameon": False,
    }
)


def bare(axes: Axes, title: str) -> None:
    """Leave out what a picture of points does not need: where zero is, and ticks."""
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color("#d5dae0")


def scatter_kinds(axes: Axes, points: np.ndarray, kinds: np.ndarray, size: float = 9) -> None:
    """Draw points, a colour a kind, with the kind's name in its middle."""
    for colour, kind in zip(KINDS, np.unique(kinds), strict=False):
        of_kind = points[kinds == kind]
        axes.scatter(*of_kind.T, s=size, color=colour, alpha=0.65, linewidths=0)
        box = {"boxstyle": "circle,pad=0.2", "fc": "white", "ec": colour, "alpha": 0.9}
        axes.annotate(str(kind), np.median(of_kind, axis=0), ha="center", va="center", bbox=box)


def figures_of(record: str) -> dict[str, tuple[float, str]]:
    """Return a record's figures by name: the value, and the note that stands with it."""
    read: dict[str, Any] = json.loads((RESULTS / record).read_text(encoding="utf-8"))
    return {each["name"]: (each["value"], each["note"]) for each in read["figures"]}


def error_scale(axes: Axes, ticks: tuple[float, ...]) -> None:
    """Show an AUROC by how far it is from 1, so that .99 and .999 are told apart."""

    def forward(auroc: np.ndarray) -> np.ndarray:
        return -np.log10(np.maximum(1 - np.asarray(auroc), 1e-6))

    axes.set_yscale("function", functions=(forward, lambda height: 1 - 10.0 ** -np.asarray(height)))
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.grid(True)
