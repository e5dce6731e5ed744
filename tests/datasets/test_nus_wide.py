"""NUS-WIDE's ground truth, from tiny files in its official layout."""

import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from twofold.datasets import load_nus_wide_labels

LABELS = {"sky": "1\n0\n1\n", "animal": "0\n0\n1\n"}


def _write(folder: Path, labels: dict[str, str] = LABELS, part: str = "Train") -> Path:
    place = folder / "nus_wide" / "Groundtruth" / "TrainTestLabels"
    place.mkdir(parents=True, exist_ok=True)
    for concept, text in labels.items():
        (place / f"Labels_{concept}_{part}.txt").write_text(text)
    return folder


def test_concepts_come_in_alphabetical_order(tmp_path: Path) -> None:
    loaded = load_nus_wide_labels("train", _write(tmp_path))
    assert loaded.concepts == ("animal", "sky")
    np.testing.assert_array_equal(loaded.labels, [[0, 1], [0, 0], [1, 1]])
    assert loaded.labels.dtype == np.uint8


def test_parts_are_read_apart(tmp_path: Path) -> None:
    _write(tmp_path)
    _write(tmp_path, {"sky": "1\n", "animal": "1\n"}, part="Test")
    assert load_nus_wide_labels("train", tmp_path).labels.shape == (3, 2)
    assert load_nus_wide_labels("test", tmp_path).labels.shape == (1, 2)


def test_the_archive_is_read_where_nothing_is_unpacked(tmp_path: Path) -> None:
    source = _write(tmp_path / "source")
    (tmp_path / "nus_wide").mkdir()
    with tarfile.open(tmp_path / "nus_wide" / "nus-wide-groundtruth.tar.xz", "w:xz") as archive:
        archive.add(source / "nus_wide", "nus_wide")
    unpacked, packed = (load_nus_wide_labels("train", folder) for folder in (source, tmp_path))
    np.testing.assert_array_equal(unpacked.labels, packed.labels)


def test_a_damaged_archive_is_said(tmp_path: Path) -> None:
    (tmp_path / "nus_wide").mkdir()
    (tmp_path / "nus_wide" / "nus-wide-groundtruth.tar.xz").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"groundtruth\.tar\.xz cannot be read"):
        load_nus_wide_labels("train", tmp_path)


def test_a_file_cut_short_is_named(tmp_path: Path) -> None:
    _write(tmp_path, LABELS | {"sky": "1\n0\n"})
    with pytest.raises(
        ValueError, match=r"Labels_sky_Train\.txt .* has 2 lines where others have 3"
    ):
        load_nus_wide_labels("train", tmp_path)


def test_a_line_that_is_no_label_is_named(tmp_path: Path) -> None:
    _write(tmp_path, LABELS | {"sky": "1\n0\nx\n"})
    with pytest.raises(ValueError, match=r"Labels_sky_Train\.txt .* line 3"):
        load_nus_wide_labels("train", tmp_path)


def test_missing_files_get_a_sentence_that_says_where_they_go(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"put nus-wide-groundtruth\.tar\.xz there"):
        load_nus_wide_labels("train", tmp_path)


def test_a_data_folder_has_to_be_named_and_to_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set TWOFOLD_DATA"):
        load_nus_wide_labels("train")
    monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        load_nus_wide_labels("train")
    monkeypatch.setenv("TWOFOLD_DATA", str(_write(tmp_path)))
    assert load_nus_wide_labels("train").labels.shape == (3, 2)


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("TWOFOLD_DATA"), reason="TWOFOLD_DATA names no data folder")
def test_the_real_ground_truth_has_its_known_shape() -> None:
    labels = load_nus_wide_labels("train").labels
    assert labels.shape == (161_789, 81)
    assert int((labels.sum(axis=1) == 0).sum()) == 36_340
