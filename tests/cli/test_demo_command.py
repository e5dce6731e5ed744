"""`twofold demo` as a user runs it."""

import re
from pathlib import Path

import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from twofold.cli import main


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["twofold", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_the_demo_prints_a_table_and_writes_a_page_that_needs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digits = load_digits()
    few = Bunch(**{name: digits[name][:300] for name in ("data", "target", "images")})
    monkeypatch.setattr("twofold.experiments._demo.load_digits", lambda: few)
    page = tmp_path / "demo.html"
    assert _run(monkeypatch, "demo", "--out", str(page), "--epochs", "1") == 0
    printed = capsys.readouterr().out
    for name in ("Twofold", "FML-C", "FML-DP", "Siamese", "5-NN accuracy", "Open "):
        assert name in printed
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 6  # the curves twice, for a screen and for a phone
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert [path.name for path in tmp_path.iterdir()] == ["demo.html"]


def test_a_page_that_cannot_be_written_is_said_in_one_line_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("twofold.experiments.run_demo", lambda *_: pytest.fail("worked first"))
    assert _run(monkeypatch, "demo", "--out", str(tmp_path / "nowhere" / "x.html")) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "nowhere does not exist: create it first." in printed.err


def test_a_folder_in_the_page_s_place_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "demo", "--out", str(tmp_path)) == 2
    assert "is a folder" in capsys.readouterr().err


def test_the_version_is_the_package_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from twofold import __version__

    assert _run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"twofold {__version__}\n"
