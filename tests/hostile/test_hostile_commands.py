"""Command lines over hostile files: one line and exit code 2, or a page that is plain text."""

from __future__ import annotations

import json
from dataclasses import replace

import hostile_files as make
import numpy as np
import pytest
from fuzz_targets import CORPUS

from twofold.cli import main
from twofold.experiments import read_record
from twofold.report import paper_page, paper_tables

PAIRS = make.text("left,right,similar\n0,1,1\n1,2,0\n2,0,0\n")
SCRIPT = "<script>alert(1)</script>\n# [heading](javascript:x) `code`"


def run(monkeypatch, *arguments) -> int:
    monkeypatch.setattr("sys.argv", ["twofold", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


@pytest.mark.parametrize("index", [99, -7, 2**31 - 1])
def test_a_column_out_of_range_does_not_end_the_process(tmp_path, monkeypatch, capsys, index):
    pairs, features = tmp_path / "pairs.csv", tmp_path / "x.npz"
    PAIRS(pairs)
    make.matrix(indices=np.array([0, 2, index, 0]))(features)
    assert run(monkeypatch, "inspect", pairs, "--features", features) == 2
    said = capsys.readouterr().err
    assert "outside 0 .. 2, first entry 2" in " ".join(said.split())
    assert "Traceback" not in said


@pytest.mark.parametrize("methods", [",", "", " , ,"])
def test_no_method_at_all_is_said(tmp_path, monkeypatch, capsys, methods):
    assert run(monkeypatch, "reproduce", "digits", "--methods", methods, "--out", tmp_path) == 2
    assert "name at least one method" in capsys.readouterr().err


def test_a_report_of_numbers_that_are_none_is_refused(tmp_path, monkeypatch, capsys):
    content = json.loads((CORPUS / "record" / "run.json").read_text())
    content["seconds"]["training"] = float("nan")
    (tmp_path / "twofold-seed0.json").write_text(json.dumps(content))
    assert run(monkeypatch, "report", tmp_path, "--out", tmp_path / "page.html") == 2
    assert "it holds NaN, which is no number" in " ".join(capsys.readouterr().err.split())


def test_what_records_say_is_text_in_markdown_and_on_the_page():
    record = read_record(CORPUS / "record" / "run.json")
    hostile = replace(record, data_set=SCRIPT, method=SCRIPT, machine={"processor": SCRIPT})
    tables = paper_tables([hostile])
    assert "&lt;script&gt;" in tables
    assert "<script" not in tables
    assert "[heading" not in tables.replace(r"\[", "")
    assert not any(line.startswith("# [") for line in tables.splitlines())
    assert "<script>alert" not in paper_page([hostile])
