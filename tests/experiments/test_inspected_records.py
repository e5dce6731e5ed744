"""Pairs of a user's own records: read by their kinds, and shown with what they say."""

from __future__ import annotations

import json

import numpy as np
import pytest

from twofold.experiments import (
    Expectation,
    Together,
    inspect_pairs,
    read_inspected,
)
from twofold.experiments._inspection_reading import read_together
from twofold.targets import Gauge, GaugePoint

COLOURS, THINGS = ("red", "green", "blue", "black"), ("chair", "table", "lamp", "shelf", "sofa")


def write(path, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def shop(tmp_path):
    """Two tables of the same twenty products in other words, and decisions; one is wrong."""
    products = list(enumerate((c, t) for c in COLOURS for t in THINGS))
    heading = ("id", "title", "price", "text")
    left = [(f"a{k}", f"{c} {t}", 10 + k, f"a {t} for all") for k, (c, t) in products]
    right = [(f"b{k}", f"{t} in {c}", 10 + k, f"this {t} is {c}") for k, (c, t) in products]
    others = (0, 3, 7)
    pairs = [(f"a{k}", f"b{(k + j) % 20}", int(j == 0)) for k in range(20) for j in others]
    pairs[0] = ("a0", "b0", 0)
    return (
        write(tmp_path / "pairs.csv", [("left", "right", "similar"), *pairs]),
        write(tmp_path / "left.csv", [heading, *left]),
        write(tmp_path / "right.csv", [heading, *right]),
    )


def test_two_tables_are_one_below_the_other_and_keep_their_fields(shop):
    files = read_inspected(*shop)
    assert files.relation.n_items == 40
    assert (files.relation.left < 20).all()
    assert (files.relation.right >= 20).all()
    assert files.keys[[0, 20]].tolist() == ["a0", "b0"]
    assert files.fields(20) == {"title": "chair in red", "price": "10", "text": "this chair is red"}
    assert files.n_left == 20
    assert files.features.shape[0] == 40
    (note,) = files.notes
    assert note.startswith("The columns are taken for: title (text")
    assert "price (number)" in note


def test_infinite_numbers_beside_text_are_told(tmp_path):
    rows = [
        ("id", "title", "price"),
        ("a0", "red chair", 1.5),
        ("a1", "chair", "inf"),
        ("a2", "", 3),
    ]
    pairs = write(tmp_path / "pairs.csv", [("left", "right", "similar"), ("a0", "a1", 1)])
    (note,) = read_inspected(pairs, write(tmp_path / "items.csv", rows)).notes
    assert "price (number, 1 missing, 1 value(s) are infinite" in note
    assert "first at row 1 (inf))" in note


def test_one_table_of_text_is_prepared(shop, tmp_path):
    pairs = write(tmp_path / "within.csv", [("left", "right", "similar"), ("a0", "a1", 1)])
    files = read_inspected(pairs, shop[1])
    assert files.relation.left.tolist() == [0]
    assert files.relation.right.tolist() == [1]
    assert files.fields(1)["title"] == "red table"
    assert files.n_left is None


def test_numbers_are_taken_as_they_are_and_have_no_fields(tmp_path):
    pairs = write(tmp_path / "pairs.csv", [("left", "right", "similar"), ("x", "y", 1)])
    table = write(tmp_path / "f.csv", [("name", "p", "q"), ("x", 1, 2.5), ("y", 3, 4)])
    files = read_inspected(pairs, table)
    assert files.features.tolist() == [[1, 2.5], [3, 4]]
    assert files.fields is None
    np.save(tmp_path / "f.npy", np.eye(3))
    rows = write(tmp_path / "rows.csv", [("left", "right", "similar"), (0, 2, 1)])
    matrix = read_inspected(rows, tmp_path / "f.npy", tmp_path / "f.npy")
    assert matrix.features.shape == (6, 3)
    assert matrix.fields is None


def test_ids_that_both_tables_have_are_told_apart_by_the_table(tmp_path):
    pairs = write(tmp_path / "pairs.csv", [("left", "right", "similar"), (1, 1, 1), (1, 2, 0)])
    rows = [("id", "title"), (1, "red chair"), (2, "blue chair")]
    files = read_inspected(
        pairs, write(tmp_path / "ours.csv", rows), write(tmp_path / "theirs.csv", rows)
    )
    assert files.keys.tolist() == ["ours 1", "ours 2", "theirs 1", "theirs 2"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"right": "x.csv"}, "refer to the table of items: give features too"),
        ({"key": "id"}, "refer to the table of items: give features too"),
        ({"features": "pictures"}, "is a folder of images"),
        ({"features": "left.csv", "right": "f.npy"}, "is a matrix and the other a table"),
    ],
)
def test_what_does_not_fit_together_is_said(shop, options, sentence, tmp_path):
    from PIL import Image

    (tmp_path / "pictures").mkdir()
    Image.new("L", (4, 4)).save(tmp_path / "pictures" / "a.png")
    np.save(tmp_path / "f.npy", np.zeros((20, 2)))
    write(tmp_path / "rows.csv", [("left", "right", "similar"), (0, 1, 1)])
    places = {name: value if name == "key" else tmp_path / value for name, value in options.items()}
    with pytest.raises(ValueError, match=sentence):
        read_inspected(tmp_path / "rows.csv", **places)


def test_suspicious_pairs_and_those_to_ask_come_with_their_fields(shop, monkeypatch):
    monkeypatch.setattr("twofold.experiments._inspect.N_ROUNDS", 2)
    files = read_inspected(*shop)
    found = inspect_pairs(
        files.relation,
        files.features,
        keys=files.keys,
        fields=files.fields,
        notes=files.notes,
        n_left=files.n_left,
        n_suspicious=1,
        n_suggested=4,
    )
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    (suspect,) = content["suspicious"]
    assert (suspect["left"], suspect["right"], suspect["similar"]) == ("a0", "b0", 0)
    assert suspect["left_fields"]["title"] == "red chair"
    assert suspect["right_fields"]["title"] == "chair in red"
    assert content["together"]["n_dissimilar"] == 41
    assert content["together"]["n_dissimilar_opposed"] >= 1
    assert content["notes"] == list(files.notes)
    for one in content["suggested"]:
        assert one["left"].startswith("a") != one["right"].startswith("a")
        assert {"title", "price", "text"} == set(one["left_fields"])
    shown = {
        item for one in (*found.suspects, *found.suggestions) for item in (one.left, one.right)
    }
    assert set(found.fields) == shown


GAUGE = Gauge(
    auroc=0.6,
    standard_error=0.02,
    n_folds=5,
    n_undecided=0,
    similarity=np.zeros(1, dtype=np.float32),
    curve=(GaugePoint(10, 0.5, 0.01), GaugePoint(20, 0.6, 0.01)),
    seconds=0.1,
)


@pytest.mark.parametrize(
    ("auroc", "headline"),
    [
        (0.95, "Features and pairs agree"),
        (0.8, "Features and pairs agree in part"),
        (0.55, "The features say little about these pairs"),
    ],
)
def test_the_lead_is_what_features_and_pairs_say_together(auroc, headline):
    together = Together(auroc, 100, 900, 7, 3)
    said = read_together(together, GAUGE, Expectation("ridge map", 0.93, None, 0.91))
    assert said[0] == headline
    assert (
        f"an AUROC of {auroc:.3f}. The pairs alone have 0.600; the features as given, 0.910"
        in said[1]
    )
    assert "They disagree on 7 of 100 pairs stated to be alike" in said[2]
    assert "on 3 of 900 stated not to be" in said[2]


def test_no_disagreement_is_said_too():
    *_, last = read_together(Together(1.0, 5, 5, 0, 0), GAUGE, None)
    assert last == "They do not disagree on any pair."
