"""CIFAR-10, from tiny batches in the official binary layout, unpacked and in its archive."""

import os
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from twofold.datasets import load_cifar10

N_EACH = 2
NAMES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
rng = np.random.default_rng(0)
IMAGES = rng.integers(0, 256, (6, N_EACH, 3, 32, 32), dtype=np.uint8)
LABELS = rng.integers(0, 10, (6, N_EACH))


def _batch(images: np.ndarray, labels: np.ndarray) -> bytes:
    return np.column_stack([labels.astype(np.uint8), images.reshape(len(images), -1)]).tobytes()


def _write(parent: Path) -> Path:
    """Write all six batches in the official folder below `parent`; return the folder."""
    folder = parent / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for name, images, labels in zip(NAMES, IMAGES, LABELS, strict=True):
        (folder / name).write_bytes(_batch(images, labels))
    return folder


def _pack(folder: Path) -> Path:
    """Replace the folder by its official archive; return the archive."""
    path = folder.parent / "cifar-10-binary.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        # Not in order, as an archive may be.
        for file in sorted(folder.iterdir(), reverse=True):
            archive.add(file, f"{folder.name}/{file.name}")
    shutil.rmtree(folder)
    return path


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("inside", ["", "cifar10"])
def test_folder_and_archive_give_the_same(tmp_path: Path, inside: str, is_packed: bool) -> None:
    folder = _write(tmp_path / inside)
    if is_packed:
        _pack(folder)
    train, test = load_cifar10("train", tmp_path), load_cifar10("test", tmp_path)
    np.testing.assert_array_equal(train.images, IMAGES[:5].reshape(-1, 3, 32, 32))
    np.testing.assert_array_equal(train.classes, LABELS[:5].ravel())
    np.testing.assert_array_equal(test.images, IMAGES[5])
    np.testing.assert_array_equal(test.classes, LABELS[5])
    assert (train.images.dtype, train.classes.dtype) == (np.uint8, np.int64)
    assert train.images.flags.writeable
    assert test.images.flags.writeable


def test_batches_may_lie_in_cifar10_itself(tmp_path: Path) -> None:
    _write(tmp_path).rename(tmp_path / "cifar10")
    assert load_cifar10("train", tmp_path).images.shape == (10, 3, 32, 32)


def test_class_names_are_the_official_ones_in_order(tmp_path: Path) -> None:
    _write(tmp_path)
    names = load_cifar10("test", tmp_path).class_names
    assert (names[0], names[1], names[3], names[9]) == ("airplane", "automobile", "cat", "truck")
    assert len(names) == 10


def test_what_is_unpacked_comes_before_an_archive(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"damaged")
    _write(tmp_path)
    assert load_cifar10("test", tmp_path).images.shape == (N_EACH, 3, 32, 32)


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="part must be one of 'train', 'test', got 'valid'"):
        load_cifar10("valid", tmp_path)  # type: ignore[arg-type]


def test_a_missing_set_says_which_files_go_where_and_how_to_get_them(tmp_path: Path) -> None:
    sentence = (
        rf"CIFAR-10 is not in {tmp_path}: put cifar-10-binary\.tar\.gz into .*cifar10, .*"
        rf"twofold reproduce cifar10 --download, .*download\(\"cifar10\", \"{tmp_path}\"\)\.$"
    )
    with pytest.raises(FileNotFoundError, match=sentence):
        load_cifar10("train", tmp_path)


@pytest.mark.parametrize("inside", ["", "cifar10"])
@pytest.mark.parametrize(
    "name", ["cifar-10-python.tar.gz", "cifar-10-batches-py/data_batch_1", "data_batch_1"]
)
def test_who_has_the_pickles_is_told_to_take_the_binary_version(
    tmp_path: Path, inside: str, name: str
) -> None:
    path = tmp_path / inside / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"a pickle")
    sentence = (
        r"is the Python version of CIFAR-10, which consists of pickles, .* put the binary "
        rf"version, cifar-10-binary\.tar\.gz, into {tmp_path / 'cifar10'}, or get it with"
    )
    with pytest.raises(FileNotFoundError, match=sentence):
        load_cifar10("train", tmp_path)


def test_the_binary_version_is_read_beside_the_python_version(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-py").mkdir()
    _pack(_write(tmp_path))
    assert load_cifar10("test", tmp_path).images.shape == (N_EACH, 3, 32, 32)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_missing_batch_is_named(tmp_path: Path, is_packed: bool) -> None:
    folder = _write(tmp_path)
    (folder / "data_batch_3.bin").unlink()
    if is_packed:
        _pack(folder)
    sentence = r"not complete, data_batch_3\.bin is not in .*cifar-10-b.*: put it there, or get"
    with pytest.raises(FileNotFoundError, match=sentence):
        load_cifar10("train", tmp_path)


@pytest.mark.parametrize("n_bytes", [0, 1, 3072, 3074, 6145])
def test_a_binary_batch_of_no_whole_images_is_damaged(tmp_path: Path, n_bytes: int) -> None:
    path = _write(tmp_path) / "data_batch_2.bin"
    path.write_bytes(path.read_bytes()[:n_bytes])
    sentence = rf"data_batch_2\.bin is damaged: it has {n_bytes} bytes, .* 3073"
    with pytest.raises(ValueError, match=sentence):
        load_cifar10("train", tmp_path)


def test_a_label_out_of_range_is_named_with_its_place(tmp_path: Path) -> None:
    batch = _batch(IMAGES[5], np.array([9, 10]))
    (_write(tmp_path) / "test_batch.bin").write_bytes(batch)
    sentence = r"test_batch.* holds 1 label\(s\) outside 0 \.\. 9, first at image 1 \(10\)"
    with pytest.raises(ValueError, match=sentence):
        load_cifar10("test", tmp_path)


@pytest.mark.parametrize("damage", ["cut short", "changed midway", "foreign", "empty"])
def test_a_damaged_archive_is_said(tmp_path: Path, damage: str) -> None:
    path = _pack(_write(tmp_path))
    content = path.read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes(100) + content[middle + 100 :]
    path.write_bytes(
        {
            "cut short": content[:middle],
            "changed midway": changed,
            "foreign": b"<!DOCTYPE html>",
            "empty": b"",
        }[damage]
    )
    with pytest.raises(
        ValueError, match=r"cifar-10-.*\.tar\.gz cannot be read \(.+\): get it again"
    ):
        load_cifar10("train", tmp_path)


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("TWOFOLD_DATA"), reason="TWOFOLD_DATA names no data folder")
def test_the_real_set_has_its_known_counts_and_means() -> None:
    try:
        train, test = load_cifar10("train"), load_cifar10("test")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert np.bincount(train.classes).tolist() == [5000] * 10
    assert np.bincount(test.classes).tolist() == [1000] * 10
    means = train.images.mean(axis=(0, 2, 3)) / 255
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=1e-4)
    assert train.class_names[train.classes[0]] == "frog"
