"""The demo's page: a pure function of its record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.experiments import Demo, DemoMethod, DemoRun, choose_shown
from twofold.report._figures import NARROW, WIDE, auroc_curves, class_map, digit_image
from twofold.report._page import page_template
from twofold.report._table import Cell, best_marked


@dataclass(frozen=True, slots=True)
class ShownDigit:
    """A test digit of the gallery and its nearest training digits: images and whether right."""

    image: str
    digit: int
    neighbours: tuple[tuple[str, int, bool], ...]


def demo_page(demo: Demo) -> str:
    """Return the page as HTML that needs nothing beside itself."""
    ours, siamese = demo.runs[0], demo.runs[-1]
    return page_template("demo.html.j2").render(
        demo=demo,
        ours=ours,
        siamese=siamese,
        catching_up=seconds_to_reach(ours, float(siamese.auroc[-1])),
        siamese_arrives=seconds_to_reach(siamese, float(siamese.auroc[-1])),
        curves={
            name: auroc_curves({r.method.name: (r.seconds, r.auroc) for r in demo.runs}, size)
            for name, size in (("wide", WIDE), ("narrow", NARROW))
        },
        rows=demo_rows(demo),
        maps=[(run, class_map(run.points, demo.test_classes)) for run in demo.runs],
        gallery=gallery(demo, ours),
        n_wrong=int(np.count_nonzero(wrong_neighbours(demo, ours).any(axis=1))),
    )


@dataclass(frozen=True, slots=True)
class DemoRow:
    """A method's figures as they are shown."""

    method: DemoMethod
    cells: tuple[Cell, ...]


def demo_rows(demo: Demo) -> list[DemoRow]:
    """Return the table: accuracy, AUROC, time of phase 1 and of training; the best are marked."""
    rows = [
        (
            (Cell(f"{run.accuracy:.4f}"), run.accuracy),
            (Cell(f"{run.auroc[-1]:.4f}"), float(run.auroc[-1])),
            _phase_1_cell(run.phase_seconds["targets"]),
            (Cell(f"{run.phase_seconds['training']:.1f} s"), -run.phase_seconds["training"]),
        )
        for run in demo.runs
    ]
    columns = map(best_marked, zip(*rows, strict=True))
    return [
        DemoRow(run.method, cells)
        for run, cells in zip(demo.runs, zip(*columns, strict=True), strict=True)
    ]


def _phase_1_cell(seconds: float) -> tuple[Cell, float | None]:
    """Return phase 1's time and how good it is; a method without phase 1 cannot be best by it."""
    return (Cell(f"{1000 * seconds:.1f} ms"), -seconds) if seconds else (Cell("none"), None)


def seconds_to_reach(run: DemoRun, auroc: float) -> float | None:
    """Return the seconds of training after which a run has reached an AUROC, None if it has not."""
    reached = np.flatnonzero(run.auroc >= auroc)
    return float(run.seconds[reached[0]]) if reached.size else None


def wrong_neighbours(demo: Demo, run: DemoRun) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which neighbours show another digit than the one they are nearest to."""
    return np.asarray(demo.train_classes[run.neighbours] != demo.test_classes[:, None])


def gallery(demo: Demo, run: DemoRun) -> list[ShownDigit]:
    """Return the digits to show, each with its nearest training digits."""
    wrong = wrong_neighbours(demo, run)
    return [
        ShownDigit(
            digit_image(demo.test_images[number]),
            int(demo.test_classes[number]),
            tuple(
                (
                    digit_image(demo.train_images[row]),
                    int(demo.train_classes[row]),
                    bool(is_wrong),
                )
                for row, is_wrong in zip(run.neighbours[number], wrong[number], strict=True)
            ),
        )
        for number in choose_shown(wrong)
    ]
