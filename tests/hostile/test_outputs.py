"""What the command line is asked to write, where it cannot or should not: said before the work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twofold import experiments
from twofold._core import files
from twofold.cli import app

COMMANDS = {
    "demo": ["demo", "--out", "{out}"],
    "inspect": ["inspect", "{pairs}", "--out", "{out}"],
    "report": ["report", "{runs}", "--out", "{out}"],
    "report, tables": ["report", "{runs}", "--out", "{room}/page.html", "--markdown", "{out}"],
}


def pipe(room: Path) -> Path:
    os.mkfifo(room / "pipe")
    return room / "pipe"


def link_to_device(room: Path) -> Path:
    (room / "link").symlink_to("/dev/null")
    return room / "link"


OUTPUTS = [
    (lambda room: room, "is a folder: give a file in it"),
    (lambda room: room / "no" / "page.html", "no does not exist: create it first"),
    (pipe, "is a device, a pipe or a socket, not a regular file"),
    (link_to_device, "null is a device, a pipe or a socket, not a regular file"),
]


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Nothing may be begun."""

    def begun(*_, **__):
        raise AssertionError("the work was begun")

    for name in ("run_demo", "inspect_pairs", "read_records", "reproduce"):
        monkeypatch.setattr(experiments, name, begun)


def refused(arguments: list[str], room: Path, out: Path) -> str:
    pairs = room / "pairs.csv"
    pairs.write_text("left,right,similar\na,b,1\n")
    places = {"out": out, "room": room, "pairs": pairs, "runs": room}
    result = CliRunner().invoke(app, [part.format(**places) for part in arguments])
    assert isinstance(result.exception, OSError | ValueError), result.exception
    return str(result.exception)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("make", "sentence"), OUTPUTS)
def test_an_output_that_cannot_be_is_refused_before_the_work(command, make, sentence, tmp_path):
    assert sentence in refused(COMMANDS[command], tmp_path, make(tmp_path))


@pytest.mark.parametrize("command", [*COMMANDS, "reproduce"])
def test_a_folder_that_cannot_be_written_to_is_said_before_the_work(command, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    arguments = COMMANDS.get(command, ["reproduce", "digits", "--out", "{out}"])
    told = refused(arguments, tmp_path, tmp_path / "out")
    assert "cannot be written to (Permission denied): give another path" in told


def test_records_are_not_put_where_a_file_is(tmp_path):
    (tmp_path / "runs").write_text("a file")
    told = refused(["reproduce", "digits", "--out", "{out}"], tmp_path, tmp_path / "runs")
    assert "runs is a file, but a folder is needed" in told


def test_one_file_is_not_written_twice(tmp_path):
    told = refused(
        ["report", "{runs}", "--out", "{out}", "--markdown", "{out}"], tmp_path, tmp_path / "page"
    )
    assert "--out and --markdown both name" in told
