"""The report's page: a pure function of run records and galleries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from twofold.experiments import Gallery, RunRecord
from twofold.report import _wording as wording
from twofold.report._captions import measured_on, notes_on_spread
from twofold.report._contents import contents
from twofold.report._curve_figure import Line, curve_figure, lines_of
from twofold.report._gallery import shown_galleries
from twofold.report._page import page_template
from twofold.report._summaries import RunGroup
from twofold.report._titles import method_title, set_title
from twofold.report._unseen_gallery import side_by_side


@dataclass(frozen=True, slots=True)
class ShownGallery:
    """A gallery as a page words it."""

    title: str
    method: str
    seed: int
    gallery: Gallery


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A line of a figure: how it is drawn, whose it is, where it ends."""

    line: Line
    title: str
    final: str


@dataclass(frozen=True, slots=True)
class CurveFigure:
    """AUROC against seconds of one set and machine, with what stands under it."""

    title: str
    machine: str
    svg: str
    legend: tuple[LegendEntry, ...]
    measured: str
    notes: tuple[str, ...]


def paper_page(records: Iterable[RunRecord], galleries: Iterable[Gallery] = ()) -> str:
    """Return the report as HTML that needs nothing beside itself.

    Parameters
    ----------
    records : iterable of RunRecord
        All runs, in any order.
    galleries : iterable of Gallery
        Of image sets; without any there is no gallery.
    """
    whole, galleries = contents(records), tuple(galleries)
    return page_template("paper.html.j2").render(
        title=whole.title,
        whole=whole,
        curves=curve_figures(whole.groups),
        unseen_galleries=side_by_side(galleries, whole.unseen_groups),
        galleries=[
            ShownGallery(
                set_title(gallery.data_set), method_title(gallery.method), gallery.seed, gallery
            )
            for gallery in shown_galleries(galleries)
        ],
    )


def curve_figures(groups: Sequence[RunGroup]) -> tuple[CurveFigure, ...]:
    """Return a figure for every set and machine with a curve to draw."""
    lines = lines_of(summary.method for group in groups for summary in group.methods)
    return tuple(
        _curve_figure(group, f"curve-{number}", lines)
        for number, group in enumerate(groups)
        if any(s.curve is not None and len(s.curve.epochs) > 1 for s in group.methods)
    )


def _curve_figure(group: RunGroup, name: str, lines: Mapping[str, Line]) -> CurveFigure:
    curves = {s.method: s.curve for s in group.methods if s.curve is not None}
    finals = {method: wording.score(curve.auroc[-1]) for method, curve in curves.items()}
    ends = ", ".join(f"{method_title(method)} {final}" for method, final in finals.items())
    title = set_title(group.data_set)
    label = f"AUROC against seconds of training on {title}; final AUROC: {ends}"
    return CurveFigure(
        title,
        group.machine.short,
        curve_figure(curves, label, name, lines),
        tuple(LegendEntry(lines[m], method_title(m), final) for m, final in finals.items()),
        measured_on([group]),
        notes_on_spread([group]),
    )
