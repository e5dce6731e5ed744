"""Pairs of records, from tiny files in their layout."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from twofold.datasets import ENTITY_PAIR_SETS, load_entity_pairs, load_entity_tables

VISIO = "COL title VAL visio 2007 COL maker VAL microsoft COL price VAL 129.95 "
VISIO_TOO = "COL title VAL microsoft visio COL maker VAL  COL price VAL 130"
WORD = "COL title VAL word COL maker VAL microsoft COL price VAL "
PARTS = {
    "train": [f"{VISIO}\t{VISIO_TOO}\t1", f"{VISIO}\t{WORD}\t0"],
    "valid": [f"{WORD}\t{VISIO_TOO}\t0"],
    "test": [f"COL title VAL vim\t{WORD}\t0", f"{VISIO_TOO}\t{VISIO}\t1"],
}


def _write(folder: Path, name: str = "dblp-acm", **changed: list[str]) -> Path:
    place = folder / "entity_pairs" / name
    place.mkdir(parents=True)
    for part, lines in (PARTS | changed).items():
        content = "".join(f"{line}\n" for line in lines).encode()
        (place / f"{part}.txt.gz").write_bytes(gzip.compress(content))
    return folder


@pytest.mark.parametrize("name", ENTITY_PAIR_SETS)
def test_every_record_is_there_once_without_the_names_of_its_columns(
    name: str, tmp_path: Path
) -> None:
    loaded = load_entity_pairs(name, _write(tmp_path, name))
    assert loaded.records == (
        "visio 2007 microsoft 129.95",
        "microsoft visio 130",
        "word microsoft",
        "vim",
    )


def test_pairs_of_all_parts_mean_the_same_records(tmp_path: Path) -> None:
    loaded = load_entity_pairs("dblp-acm", _write(tmp_path))
    for part, left, right, similar in (
        (loaded.train, [0, 0], [1, 2], [1, 0]),
        (loaded.valid, [2], [1], [0]),
        (loaded.test, [3, 1], [2, 0], [0, 1]),
    ):
        np.testing.assert_array_equal(part.left, left)
        np.testing.assert_array_equal(part.right, right)
        np.testing.assert_array_equal(part.similar, similar)
        assert (part.left.dtype, part.similar.dtype) == (np.int64, np.uint8)


def test_records_of_equal_text_in_other_columns_are_two(tmp_path: Path) -> None:
    lines = ["COL title VAL a COL maker VAL b\tCOL title VAL a b COL maker VAL \t1"]
    loaded = load_entity_pairs("dblp-acm", _write(tmp_path, train=lines))
    assert loaded.records[:2] == ("a b", "a b")
    assert (loaded.train.left[0], loaded.train.right[0]) == (0, 1)


def test_words_that_only_look_like_markers_stay(tmp_path: Path) -> None:
    lines = ["COL title VAL the COL of PROTOCOL x VAL COL y VAL z\tCOL title VAL b\t0"]
    loaded = load_entity_pairs("dblp-acm", _write(tmp_path, train=lines))
    assert loaded.records[0] == "the COL of PROTOCOL x VAL z"


def test_an_unknown_set_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"one of 'amazon-google', .* got 'walmart-amazon'"):
        load_entity_pairs("walmart-amazon", tmp_path)


def test_a_missing_file_is_named_with_where_it_goes(tmp_path: Path) -> None:
    (_write(tmp_path) / "entity_pairs" / "dblp-acm" / "valid.txt.gz").unlink()
    with pytest.raises(
        FileNotFoundError,
        match=r"valid\.txt\.gz is not there: put train\.txt\.gz, .* into .*entity_pairs.dblp-acm",
    ):
        load_entity_pairs("dblp-acm", tmp_path)


@pytest.mark.parametrize(("line", "n_fields"), [("COL a VAL b\t1", 2), ("", 1), ("a\tb\tc\t1", 4)])
def test_a_line_that_has_not_three_fields_is_named(
    line: str, n_fields: int, tmp_path: Path
) -> None:
    folder = _write(tmp_path, valid=[*PARTS["valid"], line])
    with pytest.raises(ValueError, match=rf"valid\.txt\.gz, line 2: .* this one has {n_fields}"):
        load_entity_pairs("dblp-acm", folder)


@pytest.mark.parametrize("label", ["2", "yes", "", "1.0"])
def test_a_label_that_is_neither_0_nor_1_is_named(label: str, tmp_path: Path) -> None:
    folder = _write(tmp_path, train=[f"{VISIO}\t{WORD}\t{label}"])
    with pytest.raises(ValueError, match=rf"train\.txt\.gz, line 1: .* 1 \(alike\), got '{label}'"):
        load_entity_pairs("dblp-acm", folder)


@pytest.mark.parametrize("damage", ["cut", "no gzip", "a byte", "no text"])
def test_a_damaged_file_is_named(damage: str, tmp_path: Path) -> None:
    path = _write(tmp_path) / "entity_pairs" / "dblp-acm" / "test.txt.gz"
    whole = path.read_bytes()
    path.write_bytes(
        {
            "cut": whole[:-12],
            "no gzip": b"COL a VAL b\tCOL a VAL c\t1\n",
            "a byte": whole[:20] + bytes([whole[20] ^ 255]) + whole[21:],
            "no text": gzip.compress(b"\xff\xfe\t\xff\t1\n"),
        }[damage]
    )
    with pytest.raises(ValueError, match=r"test\.txt\.gz cannot be read .*: get it again"):
        load_entity_pairs("dblp-acm", tmp_path)


def test_two_tables_keep_the_columns_and_know_what_is_missing(tmp_path: Path) -> None:
    loaded = load_entity_tables("dblp-acm", _write(tmp_path))
    assert loaded.left.to_pydict() == {
        "title": ["visio 2007", "word", "vim", "microsoft visio"],
        "maker": ["microsoft", "microsoft", None, None],
        "price": ["129.95", None, None, "130"],
    }
    assert loaded.right.to_pydict()["title"] == ["microsoft visio", "word", "visio 2007"]


def test_pairs_of_two_tables_number_the_rows_of_each(tmp_path: Path) -> None:
    loaded = load_entity_tables("dblp-acm", _write(tmp_path))
    for part, left, right, similar in (
        (loaded.train, [0, 0], [0, 1], [1, 0]),
        (loaded.valid, [1], [0], [0]),
        (loaded.test, [2, 3], [1, 2], [0, 1]),
    ):
        np.testing.assert_array_equal(part.left, left)
        np.testing.assert_array_equal(part.right, right)
        np.testing.assert_array_equal(part.similar, similar)
