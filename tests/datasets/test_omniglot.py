"""Omniglot, from small zips in its official layout; decoded once."""

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twofold.datasets import load_omniglot

TOP = "images_background_small1"
NAMES = {
    # in an order that is not the sorted one
    f"{TOP}/Latin/character02/0686_02.png": 5,
    f"{TOP}/Greek/character01/0394_01.png": 0,
    f"{TOP}/Latin/character02/0686_01.png": 4,
    f"{TOP}/Greek/character10/0403_01.png": 2,
    f"{TOP}/Greek/character01/0394_20.png": 1,
    f"{TOP}/Latin/character01/0685_07.png": 3,
}
"""The number of ink pixels in the first row tells which drawing it is."""


def _png(n_ink: int, size: tuple[int, int] = (105, 105), mode: str = "1") -> bytes:
    """Return a white drawing with so many black pixels."""
    pixels = np.full(size[::-1], 255, dtype=np.uint8)
    pixels[0, :n_ink] = 0
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, "PNG")
    return file.getvalue()


def _write(data: Path, members: dict[str, bytes] | None = None, part: str = "small1") -> Path:
    """Write an archive; return it."""
    if members is None:
        members = {name: _png(n_ink) for name, n_ink in NAMES.items()}
    path = data / "omniglot" / f"images_background_{part}.zip"
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{TOP}/Greek/", b"")
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_drawings_come_sorted_with_character_alphabet_and_drawer(tmp_path: Path) -> None:
    _write(tmp_path)
    loaded = load_omniglot("small1", tmp_path)
    assert loaded.images.shape == (6, 1, 105, 105)
    assert (loaded.images[:, 0, 0] == 255).sum(axis=1).tolist() == [0, 1, 2, 3, 4, 5]
    assert loaded.class_names == (
        "Greek/character01",
        "Greek/character10",
        "Latin/character01",
        "Latin/character02",
    )
    assert loaded.classes.tolist() == [0, 0, 1, 2, 3, 3]
    assert loaded.alphabet_names == ("Greek", "Latin")
    assert loaded.alphabets.tolist() == [0, 0, 0, 1, 1, 1]
    assert loaded.drawers.tolist() == [1, 20, 1, 7, 1, 2]


def test_types_are_those_of_the_other_loaders(tmp_path: Path) -> None:
    _write(tmp_path)
    loaded = load_omniglot("small1", tmp_path)
    assert type(loaded.images) is np.ndarray
    assert loaded.images.dtype == np.uint8
    assert loaded.images.flags.writeable
    for column in (loaded.classes, loaded.alphabets, loaded.drawers):
        assert column.dtype == np.int64
    assert {type(name) for name in (*loaded.class_names, *loaded.alphabet_names)} == {str}


def test_ink_is_bright_on_dark(tmp_path: Path) -> None:
    _write(tmp_path)
    loaded = load_omniglot("small1", tmp_path)
    assert np.unique(loaded.images).tolist() == [0, 255]
    assert loaded.images[5, 0, 0, :7].tolist() == [255] * 5 + [0] * 2


@pytest.mark.parametrize("size", [1, 5, 35, 105])
def test_a_smaller_image_has_the_mean_of_each_area(tmp_path: Path, size: int) -> None:
    pixels = np.random.default_rng(0).random((105, 105)) < 0.3
    file = io.BytesIO()
    Image.fromarray(~pixels).save(file, "PNG")
    _write(tmp_path, {f"{TOP}/Greek/character01/1_01.png": file.getvalue()})
    image = load_omniglot("small1", tmp_path, size=size).images[0, 0]
    step = 105 // size
    wanted = 255 * pixels.reshape(size, step, size, step).mean(axis=(1, 3))
    assert image.shape == (size, size)
    np.testing.assert_allclose(image, wanted, atol=1)


def test_a_size_that_does_not_divide_takes_whole_pixels(tmp_path: Path) -> None:
    _write(tmp_path, {f"{TOP}/Greek/character01/1_01.png": _png(105)})
    image = load_omniglot("small1", tmp_path, size=28).images[0, 0]
    # The first of 28 rows is 3.75 pixels high, in which the centres of 4 lie; one of them is ink.
    np.testing.assert_allclose(image[0], 255 / 4, atol=1)
    assert not image[1:].any()


def test_parts_are_read_apart(tmp_path: Path) -> None:
    _write(tmp_path)
    name = "images_background_small2/Tagalog/character01/0001_03.png"
    _write(tmp_path, {name: _png(9)}, "small2")
    assert load_omniglot("small2", tmp_path).class_names == ("Tagalog/character01",)
    assert len(load_omniglot(data_dir=tmp_path).images) == 6


def test_the_data_folder_may_come_from_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path)
    monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path))
    assert len(load_omniglot().images) == 6


def test_images_are_decoded_once_for_each_size_and_again_when_the_archive_changes(
    tmp_path: Path, cache: Path
) -> None:
    path = _write(tmp_path)
    told: list[tuple[int, int]] = []

    def load(size: int = 105) -> np.ndarray:
        return load_omniglot(
            "small1", tmp_path, size=size, progress=lambda *counts: told.append(counts)
        ).images

    first = load()
    assert told == [(i, 6) for i in range(1, 7)]
    stat = path.stat()
    path.write_bytes(b"x" * stat.st_size)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    np.testing.assert_array_equal(load(), first)
    assert len(told) == 6
    with pytest.raises(ValueError, match=r"small1\.zip cannot be read"):
        load(28)
    assert len(list(cache.iterdir())) == 1
    _write(tmp_path)
    load(28)
    assert len(told) == 12


@pytest.mark.parametrize(
    "name",
    [
        "../../evil/character01/1_01.png",
        f"{TOP}/../../character01/1_01.png",
        "/etc/Greek/character01/1_01.png",
        f"{TOP}\\..\\1_01.png",
        f"{TOP}/../",
    ],
)
def test_a_name_that_leads_out_of_the_archive_is_refused(
    tmp_path: Path, cache: Path, name: str
) -> None:
    _write(tmp_path, {name: _png(1) if name.endswith("png") else b""})
    with pytest.raises(ValueError, match=r"small1\.zip holds .*, a path outside of it"):
        load_omniglot("small1", tmp_path)
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        f"{TOP}/readme.txt",
        f"{TOP}/Greek/character01/0394_01.jpg",
        f"{TOP}/Greek/character01/0394.png",
        f"{TOP}/Greek/0394_01.png",
        "images_background/Greek/character01/0394_01.png",
        "images_background_small2/Greek/character01/0394_01.png",
    ],
)
def test_what_is_no_drawing_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    _write(tmp_path, {name: _png(1)})
    sentence = rf"small1\.zip holds {name}, which is no {TOP}/<alphabet>/.*: put the official file"
    with pytest.raises(ValueError, match=sentence):
        load_omniglot("small1", tmp_path)


def test_what_is_only_called_a_png_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, {f"{TOP}/Greek/character01/1_01.png": b"GIF89a..."})
    with pytest.raises(ValueError, match=r"1_01\.png is named a PNG .* begins with 0x47494638"):
        load_omniglot("small1", tmp_path)


def test_a_damaged_png_is_named_and_nothing_is_kept(tmp_path: Path, cache: Path) -> None:
    _write(tmp_path, {f"{TOP}/Greek/character01/1_01.png": _png(4)[:60]})
    with pytest.raises(ValueError, match=r"character01/1_01\.png cannot be read as an image"):
        load_omniglot("small1", tmp_path)
    assert not list(cache.iterdir())


@pytest.mark.parametrize("size", [(104, 105), (105, 106), (28, 28)])
def test_a_drawing_of_another_size_is_refused(tmp_path: Path, size: tuple[int, int]) -> None:
    _write(tmp_path, {f"{TOP}/Greek/character01/1_01.png": _png(1, size)})
    sentence = rf"1_01\.png .*it has {size[0]} × {size[1]} pixels and not 105 × 105"
    with pytest.raises(ValueError, match=sentence):
        load_omniglot("small1", tmp_path)


def test_a_file_that_would_fill_the_memory_is_refused_unread(tmp_path: Path) -> None:
    _write(tmp_path, {f"{TOP}/Greek/character01/1_01.png": bytes(2**20)})
    with pytest.raises(ValueError, match=r"1_01\.png of 1,048,576 bytes, and 65,536 is the most"):
        load_omniglot("small1", tmp_path)


@pytest.mark.parametrize("n_bytes", [0, 30, 400])
def test_an_archive_cut_short_cannot_be_read(tmp_path: Path, n_bytes: int) -> None:
    path = _write(tmp_path)
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(ValueError, match=r"small1\.zip cannot be read \(.*\): get it again"):
        load_omniglot("small1", tmp_path)


def test_a_damaged_member_cannot_be_read(tmp_path: Path) -> None:
    path = _write(tmp_path, {f"{TOP}/Greek/character01/1_01.png": _png(50)})
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        offset = archive.infolist()[1].header_offset
    content[offset + 30 + len(f"{TOP}/Greek/character01/1_01.png") + 20] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"small1\.zip cannot be read \(.*\): get it again"):
        load_omniglot("small1", tmp_path)


def test_an_archive_without_drawings_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, {})
    with pytest.raises(ValueError, match=r"small1\.zip holds no drawings"):
        load_omniglot("small1", tmp_path)


def test_a_missing_set_says_what_goes_where(tmp_path: Path) -> None:
    sentence = (
        rf"put images_background_small2\.zip into {tmp_path}/omniglot, or get it with "
        rf'twofold\.datasets\.download\("omniglot", "{tmp_path}"\)\.$'
    )
    with pytest.raises(FileNotFoundError, match=sentence):
        load_omniglot("small2", tmp_path)


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"part": "large"}, ValueError, "part must be one of 'small1', 'small2', got 'large'"),
        ({"size": 0}, ValueError, "size must be at least 1, got 0"),
        ({"size": 106}, ValueError, "size must be at most 105, the size of the drawings, got 106"),
        ({"size": 28.0}, TypeError, "size must be an integer"),
    ],
)
def test_wrong_parameters_are_refused(
    tmp_path: Path, parameters: dict[str, object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        load_omniglot(data_dir=tmp_path, **parameters)  # type: ignore[arg-type]


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("TWOFOLD_DATA"), reason="TWOFOLD_DATA names no data folder")
def test_the_real_sets_have_their_known_counts() -> None:
    first, second = load_omniglot("small1"), load_omniglot("small2", size=28)
    assert first.images.shape == (2_720, 1, 105, 105)
    assert second.images.shape == (3_120, 1, 28, 28)
    assert first.alphabet_names == ("Balinese", "Early_Aramaic", "Greek", "Korean", "Latin")
    assert set(first.alphabet_names) & set(second.alphabet_names) == {"Greek", "Latin"}
    for loaded in (first, second):
        assert set(np.bincount(loaded.classes)) == {20}
        assert set(np.bincount(loaded.drawers)[1:]) == {len(loaded.class_names)}
        assert 0.02 < loaded.images.mean() / 255 < 0.15  # ink is the smaller part
