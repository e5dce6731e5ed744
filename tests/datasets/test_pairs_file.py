"""A user's own pairs: what is read, and what is said of a file that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from twofold.datasets import load_pairs


def text_file(folder: Path, text: str, name: str = "pairs.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def parquet_file(folder: Path, **columns: object) -> Path:
    path = folder / "pairs.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


# What is read


def test_row_numbers_from_0_on_are_taken_as_they_are(tmp_path):
    pairs = load_pairs(text_file(tmp_path, "left,right,similar\n2,0,1\n1,2,0\n"))
    assert pairs.left.tolist() == [2, 1]
    assert pairs.right.tolist() == [0, 2]
    assert pairs.similar.tolist() == [1, 0]
    assert pairs.keys.tolist() == [0, 1, 2]
    assert pairs.weight is None
    assert pairs.n_items == 3
    assert pairs.left.dtype == pairs.right.dtype == np.int64
    assert pairs.similar.dtype == np.float32


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ann,bob,1\nbob,eve,0\n", ["ann", "bob", "eve"]),
        ("7,9,1\n9,12,0\n", [7, 9, 12]),
        ("007,9,1\n9,7,0\n", ["007", "9", "7"]),
        ("-1,0,1\n0,1,0\n", ["-1", "0", "1"]),
        ("a,1,1\n1,b,0\n", ["a", "1", "b"]),
    ],
)
def test_other_ids_are_numbered_as_they_first_appear(tmp_path, text, keys):
    pairs = load_pairs(text_file(tmp_path, "left,right,similar\n" + text))
    assert pairs.keys.tolist() == keys
    assert pairs.left.tolist() == [0, 1]
    assert pairs.right.tolist() == [1, 2]


def test_ids_are_looked_up_among_the_feature_table_s_keys(tmp_path):
    path = text_file(tmp_path, "left,right,similar\nbob,ann,1\neve,bob,0\n")
    pairs = load_pairs(path, keys=["ann", "zoe", "eve", "bob"])
    assert pairs.left.tolist() == [3, 2]
    assert pairs.right.tolist() == [0, 3]
    assert pairs.n_items == 4
    assert pairs.keys.tolist() == ["ann", "zoe", "eve", "bob"]


@pytest.mark.parametrize("keys", [[10, 20, 30], ["10", "20", "30"]])
def test_numbers_and_their_text_are_the_same_key(tmp_path, keys):
    path = text_file(tmp_path, "left,right,similar\n30,10,1\n")
    assert load_pairs(path, keys=keys).left.tolist() == [2]
    path = parquet_file(tmp_path, left=[30], right=[10], similar=[1])
    assert load_pairs(path, keys=keys).right.tolist() == [0]


def test_parquet_text_csv_and_tsv_say_the_same(tmp_path):
    rows = [("a", "b", 1.0, 2.0), ("b", "c", 0.25, 1.0)]
    lines = ["left,right,similar,weight", *(",".join(map(str, row)) for row in rows)]
    comma = text_file(tmp_path, "\n".join(lines) + "\n")
    tabs = text_file(tmp_path, "\n".join(lines).replace(",", "\t"), "pairs.tsv")
    names = ("left", "right", "similar", "weight")
    stored = parquet_file(
        tmp_path, **{name: [row[k] for row in rows] for k, name in enumerate(names)}
    )
    for path in (comma, tabs, stored):
        pairs = load_pairs(path)
        assert pairs.keys.tolist() == ["a", "b", "c"]
        assert pairs.similar.tolist() == [1.0, 0.25]
        assert pairs.weight is not None
        assert pairs.weight.tolist() == [2.0, 1.0]


def test_columns_stand_in_any_order_and_others_are_left_alone(tmp_path):
    pairs = load_pairs(text_file(tmp_path, "note,similar,right,left\nx,1,1,0\n"))
    assert (pairs.left.tolist(), pairs.right.tolist()) == ([0], [1])


@pytest.mark.parametrize("values", ["true\nfalse", "True\nFalse", "1.0\n0.0"])
def test_similar_may_be_written_as_true_and_false(tmp_path, values):
    one, two = values.split("\n")
    pairs = load_pairs(text_file(tmp_path, f"left,right,similar\n0,1,{one}\n1,2,{two}\n"))
    assert pairs.similar.tolist() == [1, 0]


def test_booleans_and_categories_of_parquet_are_read(tmp_path):
    ids = pa.array(["a", "b", "a"]).dictionary_encode()
    others = pa.array(["x", "y", "y"]).cast(pa.large_string())
    path = parquet_file(tmp_path, left=ids, right=others, similar=[True, False, True])
    pairs = load_pairs(path)
    assert pairs.keys.tolist() == ["a", "b", "x", "y"]
    assert pairs.left.tolist() == [0, 1, 0]
    assert pairs.similar.tolist() == [1, 0, 1]


def test_a_byte_order_mark_and_empty_lines_are_passed_over(tmp_path):
    path = text_file(tmp_path, "\ufeffleft,right,similar\n\n0,1,1\n\n\n")
    assert load_pairs(path).left.tolist() == [0]


def test_a_grade_far_down_a_long_file_is_read(tmp_path):
    lines = [f"{i},{i + 1},1" for i in range(120_000)]
    path = text_file(tmp_path, "\n".join(["left,right,similar", *lines, "0,120000,0.5"]))
    assert path.stat().st_size > 1.5 * 2**20
    assert load_pairs(path).similar[-1] == 0.5


# What is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("left,right\n0,1\n", r"no column 'similar': its columns are left, right\. Rename"),
        ("left,right,similar\n0,1,1\n1,2,2\n", r"first at line 3 \(2\)"),
        ("left,right,similar\n0,1,-1\n", r"at line 2 \(-1\)\. For 1 and -1 write 1 and 0"),
        ("left,right,similar\n\n0,1,1\n\n1,2,7\n", r"first at line 5 \(7\)"),
        ("left,right,similar\n0,1,yep\n1,2,0\n", r"'similar' .* numbers, .* line 2 \('yep'\)"),
        ("left,right,similar\n0,1,1\n1,2,maybe\n", r"line 3 \('maybe'\)"),
        ("left,right,similar\n0,1,1\n1,2,\n", r"1 are missing or not finite, first at line 3"),
        ("left,right,similar\n0,1,\n1,2,\n", r"2 are missing or not finite, first at line 2"),
        ("left,right,similar\n0,1,1\n,2,0\n", r"'left' .* empty at 1 place\(s\), first at line 3"),
        ("left,right,similar\n0,1,1\nb,b,0\n", r"1 pair\(s\) .* first at line 3 \(b\)\. Drop"),
        ("left,right,similar,weight\n0,1,1,-3\n", r"'weight' .* not negative and .* line 2 \(-3\)"),
        ("left,right,similar\n", r"has a heading but no row"),
        ("left,right,similar\n0,1\n", r"has 2 field\(s\) at line 2, and 3 in its heading: fix"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_the_place(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_pairs(text_file(tmp_path, text))
    assert "pairs.csv" in str(caught.value)


def test_an_unknown_key_is_named_with_its_line(tmp_path):
    path = text_file(tmp_path, "left,right,similar\nann,bob,1\nbob,eva,0\nzoe,eva,0\n")
    with pytest.raises(
        ValueError,
        match=r"2 id\(s\) in the column 'right' .* first 'eva' at line 3; .* 3 rows .* to 'zoe'",
    ):
        load_pairs(path, keys=["ann", "bob", "zoe"])


def test_a_row_number_beyond_the_feature_table_is_named(tmp_path):
    path = text_file(tmp_path, "left,right,similar\n0,9,1\n")
    with pytest.raises(ValueError, match="first 9 at line 2; the ids of its 3 rows go from 0 to 2"):
        load_pairs(path, keys=np.arange(3))


def test_places_in_parquet_are_rows_from_0(tmp_path):
    path = parquet_file(tmp_path, left=[0, 1], right=[1, 2], similar=[1.0, 3.0])
    with pytest.raises(ValueError, match=r"first at row 1 \(3\)"):
        load_pairs(path)


def test_missing_values_of_parquet_are_named(tmp_path):
    path = parquet_file(tmp_path, left=[0, None], right=[1, 2], similar=[1.0, 0.0])
    with pytest.raises(ValueError, match=r"'left' .* empty at 1 place.* first at row 1"):
        load_pairs(path)


def test_ids_that_are_no_ids_are_refused(tmp_path):
    path = parquet_file(tmp_path, left=[0.5, 1.0], right=[1, 2], similar=[1.0, 0.0])
    with pytest.raises(ValueError, match=r"'left' .*whole numbers or text\), got double"):
        load_pairs(path)


def test_a_damaged_parquet_file_is_said_to_be(tmp_path):
    path = parquet_file(tmp_path, left=[0], right=[1], similar=[1])
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"pairs\.parquet cannot be read \(.*\): fix it"):
        load_pairs(path)


def test_a_missing_an_empty_and_an_unknown_file_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv does not exist"):
        load_pairs(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match=r"pairs\.csv is empty"):
        load_pairs(text_file(tmp_path, ""))
    with pytest.raises(ValueError, match=r"ends in '.xlsx': it must be one of .csv, .tsv, .parq"):
        load_pairs(text_file(tmp_path, "x", "pairs.xlsx"))
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load_pairs(tmp_path)
