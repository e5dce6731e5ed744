"""What commands show: results on standard output, progress on standard error.

Progress is shown on a terminal only, so that a command is quiet when it is piped. Rich is imported
when something is shown: `--help` of a command does not wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.progress import Progress, ProgressColumn, TaskID


def show(*things: RenderableType) -> None:
    """Print tables and texts, one below the other; text is shown as it is, without markup."""
    from rich.console import Console

    console = Console()
    for thing in things:
        console.print(thing, markup=False, highlight=False, soft_wrap=isinstance(thing, str))


def show_json(content: Any) -> None:
    """Print something as JSON, for scripts: all that a command with `--json` prints."""
    typer.echo(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str] | None],
    *,
    title: str | None = None,
    text: Collection[str] = (),
    has_header: bool = True,
) -> Group:
    """Return a table: columns of figures to the right, those named in `text` to the left.

    A row that is None is a line. The title stands above, as wide as the terminal lets it.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    drawn = Table(show_header=has_header)
    for heading in headings:
        drawn.add_column(Text(heading), justify="left" if heading in text else "right")
    for row in rows:
        if row is None:
            drawn.add_section()
        else:
            drawn.add_row(*map(Text, row))  # an id such as "[b]" is no markup
    return Group(drawn) if title is None else Group(Text(title, style="italic"), drawn)


def progress(*columns: ProgressColumn | str, transient: bool = True) -> Progress:
    """Return bars on standard error; none are drawn where that is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(
        *columns,
        console=console,
        transient=transient,
        disable=not console.is_terminal,  # else an empty line is left
    )


@contextmanager
def step_bars() -> Iterator[Callable[[str, float], None]]:
    """Give a function that draws a bar: of a step's name, and the share of it that is done."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    with progress(
        TextColumn("{task.description:<10}", markup=False), BarColumn(), TimeElapsedColumn()
    ) as drawn:
        bars: dict[str, TaskID] = {}

        def show_share(step: str, share: float) -> None:
            if step not in bars:
                bars[step] = drawn.add_task(step, total=1.0)
            drawn.update(bars[step], completed=share)

        yield show_share
