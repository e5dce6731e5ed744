"""What is imported before there is work to do, and how a command ends that is interrupted."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import typer

import twofold
from twofold.cli import app, main
from twofold.cli._console import progress, show, show_json, step_bars, table

HEAVY = {"torch", "numba", "sklearn", "scipy", "pyarrow", "matplotlib", "numpy", "pandas"}
COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def imported_after(code: str) -> set[str]:
    """Return the packages that a new interpreter holds once it has run some lines."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(run.stderr)}


def shown_help(*arguments: str) -> str:
    """Return lines that run a command, which ends by raising SystemExit."""
    return f"""
import sys
sys.argv = {["twofold", *arguments]}
from twofold.cli import main
try:
    main()
except SystemExit as stop:
    assert not stop.code
"""


def test_importing_the_package_imports_nothing_heavy():
    assert not imported_after("import twofold\ndir(twofold)") & HEAVY


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments):
    assert not imported_after(shown_help(*arguments, "--help")) & HEAVY


def test_help_of_a_command_does_not_load_pydantic():
    assert "pydantic" not in imported_after(shown_help("report", "--help"))


# The public surface


def test_every_public_name_is_there_and_listed():
    for name in twofold.__all__:
        assert getattr(twofold, name) is not None
    assert set(twofold.__all__) <= set(dir(twofold))


def test_a_star_brings_every_public_name():
    names: dict[str, object] = {}
    exec("from twofold import *", names)
    assert set(twofold.__all__) <= set(names)


def test_every_package_can_be_reached_without_importing_it():
    root = Path(twofold.__file__).parent
    packages = {path.parent.name for path in root.glob("[!_]*/__init__.py")} - {"cli"}
    assert packages <= set(dir(twofold))
    for name in packages:
        assert twofold.__getattr__(name) is sys.modules[f"twofold.{name}"]


def test_a_class_can_be_pickled():
    assert pickle.loads(pickle.dumps(twofold.Targets)) is twofold.Targets
    assert pickle.loads(pickle.dumps(twofold.MetricLearner(3))).n_components == 3


def test_a_name_that_is_not_there_is_said_as_python_says_it():
    with pytest.raises(AttributeError, match="module 'twofold' has no attribute 'MetricLeaner'"):
        twofold.MetricLeaner  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'MetricLeaner'"):
        exec("from twofold import MetricLeaner")


# How a command ends


def run(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["twofold", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_ctrl_c_is_one_line_and_exit_code_130_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("twofold.experiments.run_demo", press)
    assert run(monkeypatch, "demo", "--out", str(tmp_path / "page.html")) == 130
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "twofold: interrupted\n")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_a_file_is_written_leaves_what_was_there(tmp_path, monkeypatch):
    def press(*_, **__):
        raise KeyboardInterrupt

    page = tmp_path / "page.html"
    page.write_text("before", encoding="utf-8")
    monkeypatch.setattr("twofold.experiments.run_demo", lambda *_: None)
    monkeypatch.setattr("twofold.cli._demo._table", lambda _: "")
    monkeypatch.setattr("twofold.report.demo_page", lambda _: "after")
    monkeypatch.setattr("pathlib.Path.write_text", press)
    assert run(monkeypatch, "demo", "--out", str(page)) == 130
    assert [place.name for place in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text(encoding="utf-8") == "before"


@pytest.mark.filterwarnings("default")
def test_a_warning_is_its_sentence_alone(monkeypatch, capsys):
    def warn(*_):
        warnings.warn("4 rows have no label.", UserWarning, stacklevel=1)
        raise KeyboardInterrupt

    usual = warnings.formatwarning
    monkeypatch.setattr("twofold.experiments.run_demo", warn)
    with monkeypatch.context() as patched, warnings.catch_warnings():
        # As it is outside of pytest, which gathers warnings.
        patched.setattr(warnings, "showwarning", _show_on_standard_error)
        assert run(patched, "demo") == 130
    assert capsys.readouterr().err == "twofold: 4 rows have no label.\ntwofold: interrupted\n"
    assert warnings.formatwarning is usual


def _show_on_standard_error(message, category, filename, lineno, file=None, line=None):
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def test_no_words_at_all_ask_for_help(monkeypatch, capsys):
    assert run(monkeypatch) == 0
    printed = capsys.readouterr()
    assert "Usage: twofold" in printed.out
    assert printed.err == ""


# What commands show


def test_bars_are_not_drawn_where_there_is_no_terminal(capsys):
    with step_bars() as show_share:
        show_share("reading", 0.5)
        show_share("reading", 1.0)
    with progress() as drawn:
        drawn.add_task("more")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_bars_are_drawn_on_standard_error_of_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with step_bars() as show_share:
        show_share("reading", 1.0)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "reading" in printed.err


def test_tables_and_lines_are_shown_as_they_are(capsys):
    rows = [("[b]one[/b]", "1"), ("two", "22")]
    show(table(("name", "n"), rows, title="[i]Names[/i]", text=("name",)), "a [path]" * 20)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("[i]Names[/i]")
    assert printed[-3:-1] == ["│ two        │ 22 │", "└────────────┴────┘"]
    assert "│ [b]one[/b] │  1 │" in printed
    assert printed[-1] == "a [path]" * 20


def test_json_is_strict_and_keeps_letters(capsys):
    show_json({"name": "Müller"})
    assert json.loads(capsys.readouterr().out) == {"name": "Müller"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        show_json({"auroc": float("nan")})


def test_every_command_has_a_line_of_help():
    names = {info.name for info in typer.main.get_command(app).commands.values() if info.help}
    assert names >= {"demo", "inspect", "report", "reproduce"}
