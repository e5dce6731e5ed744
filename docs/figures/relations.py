"""What pairs, labels and triplets state: the same twelve items, three times."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from style import GREEN, KINDS, ORANGE, bare

CLASSES = np.repeat([0, 1, 2], 4)
PAIRS = [(0, 1, 1), (1, 2, 1), (4, 5, 1), (8, 9, 1), (0, 4, 0), (5, 8, 0), (3, 10, 0)]
TRIPLETS = [(0, 1, 6), (4, 7, 2), (9, 11, 5)]


def draw() -> Figure:
    """Draw links: alike green, not alike orange and dashed; unknown is no line."""
    angles = np.arange(12) / 12 * 2 * np.pi + 0.6
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4))
    for left, right, similar in PAIRS:
        link(axes[0], places[left], places[right], similar)
    for left in range(12):
        for right in range(left):
            link(axes[1], places[left], places[right], int(CLASSES[left] == CLASSES[right]), 0.8)
    for anchor, positive, negative in TRIPLETS:
        link(axes[2], places[anchor], places[positive], 1)
        link(axes[2], places[anchor], places[negative], 0)
    titles = (
        "Pairs: a few links are known,\nthe others unknown",
        "Labels: every link is known",
        "Triplets: nearer to this one\nthan to that one",
    )
    for one, title in zip(axes, titles, strict=True):
        bare(one, title)
        one.set(aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
        colours = [KINDS[kind] for kind in CLASSES] if one is axes[1] else "#5d6773"
        one.scatter(*places.T, s=70, c=colours, zorder=3, edgecolors="white")
    return figure


def link(
    axes: plt.Axes, left: np.ndarray, right: np.ndarray, similar: int, width: float = 2
) -> None:
    """Draw one statement."""
    thin = 0.35 if width < 1 and not similar else 1.0
    style = "-" if similar else (0, (3, 2))
    colour = GREEN if similar else ORANGE
    axes.plot(
        *np.stack([left, right]).T, color=colour, linestyle=style, linewidth=width, alpha=thin
    )
