"""PubFig83, from small images in folders of people and in an archive; decoded once."""

import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twofold.datasets import ImageSet, load_pubfig83

PEOPLE = {"Zoe_Ash": 3, "Adam Bo": 4, "Mia_Cho": 2}
GREY = {"Zoe_Ash": 30, "Adam Bo": 90, "Mia_Cho": 150}
TEST_FILES = ["Zoe_Ash/1.png", "Adam Bo/3.png"]


def _write(data: Path, test_files: list[str] | None = TEST_FILES) -> Path:
    """Write images whose brightness tells person and number; return the folder of people."""
    folder = data / "pubfig83"
    for person, n_images in PEOPLE.items():
        (folder / person).mkdir(parents=True)
        for number in range(n_images):
            grey = GREY[person] + number
            Image.new("RGB", (40 + number, 50), (grey,) * 3).save(folder / person / f"{number}.png")
    if test_files is not None:
        (folder / "test_files.txt").write_text("\n".join(test_files) + "\n")
    return folder


def _pack(folder: Path, name: str = "pubfig83-aligned-64.tar.xz") -> Path:
    """Replace the people's folders by an archive of them, last first; return the archive."""
    with tarfile.open(folder / name, "w:xz") as archive:
        for path in sorted(folder.glob("*/*.png"), reverse=True):
            archive.add(path, f"pubfig83/{path.parent.name}/{path.name}")
            path.unlink()
    for path in filter(Path.is_dir, folder.iterdir()):
        path.rmdir()
    return folder / name


def _greys(loaded: ImageSet) -> list[int]:
    assert all(np.unique(image).size == 1 for image in loaded.images)
    return loaded.images[:, 0, 0, 0].tolist()


@pytest.mark.parametrize("form", ["folders", "folders in a folder", "archive", "official archive"])
def test_people_are_in_alphabetical_order_and_parts_as_listed(tmp_path: Path, form: str) -> None:
    folder = _write(tmp_path)
    if form == "folders in a folder":
        (folder / "pubfig83").mkdir()
        for person in PEOPLE:
            (folder / person).rename(folder / "pubfig83" / person)
    elif form != "folders":
        _pack(folder, "pubfig83-aligned-64.tar.xz" if form == "archive" else "pubfig83.v1.tgz")
    train, test = load_pubfig83("train", tmp_path), load_pubfig83("test", tmp_path)
    assert train.class_names == test.class_names == ("Adam Bo", "Mia_Cho", "Zoe_Ash")
    assert _greys(train) == [90, 91, 92, 150, 151, 30, 32]
    assert train.classes.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert (_greys(test), test.classes.tolist()) == ([93, 31], [0, 2])


def test_types_and_shape(tmp_path: Path) -> None:
    _write(tmp_path)
    train = load_pubfig83("train", tmp_path)
    assert train.images.shape == (7, 3, 60, 60)
    assert (train.images.dtype, train.classes.dtype) == (np.uint8, np.int64)
    assert type(train.images) is np.ndarray
    assert train.images.flags.writeable


def test_an_image_of_100_pixels_gives_exactly_its_centre(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (100, 100, 3), dtype=np.uint8)
    person = tmp_path / "pubfig83" / "A"
    person.mkdir(parents=True)
    Image.fromarray(pixels).save(person / "1.png")
    Image.new("RGB", (9, 9)).save(person / "2.PNG")
    (person.parent / "test_files.txt").write_text("A/2.PNG\r\n")
    loaded = load_pubfig83("train", tmp_path)
    np.testing.assert_array_equal(loaded.images[0], pixels[20:80, 20:80].transpose(2, 0, 1))


def test_without_a_list_a_tenth_of_each_person_is_for_the_test(tmp_path: Path) -> None:
    for person, n_images in {"A": 30, "B": 4, "C": 1}.items():
        (tmp_path / "pubfig83" / person).mkdir(parents=True)
        for i in range(n_images):
            Image.new("L", (2, 2), i).save(tmp_path / "pubfig83" / person / f"{i}.jpg")
    train, test = load_pubfig83("train", tmp_path), load_pubfig83("test", tmp_path)
    assert np.bincount(test.classes, minlength=3).tolist() == [3, 1, 0]
    assert np.bincount(train.classes).tolist() == [27, 3, 1]
    assert sorted(_greys(train)[:27] + _greys(test)[:3]) == list(range(30))
    # Fixed, because the split has to be the same on every machine and for every version.
    assert _greys(test) == [13, 17, 7, 0]


def test_what_is_no_image_of_a_person_is_passed_over(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    (folder / "readme.txt").write_text("hello")
    (folder / "Mia_Cho" / "._0.png").write_bytes(b"what a Mac leaves")
    (folder / "Mia_Cho" / "notes.txt").write_text("hello")
    assert len(load_pubfig83("train", tmp_path).images) == 7


def test_progress_is_told_of_every_image(tmp_path: Path) -> None:
    _write(tmp_path)
    told: list[tuple[int, int]] = []
    load_pubfig83("train", tmp_path, progress=lambda *counts: told.append(counts))
    assert told == [(i, 9) for i in range(1, 10)]


def test_images_are_decoded_once(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    first = load_pubfig83("train", tmp_path)
    _spoil(folder / "Mia_Cho" / "0.png")
    told: list[tuple[int, int]] = []
    again = load_pubfig83("train", tmp_path, progress=lambda *counts: told.append(counts))
    np.testing.assert_array_equal(first.images, again.images)
    assert not told


def test_an_archive_is_read_once(tmp_path: Path) -> None:
    archive = _pack(_write(tmp_path))
    first = load_pubfig83("train", tmp_path)
    _spoil(archive)
    np.testing.assert_array_equal(first.images, load_pubfig83("train", tmp_path).images)
    os.utime(archive, ns=(0, 0))
    with pytest.raises(ValueError, match=r"aligned-64\.tar\.xz cannot be read"):
        load_pubfig83("train", tmp_path)


def _spoil(path: Path) -> None:
    """Make a file unreadable whose size and time of change stay."""
    stat = path.stat()
    path.write_bytes(b"x" * stat.st_size)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_a_changed_image_is_decoded_again(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    load_pubfig83("train", tmp_path)
    Image.new("RGB", (40, 50), (255,) * 3).save(folder / "Zoe_Ash" / "0.png")
    assert _greys(load_pubfig83("train", tmp_path)) == [90, 91, 92, 150, 151, 255, 32]


def test_a_new_image_is_seen(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    load_pubfig83("train", tmp_path)
    Image.new("RGB", (4, 5), (95,) * 3).save(folder / "Adam Bo" / "5.png")
    assert _greys(load_pubfig83("train", tmp_path))[:4] == [90, 91, 92, 95]


def test_another_split_needs_no_decoding(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    load_pubfig83("train", tmp_path)
    _spoil(folder / "Mia_Cho" / "0.png")
    (folder / "test_files.txt").write_text("Mia_Cho/0.png")
    assert _greys(load_pubfig83("test", tmp_path)) == [150]


def test_a_damaged_image_is_named_and_nothing_is_kept(tmp_path: Path, cache: Path) -> None:
    folder = _write(tmp_path)
    (folder / "Mia_Cho" / "0.png").write_bytes(b"<!DOCTYPE html>")
    with pytest.raises(ValueError, match=r"Mia_Cho.0\.png cannot be read as an image"):
        load_pubfig83("train", tmp_path)
    assert not list(cache.iterdir())


def test_a_damaged_image_in_the_archive_is_named(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    (folder / "Mia_Cho" / "0.png").write_bytes(b"")
    _pack(folder)
    sentence = r"tar\.xz.pubfig83.Mia_Cho.0\.png cannot be read as an image"
    with pytest.raises(ValueError, match=sentence):
        load_pubfig83("train", tmp_path)


def test_an_archive_without_images_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pubfig83"
    folder.mkdir()
    with tarfile.open(folder / "pubfig83.tar.gz", "w:gz"):
        pass
    with pytest.raises(FileNotFoundError, match=r"pubfig83\.tar\.gz holds no images: put each"):
        load_pubfig83("train", tmp_path)


def test_of_two_archives_none_is_chosen(tmp_path: Path) -> None:
    folder = tmp_path / "pubfig83"
    folder.mkdir()
    for name in ("pubfig83-a.tar.gz", "pubfig83-b.tgz"):
        (folder / name).touch()
    with pytest.raises(ValueError, match=r"2 archives, pubfig83-a\.tar\.gz and .*-b\.tgz first"):
        load_pubfig83("train", tmp_path)


def test_a_list_of_other_images_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, ["Zoe_Ash/1.png", "Nobody/2.png", "Nobody/1.png"])
    sentence = r"test_files\.txt lists 2 image\(s\) that are not in the set, first Nobody/1\.png"
    with pytest.raises(ValueError, match=sentence):
        load_pubfig83("test", tmp_path)


def test_a_missing_set_says_which_files_go_where(tmp_path: Path) -> None:
    sentence = rf"PubFig83 is not in {tmp_path}: put each person's images into .*pubfig83/<person>/"
    with pytest.raises(FileNotFoundError, match=sentence):
        load_pubfig83("train", tmp_path)


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="part must be one of 'train', 'test', got 'valid'"):
        load_pubfig83("valid", tmp_path)  # type: ignore[arg-type]


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("TWOFOLD_DATA"), reason="TWOFOLD_DATA names no data folder")
def test_the_real_set_has_its_known_counts() -> None:
    train, test = load_pubfig83("train"), load_pubfig83("test")
    assert train.images.shape == (10_518, 3, 60, 60)
    assert np.bincount(test.classes).tolist() == [20] * 83
    assert (train.class_names[0], len(train.class_names)) == ("Adam_Sandler", 83)
    assert 80 < train.images.mean() < 140
