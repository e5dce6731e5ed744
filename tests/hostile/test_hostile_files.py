"""Files that strangers send: each ends in one sentence with its name, and never in a crash."""

from __future__ import annotations

import json
import struct
from decimal import Decimal

import hostile_files as make
import numpy as np
import pyarrow as pa
import pytest

from twofold._core import limits
from twofold.datasets import load_entity_pairs, load_mnist, load_multilabel, load_pairs, load_table
from twofold.experiments import read_record

HEAD = "left,right,similar\n"
DEEP = "[" * 100_000 + "]" * 100_000
OBJECTS = np.array([["a", None]], dtype=object)


def sentence_of(read, path, match: str) -> None:
    """Have a file refused; the sentence is one line, ends as one, and names the file."""
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        read(path)
    said = str(caught.value)
    assert path.name in said
    assert "\n" not in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("name", "write", "sentence"),
    [
        # Sparse matrices whose indices are not the matrix's own.
        ("x.npz", make.matrix(indices=np.array([0, 2, 99, 0])), r"outside 0 \.\. 2, .* 2 \(99\)"),
        ("x.npz", make.matrix(indices=np.array([0, 2, -7, 0])), r"outside 0 \.\. 2, .* 2 \(-7\)"),
        ("x.npz", make.matrix(indptr=np.array([0, 2, 1, 4])), r"rise from 0, first wrong at row 1"),
        ("x.npz", make.matrix(indptr=np.array([1, 2, 3, 4])), r"indptr must rise from 0"),
        ("x.npz", make.matrix(indptr=np.array([0, 2, 3, 400])), r"ends at 400, .* 4 indices"),
        ("x.npz", make.matrix(indptr=np.array([0, 2, 4])), r"indptr must be 4 integers"),
        ("x.npz", make.matrix(indptr=np.array([0, 2, 3, 4.0])), r"4 integers, got float64"),
        ("x.npz", make.matrix(indices=np.array([0.0, 2, 1, 0])), r"integers, got float64"),
        ("x.npz", make.matrix(data=np.ones(3)), r"3 values for 4 indices"),
        ("x.npz", make.matrix(shape=np.array([3, 2])), r"outside 0 \.\. 1, .* \(2\)"),
        ("x.npz", make.matrix(shape=np.array([3, 2**40])), r"1,099,511,627,776 columns, and .* most"),
        ("x.npz", make.matrix(shape=np.array([2**50, 3])), r"rows take .* GB, and this computer"),
        ("x.npz", make.matrix(shape=np.array([-3, 3])), r"its shape is \(.*-3"),
        ("x.npz", make.matrix(format=np.array(b"xyz")), r"its format is 'xyz'"),
        ("x.npz", make.matrix(data=np.full(4, np.nan)), r"finite numbers; 4 are not, first in row 0"),
        ("x.npz", make.matrix(data=np.ones(4) * 1j), r"real numbers, got complex128"),
        (
            "x.npz",
            make.matrix(format=np.array(b"coo"), row=np.array([0, 1, 2, 9]), col=np.zeros(4, int)),
            r"1 of its row indices are outside 0 \.\. 2, first entry 3 \(9\)",
        ),
        # NumPy's headers.
        ("x.npy", make.text(make.header("(1000000000, 1000)")), r"8,000,000,000,000 bytes, but has 0"),
        ("x.npy", make.text(make.header("(-1, 2)")), r"declares the shape \(-1, 2\)"),
        ("x.npy", make.text(make.header("(2,", data=bytes(16))), r"cannot be read \("),
        ("x.npy", make.text(make.header("(2, 2)", "[('a', '<f8')]", bytes(32))), "plain numbers and"),
        ("x.npy", make.text(make.header("(2, 2)", "'|V0'")), "plain numbers and text are read"),
        ("x.npy", make.text(make.header("(2, 2)", "'<c16'", bytes(64))), "hold numbers, got complex"),
        ("x.npy", make.text(b"\x93NUMPY\x09\x00" + bytes(100)), r"version 9\.0 of NumPy's format"),
        ("x.npy", make.text(b"not an array"), r"cannot be read \(the magic string"),
        ("x.npy", make.array(OBJECTS), "pickled objects, which are never loaded"),
        ("x.npy", make.array(np.ones((2, 2)) * 1e300), r"up to 3\.4e\+38, .* row 0 \(1e\+300\)"),
        ("x.npy", make.array(np.ones((2, 2)) * 1e-300), r"Column 0 of .* becomes 0 in float32"),
        ("x.npz", make.text(b"PK\x03\x04 and then nothing"), "not a zip file"),
        ("x.npz", make.zipped(a=make.header("(2, 2)", data=bytes(8))), r"32 bytes, but has 8"),
        ("x.npz", make.zipped(a=bytes(2**29)), r"compressed by a factor of 1,0\d\d: .* 268,435,456 is the limit"),
        # Spreadsheets.
        ("x.csv", make.text("id,x,x\na,1,2\n"), r"2 columns with the name 'x': rename or drop"),
        ("x.csv", make.text("id,x , x\na,1,2\n"), r"2 columns with the name 'x'"),
        ("x.csv", make.text("id,x\na,1\nb,1e39\n"), r"'x' .* 1 are beyond float32's, first at line 3"),
        ("x.csv", make.text("id,x\na,1e-320\nb,0\n"), r"'x' of .* becomes 0 in float32"),
        ("x.csv", make.text("id,x\na,1\n a ,2\n"), r"different in every row; first repeated at line 3 \('a'\)"),
        ("x.csv", make.text("id,x\na,1\ncaf\xe9\0,2\n".encode("latin-1")), r"UTF-8, first at line 3 \(b"),
        ("x.csv", make.text("id,x\na,1\n".encode("utf-16")), r"not UTF-8, first at line 1 \(byte 0xff"),
        ("x.csv", make.text("x," * 70_000 + "y\n"), r"70,001 columns, and 65,536 is the limit"),
        ("x.parquet", make.columns(id=["a"], x=[b"1"]), r"'x' .* must contain numbers.* row 0"),
        ("x.parquet", make.columns(x=[1.0], y=[[1.0]]), r"'y' .* must contain numbers"),
        ("x.parquet", make.text(b"PAR1 nothing at all PAR1"), r"cannot be read \("),
    ],
)  # fmt: skip
def test_a_table_of_features_is_refused(tmp_path, name, write, sentence):
    write(tmp_path / name)
    sentence_of(load_table, tmp_path / name, sentence)


@pytest.mark.parametrize(
    ("name", "write", "sentence"),
    [
        ("p.csv", make.text("left,left,similar\na,b,1\n"), r"2 columns with the name 'left'"),
        ("p.csv", make.text(HEAD + "a,b,1\nc\xe9,d,0\n".encode("latin-1").decode("latin-1")), ""),
        ("p.csv", make.text((HEAD + "a,b,1\nc\xe9,d,0\n").encode("latin-1")), ""),
        ("p.csv", make.text((HEAD + "a,b,1\nc\xe9\x01,d,0\n").encode("latin-1")), r"line 3 \(byte 0xe9\)"),
        ("p.csv", make.text(HEAD + "a,b,1\nc,d\n"), r"2 field\(s\) at line 3, and 3 in its heading"),
        ("p.csv", make.text(HEAD + "a,b,1\n a,b,2\n"), r"from 0 \(not alike\) to 1 .* line 3 \(2\)"),
        ("p.csv", make.text(HEAD + "a, a,1\n"), r"join an item to itself, first at line 2 \(a\)"),
        ("p.csv", make.text(HEAD + "a,  ,1\n"), r"'right' .* is empty at 1 place\(s\), .* line 2"),
        ("p.csv", make.text(HEAD + "a,b,1e999\n"), r"missing or not finite, first at line 2"),
        ("p.csv", make.text(HEAD.strip() + ",weight\na,b,1,1e38\n"), r"at most 1e\+30; .* line 2"),
        ("p.csv", make.text(HEAD + '"a,b,1\n'), r"."),
        ("p.csv", make.text(HEAD + "a," + "b" * 200_000 + ",2\n"), r"first at (line|row)"),
        (
            "p.parquet",
            make.columns(left=[Decimal(1)], right=[Decimal(2)], similar=[1]),
            r"must contain row numbers or keys \(whole numbers or text\), got decimal128",
        ),
        ("p.parquet", make.columns(left=[1.5], right=[2.5], similar=[1]), r"or text\), got double"),
        ("p.parquet", make.columns(left=[None], right=["a"], similar=[1]), r"'left' of .* got null"),
        ("p.parquet", make.columns(left=["a"], right=["b"], similar=["x"]), r"numbers, .* \('x'\)"),
    ],
)  # fmt: skip
def test_a_file_of_pairs_is_refused(tmp_path, name, write, sentence):
    write(tmp_path / name)
    if not sentence:  # the same letters in UTF-8 or Latin-1 are fine
        assert load_pairs(tmp_path / name).keys.tolist() == ["a", "cé", "b", "d"]
        return
    sentence_of(load_pairs, tmp_path / name, sentence)


@pytest.mark.parametrize(
    ("name", "write", "keys"),
    [
        ("p.csv", make.text("left, right, similar\na, b, 1\nb, a, 1\nc, d, 0\n"), ["a", "b", "c", "d"]),
        ("p.csv", make.text(" left ,right,similar \n a ,b,1\nc,\ta,0\n"), ["a", "c", "b"]),
        ("p.csv", make.text("\ufeffleft,right,similar\na,b,1\n"), ["a", "b"]),
        ("p.csv", make.text("left,right,similar\r\na,b,1\r\n\r\nb,c,0\r\n"), ["a", "b", "c"]),
        (
            "p.parquet",
            make.columns(
                left=pa.array([2**63, 1], pa.uint64()),
                right=pa.array([2**64 - 1, 2**63], pa.uint64()),
                similar=[1, 0],
            ),
            ["9223372036854775808", "1", "18446744073709551615"],
        ),
        (
            "p.parquet",
            make.columns(
                left=pa.array([0, 1], pa.uint8()),
                right=pa.array([1, 2], pa.uint64()),
                similar=[Decimal("0.5"), Decimal(1)],
            ),
            [0, 1, 2],
        ),
    ],
)  # fmt: skip
def test_spaces_unsigned_ids_and_decimals_are_read(tmp_path, name, write, keys):
    write(tmp_path / name)
    assert load_pairs(tmp_path / name).keys.tolist() == keys


def test_a_folder_that_is_called_like_a_value_adds_no_column(tmp_path):
    folder = tmp_path / "x=3"
    folder.mkdir()
    make.columns(y=[1.0, 2.0])(folder / "x.parquet")
    assert load_table(folder / "x.parquet").features.tolist() == [[1], [2]]


def test_parquet_of_a_few_bytes_and_very_many_rows_is_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    make.columns(x=np.zeros(100_000))(path)
    monkeypatch.setattr(limits, "SMALLEST_LIMIT", 1000)
    sentence_of(
        load_table, path, r"compressed by a factor of .*: 800,000 bytes in .* Write it as CSV"
    )


# Sets


@pytest.mark.parametrize(
    ("announced", "sentence"),
    [
        (
            (60_000, 1000, 1000),
            r"compressed by a factor of .*: 60,000,000,000 bytes in .* official file",
        ),
        ((2, 1, 1), r"declares 2 × 1 × 1 bytes but holds 1048578 or more"),
    ],
)
def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path, announced, sentence):
    folder = tmp_path / "mnist"
    folder.mkdir()
    packed = make.gzip.compress(struct.pack(">HBB3I", 0, 8, 3, *announced) + bytes(2**24), 9)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(packed)
    (folder / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">HBBI", 0, 8, 1, 0))
    with pytest.raises(ValueError, match=sentence):
        load_mnist("test", tmp_path)


def test_a_bomb_of_lines_is_refused_at_its_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "SMALLEST_LIMIT", 2**20)
    folder = tmp_path / "entity_pairs" / "dblp-acm"
    folder.mkdir(parents=True)
    (folder / "train.txt.gz").write_bytes(make.bomb(2**23))
    for part in ("valid", "test"):
        (folder / f"{part}.txt.gz").write_bytes(make.gzip.compress(b""))
    with pytest.raises(ValueError, match=r"train.txt.gz is compressed .* 1,048,576 is the limit"):
        load_entity_pairs("dblp-acm", tmp_path)


def test_indices_of_a_multilabel_set_are_not_trusted(tmp_path):
    folder = tmp_path / "multilabel"
    folder.mkdir()
    stored = {
        "X_data": np.ones(2),
        "X_indices": np.array([0, 2**30]),
        "X_indptr": np.array([0, 1, 2]),
        "X_shape": np.array([2, 3]),
        "Y_packed": np.zeros((2, 1), np.uint8),
        "n_labels": np.array(3),
        "n_train": np.array(1),
        "label_names": np.array(list("abc")),
    }
    np.savez(folder / "scene.npz", **stored)
    with pytest.raises(ValueError, match=r"scene.npz .* outside 0 \.\. 2, first entry 1"):
        load_multilabel("scene", tmp_path)


# JSON


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (DEEP, r"cannot be read \(nested too deeply\): remove it"),
        ('{"format": "twofold-run", "seconds": NaN}', "it holds NaN, which is not a number"),
        ('{"format": "twofold-run", "seconds": 1e999}', "it holds 1e999, which is not a finite number"),
        ('{"format": "twofold-run", "seconds": -Infinity}', "it holds -Infinity"),
        ("[1, 2]", "is not a run record"),
        ("null", "is not a run record"),
        (b"\xff\xfe{}", r"is not UTF-8, first at line 1"),
        ('{"a": 1', r"cannot be read \(Expecting"),
        (json.dumps({"format": "twofold-run", "format_version": 10**30}), "newer than"),
    ],
    ids=lambda content: str(content)[:24],
)  # fmt: skip
def test_a_record_is_refused(tmp_path, content, sentence):
    path = tmp_path / "a-seed0.json"
    make.text(content)(path)
    sentence_of(read_record, path, sentence)
