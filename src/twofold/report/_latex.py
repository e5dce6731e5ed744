"""The report's tables as LaTeX, to be put into a paper: booktabs, nothing else is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from twofold.experiments import RunRecord
from twofold.report._contents import contents, result_tables
from twofold.report._table import Cell, Row, RowGroup, Table

PREAMBLE = "% In the preamble: \\usepackage{booktabs}\n"
ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        '"': "''",
        "±": r"$\pm$",
        "×": r"$\times$",
        "−": "$-$",
        "→": r"$\to$",
        "▲": r"$\uparrow$",
        "▼": r"$\downarrow$",
        "–": "--",
        "—": "---",
        "“": "``",
        "”": "''",
        "’": "'",
        "…": r"\ldots{}",
        "\u00a0": "~",
    }
)
"""Signs that mean something to LaTeX, or that its usual fonts lack."""


def latex_table(records: Iterable[RunRecord]) -> str:
    """Return the scores of every method, mean ± standard deviation over seeds, as LaTeX.

    A table a set and machine, the best of each column in bold; booktabs is all it needs.
    """
    return PREAMBLE + "\n".join(map(_table, result_tables(records)))


def latex_tables(records: Iterable[RunRecord]) -> str:
    """Return every table of the report on some records as LaTeX; see `paper_tables`."""
    tables = [table for section in contents(records).sections for table in section.tables]
    return PREAMBLE + "\n".join(map(_table, tables))


def _table(table: Table) -> str:
    n_columns = 1 + len(table.columns)
    groups = (_rows(group, n_columns) for group in table.groups)
    caption = " ".join((f"{table.title}. {table.measured}", *table.notes))
    lines = [
        r"\begin{table}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{_text(caption)}}}",
        rf"\label{{tab:{_label(table.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        _line("method", *map(_text, table.columns)),
        r"\midrule",
        "\n\\midrule\n".join(groups),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _rows(group: RowGroup, n_columns: int) -> str:
    lines = [_row(row) for row in group.rows]
    if group.title:
        title = rf"\multicolumn{{{n_columns}}}{{l}}{{\emph{{{_text(group.title)}}}}} \\"
        lines.insert(0, title)
    return "\n".join(lines)


def _row(row: Row) -> str:
    note = f" ({_text(row.note)})" if row.note else ""
    return _line(_text(row.title) + note, *map(_cell, row.cells))


def _cell(cell: Cell) -> str:
    text = _text(cell.text)
    parts = [
        rf"\textbf{{{text}}}" if cell.is_best else text,
        rf"$\pm$ {_text(cell.spread)}" if cell.spread else "",
        _text(cell.mark),
        f"({_text(cell.note)})" if cell.note else "",
    ]
    return " ".join(filter(None, parts))


def _line(*cells: str) -> str:
    return f"{' & '.join(cells)} \\\\"


def _label(title: str) -> str:
    """Return a title as a name to refer to."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "table"


def _text(text: str) -> str:
    """Return text on one line in which nothing is a command, whoever wrote it."""
    printable = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(printable.split()).translate(ESCAPED)
