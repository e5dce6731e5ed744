"""`--columns a,b` is `--columns a --columns b`, and so with `--text`, in every command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

from twofold.cli import app
from twofold.tasks import FitRequest, PreparedModel, fit_files

WEIGHT = "weight, kg"
LINES = [
    f"i{n},{('red', 'green')[n % 2]} {('chair', 'lamp', 'table')[n % 3]} {n % 7},"
    f"m{n % 4},{n % 5}.5,{n % 9}.25,k{n % 2}"
    for n in range(60)
]
TABLE = "\n".join([f'id,title,maker,price,"{WEIGHT}",kind', *LINES]) + "\n"


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "items.csv").write_text(TABLE)
    parquet.write_table(csv.read_csv(folder / "items.csv"), folder / "items.parquet")
    words = ("--labels", "kind", "--columns", f"title,price,{WEIGHT}", "--text", "title")
    run("fit", folder / "items.csv", *words, "--epochs", 2, "--out", folder / "model")
    return folder


def test_fit_uses_each_of_the_columns(shop):
    names = {plan.name for plan in PreparedModel.open(shop / "model").preparation.columns_}
    assert names == {"title", "price", WEIGHT}


def test_fit_treats_each_of_the_columns_as_text(shop):
    told = fit_files(
        FitRequest(
            data=shop / "items.csv",
            out=shop / "texts",
            labels="kind",
            text=("title,maker",),
            max_epochs=2,
        )
    )
    kinds = {plan.name: plan.kind for plan in told.columns}
    assert (kinds["title"], kinds["maker"], kinds["price"]) == ("text", "text", "number")


def test_a_column_that_is_used_is_not_taken_for_the_ids_that_pairs_name(tmp_path):
    rows = [f"{chr(97 + n)}{n},{n % 5}.5,x{n % 3}" for n in range(24)]
    (tmp_path / "items.csv").write_text("\n".join(["code,price,maker", *rows]) + "\n")
    pairs = [f"a0,{chr(97 + n)}{n},{int(n % 3 == 0)}" for n in range(1, 24)]
    (tmp_path / "pairs.csv").write_text("\n".join(["left,right,similar", *pairs]) + "\n")
    request = FitRequest(
        data=tmp_path / "items.csv",
        pairs=tmp_path / "pairs.csv",
        columns=("code,price",),
        out=tmp_path / "model",
    )
    with pytest.raises(ValueError, match="a0"):  # row numbers then, as with the option repeated
        fit_files(request)


@pytest.mark.parametrize("columns", [("maker,kind",), ("maker", "kind")])
def test_search_match_and_index_show_and_keep_each_of_the_columns(shop, tmp_path, columns):
    asked = [word for name in columns for word in ("--columns", name)]
    model, items = shop / "model", shop / "items.csv"
    kept = ("--store", tmp_path / "kept")
    found = run(
        "search", model, "--index", items, "--query", items, "-k", 1, *asked, *kept, "--json"
    )
    assert {"maker", "kind"} < json.loads(found)["queries"][0]["nearest"][0].keys()
    out = tmp_path / "matches.parquet"
    run("match", model, items, "--threshold", 0.5, "--out", out, *asked)
    shown = parquet.read_schema(out).names
    assert shown[3:] == ["left_maker", "right_maker", "left_kind", "right_kind"]
    for data in (items, shop / "items.parquet"):
        index = tmp_path / f"{data.suffix[1:]}.index"
        for _ in range(2):  # rows are added to an index with the same words
            run("index", model, data, "--out", index, *asked)
        card = json.loads((index / "vectors.json").read_text())
        assert card["columns"] == ["maker", "kind"]
        found = run("search", model, "--index", index, "--query", items, "-k", 1, *asked, "--json")
        assert {"maker", "kind"} < json.loads(found)["queries"][0]["nearest"][0].keys()


def test_a_column_with_a_comma_in_its_name_is_kept_and_shown(shop, tmp_path):
    model, items = shop / "model", shop / "items.csv"
    asked = ("--columns", f"maker,{WEIGHT}")
    run("index", model, items, "--out", tmp_path / "index", *asked)
    for place in (items, tmp_path / "index"):
        words = ("--index", place, "--query", items, "-k", 1, *asked, "--json")
        nearest = json.loads(run("search", model, *words))["queries"][0]["nearest"][0]
        assert {"maker", WEIGHT} < nearest.keys()


def test_the_name_that_is_wrong_is_named_alone(shop, tmp_path):
    words = (
        "--index",
        shop / "items.csv",
        "--query",
        shop / "items.csv",
        "--store",
        tmp_path / "x",
    )
    done = CliRunner().invoke(
        app, [str(w) for w in ("search", shop / "model", *words, "--columns", "maker,knid")]
    )
    with pytest.raises(ValueError, match=r"no column 'knid'. Did you mean 'kind'\?"):
        raise done.exception
