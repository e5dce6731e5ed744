"""NUS-WIDE's images with their labels, from tiny files in the official layout."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twofold.datasets import load_nus_wide

LABELS = {"sky": "1\n0\n1\n", "animal": "0\n0\n1\n"}
NAMES = ["zoo/0003_33.jpg", "actor/0001_11.jpg", "actor/0002_22.jpg"]


def _write(data: Path, images: str = "Flickr", names: list[str] = NAMES) -> Path:
    """Write labels, list and images, brighter from line to line; return the set's folder."""
    folder = data / "nus_wide"
    truth = folder / "Groundtruth" / "TrainTestLabels"
    truth.mkdir(parents=True)
    for concept, text in LABELS.items():
        (truth / f"Labels_{concept}_Train.txt").write_text(text)
    (folder / "ImageList").mkdir()
    lines = "".join(name.replace("/", "\\") + "\r\n" for name in names)
    (folder / "ImageList" / "TrainImagelist.txt").write_bytes(lines.encode())
    for i, name in enumerate(NAMES):
        path = folder / images / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (150 + i, 120), (50 * i,) * 3).save(path)
    return folder


@pytest.mark.parametrize("images", ["Flickr", "images"])
def test_images_stand_in_the_order_of_the_list_beside_their_labels(
    tmp_path: Path, images: str
) -> None:
    _write(tmp_path, images)
    loaded = load_nus_wide("train", tmp_path)
    assert loaded.images[:, 0, 0, 0].tolist() == [0, 50, 100]
    assert loaded.images.shape == (3, 3, 100, 100)
    assert loaded.label_names == ("animal", "sky")
    np.testing.assert_array_equal(loaded.labels, [[0, 1], [0, 0], [1, 1]])
    assert (loaded.images.dtype, loaded.labels.dtype) == (np.uint8, np.uint8)


def test_images_may_lie_in_one_folder(tmp_path: Path) -> None:
    folder = _write(tmp_path) / "Flickr"
    for name in NAMES:
        (folder / name).rename(folder / Path(name).name)
    assert load_nus_wide("train", tmp_path).images[:, 0, 0, 0].tolist() == [0, 50, 100]


def test_images_are_a_memory_map_in_the_cache(tmp_path: Path, cache: Path) -> None:
    _write(tmp_path)
    images = load_nus_wide("train", tmp_path).images
    assert isinstance(images, np.memmap)
    assert cache in Path(str(images.filename)).parents
    assert images.flags.writeable  # torch warns of arrays that cannot


def test_the_centre_of_a_wide_image_is_taken_exactly(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (100, 161, 3), dtype=np.uint8)
    path = _write(tmp_path) / "Flickr" / NAMES[0]
    path.unlink()
    Image.fromarray(pixels).save(path, "PNG")  # what is in a file decides, not its name
    loaded = load_nus_wide("train", tmp_path)
    np.testing.assert_array_equal(loaded.images[0], pixels[:, 30:130].transpose(2, 0, 1))


def test_images_are_decoded_once_and_again_when_one_changes(tmp_path: Path) -> None:
    path = _write(tmp_path) / "Flickr" / NAMES[2]
    told: list[tuple[int, int]] = []
    for _ in range(2):
        load_nus_wide("train", tmp_path, progress=lambda *counts: told.append(counts))
    assert told == [(1, 3), (2, 3), (3, 3)]
    Image.new("RGB", (120, 150), (200,) * 3).save(path)
    loaded = load_nus_wide("train", tmp_path, progress=lambda *counts: told.append(counts))
    assert loaded.images[:, 0, 0, 0].tolist() == [0, 50, 200]
    assert len(told) == 6


def test_missing_images_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    folder = _write(tmp_path) / "Flickr"
    for name in NAMES[1:]:
        (folder / name).unlink()
    sentence = (
        r"2 of NUS-WIDE's 3 images are not there, first actor/0001_11\.jpg \(line 2 of .*: put the "
        r"official .*_\{Train,Test\}\.txt, .* and Flickr/<folder>/<file>\.jpg into .*nus_wide\.$"
    )
    with pytest.raises(FileNotFoundError, match=sentence):
        load_nus_wide("train", tmp_path)


def test_without_any_images_all_are_missing(tmp_path: Path) -> None:
    _write(tmp_path).joinpath("Flickr").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match="3 of NUS-WIDE's 3 images are not there"):
        load_nus_wide("train", tmp_path)


def test_a_missing_image_list_is_named(tmp_path: Path) -> None:
    (_write(tmp_path) / "ImageList" / "TrainImagelist.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"image list .*TrainImagelist\.txt is not there"):
        load_nus_wide("train", tmp_path)


def test_a_list_and_labels_of_different_number_are_refused(tmp_path: Path) -> None:
    _write(tmp_path, names=NAMES[:2])
    sentence = r"TrainImagelist\.txt lists 2 images but the ground truth has 3 lines"
    with pytest.raises(ValueError, match=sentence):
        load_nus_wide("train", tmp_path)


def test_a_damaged_image_is_named_and_nothing_is_kept(tmp_path: Path, cache: Path) -> None:
    path = _write(tmp_path) / "Flickr" / NAMES[1]
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"actor.0001_11\.jpg cannot be read as an image"):
        load_nus_wide("train", tmp_path)
    assert not list(cache.iterdir())


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="part must be one of 'train', 'test', got 'valid'"):
        load_nus_wide("valid", tmp_path)  # type: ignore[arg-type]


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("TWOFOLD_DATA"), reason="TWOFOLD_DATA names no data folder")
def test_the_real_images_stand_beside_their_labels() -> None:
    try:
        loaded = load_nus_wide("train")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert loaded.images.shape == (161_789, 3, 100, 100)
    assert loaded.labels.shape == (161_789, 81)
