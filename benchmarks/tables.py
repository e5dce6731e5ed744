"""`python -m benchmarks.tables FOLDER`: the records below a folder as one benchmarks.md in it."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from twofold._core.files import write_text

HEAD = """# Benchmarks

Every figure here was measured by `python -m benchmarks`, unless its table says by what, on the
machine that stands under it; this page is made from the records beside it by
`python -m benchmarks.tables results`. The machines are
shared and noisy: rivals were run in turn in one process, and what counts is their ratio.
"""


def page(records: list[dict[str, Any]]) -> str:
    """Return the Markdown page of some records."""
    return "\n".join([HEAD, *(_section(record) for record in records)])


def _section(record: dict[str, Any]) -> str:
    title = importlib.import_module(f"benchmarks.{record['benchmark']}").TITLE
    rows = [_row(figure) for figure in record["figures"]]
    facts = record["machine"] | {k: v for k, v in record["setting"].items() if v is not None}
    stands_on = ", ".join(f"{name} {_plain(value)}" for name, value in facts.items())
    return "\n".join(
        [
            f"## {title}\n",
            "| figure | measured | bar | | note |",
            "| --- | ---: | ---: | --- | --- |",
            *rows,
            f"\n{record['measured']}, commit {record['commit']}: {stands_on}.\n",
        ]
    )


def _row(figure: dict[str, Any]) -> str:
    sign = "≥" if figure["at_least"] else "≤"
    bar = "" if figure["bar"] is None else f"{sign} {figure['bar']:,.4g}"
    verdict = {True: "reached", False: "**missed**", None: ""}[figure["passed"]]
    return f"| {figure['name']} | {figure['value']:,.4g} | {bar} | {verdict} | {figure['note']} |"


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    records = [
        json.loads(path.read_text(encoding="utf-8"))
        for kind in ("cpu", "cpu16", "gpu")
        for path in sorted((folder / kind).glob("*.json"))
    ]
    write_text(folder / "benchmarks.md", page(records))
