"""A user's own items: whatever the file, ids and columns or features; what is wrong has a place."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet
from scipy import sparse

from twofold.datasets import iterate_records, read_records

TEXT = "id,title,price\na1,red chair,$12\nb2,green table,9\nc3,blue lamp,\n"


def written(folder, content, name="records.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [TEXT, "\ufeff" + TEXT, TEXT.replace("\n", "\r\n")],
    ids=["plain", "with a BOM", "with CRLF"],
)
def test_ids_and_columns_are_told_apart(tmp_path, content):
    records = read_records(written(tmp_path, content))
    assert records.ids.tolist() == ["a1", "b2", "c3"]
    assert records.column_names == ("title", "price")
    assert records.fields(1) == {"title": "green table", "price": "9"}
    assert (records.n_items, records.place(2), records.notes) == (3, "line 4", ())


def test_a_tab_separated_file_and_ids_of_another_name(tmp_path):
    path = written(tmp_path, "sku\tx\n7\t1\n9\t2\n", "records.tsv")
    records = read_records(path, id_column="sku")
    assert records.ids.tolist() == [7, 9]
    assert records.table["x"].to_pylist() == [1, 2]


def test_rows_without_ids_are_called_by_their_numbers(tmp_path):
    records = read_records(written(tmp_path, "title,maker\nchair,x\nchair,y\n"))
    assert records.ids.tolist() == [0, 1]
    assert records.column_names == ("title", "maker")


def test_a_text_beside_numbers_is_a_column_like_any_other(tmp_path):
    path = written(tmp_path, "text,topic\nwhere is it,1\ntoo late,2\n")
    for records in (read_records(path), next(iterate_records(path))):
        assert records.ids.tolist() == [0, 1]
        assert records.column_names == ("text", "topic")


def test_a_column_that_names_the_rows_is_not_said_to_be_missing(tmp_path):
    records = read_records(written(tmp_path, "sku,x\na,1\nb,2\n"), id_column="sku")
    with pytest.raises(ValueError, match=r"'sku' of .* has the ids of its rows, so it"):
        records.require(["x", "sku"])


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_semicolons_between_fields_are_noticed_and_noted(tmp_path, ending, mark):
    lines = ["id;title;price", 'a1;"red; or blue, chair";3,5', "b2;table;4", ""]
    path = written(tmp_path, mark + ending.join(lines))
    for records in (read_records(path), next(iterate_records(path))):
        assert records.ids.tolist() == ["a1", "b2"]
        assert records.fields(0) == {"title": "red; or blue, chair", "price": "3,5"}
        assert records.notes == (f"{path} was read as separated by semicolons.",)


@pytest.mark.parametrize("text", ["id,a;b\n1,2\n", '"a;b"\nx\n'])
def test_a_semicolon_beside_commas_or_in_quotes_separates_nothing(tmp_path, text):
    records = read_records(written(tmp_path, text))
    assert records.column_names == ("a;b",)
    assert records.notes == ()


def test_a_row_too_long_between_semicolons_is_said_to_need_quotes_around_those(tmp_path):
    path = written(tmp_path, "id;x\n1;2\n2;3;4\n")
    with pytest.raises(ValueError, match=r"3 field\(s\) at line 3.*text that contains a semicolon"):
        read_records(path)


def test_a_quote_that_is_not_closed_is_found_where_it_opens(tmp_path):
    path = written(tmp_path, 'id,x,y\n1,2,3\n2,"open,4\n' + "5,6,7\n" * 9)
    with pytest.raises(ValueError, match=r"2 field\(s\) in the row from line 3 to line 12.*close"):
        read_records(path)


@pytest.mark.parametrize(
    ("encoding", "text", "title", "said"),
    [
        ("latin-1", "café", "café", "cp1252"),
        ("cp1252", "5 € “new”", "5 € “new”", "cp1252"),
        ("latin-1", "caf\xe9 \x81", "caf\xe9 \x81", "latin-1"),
    ],
)
def test_a_western_file_is_read_and_that_is_noted(tmp_path, encoding, text, title, said):
    path = written(tmp_path, f"id,title\na,{text}\nb,x\n".encode(encoding))
    for records in (read_records(path), next(iterate_records(path))):
        assert records.fields(0)["title"] == title
        (note,) = records.notes
        assert f"is not UTF-8 and was read as {said}" in note


def test_utf16_is_refused_as_before(tmp_path):
    path = written(tmp_path, "id,title\na,b\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"first at line 1 \(byte 0xff\).*iconv -f utf16 "):
        read_records(path)


def test_matrices_are_features(tmp_path):
    matrix = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "x.npy", matrix)
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(matrix))
    for name in ("x.npy", "x.npz"):
        records = read_records(tmp_path / name)
        dense = (
            records.features.toarray() if sparse.issparse(records.features) else records.features
        )
        np.testing.assert_array_equal(dense, matrix)
        assert (records.table, records.ids.tolist(), records.fields(0)) == (None, [0, 1, 2], {})
    with pytest.raises(ValueError, match=r"x\.npz is a matrix and does not have a column 'title'"):
        records.require(["title"])


def image_folder(folder, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4)).save(folder / name)
    return folder


def test_one_folder_a_class_gives_labels(tmp_path):
    folder = image_folder(tmp_path, ["cats/b.png", "cats/a.png", "dogs/a.png"])
    (folder / "notes.txt").write_text("x")
    (folder / ".hidden.png").write_text("x")
    records = read_records(folder)
    assert records.ids.tolist() == ["cats/a.png", "cats/b.png", "dogs/a.png"]
    assert records.table["label"].to_pylist() == ["cats", "cats", "dogs"]
    assert records.image_paths()[2] == folder / "dogs" / "a.png"
    assert "1 file(s) in" in records.notes[0]
    assert records.place(1) == "image 'cats/b.png'"


def test_images_beside_each_other_have_no_label(tmp_path):
    assert read_records(image_folder(tmp_path, ["a.png", "b.png"])).column_names == ("image",)


def test_a_column_names_images_beside_its_table(tmp_path):
    records = read_records(written(tmp_path, "id,photo\n1,p/a.png\n2,p/b.png\n"))
    assert records.image_paths("photo") == [tmp_path / "p" / "a.png", tmp_path / "p" / "b.png"]


# In pieces


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "npz", "folder"])
def test_pieces_are_the_whole(tmp_path, kind):
    if kind == "csv":
        path = written(tmp_path, "id,x\n" + "".join(f"{n},{n / 2}\n" for n in range(7)))
    elif kind == "parquet":
        path = tmp_path / "x.parquet"
        parquet.write_table(pa.table({"id": range(7), "x": [n / 2 for n in range(7)]}), path)
    elif kind == "folder":
        path = image_folder(tmp_path, [f"{n}.png" for n in range(7)])
    else:
        path = tmp_path / f"x.{kind}"
        (np.save if kind == "npy" else np.savez)(path, np.arange(14.0).reshape(7, 2))
    whole, pieces = read_records(path), list(iterate_records(path, n_rows=3))
    assert [piece.n_items for piece in pieces] == [3, 3, 1]
    assert [piece.first_row for piece in pieces] == [0, 3, 6]
    ids = np.concatenate([piece.ids for piece in pieces])
    assert ids.tolist() == whole.ids.tolist()
    if whole.features is not None:
        joined = np.concatenate([piece.features for piece in pieces])
        np.testing.assert_array_equal(joined, whole.features)
    else:
        fields = [piece.fields(row) for piece in pieces for row in range(piece.n_items)]
        assert list(map(list, fields)) == [list(whole.fields(row)) for row in range(7)]
    assert "6" in pieces[2].place(0) if kind != "csv" else pieces[2].place(0) == "line 8"


def test_ids_of_all_pieces_are_of_one_kind(tmp_path):
    path = written(tmp_path, "x,id\n1,1\n2,2\n3,three\n")
    assert [piece.ids.tolist() for piece in iterate_records(path, n_rows=2)] == [
        ["1", "2"],
        ["three"],
    ]


def test_a_broken_row_in_a_later_piece_has_its_line(tmp_path):
    path = written(tmp_path, "id,x\n" + "1,2\n" * 5 + "3\n")
    with pytest.raises(ValueError, match=r"1 field\(s\) at line 7, and 2 in its heading"):
        list(iterate_records(path, n_rows=2))


# What is wrong


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (TEXT, {"id_column": "titel"}, r"no column 'titel'\. Did you mean 'title'\? Its .*price\."),
        (TEXT, {"id_column": "ID"}, r"Did you mean 'id'\?"),
        ("id,x\na,1\nb,2\na,3\na,4\n", {}, r"first repeated at line 4 \('a'\), 2 row\(s\) in all"),
        ("id,x\na,1\n,2\n", {}, r"'id' .* empty at 1 place\(s\), first at line 3"),
        ("id,x\na,1\nb\n", {}, r"1 field\(s\) at line 3, and 2 in its heading"),
        ("id,x\n", {}, "has a heading but no row"),
        ("id\na\n", {}, r"no column besides 'id'"),
        ("", {}, "is empty"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_the_place(tmp_path, content, arguments, message):
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match=message) as caught:
        read_records(path, **arguments)
    assert str(path) in str(caught.value)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv does not exist"):
        read_records(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="contains no image"):
        read_records(tmp_path)
    with pytest.raises(ValueError, match=r"must be one of \.npy"):
        read_records(written(tmp_path, "x", "x.txt"))
    with pytest.raises(ValueError, match=r"id_column='a' is the name of a column, but .* has none"):
        read_records(image_folder(tmp_path, ["a.png"]), id_column="a")
