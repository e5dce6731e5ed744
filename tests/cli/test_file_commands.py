"""The commands for users' own files, as they are typed: what is printed, and how mistakes end."""

import json
from pathlib import Path

import numpy as np
import pytest
from product_files import product_tables
from typer.testing import CliRunner

from twofold.cli import app
from twofold.cli._console import show, table
from twofold.cli._decision_tables import short
from twofold.cli._fit import _column_rows
from twofold.cli._search import _nearest
from twofold.preparation import ColumnPlan
from twofold.report import search_page
from twofold.search import Neighbours
from twofold.tasks import SearchResult

RUNNER = CliRunner()


def run(*words):
    return RUNNER.invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = product_tables(tmp_path_factory.mktemp("shop"))
    fitted = run(
        *("fit", place / "left.csv", "--right", place / "right.csv"),
        *("--pairs", place / "pairs.csv", "--out", place / "model"),
    )
    assert fitted.exit_code == 0, fitted.output
    (place / "said.txt").write_text(fitted.output)
    return place


def test_fit_says_what_a_decision_needs_and_what_to_type_next(folder):
    said = " ".join((folder / "said.txt").read_text().split())
    for words in ("60 and 60 rows", "held-out pairs", "features as given", "embedding",
                  "F1", "decides: a pair is alike", "learning", "twofold match"):  # fmt: skip
        assert words in said
    assert f"twofold match {folder / 'model'}" in said


def test_the_command_that_fit_proposes_runs(folder):
    proposed = (folder / "said.txt").read_text().split("twofold match", 1)[1].split()
    out = folder / "proposed.csv"
    words = [out if word == "matches.csv" else word for word in proposed]
    matched = run("match", *words)
    assert matched.exit_code == 0, matched.output
    assert "pairs are alike" in matched.output
    assert out.read_text().startswith('"left","right",')


def test_everything_is_to_be_had_as_json(folder):
    pair_files = ("--right", folder / "right.csv", "--pairs", folder / "test.csv")
    answers = {
        "evaluate": run("evaluate", folder / "model", folder / "left.csv", *pair_files, "--json"),
        "embed": run(
            *("embed", folder / "model", folder / "left.csv"),
            *("--out", folder / "points.parquet", "--json"),
        ),
        "match": run(
            *("match", folder / "model", folder / "left.csv", folder / "right.csv"),
            *("--out", folder / "m.csv", "--json"),
        ),
        "search": run(
            *("search", folder / "model", "--index", folder / "right.csv", "--query"),
            *(folder / "left.csv", "-k", 2, "--columns", "title", "--json"),
        ),
        "export": run("export", folder / "model", "--onnx", folder / "model.onnx", "--json"),
    }
    read = {}
    for name, answer in answers.items():
        assert answer.exit_code == 0, (name, answer.output, answer.exception)
        read[name] = json.loads(answer.stdout)
    assert 0 <= read["evaluate"]["decisions"]["f1"] <= 1
    assert read["embed"]["n_items"] == 60
    assert read["match"]["n_items"] == [60, 60]
    assert len(read["search"]["queries"][0]["nearest"]) == 2
    assert "title" in read["search"]["queries"][0]["nearest"][0]
    assert read["export"]["n_components"] == read["embed"]["n_components"]


def test_the_page_of_an_evaluation_shows_both_rows(folder):
    page = folder / "page.html"
    done = run(
        *("evaluate", folder / "model", folder / "left.csv", "--right", folder / "right.csv"),
        *("--pairs", folder / "test.csv", "--threshold", 2, "--out", page),
    )
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "Alike, but not found" in text
    assert "<svg" in text
    assert "title" in text


def test_the_page_of_a_search_lists_the_neighbours(folder):
    page = folder / "neighbours.html"
    done = run(
        *("search", folder / "model", "--index", folder / "right.csv", "--query"),
        *(folder / "left.csv", "-k", 3, "--columns", "title", "--page", page),
    )
    assert done.exit_code == 0, done.output
    assert "The 3 nearest of 60 rows" in page.read_text()
    assert "Nearest to a0" in done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("embed", "{}/model", "{}/left.csv", "--out", "{}/left.csv"), "must end in one of"),
        (("embed", "{}/model", "{}/none.csv", "--out", "{}/e.npy"), "none.csv does not exist"),
        (("match", "{}/nothing", "{}/left.csv", "--out", "{}/x.csv"), "no model folder"),
        (("fit", "{}/left.csv", "--labels", "maker", "--out", "{}/model"), "--overwrite"),
        (("export", "{}/model", "--onnx", "{}/m.txt"), "must end in .onnx"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(folder, words, sentence):
    before = sorted(folder.iterdir())
    failed = run(*(word.format(folder) for word in words))
    assert failed.exit_code != 0
    assert sentence in str(failed.exception)
    assert "\n" not in str(failed.exception)
    assert sorted(folder.iterdir()) == before


def test_the_errors_are_shown_on_a_page_by_the_option_that_search_has_too(folder):
    page = folder / "errors.html"
    words = ("--right", folder / "right.csv", "--pairs", folder / "test.csv", "--page", page)
    said = run("evaluate", folder / "model", folder / "left.csv", *words)
    assert said.exit_code == 0, said.output
    assert f"Open {page}" in said.output.replace("\n", "")
    assert "<html" in page.read_text()


def test_a_title_is_not_broken_where_its_table_ends(capsys):
    title = "the title of a table that is far narrower than its title"
    show(table(("n",), [("1",)], title=title))
    assert title in capsys.readouterr().out


def test_every_share_takes_four_characters():
    shares = (0.0, 0.9251, 0.99951, 1.0)
    assert [short(share) for share in shares] == [".000", ".925", "1.00", "1.00"]


def test_of_very_many_columns_those_of_one_kind_are_one_row():
    numbers = [ColumnPlan(f"f{n}", "number", n % 2, 1) for n in range(40)]
    rows = _column_rows([ColumnPlan("title", "text", 0, 7), *numbers])
    assert rows == [("title", "text", 0, 7, ""), ("f0 and 39 more", "number", 20, 40, "")]
    assert len(_column_rows(numbers[:30])) == 30


@pytest.mark.parametrize(
    ("metric", "heading", "value"),
    [("dot", "similarity", "1.25"), ("cosine", "distance", "-0.25")],
)
def test_of_dot_products_a_search_shows_similarities(metric, heading, value, capsys):
    one = np.full((1, 1), 1.25, np.float32)
    found = Neighbours(np.array([["lamp"]]), np.zeros((1, 1), np.int64), one, 1 - one)
    result = SearchResult(
        *(np.array(["new"]), found, {}, 1, 1, metric, Path("store"), "new in lamps", (), {}, {})
    )
    show(_nearest(result, 0))
    shown = capsys.readouterr().out
    assert heading in shown
    assert f" {value} " in shown
    assert f'<td>lamp</td><td class="number">{value}</td>' in search_page(result)
