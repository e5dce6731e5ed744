"""Pairs and triplets of a user's own records: by id or number, in one table or between two."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from twofold.datasets import read_pairs, read_records, read_tables, read_triplets


def written(folder, text, name="pairs.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def left(tmp_path):
    return read_records(written(tmp_path, "id,title\na,red\nb,green\nc,blue\n", "left.csv"))


@pytest.fixture
def right(tmp_path):
    return read_records(written(tmp_path, "id,title\n7,red\n9,green\n", "right.csv"))


def test_ids_name_rows_of_two_tables(tmp_path, left, right):
    pairs = read_pairs(written(tmp_path, "left,right,similar\nc,7,1\na,9,0\n"), left, right)
    assert (pairs.left.tolist(), pairs.right.tolist(), pairs.n_pairs) == ([2, 0], [0, 1], 2)
    assert pairs.similar.tolist() == [1, 0]
    assert pairs.notes == ()


@pytest.mark.parametrize("heading", ["ltable_id,rtable_id,label", "id1,id2,match"])
def test_the_names_of_others_are_understood(tmp_path, left, right, heading):
    assert read_pairs(written(tmp_path, f"{heading}\nb,9,1\n"), left, right).left.tolist() == [1]


def test_a_row_may_be_paired_with_the_same_row_of_the_other_table(tmp_path, left, right):
    assert read_pairs(written(tmp_path, "left,right,similar\na,7,1\n"), left, right).n_pairs == 1


def test_row_numbers_name_rows_where_no_id_is_known_and_that_is_noted(tmp_path, left):
    pairs = read_pairs(written(tmp_path, "left,right,similar\n0,2,1\n"), left)
    assert (pairs.left.tolist(), pairs.right.tolist()) == ([0], [2])
    assert "contains row numbers of" in pairs.notes[0]


def test_ids_are_preferred_to_row_numbers(tmp_path):
    records = read_records(written(tmp_path, "id,x\n2,5\n1,6\n0,7\n", "x.csv"))
    pairs = read_pairs(written(tmp_path, "left,right,similar\n0,2,1\n"), records)
    assert (pairs.left.tolist(), pairs.right.tolist(), pairs.notes) == ([2], [0], ())


@pytest.mark.parametrize(
    ("value", "grade"),
    [("1", 1), ("0", 0), ("true", 1), ("FALSE", 0), ("Yes", 1), ("no", 0), (" 0.25", 0.25)],
)
def test_alike_is_written_in_many_ways(tmp_path, left, value, grade):
    text = f"left,right,similar,weight\na,b,{value},2\na,c,0.5,1\n"
    pairs = read_pairs(written(tmp_path, text), left)
    np.testing.assert_allclose(pairs.similar, [grade, 0.5])
    assert pairs.weight.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("left,right,similar\na,b,maybe\n", r"'similar' .* none of these is at line 2 \('maybe'\)"),
        ("left,right,similar\na,b,1\na,c,2\n", r"'similar' .* first at line 3 \(2\)"),
        ("left,right,similar\na,b,\n", r"'similar' .* missing or not finite, first at line 2"),
        ("left,right,similar\nx,b,1\ny,a,1\na,b,0\n", r"2 id\(s\) .*left\.csv, first 'x' at line"),
        ("left,right,similar\n0,7,1\n", r"1 id\(s\) in the column 'right' .* first '7' at line 2"),
        ("left,right,similar\na,a,1\n", r"1 pair\(s\) .* join an item to itself, first at line 2"),
        ("left,rihgt,similar\na,b,1\n", r"no column 'right'\. Did you mean 'rihgt'\?"),
    ],
)  # fmt: skip
def test_a_wrong_pair_is_refused_with_file_line_and_column(tmp_path, left, text, message):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        read_pairs(path, left)
    assert str(path) in str(caught.value)


def test_ids_that_another_column_has_are_found_there(tmp_path):
    table = "x,sku,title\n1,s1,red\n2,s2,green\n3,s3,s1\n"
    records = read_records(written(tmp_path, table, "left.csv"))
    path = written(tmp_path, "left,right,similar\ns1,s2,1\n")
    with pytest.raises(ValueError, match="Its column 'sku' has 's1': add --id 'sku'") as caught:
        read_pairs(path, records)
    assert str(caught.value).endswith(".")
    path = written(tmp_path, "left,right,similar\ns9,s2,1\n")
    with pytest.raises(ValueError, match=r"go from '0' to '2'\.$"):
        read_pairs(path, records)


def test_triplets_name_rows(tmp_path, left):
    path = written(tmp_path, "anchor,positive,negative\na,b,c\nc,b,a\n")
    triplets = read_triplets(path, left)
    assert triplets.anchor.tolist() == [0, 2]
    assert (triplets.positive.tolist(), triplets.negative.tolist()) == ([1, 1], [2, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("anchor,positive,negative\na,b,a\n", r"1 triplet\(s\) .* twice, first at line 2"),
        ("anchor,positive,negative\na,b,z\n", r"'negative' .* first 'z' at line 2"),
        ("anchor,positiv,negative\na,b,c\n", r"Did you mean 'positiv'\?"),
    ],
)
def test_a_wrong_triplet_is_refused_with_the_place(tmp_path, left, text, message):
    with pytest.raises(ValueError, match=message):
        read_triplets(written(tmp_path, text), left)


TABLE = "sku,title,stars\ns1,red,1\ns2,blue,2\ns3,green,3\n"


def test_ids_are_in_the_column_that_the_pairs_name(tmp_path):
    left = written(tmp_path, TABLE, "left.csv")
    right = written(tmp_path, TABLE.replace("s1", "t1"), "right.csv")
    pairs = written(tmp_path, "left,right,similar\ns1,t1,1\n", "pairs.csv")
    one, two = read_tables(left, right, pairs=pairs)
    assert (one.id_column, two.id_column) == ("sku", "sku")
    assert two.ids.tolist() == ["t1", "s2", "s3"]
    assert one.column_names == ("title", "stars")
    assert one.notes == (f"The ids of {left} are those in its column 'sku', which {pairs} names.",)


@pytest.mark.parametrize(
    ("table", "pairs", "given"),
    [
        (TABLE, None, {}),
        (TABLE, "0,2,1", {}),  # row numbers
        (TABLE.replace("s1", "0"), "0,2,1", {}),
        (TABLE, "s1,s2,1", {"features": ("sku",)}),
        (TABLE, "s1,s2,1", {"id_column": "title"}),
        (TABLE.replace("s3", "s2"), "s1,s2,1", {}),
        (TABLE.replace("title", "id"), "s1,s2,1", {}),
    ],
)
def test_ids_stay_where_they_are_if_no_other_column_must_have_them(tmp_path, table, pairs, given):
    path = written(tmp_path, table, "left.csv")
    if pairs is not None:
        pairs = written(tmp_path, f"left,right,similar\n{pairs}\n", "pairs.csv")
    records, none = read_tables(path, pairs=pairs, **given)
    assert none is None
    assert "sku" in records.column_names


def test_a_right_table_without_that_column_leaves_rows_numbered(tmp_path):
    left, right = written(tmp_path, TABLE, "left.csv"), written(tmp_path, "x\n1\n", "right.csv")
    pairs = written(tmp_path, "left,right,similar\ns1,0,1\n", "pairs.csv")
    one, two = read_tables(left, right, pairs=pairs)
    assert one.id_column is two.id_column is None


def test_images_are_called_by_their_paths_whatever_the_pairs_name(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "shown" / name).mkdir(parents=True)
        Image.new("L", (8, 8)).save(tmp_path / "shown" / name / "one.png")
    pairs = written(tmp_path, "left,right,similar\na,b,1\n")
    records, _ = read_tables(tmp_path / "shown", pairs=pairs)
    assert records.ids.tolist() == ["a/one.png", "b/one.png"]
    assert records.id_column is None
