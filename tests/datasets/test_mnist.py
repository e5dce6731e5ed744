"""MNIST, from tiny files in its official layout."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from twofold.datasets import load_mnist

IMAGES = np.arange(3 * 2 * 4, dtype=np.uint8).reshape(3, 2, 4) + 200
LABELS = np.array([7, 0, 9], dtype=np.uint8)
IMAGES_NAME, LABELS_NAME = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


def _idx(values: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return header + values.tobytes()


def _write(
    folder: Path, images: bytes | None = None, labels: bytes | None = None, part: str = "train"
) -> Path:
    """Write both files of a part, not packed; given bytes stand in place of the right ones."""
    place = folder / "mnist"
    place.mkdir(exist_ok=True)
    prefix = {"train": "train", "test": "t10k"}[part]
    (place / f"{prefix}-images-idx3-ubyte").write_bytes(_idx(IMAGES) if images is None else images)
    (place / f"{prefix}-labels-idx1-ubyte").write_bytes(_idx(LABELS) if labels is None else labels)
    return folder


def _pack(folder: Path) -> Path:
    for path in (folder / "mnist").iterdir():
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    return folder


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_images_and_classes_are_read_packed_or_not(
    tmp_path: Path, part: str, is_packed: bool
) -> None:
    _write(tmp_path, part=part)
    loaded = load_mnist(part, _pack(tmp_path) if is_packed else tmp_path)
    np.testing.assert_array_equal(loaded.images, IMAGES[:, None])
    np.testing.assert_array_equal(loaded.classes, [7, 0, 9])
    assert (loaded.images.dtype, loaded.classes.dtype) == (np.uint8, np.int64)
    assert loaded.class_names == ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")


def test_parts_are_read_apart_and_the_first_is_train(tmp_path: Path) -> None:
    _write(tmp_path)
    _write(tmp_path, _idx(IMAGES[:1]), _idx(LABELS[:1]), part="test")
    assert load_mnist(data_dir=tmp_path).images.shape == (3, 1, 2, 4)
    assert load_mnist("test", tmp_path).images.shape == (1, 1, 2, 4)


def test_arrays_can_be_written_to(tmp_path: Path) -> None:
    loaded = load_mnist("train", _write(tmp_path))
    assert loaded.images.flags.writeable  # torch warns of arrays that cannot
    assert loaded.classes.flags.writeable


def test_the_data_folder_may_come_from_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWOFOLD_DATA", str(_write(tmp_path)))
    assert len(load_mnist().images) == 3


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="part must be one of 'train', 'test', got 'valid'"):
        load_mnist("valid", tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [IMAGES_NAME, LABELS_NAME])
def test_a_missing_file_is_named_with_its_place(tmp_path: Path, name: str) -> None:
    (_write(tmp_path) / "mnist" / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"put {name}\.gz into .*mnist, or unpacked as"):
        load_mnist("train", tmp_path)


def test_a_folder_without_mnist_says_what_goes_there(tmp_path: Path) -> None:
    sentence = (
        r"put t10k-images-idx3-ubyte\.gz into .*mnist, .*twofold reproduce mnist --download, .*"
        rf"twofold\.datasets\.download\(\"mnist\", \"{tmp_path}\"\)\.$"
    )
    with pytest.raises(FileNotFoundError, match=sentence):
        load_mnist("test", tmp_path)


@pytest.mark.parametrize("n_bytes", [0, 5, 40])
def test_a_truncated_archive_is_damaged(tmp_path: Path, n_bytes: int) -> None:
    path = _pack(_write(tmp_path)) / "mnist" / f"{IMAGES_NAME}.gz"
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(ValueError, match=rf"{IMAGES_NAME}\.gz (cannot be read|is not an idx file)"):
        load_mnist("train", tmp_path)


@pytest.mark.parametrize("place", [12, -8])  # in the packed values; in the checksum
def test_a_damaged_archive_cannot_be_read(tmp_path: Path, place: int) -> None:
    path = _pack(_write(tmp_path)) / "mnist" / f"{LABELS_NAME}.gz"
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{LABELS_NAME}\.gz cannot be read \(.*\): get it again"):
        load_mnist("train", tmp_path)


@pytest.mark.parametrize("n_lost", [1, 23])
def test_a_file_cut_short_is_damaged(tmp_path: Path, n_lost: int) -> None:
    _write(tmp_path, images=_idx(IMAGES)[:-n_lost])
    sentence = rf"{IMAGES_NAME} is damaged, it declares 3 × 2 × 4 bytes but holds {24 - n_lost}:"
    with pytest.raises(ValueError, match=sentence):
        load_mnist("train", tmp_path)


def test_a_file_that_goes_on_is_damaged(tmp_path: Path) -> None:
    _write(tmp_path, labels=_idx(LABELS) + b"\0")
    with pytest.raises(ValueError, match=rf"{LABELS_NAME} is damaged, it declares 3 .* holds 4:"):
        load_mnist("train", tmp_path)


def test_a_header_that_announces_more_than_memory_is_damaged(tmp_path: Path) -> None:
    # The product of these is 0 in 32 and in 64 bits.
    _write(tmp_path, images=struct.pack(">HBB3I", 0, 8, 3, 2**31, 2**31, 2**2))
    with pytest.raises(ValueError, match=r"is damaged, it declares 2147483648 × .* holds 0:"):
        load_mnist("train", tmp_path)


@pytest.mark.parametrize(
    ("content", "begins"),
    [
        (b"", "0x:"),
        (b"\0\0\x08\x03\0\0", "0x00000803"),
        (b"<!DOCTYPE html> a page, and no file of images", "0x3c21444f"),
        (_idx(np.zeros(20, np.uint8)), "0x00000801"),  # labels where images should be
        (struct.pack(">HBB3I", 0, 0x0D, 3, 1, 1, 1) + b"\0" * 4, "0x00000d03"),  # floats
        (gzip.compress(_idx(IMAGES)), "0x1f8b"),  # packed, but named as unpacked
    ],
)
def test_a_foreign_file_is_told_by_its_beginning(
    tmp_path: Path, content: bytes, begins: str
) -> None:
    _write(tmp_path, images=content)
    sentence = rf"{IMAGES_NAME} is not an idx file of bytes in 3 dimension.* begins with {begins}"
    with pytest.raises(ValueError, match=sentence):
        load_mnist("train", tmp_path)


def test_images_and_labels_of_different_number_are_refused(tmp_path: Path) -> None:
    _write(tmp_path, labels=_idx(LABELS[:2]))
    with pytest.raises(ValueError, match=rf"3 images but {LABELS_NAME} beside it 2 labels"):
        load_mnist("train", tmp_path)


def test_a_label_that_is_no_digit_is_refused_with_its_place(tmp_path: Path) -> None:
    _write(tmp_path, labels=_idx(np.array([1, 10, 255], dtype=np.uint8)))
    with pytest.raises(ValueError, match=r"holds 2 label\(s\) .* first at item 1 \(10\)"):
        load_mnist("train", tmp_path)


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("TWOFOLD_DATA"), reason="TWOFOLD_DATA names no data folder")
def test_the_real_set_has_its_known_counts() -> None:
    train, test = load_mnist("train"), load_mnist("test")
    assert train.images.shape == (60_000, 1, 28, 28)
    assert test.images.shape == (10_000, 1, 28, 28)
    assert np.bincount(train.classes).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert np.bincount(test.classes).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert train.images.mean() == pytest.approx(33.318, abs=1e-3)
    assert test.classes[:5].tolist() == [7, 2, 1, 0, 4]
