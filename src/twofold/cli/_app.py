"""The commands by name, and how a user's mistake is told."""

from __future__ import annotations

import sys

import typer

from twofold import __version__
from twofold.cli._demo import demo
from twofold.cli._inspect import inspect
from twofold.cli._report import report
from twofold.cli._reproduce import reproduce

MISTAKES = (ValueError, TypeError, OSError, ImportError, MemoryError, FloatingPointError)
"""What is said in one sentence: a user's mistakes, and what only they can change."""

app = typer.Typer(
    help="Metric learning from pairs at the price of plain regression.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(reproduce)
app.command()(inspect)
app.command()(report)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"twofold {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
    ),
) -> None:
    """Metric learning from pairs at the price of plain regression."""


def main() -> None:
    """Run the command; a user's mistake is one line and exit code 2."""
    try:
        app()
    except MISTAKES as mistake:
        typer.secho("twofold: ", fg="red", bold=True, nl=False, err=True)
        typer.echo(str(mistake), err=True)
        sys.exit(2)
