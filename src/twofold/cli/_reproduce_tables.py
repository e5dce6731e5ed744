"""The runs of a reproduction as tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twofold.cli._console import table

if TYPE_CHECKING:
    from rich.console import Group

    from twofold.experiments import Protocol, RunRecord

CODES = {
    "mAP@1000": "map_at_1000",
    "mAP@5000": "map_at_5000",
    "mAP": "mean_average_precision",
    "precision, radius 2": "precision_within_2",
    "5-NN": "neighbours",
}
SCORES = {"AUROC": "auroc", "recall@1": "recall_at_1", "MAP@R": "map_at_r"}


def paper_table(protocol: Protocol, records: Sequence[RunRecord]) -> Group:
    """Show each run, the paper's figure beside it."""
    score = "accuracy" if protocol.score == "accuracy" else "Jaccard"
    return table(
        ("method", "seed", "AUROC", f"5-NN {score}", "paper", "phase 1", "training"),
        [_paper_row(protocol, record) for record in records],
        title=protocol.title,
        text=("method",),
    )


def _paper_row(protocol: Protocol, record: RunRecord) -> tuple[str, ...]:
    from twofold.experiments import METHODS

    published = {} if protocol.paper is None else protocol.paper.neighbours
    scores, timed = record.scores, record.targets_seconds
    return (
        METHODS[record.method].title,
        str(record.seed),
        "–" if scores is None else f"{scores.auroc:.4f}",
        "–" if scores is None else f"{scores.neighbours:.4f}",
        f"{published[record.method]:.3f}" if record.method in published else "",
        f"{sum(timed) / len(timed):.3f} s" if timed else "none",
        f"{record.seconds['training']:.1f} s",
    )


def code_table(records: Sequence[RunRecord]) -> Group:
    """Show each run on codes: how a gallery is ranked by them."""
    headings = ("method", "seed", *CODES, "seconds")
    return table(headings, map(_code_row, records), text=("method",))


def _code_row(record: RunRecord) -> tuple[str, ...]:
    from twofold.experiments import CODE_METHODS

    values = [getattr(record.codes, name) for name in CODES.values()]
    return (
        CODE_METHODS[record.method].title,
        str(record.seed),
        *("–" if value is None else f"{value:.4f}" for value in values),
        f"{sum(record.seconds.values()):.1f} s",
    )


def unseen_table(records: Sequence[RunRecord]) -> Group:
    """Show each run on kinds never seen; a rival's scores are by the metric best for each."""
    return table(
        ("method", "seed", *SCORES, "seconds"), map(_unseen_row, records), text=("method",)
    )


def _unseen_row(record: RunRecord) -> tuple[str, ...]:
    from twofold.experiments import UNSEEN_METHODS, best_score

    assert record.unseen is not None
    scores = [best_score(record.unseen.never_seen, name) for name in SCORES.values()]
    return (
        UNSEEN_METHODS[record.method].title,
        str(record.seed),
        *("–" if score is None else f"{score:.4f}" for score in scores),
        f"{sum(record.seconds.values()):.1f} s",
    )
