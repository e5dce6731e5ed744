"""`twofold reproduce` as a user runs it."""

import pytest

from twofold.cli import main


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["twofold", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_it_prints_a_table_and_a_report_can_be_made(tmp_path, monkeypatch, capsys):
    runs = tmp_path / "runs"
    options = ("--epochs", "1", "--seeds", "2", "--methods", "twofold,raw", "--out", str(runs))
    assert _run(monkeypatch, "reproduce", "digits", *options, "--device", "cpu") == 0
    printed = capsys.readouterr().out
    assert "Raw features" in printed
    assert "4 records" in printed
    page, tables = tmp_path / "page.html", tmp_path / "tables.md"
    assert (
        _run(monkeypatch, "report", str(runs), "--out", str(page), "--markdown", str(tables)) == 0
    )
    assert "Raw features" in page.read_text(encoding="utf-8")
    assert "| Twofold |" in tables.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("digits", "--methods", "magic"), "There is no method 'magic'"),
        (("digits", "--seeds", "many"), "--seeds takes a number"),
        (("digits", "--seeds", "0"), "--seeds takes a number from 1 on"),
        (("mnist", "--data-dir", "nowhere"), "The data folder nowhere does not exist"),
        (("pubfig83", "--data-dir", "nowhere", "--download"), "has no public download: put each"),
        (("digits", "--device", "quantum"), "quantum"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, sentence, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert _run(monkeypatch, "reproduce", *arguments) == 2
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("text", "seeds"), [("3", [0, 1, 2]), ("4,7", [4, 7]), ("0,", None)])
def test_seeds_are_a_number_or_a_list(text, seeds):
    from twofold.cli._reproduce import _seeds

    if seeds is None:
        with pytest.raises(ValueError, match="--seeds"):
            _seeds(text)
    else:
        assert _seeds(text) == seeds


def test_the_help_names_every_method_and_set(monkeypatch, capsys):
    import re

    from twofold.experiments import METHODS, PROTOCOLS

    monkeypatch.setenv("COLUMNS", "200")
    assert _run(monkeypatch, "reproduce", "--help") == 0
    printed = re.sub(r"[^a-z0-9,|-]+", " ", capsys.readouterr().out)
    for name in (*METHODS, *PROTOCOLS):
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", printed), name
