"""What training costs: AUROC against seconds on MNIST, from the records of the paper's protocol."""

import json

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from style import BLUE, GREEN, ORANGE, PURPLE, RESULTS, error_scale

SEEDS = (0, 1, 2)
METHODS = (
    ("twofold", "Twofold", BLUE),
    ("fml-dp", "FML-DP", GREEN),
    ("fml-c", "FML-C", ORANGE),
    ("siamese", "Siamese network", PURPLE),
)


def draw() -> Figure:
    """Draw the mean curves, and how many items pass through the network in an epoch."""
    figure, (passes, curves) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(0.8, 1.2))
    records = {method: read(method) for method, _, _ in METHODS}
    data = records["siamese"][0]["data"]
    counts = (data["n_train"], 2 * data["n_pairs"])
    passes.barh(("items: regression", "pairs: Siamese"), counts, color=(BLUE, PURPLE), height=0.5)
    for row, count in enumerate(counts):
        passes.annotate(f" {count:,}", (count, row), va="center")
    passes.set(xlim=(0, max(counts) * 1.35), xticks=[])
    passes.spines["bottom"].set_visible(False)
    passes.set_title("Passes through the network in one epoch")
    for method, title, colour in METHODS:
        seconds, auroc = mean_curve(records[method])
        curves.plot(seconds, auroc, color=colour, label=title, linewidth=2)
    curves.set_xscale("log")
    curves.set_xticks((0.1, 1, 10), ("0.1", "1", "10"))
    curves.set(xlabel="seconds of training, phase 1 counted in")
    error_scale(curves, (0.9, 0.99, 0.995, 0.998, 0.999, 0.9995))
    curves.set_ylim(0.9, 0.9997)
    curves.set_title("AUROC on pairs of test digits, MNIST")
    curves.legend(loc="lower right")
    return figure


def read(method: str) -> list[dict]:
    """Return the records of a method, one a seed."""
    paths = [RESULTS / f"runs/gpu/mnist/{method}-seed{seed}.json" for seed in SEEDS]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def mean_curve(records: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Return seconds and AUROC at each epoch that was evaluated, the mean over seeds."""
    curves = [[(each["seconds"], each["auroc"]) for each in one["curve"]] for one in records]
    seconds, auroc = np.mean(curves, axis=0).T
    return seconds, auroc
