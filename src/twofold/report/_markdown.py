"""The report's tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from twofold.experiments import RunRecord
from twofold.report._contents import MethodList, Section, contents, result_tables
from twofold.report._table import Cell, RowGroup, Table
from twofold.report._wording import with_spread

ESCAPED = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", "[": r"\[", "`": r"\`"})


def paper_tables(records: Iterable[RunRecord]) -> str:
    """Return the report of some records as Markdown: its sentences and tables, no figures."""
    whole = contents(records)
    parts = [
        f"# {whole.title}",
        _text(" ".join(whole.conclusion)),
        *(["\n".join(f"- {_text(one)}" for one in whole.findings)] if whole.findings else []),
        *(_section(section) for section in whole.sections),
        "## The methods",
        *(_methods(those) for those in whole.methods),
    ]
    return "\n\n".join(parts) + "\n"


def markdown_table(records: Iterable[RunRecord]) -> str:
    """Return the scores of every method, mean ± standard deviation over seeds, as Markdown.

    A table a set and machine, the best of each column in bold.
    """
    return "\n\n".join(map(_table, result_tables(records))) + "\n"


def _section(section: Section) -> str:
    paragraphs = map(_text, section.paragraphs)
    return "\n\n".join([f"## {_text(section.title)}", *paragraphs, *map(_table, section.tables)])


def _table(table: Table) -> str:
    headings = _line("method", *table.columns)
    lines = [
        headings,
        _line("---", *("---:" for _ in table.columns)),
        *(line for group in table.groups for line in _rows(group, len(table.columns))),
    ]
    below = map(_text, (table.measured, *table.notes))
    return "\n\n".join([f"### {_text(table.title)}", "\n".join(lines), *below])


def _rows(group: RowGroup, n_columns: int) -> list[str]:
    heading = " – ".join(filter(None, [f"*{group.title}*", group.note]))
    return [
        *([_line(heading, *[""] * n_columns)] if group.title else []),
        *(_line(_with_note(row.title, row.note), *map(_cell, row.cells)) for row in group.rows),
    ]


def _cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.is_best else cell.text
    return _with_note(f"{with_spread(text, cell.spread)} {cell.mark}".strip(), cell.note)


def _with_note(text: str, note: str) -> str:
    return f"{text} ({note})" if note else text


def _line(*cells: str) -> str:
    return f"| {' | '.join(_text(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _text(text: str) -> str:
    """Return text on one line in which nothing is a tag, a link or code, whoever wrote it."""
    return " ".join(text.split()).translate(ESCAPED)


def _methods(those: MethodList) -> str:
    lines = [f"- **{_text(title)}**: {_text(explanation)}" for title, explanation in those.methods]
    return "\n".join([f"### {_text(those.title)}\n", *lines])
