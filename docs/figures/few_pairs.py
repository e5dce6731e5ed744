"""Few pairs: AUROC on the digits against pairs an item, from the records."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from style import BLUE, GREY, ORANGE, PURPLE, error_scale, figures_of

PAIRS_AN_ITEM = ("0.25", "0.5", "1", "2", "4", "16")
RIVALS = (
    ("Siamese", "Siamese network", PURPLE, "-"),
    ("Siamese from the features", "Siamese, started from the features", PURPLE, "--"),
    ("FML-C", "FML-C: targets from pairs alone", ORANGE, "-"),
    ("raw features", "features as given", GREY, "-"),
)


def draw() -> Figure:
    """Draw a line a method; errors are smaller than the marks."""
    ours, theirs = figures_of("cpu16/few_pairs.json"), figures_of("cpu/few_pairs.json")
    figure, axes = plt.subplots(figsize=(8, 4))
    at = [float(each) for each in PAIRS_AN_ITEM]
    values = [ours[f"digits {each}, AUROC: Twofold"][0] for each in PAIRS_AN_ITEM]
    axes.plot(at, values, color=BLUE, marker="o", linewidth=2.5, label="Twofold")
    for name, title, colour, style in RIVALS:
        values = [theirs[f"digits {each}, AUROC: {name}"][0] for each in PAIRS_AN_ITEM]
        axes.plot(at, values, color=colour, linestyle=style, marker="o", markersize=4, label=title)
    axes.set_xscale("log", base=2)
    axes.set_xticks(at, PAIRS_AN_ITEM)
    error_scale(axes, (0.6, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995))
    axes.set_ylim(0.6, 0.9997)
    axes.set(xlabel="pairs an item", ylabel="AUROC on pairs of test digits")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
