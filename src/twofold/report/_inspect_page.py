"""The page of an inspection of pairs: a pure function of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twofold.experiments import Inspection, Suggested, Suspect
from twofold.report._gauge_figure import gauge_figure
from twofold.report._page import page_template
from twofold.report._wording import counted, seconds
from twofold.targets import DECIDING_AUROC

SHOWN_LETTERS = 400
"""Of a field: the end of a longer one is left out."""
SHOWN_CONTRADICTIONS, SHOWN_LINKS = 20, 7
"""Chains that are shown, and the items of one: of a longer one the middle is left out."""


@dataclass(frozen=True, slots=True)
class ShownChain:
    """A contradicted pair: its row, its items' keys, and the chain that contradicts it."""

    row: int
    left: str
    right: str
    chain: tuple[str, ...]
    n_left_out: int

    @property
    def text(self) -> str:
        """The chain in one line."""
        middle = (f"… {self.n_left_out:,} more …",) if self.n_left_out else ()
        return " ~ ".join((*self.chain[:-1], *middle, self.chain[-1]))


@dataclass(frozen=True, slots=True)
class FieldPair:
    """One field of two items: its name, both values, and whether they are the same."""

    name: str
    left: str
    right: str

    @property
    def is_equal(self) -> bool:
        """Whether both say the same; a field that neither has says nothing."""
        return self.left == self.right


def inspect_page(inspection: Inspection, name: str) -> str:
    """Return the page as HTML that needs nothing beside itself.

    Parameters
    ----------
    inspection : Inspection
        What was diagnosis.
    name : str
        What the pairs are called, for instance their file.
    """
    return page_template("inspect.html.j2").render(
        name=name,
        inspection=inspection,
        counts=count_rows(inspection),
        deciding=DECIDING_AUROC,
        stated=stated,
        fields=lambda pair: side_by_side_fields(inspection, pair, SHOWN_LETTERS),
        figure=None if inspection.gauge is None else gauge_figure(inspection.gauge),
        chains=[
            shown_chain(inspection, number)
            for number in range(min(SHOWN_CONTRADICTIONS, len(inspection.diagnosis.contradictions)))
        ],
        seconds=seconds(inspection.seconds),
    )


def side_by_side_fields(
    inspection: Inspection, pair: Suspect | Suggested, n_letters: int
) -> list[FieldPair]:
    """Return the fields of a pair's items beside each other; those that both lack are left out."""
    left, right = (inspection.fields.get(item, {}) for item in (pair.left, pair.right))
    return [
        FieldPair(name, *(_shortened(side.get(name, ""), n_letters) for side in (left, right)))
        for name in dict.fromkeys((*left, *right))
        if left.get(name) or right.get(name)
    ]


def stated(suspect: Suspect) -> str:
    """Return what a statement says: alike, not alike, or a grade."""
    return {0.0: "not alike", 1.0: "alike"}.get(suspect.similar, f"{suspect.similar:.2g}")


def count_rows(inspection: Inspection) -> list[tuple[str, str]]:
    """Return what was counted, as names and figures."""
    diagnosis = inspection.diagnosis
    rows = [
        ("items", counted([diagnosis.n_items])),
        ("in no pair", counted([diagnosis.n_unlinked])),
        ("pairs", counted([diagnosis.n_pairs])),
        ("alike", counted([diagnosis.n_similar])),
        ("not alike", counted([diagnosis.n_dissimilar])),
    ]
    if diagnosis.n_graded:
        rows.append(("graded", counted([diagnosis.n_graded])))
    rows += [
        ("pairs per item", f"{diagnosis.statements_per_item:.3g}"),
        ("share of all pairs", f"{100 * diagnosis.share_known:.3g} %"),
        ("connected parts", _with_sizes(diagnosis.n_parts, diagnosis.part_sizes.tolist())),
        ("similar groups", _with_sizes(diagnosis.n_groups, diagnosis.group_sizes.tolist())),
        ("pairs stated more than once", counted([diagnosis.n_repeated])),
        ("pairs stated both ways", counted([diagnosis.n_both_ways])),
        ("dissimilar pairs inside a similar group", counted([diagnosis.n_contradictions])),
    ]
    if inspection.gauge is not None:
        rows.append(("pairs that no others bear on", counted([inspection.gauge.n_undecided])))
    return rows


def shown_chain(inspection: Inspection, number: int) -> ShownChain:
    """Return a contradiction in the users' own keys, the middle of a long chain left out."""
    one = inspection.diagnosis.contradictions[number]
    items = (*one.chain[:-1][: SHOWN_LINKS - 1], one.chain[-1])
    keys = tuple(str(inspection.key(item)) for item in items)
    return ShownChain(one.row, keys[0], keys[-1], keys, len(one.chain) - len(keys))


def _shortened(text: str, n_letters: int) -> str:
    """Return text on one line, its end left out if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= n_letters else f"{line[: n_letters - 1].rstrip()}…"


def _with_sizes(number: int, sizes: Sequence[int]) -> str:
    """Return how many, and the sizes of the largest."""
    if not sizes:
        return counted([number])
    shown = ", ".join(f"{size:,}" for size in sizes[:3])
    more = ", …" if len(sizes) > 3 else ""
    return f"{number:,} (of {shown}{more} items)"
