"""Asking: AUROC against answers, for suggested and for random questions, from the record."""

import re

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from style import BLUE, GREY, error_scale, figures_of


def draw() -> Figure:
    """Draw both sets side by side."""
    figures = figures_of("cpu/asking.json")
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6))
    for one, name, title, ticks in (
        (axes[0], "digits", "Handwritten digits", (0.87, 0.9, 0.95, 0.97, 0.98, 0.99)),
        (axes[1], "dblp-acm", "Records of two tables", (0.987, 0.99, 0.995, 0.998, 0.9985, 0.999)),
    ):
        for kind, colour in (("suggestions", BLUE), ("random pairs", GREY)):
            found = [re.fullmatch(rf"{name}: (\d+) answers to {kind}", key) for key in figures]
            n_answers = [int(match[1]) for match in found if match]
            values = [figures[match[0]][0] for match in found if match]
            one.plot(n_answers, values, color=colour, marker="o", markersize=4, label=kind)
        error_scale(one, ticks)
        one.set(xlabel="answers", title=title)
        one.legend(loc="lower right")
    axes[0].set_ylabel("AUROC on test pairs")
    return figure
