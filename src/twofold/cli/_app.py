"""The commands by name, and how a command that fails ends.

A module of a command imports typer alone when it is loaded, and what the command needs when it is
run: `twofold --help` loads them all.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from twofold import __version__
from twofold.cli._ask import ask
from twofold.cli._demo import demo
from twofold.cli._embed import embed
from twofold.cli._evaluate import evaluate
from twofold.cli._export import export
from twofold.cli._fit import fit
from twofold.cli._index import index
from twofold.cli._inspect import inspect
from twofold.cli._match import match
from twofold.cli._report import report
from twofold.cli._reproduce import reproduce
from twofold.cli._search import search
from twofold.cli._serve import serve
from twofold.cli._usage import UsageError, usage_sentence

MISTAKES = (ValueError, TypeError, OSError, ImportError, MemoryError, FloatingPointError)
"""What is said in one sentence: a user's mistakes, and what only they can change."""
MISTAKEN, INTERRUPTED = 2, 130
"""Exit codes: a user's mistake, and Ctrl-C as shells count it (128 and the signal's number)."""


class InterruptError(Exception):
    """Ctrl-C was pressed. Versions of typer differ in what they make of a KeyboardInterrupt."""


class Commands(TyperGroup):
    """The commands as a group, which lets Ctrl-C through to `main`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take no words at all as a question for help."""
        return super().parse_args(ctx, args or ["--help"])

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as pressed:
            raise InterruptError from pressed

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option `--help` with a default: for want of one, typer loads pydantic."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


app = typer.Typer(
    cls=Commands,
    help="Metric learning from pairs at the price of plain regression.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    *(
        demo,
        fit,
        evaluate,
        embed,
        match,
        search,
        index,
        serve,
        export,
        ask,
        inspect,
        reproduce,
        report,
    ),
)
for command in COMMANDS:
    app.command()(command)


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
    """Run the command; a user's mistake is one line and exit code 2, Ctrl-C one and 130.

    Files are moved into place when they are whole, so that neither leaves half of one.
    """
    try:
        with _warnings_in_sentences():
            exit_code = app(prog_name="twofold", standalone_mode=False)
    except (InterruptError, KeyboardInterrupt):
        _stop("interrupted", INTERRUPTED)
    except UsageError as refused:
        _stop(usage_sentence(refused), MISTAKEN)
    except MISTAKES as mistake:
        _stop(str(mistake), MISTAKEN)
    sys.exit(exit_code)


@contextmanager
def _warnings_in_sentences() -> Iterator[None]:
    """Have a warning be its sentence alone, without the line of code that gave it."""
    usual = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"twofold: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _stop(sentence: str, exit_code: int) -> NoReturn:
    typer.secho("twofold: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(sentence, err=True)
    sys.exit(exit_code)
