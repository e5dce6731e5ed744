"""`twofold report` as a user runs it."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from twofold.cli._report import report
from twofold.experiments import CurvePoint, RunRecord, Scores, write_record

app = typer.Typer()
app.command()(report)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    for method in ("fml-c", "siamese"):
        write_record(
            folder,
            RunRecord(
                data_set="mnist",
                method=method,
                seed=0,
                configuration={},
                data={"n_train": 9, "n_validation": 1, "n_test": 5, "n_labels": 2, "n_pairs": 180},
                score="accuracy",
                measured="2026-11-16",
                commit="abc1234",
                machine={"processor": "Xeon", "cores": "2", "system": "Linux"},
                device="cpu",
                seconds={"targets": 0.5, "training": 9.5},
                targets_seconds=(0.4, 0.6) if method == "fml-c" else (),
                curve=(CurvePoint(1, 5.0, 0.9), CurvePoint(2, 10.0, 0.95)),
                scores=Scores(0.95, 0.9, "euclidean", 2, 0.9, {"map_at_r": 0.8}),
            ),
        )
    return folder


def test_a_folder_of_records_becomes_a_page_and_its_tables(tmp_path: Path, runs: Path) -> None:
    page, tables = tmp_path / "page.html", tmp_path / "tables.md"
    arguments = [str(runs), "--out", str(page), "--markdown", str(tables)]
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0
    assert f"Wrote the tables of 2 records to {tables}." in answer.output
    assert f"Open {page} in a browser." in answer.output
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "| FML-C | 0.500 ± 1.271 | 2 | 6.90 | 14× faster |" in tables.read_text(encoding="utf-8")
    latex = tmp_path / "tables.tex"
    CliRunner().invoke(app, [*arguments, "--latex", str(latex)])
    assert r"FML-C & 0.500 $\pm$ 1.271 & 2 & 6.90 &" in latex.read_text(encoding="utf-8")
    before = page.read_bytes()
    CliRunner().invoke(app, arguments)
    assert page.read_bytes() == before


def test_galleries_beside_the_records_are_shown(tmp_path: Path, runs: Path) -> None:
    image = "data:image/png;base64,iVBORw0KGgo="
    item = {"image": image, "label": "3", "neighbours": [{"image": image, "label": "8"}]}
    item["neighbours"][0]["alike"] = False
    content = {"format": "twofold-gallery", "format_version": 1, "set": "mnist"}
    content |= {"method": "fml-c", "seed": 0, "items": [item]}
    place = runs / "mnist" / "fml-c-seed0.gallery.json"
    place.write_text(json.dumps(content), encoding="utf-8")
    page = tmp_path / "page.html"
    assert CliRunner().invoke(app, [str(runs), "--out", str(page)]).exit_code == 0
    assert 'alt="not alike: 8"' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--out", "--markdown", "--latex"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path, runs: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("twofold.experiments.read_records", lambda _: pytest.fail("worked first"))
    answer = CliRunner().invoke(app, [str(runs), option, str(tmp_path / "nowhere" / "x")])
    assert isinstance(answer.exception, FileNotFoundError)
    assert "nowhere does not exist: create it first." in str(answer.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_folder_without_records_is_said(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, [str(tmp_path), "--out", str(tmp_path / "x.html")])
    assert isinstance(answer.exception, FileNotFoundError)
    assert "contains no run records" in str(answer.exception)
