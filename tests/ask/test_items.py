"""What is asked about: names, fields, pictures and features of a user's files."""

from __future__ import annotations

import numpy as np
import pytest
from product_files import product_tables
from running import write_pictures

from twofold.ask import AskRequest, read_ask_items


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return product_tables(tmp_path_factory.mktemp("shop"))


def test_two_tables_are_numbered_through(shop):
    items = read_ask_items(AskRequest(data=shop / "left.csv", right=shop / "right.csv"))
    assert items.n_left == 60
    assert items.n_items == items.features.shape[0] == 120
    assert [side for side, _ in items.ids()] == [0] * 60 + [1] * 60
    described = items.describe(60)
    assert described["name"] == items.ids()[60][1]
    assert not described["image"]
    assert described["fields"]


def test_items_are_found_by_all_words_in_any_shown_field(tmp_path):
    file = tmp_path / "items.csv"
    file.write_text("id,title,maker\na,Red Chair,Nord\nb,red table,Sued\nc,green chair,Nord\n")
    items = read_ask_items(AskRequest(data=file))
    assert items.find("chair", 9) == [0, 2]
    assert items.find("NORD red", 9) == [0]
    assert items.find("chair", 1) == [0]
    assert items.find("  ", 9) == []


def test_missing_values_are_not_shown_and_long_ones_are_cut(tmp_path):
    file = tmp_path / "items.csv"
    file.write_text(f"id,title,maker\na,{'x' * 5000},\nb,y,Nord\nc,z,Nord\n")
    fields = read_ask_items(AskRequest(data=file)).describe(0)["fields"]
    assert list(fields) == ["title"]
    assert len(fields["title"]) == 2000


@pytest.mark.parametrize("brings_features", [False, True])
def test_columns_may_be_joined_by_commas(tmp_path, brings_features):
    file = tmp_path / "items.csv"
    file.write_text("id,title,maker,price\na,one chair,x,3\nb,two chairs,y,9\nc,a lamp,y,5\n")
    features = None
    if brings_features:
        features = tmp_path / "x.npy"
        np.save(features, np.eye(3, dtype=np.float32))
    request = AskRequest(
        data=file, features=features, columns=("title,maker,price",), text=("title,maker",)
    )
    items = read_ask_items(request)
    assert items.shown == ("title", "maker", "price")
    if not brings_features:
        kinds = [plan.kind for plan in items.preparation.columns_]
        assert kinds == ["text", "text", "number"]


def test_of_a_folder_of_images_the_class_is_not_told(tmp_path):
    (tmp_path / "photos").mkdir()
    for kind in ("cats", "dogs"):
        write_pictures(tmp_path / "photos" / kind, 3)
    items = read_ask_items(AskRequest(data=tmp_path / "photos"))
    assert items.shown == ()
    assert items.image_path(4) == tmp_path / "photos" / "dogs" / "01.png"


def test_features_of_ones_own_are_learnt_from_and_the_table_is_only_shown(tmp_path):
    file = tmp_path / "items.csv"
    file.write_text("id,title,file\na,one,x.png\nb,two,y.png\n")
    np.save(tmp_path / "x.npy", np.eye(2, 5, dtype=np.float32))
    request = AskRequest(
        data=file, features=tmp_path / "x.npy", image="file", text=("title",), id_column="id"
    )
    items = read_ask_items(request)
    assert items.features.shape == (2, 5)
    assert items.shown == ("title",)
    assert items.image_path(1) == tmp_path / "y.png"


def test_a_request_is_kept_and_comes_back(tmp_path):
    request = AskRequest(
        data=tmp_path / "a.csv", right=tmp_path / "b.csv", id_column="nr", text=("t",), seed=7
    )
    assert AskRequest.from_json(request.to_json()) == request
