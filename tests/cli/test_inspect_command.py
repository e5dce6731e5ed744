"""`twofold inspect` as a user runs it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from twofold.cli import main
from twofold.relations import LabelRelation

N_ITEMS = 200


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["twofold", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def _write(path: Path, n_each: int) -> Path:
    relation = LabelRelation(load_digits().target[:N_ITEMS]).sample_pairs(
        n_each, n_each, random_state=0
    )
    wrong = np.random.default_rng(0).random(relation.n_pairs) < 0.05
    similar = np.where(wrong, 1 - relation.similar, relation.similar)
    lines = [
        f"[d{left}],[d{right}],{value:.0f}"
        for left, right, value in zip(relation.left, relation.right, similar, strict=True)
    ]
    path.write_text("\n".join(["left,right,similar", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return _write(tmp_path / "pairs.csv", 10)


def test_tables_a_reading_and_a_page_are_given(
    tmp_path: Path,
    pairs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path / "page.html"
    assert _run(monkeypatch, "inspect", str(pairs), "--out", str(page), "--suspicious", "3") == 0
    printed = capsys.readouterr()
    for text in (
        "The statements",
        "These pairs determine the relation.",
        "How many pairs are needed",
        "The most suspicious pairs",
        "Open ",
    ):
        assert text in printed.out
    assert len(re.findall(r"│ +[\d,]+ │ \[d\d+\] +│ \[d\d+\] +│ (not )?alike", printed.out)) == 3
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_is_all_that_is_printed(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "inspect", str(pairs), "--json", "--suspicious", "4") == 0
    printed = capsys.readouterr()
    content = json.loads(printed.out)
    assert printed.err == ""
    assert content["format"] == "twofold-inspection"
    assert len(content["suspicious"]) == 4
    assert content["suspicious"][0]["left"].startswith("[d")


def _write_features(path: Path) -> Path:
    rows = load_digits().data[:N_ITEMS]
    names = ",".join(f"p{k}" for k in range(rows.shape[1]))
    lines = [f"[d{i}]," + ",".join(f"{value:g}" for value in rows[i]) for i in range(N_ITEMS)]
    path.write_text("\n".join([f"name,{names}", *lines]) + "\n", encoding="utf-8")
    return path


def test_features_are_joined_by_their_keys_and_what_to_ask_next_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("twofold.experiments._inspect.N_ROUNDS", 3)
    pairs = _write(tmp_path / "pairs.csv", 1)
    features = _write_features(tmp_path / "features.csv")
    page = tmp_path / "page.html"
    asked = ["inspect", str(pairs), "--features", str(features), "--suggest", "6"]
    assert _run(monkeypatch, *asked, "--suspicious", "0", "--out", str(page)) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"items +│ +{N_ITEMS} │", printed)
    assert "Embeddings of the features, learnt from the other pairs" in printed
    assert "What to ask next" in printed
    suggested = re.findall(r"│ (\[d\d+\]) +│ (\[d\d+\]) +│ +[01]\.\d\d │", printed)
    assert len(suggested) == 6
    stated, shown = (path.read_text(encoding="utf-8") for path in (pairs, page))
    for left, right in suggested:
        assert f"{left},{right}," not in stated
        assert f"{right},{left}," not in stated
        assert f'<td class="key">{left}</td><td class="key">{right}</td>' in shown


def test_suggestions_without_features_are_refused(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "inspect", str(pairs), "--suggest", "5") == 2
    assert "--suggest 5 needs --features" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("left,right\na,b\n", "has no column 'similar'"),
        ("left,right,similar\na,b,5\n", "first at line 2 (5)"),
        ("", "is empty"),
    ],
)
def test_a_wrong_file_is_one_line_and_exit_code_2(
    tmp_path: Path,
    text: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(text, encoding="utf-8")
    assert _run(monkeypatch, "inspect", str(path)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert message in printed.err


def test_a_key_without_features_is_refused(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--id", "--right"):
        assert _run(monkeypatch, "inspect", str(pairs), option, "sku") == 2
        assert (
            f"{option} sku refers to the table of items: give --features" in capsys.readouterr().err
        )


def test_a_page_that_cannot_be_written_is_said_before_any_work(
    tmp_path: Path,
    pairs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("twofold.experiments.inspect_pairs", lambda *_: pytest.fail("worked first"))
    assert _run(monkeypatch, "inspect", str(pairs), "--out", str(tmp_path / "no" / "x.html")) == 2
    assert "no does not exist: create it first." in capsys.readouterr().err


def test_too_few_pairs_are_counted_and_said_not_to_be_gauged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,similar\n0,1,1\n1,2,1\n0,2,0\n", encoding="utf-8")
    assert _run(monkeypatch, "inspect", str(path)) == 0
    printed = capsys.readouterr().out
    assert "These pairs cannot be gauged." in printed
    assert "0 ~ 1 ~ 2" in printed


def test_records_are_shown_side_by_side_with_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("twofold.experiments._inspect.N_ROUNDS", 2)
    things = ("chair", "table", "lamp", "shelf", "sofa", "bed", "desk", "stool")
    rows = [
        [
            f"{side}{k},{' '.join(words[:: 1 if side == 'a' else -1])}"
            for k, words in enumerate(named)
        ]
        for side in "ab"
        for named in [[("[red]", t) for t in things] + [("blue", t) for t in things]]
    ]
    for name, lines in zip(("left", "right"), rows, strict=True):
        text = "\n".join(["id,title", *lines]) + "\n"
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    stated = [f"a{k},b{(k + j) % 16},{int(j == 0)}" for k in range(16) for j in (0, 3, 5)]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("\n".join(["left,right,similar", "a1,b1,0", *stated[4:]]), encoding="utf-8")
    options = ["--features", str(tmp_path / "left.csv"), "--right", str(tmp_path / "right.csv")]
    assert _run(monkeypatch, "inspect", str(pairs), *options, "--suspicious", "1") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Features and pairs agree")
    assert "They disagree on" in printed
    assert "The columns are taken for: title (text)." in printed
    assert re.search(r"│ not alike │ +0\.\d+ │ +│ a1 +│ b1 +│", printed)
    assert re.search(r"│ title │ \[red\] table +│ table \[red\] +│", printed)
