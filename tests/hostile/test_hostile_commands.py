"""Command lines over hostile files: one line and exit code 2, or a page that is plain text."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import hostile_files as make
import numpy as np
import pytest
from fuzz_targets import CORPUS
from hostile_models import change_card, prepared_models, products

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
    assert "give at least one method" in capsys.readouterr().err


def test_a_report_of_numbers_that_are_none_is_refused(tmp_path, monkeypatch, capsys):
    content = json.loads((CORPUS / "record" / "run.json").read_text())
    content["seconds"]["training"] = float("nan")
    (tmp_path / "twofold-seed0.json").write_text(json.dumps(content))
    assert run(monkeypatch, "report", tmp_path, "--out", tmp_path / "page.html") == 2
    assert "it holds NaN, which is not a number" in " ".join(capsys.readouterr().err.split())


def test_what_records_say_is_text_in_markdown_and_on_the_page():
    record = read_record(CORPUS / "record" / "run.json")
    hostile = replace(record, data_set=SCRIPT, method=SCRIPT, machine={"processor": SCRIPT})
    tables = paper_tables([hostile])
    assert "&lt;script&gt;" in tables
    assert "<script" not in tables
    assert "[heading" not in tables.replace(r"\[", "")
    assert not any(line.startswith("# [") for line in tables.splitlines())
    assert "<script>alert" not in paper_page([hostile])


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A folder of good files and of careless ones, with two models."""
    folder = tmp_path_factory.mktemp("files")
    table = products(8)
    heading = ",".join(["id", *table.column_names])
    rows = [map(str, row.values()) for row in table.to_pylist()]
    lines = [f"r{k},{','.join(row)}" for k, row in enumerate(rows)]
    named = {
        "rows.csv": "\n".join([heading, *lines]),
        "again.csv": "\n".join([heading, *lines, lines[0]]),
        "few.csv": "id,title,price\nr0,lamp,3",
        "own.csv": "id,x,kind\na,1,k\nb,2,l\nc,4,m",
        "one_kind.csv": "id,x,kind\na,1,k\nb,2,k\nc,4,k",
        "no_kind.csv": "id,x,kind\na,1,\nb,2,\nc,4,",
        "one.csv": "id,x,kind\na,1,k",
        "equal.csv": "id,x,kind\na,1,k\nb,1,k\nc,1,l",
        "empty.csv": "",
        "heading.csv": heading,
        "broken.csv": f"{heading}\nr0,lamp",
        "pairs.csv": "left,right,similar\nr0,r1,1\nr0,r2,0",
        "unknown.csv": "left,right,similar\nr0,r1,1\nr0,zz,0",
        "maybe.csv": "left,right,similar\nr0,r1,maybe",
        "alike.csv": "left,right,similar\nr0,r1,1\nr2,r3,1",
        "numbers.csv": "left,right,similar\n0,1,1\n0,2,0",
        "triplets.csv": "anchor,positive,negative\nr0,r1,r1",
        "there.csv": "x",
        "there.html": "x",
        "there.onnx": "x",
        "other/notes.txt": "x",
        "pictures/a/1.png": "not a picture",
        "pictures/a/2.png": "not a picture",
        "pictures/b/3.png": "not a picture",
        "damaged.parquet": "PAR1",
    }
    for name, content in named.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content + "\n" if content else "")
    (folder / "nothing").mkdir()
    np.save(folder / "x.npy", np.eye(8, 3, dtype=np.float32))
    np.save(folder / "wide.npy", np.eye(8, 5, dtype=np.float32))
    np.save(folder / "nan.npy", np.full((8, 3), np.nan))
    for name in ("forest", "embedding"):
        shutil.copytree(prepared_models()[name], folder / name)
    shutil.copytree(folder / "forest", folder / "newer")
    change_card(folder / "newer", "format_version", 9, "prepared.json")
    return folder


FIT = "fit rows.csv --labels colour --out model "
EVALUATE = "evaluate forest rows.csv --pairs pairs.csv "
MATCH = "match forest rows.csv --out m.csv "
SEARCH = "search forest --index rows.csv --query rows.csv "
MISTAKES = [
    # command line, what is said
    ("fit nope.csv --labels kind --out model", r"The file nope\.csv does not exist"),
    ("fit rows.csv --out model", "Say what is alike with exactly one of .*; 0 were given"),
    ("fit rows.csv --labels colour --pairs pairs.csv --out model", "2 were given"),
    ("fit rows.csv --labels color --out model", r"rows\.csv has no column 'color'. Did you mean"),
    (FIT + "--id di", r"rows\.csv has no column 'di'"),
    (FIT + "--text titel", r"rows\.csv has no column 'titel'\. Did you mean 'title'\?"),
    (FIT + "--columns pricy", r"rows\.csv has no column 'pricy'\. Did you mean 'price'\?"),
    (FIT + "--columns price --columns colour", "'colour' is in both --columns and --labels"),
    (FIT + "--columns price --text title", "--text has the column 'title', but --columns does not"),
    (FIT + "--image picture", r"rows\.csv has no column 'picture'"),
    (FIT + "--image title", r"The column 'title' of rows\.csv: None of the 8 image files"),
    (FIT + "--image-size 16", r"--image-size is for images, but rows\.csv is something else"),
    (
        FIT + "--text-model nope",
        "--text-model must be a folder on this computer, but nope is not",
    ),
    (FIT + "--text-model other", "other cannot be opened as a text model"),
    (FIT + "--valid pairs.csv", "--valid goes with --pairs"),
    (FIT + "--right few.csv", "--labels is for one table"),
    (FIT + "--device gpu", "device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got 'gpu'"),
    (FIT + "--components 1000000000", "1,000,000,000 components of 8 rows take .* --components"),
    ("fit again.csv --labels colour --out model", r"again\.csv must be different in every row"),
    (
        "fit own.csv --labels kind --out model",
        r"'kind' of own\.csv is not enough .*no similar",
    ),
    (
        "fit one_kind.csv --labels kind --out model",
        r"'kind' of one_kind\.csv is not enough",
    ),
    (
        "fit no_kind.csv --labels kind --out model",
        r"'kind' of no_kind\.csv is not enough .*is unknown",
    ),
    (
        "fit one.csv --labels kind --out model",
        r"'kind' of one\.csv is not enough to learn",
    ),
    ("fit equal.csv --labels kind --out model", "No column of the table can become features"),
    ("fit empty.csv --labels kind --out model", r"empty\.csv is empty"),
    ("fit heading.csv --labels colour --out model", r"heading\.csv has a heading but no row"),
    ("fit broken.csv --labels colour --out model", r"broken\.csv has 2 field.s. at line 2, and 5"),
    ("fit rows.csv --pairs unknown.csv --out model", "are not in rows.csv, first 'zz' at line 3"),
    ("fit rows.csv --pairs maybe.csv --out model", r"'similar' of maybe\.csv .*line 2 .'maybe'"),
    (
        "fit rows.csv --pairs alike.csv --out model",
        r"alike\.csv is not enough .*no dissimilar",
    ),
    ("fit rows.csv --pairs pairs.csv --valid unknown.csv --out model", "first 'zz' at line 3"),
    ("fit rows.csv --triplets triplets.csv --out model", r"triplets\.csv contain an item twice"),
    ("fit rows.csv --right few.csv --pairs pairs.csv --out model", "lacks|not in few|no column"),
    ("fit x.npy --right wide.npy --pairs numbers.csv --out model", "with 3 features .* with 5"),
    ("fit x.npy --right rows.csv --pairs pairs.csv --out model", "are of different kinds"),
    (
        "fit x.npy --pairs pairs.csv --columns a --out model",
        "--columns is for .* x.npy is a matrix",
    ),
    ("fit nan.npy --pairs pairs.csv --out model", r"nan\.npy must hold finite numbers"),
    ("fit nothing --out model", "nothing contains no image"),
    ("fit pictures --text title --out model", "--text is for .* pictures is a folder of images"),
    (
        "fit pictures --out model",
        "of pictures: None of the 3 image files that were tried can be read",
    ),
    (
        "fit rows.csv --labels colour --out other",
        "other contains other files and was left alone: give a new folder",
    ),
    ("fit rows.csv --labels colour --out forest", "forest already exists: .*--overwrite"),
    ("fit rows.csv --labels colour --out there.csv", r"there\.csv is a file: give a folder"),
    ("evaluate nope rows.csv --pairs pairs.csv", "There is no model folder nope"),
    ("evaluate rows.csv rows.csv --pairs pairs.csv", r"There is no model folder rows\.csv"),
    ("evaluate nothing rows.csv --pairs pairs.csv", "nothing is not a Twofold model"),
    ("evaluate newer rows.csv --pairs pairs.csv", "newer/prepared.json has format version 9"),
    ("evaluate forest rows.csv", "Say what is alike with either"),
    ("evaluate forest rows.csv --labels color", r"rows\.csv has no column 'color'\. Did you mean"),
    ("evaluate forest few.csv --pairs pairs.csv", r"few\.csv has no column 'colour'"),
    ("evaluate forest x.npy --pairs pairs.csv", r"fitted on a table, but x\.npy is an array"),
    ("evaluate forest rows.csv --pairs alike.csv", r"all 2 of alike\.csv are alike: add some"),
    (EVALUATE + "--threshold nan", "--threshold must be a finite number, got nan"),
    (EVALUATE + "--page there.html", r"there\.html already exists: .*--overwrite"),
    ("embed forest rows.csv --out e.txt", r"e\.txt must end in one of \.parquet, \.pq, \.npy"),
    ("embed forest nope.parquet --out e.npy", r"The file nope\.parquet does not exist"),
    ("embed forest damaged.parquet --out e.npy", r"damaged\.parquet cannot be read"),
    ("embed forest few.csv --out e.npy", r"'colour', which the model was fitted on: its columns"),
    ("embed forest rows.csv --out no/e.npy", "The folder .*no does not exist: create it first"),
    (MATCH + "--columns titel", r"rows\.csv has no column 'titel'\. Did you mean 'title'\?"),
    (MATCH + "--threshold inf", "--threshold must be a finite number, got inf"),
    (MATCH + "--clusters --one-to-one", "exclude each other"),
    (MATCH + "--clusters --previous few.csv", r"few\.csv has no column 'group'"),
    ("match forest rows.csv few.csv --out m.csv", r"few\.csv has no column 'colour'"),
    ("match forest rows.csv --out there.csv", r"there\.csv already exists"),
    (SEARCH + "--columns titel", r"rows\.csv has no column 'titel'"),
    (SEARCH + "--out found.txt", r"found\.txt must end in one of \.csv, \.parquet, \.pq"),
    (SEARCH + "--store other", "other contains other files and was left alone"),
    (SEARCH + "--store no/store", "The folder .*no does not exist: create it first"),
    ("search forest --index rows.csv --query few.csv", r"few\.csv has no column 'colour'"),
    ("search forest --index rows.csv --query x.npy", r"fitted on a table, but x\.npy is an array"),
    ("export forest --onnx model.txt", r"model\.txt must end in \.onnx"),
    ("export forest --onnx there.onnx", r"there\.onnx already exists: .*--overwrite"),
    ("export nothing --onnx model.onnx", "nothing is not a Twofold model"),
    # What typer refuses, before there is a request.
    (FIT + "--epochs 0", r"'--epochs': .*\b0\b.*; see `twofold fit --help`\.$"),
    (FIT + "--seed one", r"'--seed': .*'one'.*; see `twofold fit --help`\.$"),
    (FIT + "--metric far", r"'--metric': 'far' is not one of 'auto', 'seen', 'unseen'"),
    (FIT + "--colums price", "No such option: --colums .*--columns"),
    (FIT + "few.csv", r"unexpected extra argument.*few\.csv"),
    ("fit rows.csv --labels colour", "Missing option '--out'"),
    ("fit rows.csv --labels colour --out", "'--out' requires an argument"),
    ("embed", "Missing argument 'MODEL'; see `twofold embed --help`"),
    ("fit --out model", "Give either DATA or --project with a folder of .twofold ask."),
    (SEARCH + "-k 0", r"'-k': .*\b0\b.*; see `twofold search --help`\.$"),
    ("fitt rows.csv", r"^twofold: No such command 'fitt'\. Did you mean 'fit'\?$"),
    ("zzz", r"^twofold: No such command 'zzz'; see `twofold --help`\.$"),
    ("--nope", "No such option: --nope; see `twofold --help`"),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_nothing_is_written(
    files, monkeypatch, capsys, line, sentence
):
    monkeypatch.chdir(files)
    before = sorted(files.rglob("*"))
    assert run(monkeypatch, *line.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert re.search(sentence, printed.err), printed.err
    assert sorted(files.rglob("*")) == before


def test_more_candidates_or_neighbours_than_rows_are_all_there_are(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    place = files / "found.csv"
    for line in (
        f"match forest rows.csv --threshold -1 --candidates 1000000 --out {place}",
        f"search forest --index rows.csv --query rows.csv -k 100 --store {files / 's'} --out {place}",
    ):
        monkeypatch.setattr("sys.argv", ["twofold", *line.split()])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        n_rows = len(place.read_text().splitlines()) - 1
        assert n_rows == (28 if line.startswith("match") else 64)
        place.unlink()
    shutil.rmtree(files / "s")
