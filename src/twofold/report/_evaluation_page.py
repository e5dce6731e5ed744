"""The page of an evaluation: scores, curves, and the wrong decisions with both rows' fields."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from twofold.evaluation import Interval
from twofold.report._curve_figure import inline_svg
from twofold.report._figures import STYLE
from twofold.report._page import page_template
from twofold.report._wording import seconds
from twofold.tasks import Evaluation, WrongPair

BLUE = "#0072b2"
REASONS = {"*": "all columns together", "base": "any pair"}
"""What explanations say beside the columns."""
TITLES = {
    "auroc": "AUROC",
    "average_precision": "average precision",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "eer": "equal error rate",
}


def evaluation_page(evaluation: Evaluation) -> str:
    """Return the page as HTML that needs nothing beside itself."""
    scores = evaluation.decisions
    n_wrong = evaluation.n_false_alarms + evaluation.n_misses
    n_pairs = scores.n_similar + scores.n_dissimilar
    false_positive_rate = evaluation.n_false_alarms / scores.n_dissimilar
    return page_template("evaluation.html.j2").render(
        evaluation=evaluation,
        scores=scores,
        headline=f"{n_pairs - n_wrong:,} of {n_pairs:,} pairs are decided correctly",
        lead=f"{evaluation.n_false_alarms:,} are wrongly called alike, {evaluation.n_misses:,} "
        f"of {scores.n_similar:,} alike ones are missed: F1 {scores.f1:.3f}.",
        score_name="probability" if evaluation.by == "pair model" else "similarity",
        figures=_figures(evaluation),
        precision_recall=_curve(
            evaluation.precision_recall, "recall", "precision", (scores.recall, scores.precision)
        ),
        roc=_curve(
            evaluation.roc,
            "false positive rate",
            "true positive rate",
            (false_positive_rate, scores.recall),
        ),
        rows=_rows,
        seconds=seconds(sum(evaluation.seconds.values())),
    )


def _figures(evaluation: Evaluation) -> list[tuple[str, float, Interval | None]]:
    """Return every score with its title and its interval."""
    scores, found = evaluation.decisions, evaluation.retrieval
    rows = [
        (title, float(getattr(scores, name)), scores.intervals.get(name))
        for name, title in TITLES.items()
    ]
    if found is None:
        return rows
    rows += [
        (f"recall@{k}", share, found.intervals.get(f"recall_at_{k}"))
        for k, share in found.recall_at.items()
    ]
    return [
        *rows,
        ("R-precision", found.r_precision, found.intervals.get("r_precision")),
        ("MAP@R", found.map_at_r, found.intervals.get("map_at_r")),
    ]


def _curve(points: NDArray[np.float64], across: str, up: str, here: tuple[float, float]) -> str:
    """Draw a curve between two rates, with a dot where the threshold stands."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 3.4), layout="constrained")
        axes = figure.subplots()
        axes.plot(points[:, 0], points[:, 1], color=BLUE, linewidth=2)
        axes.plot(*here, "o", color="#d55e00", markersize=8)
        axes.set(xlabel=across, ylabel=up, xlim=(-0.02, 1.02), ylim=(-0.02, 1.03))
        axes.grid(color="#e3e8ed")
        said = f"{up} {here[1]:.3f} at {across} {here[0]:.3f}"
        return inline_svg(figure, said, up.split()[0])


def _rows(pair: WrongPair) -> list[tuple[str, str, str, float | None]]:
    """Return the fields of both rows side by side, and what each adds to the decision."""
    names = list(dict.fromkeys([*pair.left, *pair.right, *pair.reasons]))
    return [
        (
            REASONS.get(name, name),
            pair.left.get(name, ""),
            pair.right.get(name, ""),
            pair.reasons.get(name),
        )
        for name in names
    ]
