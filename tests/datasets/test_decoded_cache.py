"""Decoded images lie in the folder that is named, whole or not at all."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twofold._core.caches import cache_folder, fingerprint
from twofold.datasets._decoded_cache import decoded_once
from twofold.datasets._decoding import ImageFile


def _file(grey: int) -> ImageFile:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (grey,) * 3).save(file, "PNG")
    return ImageFile(f"{grey}.png", file.getvalue(), Path(f"{grey}.png"))


FILES = [_file(grey) for grey in (5, 3, 9)]


def _decoded(files: list[ImageFile] = FILES, progress=None) -> tuple[np.ndarray, list[str]]:
    return decoded_once("faces-4", lambda: files, lambda image: image, 4, progress)


def _never() -> list[ImageFile]:
    raise AssertionError("the files were asked for")


def test_the_variable_names_the_folder(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    assert cache_folder() == cache
    monkeypatch.delenv("TWOFOLD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert cache_folder() == Path("/there/twofold")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "twofold"


def test_name_size_and_time_each_change_the_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "file"
    prints = []
    for name, content, seconds in [("a", b"1", 5), ("b", b"1", 5), ("a", b"12", 5), ("a", b"1", 6)]:
        path.write_bytes(content)
        os.utime(path, (seconds, seconds))
        prints.append(fingerprint([(name, path.stat())]))
    assert len(set(prints)) == 4
    path.write_bytes(b"1")
    os.utime(path, (5, 5))
    assert fingerprint([("a", path.stat())]) == prints[0]


def test_images_and_names_come_back_in_order_and_without_the_files(cache: Path) -> None:
    for images, names in (_decoded(), decoded_once("faces-4", _never, _never, 4, None)):
        assert names == ["5.png", "3.png", "9.png"]
        np.testing.assert_array_equal(images[:, 2, 3, 0], [5, 3, 9])
        assert images.shape == (3, 3, 4, 4)
    assert [path.name for path in cache.iterdir()] == ["faces-4"]


def test_images_are_a_memory_map_that_can_be_written_to_but_not_changed() -> None:
    images, _ = _decoded()
    assert isinstance(images, np.memmap)
    images[:] = 0
    np.testing.assert_array_equal(_decoded()[0][:, 0, 0, 0], [5, 3, 9])


@pytest.mark.parametrize("name", ["images.npy", "names.json"])
@pytest.mark.parametrize("content", [b"", b"[1]"])
def test_a_damaged_entry_is_written_again(cache: Path, name: str, content: bytes) -> None:
    _decoded()
    (cache / "faces-4" / name).write_bytes(content)
    np.testing.assert_array_equal(_decoded()[0][:, 0, 0, 0], [5, 3, 9])


def test_an_entry_cut_short_is_written_again(cache: Path) -> None:
    _decoded()
    path = cache / "faces-4" / "images.npy"
    path.write_bytes(path.read_bytes()[:-1])
    np.testing.assert_array_equal(_decoded()[0][:, 0, 0, 0], [5, 3, 9])


def test_an_interruption_leaves_nothing(cache: Path) -> None:
    def interrupt(n_done: int, _: int) -> None:
        if n_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _decoded(progress=interrupt)
    assert not list(cache.iterdir())


def test_a_cache_that_cannot_be_written_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TWOFOLD_CACHE", str(tmp_path / "file" / "cache"))
    sentence = (
        r"cannot be kept in .*cache \(.*\): set TWOFOLD_CACHE to a writable folder .* GB free"
    )
    with pytest.raises(OSError, match=sentence):
        _decoded()
