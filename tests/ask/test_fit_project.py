"""A project's answers become a model that every other command takes."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from product_files import product_tables
from typer.testing import CliRunner

from twofold.ask import AskRequest, fit_project, read_ask_items
from twofold.ask._project import Project
from twofold.ask._store import Look
from twofold.cli import app
from twofold.tasks import FitRequest, PreparedModel


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Two tables, and a project in which all decisions of a file were answered."""
    place = product_tables(tmp_path_factory.mktemp("shop"))
    request = AskRequest(data=place / "left.csv", right=place / "right.csv")
    items = read_ask_items(request)
    project = Project(place / "left.ask", request, items)
    item_of = {one: item for item, one in enumerate(items.ids())}
    with (place / "pairs.csv").open() as rows:
        for number, row in enumerate(csv.DictReader(rows)):
            pair = item_of[0, row["left"]], item_of[1, row["right"]]
            said = (row["similar"] in ("1", "yes", "true"),)
            project.store.add(Look(f"k{number}", "Anna", "pair", pair, said))
    project.close()
    return place


def test_fit_learns_from_the_answers_and_match_takes_the_model(shop):
    fitted = run("fit", "--project", shop / "left.ask", "--out", shop / "model")
    assert fitted.exit_code == 0, fitted.output
    assert PreparedModel.open(shop / "model").source == "table"
    out = shop / "matches.csv"
    matched = run("match", shop / "model", shop / "left.csv", shop / "right.csv", "--out", out)
    assert matched.exit_code == 0, matched.output
    assert out.exists()


def test_features_of_ones_own_make_a_model_of_matrices(tmp_path):
    rng = np.random.default_rng(0)
    kind = np.arange(40) % 2
    X = (rng.normal(size=(40, 6)) + 4 * kind[:, None] * (np.arange(6) == 0)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    rows = "\n".join(f"item {number},{number % 7}" for number in range(40))
    (tmp_path / "items.csv").write_text(f"id,note\n{rows}\n")
    request = AskRequest(data=tmp_path / "items.csv", features=tmp_path / "x.npy")
    folder, model = tmp_path / "items.ask", tmp_path / "model"
    project = Project(folder, request, read_ask_items(request))
    project.store.add(Look("first", "Anna", "pair", (0, 1), (False,)))
    with pytest.raises(ValueError, match=r"has 0 pair\(s\) that are the same and 1 that are"):
        fit_project(folder, FitRequest(data=folder, out=model))
    for number, pair in enumerate(rng.permutation(40).reshape(-1, 2).tolist()):
        said = (bool(kind[pair[0]] == kind[pair[1]]),)
        project.store.add(Look(f"k{number}", "Anna", "pair", tuple(pair), said))
    project.close()
    fitted = run("fit", "--project", folder, "--out", model)
    assert fitted.exit_code == 0, fitted.output
    assert PreparedModel.open(model).source == "features"
