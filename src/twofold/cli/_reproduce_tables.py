"""The runs of a reproduction as tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from twofold.experiments import Protocol, RunRecord

SCORES = {"AUROC": "auroc", "recall@1": "recall_at_1", "MAP@R": "map_at_r"}


def paper_table(protocol: Protocol, records: Sequence[RunRecord]) -> Table:
    """Show each run, the paper's figure beside it."""
    from twofold.experiments import METHODS

    score = "accuracy" if protocol.score == "accuracy" else "Jaccard"
    headings = ("method", "seed", "AUROC", f"5-NN {score}", "paper", "phase 1", "training")
    table = _empty_table(protocol.title, headings)
    published = {} if protocol.paper is None else protocol.paper.neighbours
    for record in records:
        scores, timed = record.scores, record.targets_seconds
        table.add_row(
            METHODS[record.method].title,
            str(record.seed),
            "–" if scores is None else f"{scores.auroc:.4f}",
            "–" if scores is None else f"{scores.neighbours:.4f}",
            f"{published[record.method]:.3f}" if record.method in published else "",
            f"{sum(timed) / len(timed):.3f} s" if timed else "none",
            f"{record.seconds['training']:.1f} s",
        )
    return table


def unseen_table(records: Sequence[RunRecord]) -> Table:
    """Show each run on kinds never seen; a rival's scores are by the metric best for each."""
    from twofold.experiments import UNSEEN_METHODS, best_score

    table = _empty_table(None, ("method", "seed", *SCORES, "seconds"))
    for record in records:
        assert record.unseen is not None
        scores = [best_score(record.unseen.never_seen, name) for name in SCORES.values()]
        table.add_row(
            UNSEEN_METHODS[record.method].title,
            str(record.seed),
            *("–" if score is None else f"{score:.4f}" for score in scores),
            f"{sum(record.seconds.values()):.1f} s",
        )
    return table


def _empty_table(title: str | None, headings: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "method" else "right")
    return table
