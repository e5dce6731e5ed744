"""Files are whole or not there, at the place that their name leads to."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import numpy as np
import pytest

from twofold._core import files
from twofold._core.files import (
    check_folder_place,
    check_place,
    new_file,
    new_folder,
    remove_leftovers,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = write_text(tmp_path / "page.html", "old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_text(place, "new")
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


@pytest.fixture(params=[0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_new_file_has_the_mode_of_the_umask_whoever_made_it(tmp_path, umask):
    place = write_text(tmp_path / "page.html", "neu ü")
    assert place.read_text(encoding="utf-8") == "neu ü"
    assert place.stat().st_mode & 0o777 == 0o666 & ~umask
    with new_file(tmp_path / "weights") as beside:
        beside.unlink()
        os.close(os.open(beside, os.O_CREAT | os.O_WRONLY, 0o600))
    assert (tmp_path / "weights").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    place = write_text(tmp_path / "secret", "old")
    place.chmod(0o600)
    write_text(place, "new")
    assert place.read_text() == "new"
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_written_through(tmp_path, exists):
    (tmp_path / "shelf").mkdir()
    real, link = tmp_path / "shelf" / "page.html", tmp_path / "link.html"
    if exists:
        real.write_text("old")
    link.symlink_to(Path("shelf") / "page.html")
    assert write_text(link, "new") == link
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert [file.name for file in (tmp_path / "shelf").iterdir()] == ["page.html"]


def test_a_link_to_a_folder_is_filled_through(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for text in ("old", "new"):
        with new_folder(tmp_path / "link", "card") as folder:
            (folder / "card").write_text(text)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "card").read_text() == "new"


def pipe(place: Path) -> Path:
    os.mkfifo(place)
    return place


def circle(place: Path) -> Path:
    place.symlink_to(place.name)
    return place


REFUSED = [
    (lambda at: Path("/dev/null"), FileExistsError, "is a device, a pipe"),
    (lambda at: pipe(at / "pipe"), FileExistsError, "is a device, a pipe"),
    (lambda at: circle(at / "circle"), OSError, "leads back to itself"),
    (lambda at: at, IsADirectoryError, "is a folder: give a file in it"),
    (lambda at: at / "no" / "page", FileNotFoundError, "no does not exist: create it first"),
]


@pytest.mark.parametrize(("make", "error", "sentence"), REFUSED)
def test_what_is_no_place_for_a_file_is_refused_before_the_work(tmp_path, make, error, sentence):
    place = make(tmp_path)
    for ask in (check_place, lambda place: write_text(place, "new")):
        with pytest.raises(error, match=sentence):
            ask(place)


def test_a_protected_file_is_left_alone(tmp_path, monkeypatch):
    place = write_text(tmp_path / "page", "old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    with pytest.raises(PermissionError, match="write-protected: give another file"):
        check_place(place)


@pytest.mark.parametrize("ask", [check_place, check_folder_place])
def test_a_folder_that_cannot_be_written_to_is_found_out_before_the_work(
    tmp_path, monkeypatch, ask
):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    with pytest.raises(PermissionError, match=r"cannot be written to \(Permission denied\): give"):
        ask(tmp_path / "page")


def test_a_folder_for_files_may_be_one_that_is_still_to_be_made(tmp_path):
    assert check_folder_place(tmp_path / "runs" / "first") == tmp_path / "runs" / "first"
    assert not list(tmp_path.iterdir())
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(NotADirectoryError, match="runs is a file, but a folder is needed"):
        check_folder_place(tmp_path / "runs" / "first")


def test_a_full_disk_is_said_with_the_file_and_what_was_there_stays(tmp_path):
    place = write_text(tmp_path / "page", "old")

    def write() -> None:
        with new_file(place) as beside:
            beside.write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match=r"page could not be written \(No space left on device\)"):
        write()
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_an_array_that_is_cut_short_is_said_with_the_file(tmp_path):
    resource = pytest.importorskip("resource", reason="limits of files are Unix's")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def write() -> None:
        with new_file(tmp_path / "points.npy") as beside:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
            try:
                np.save(beside, np.zeros(2000))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    with pytest.raises(OSError, match=r"points\.npy could not be written \(.*\): free some space"):
        write()
    assert not list(tmp_path.iterdir())


def left_behind(target: Path, inside: str = "new") -> Path:
    """Make what a killed writer leaves."""
    folder = target.parent / f".{target.name}.twofold-abcdef"
    (folder / inside).mkdir(parents=True)
    return folder


def test_leftovers_are_removed_the_next_time_and_those_at_work_are_not(tmp_path):
    place = tmp_path / "page"
    other = left_behind(tmp_path / "pages")
    held = left_behind(place).rename(tmp_path / ".page.twofold-held")
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    left = left_behind(place)
    check_place(place)
    assert not left.exists()
    assert held.exists()
    assert other.exists()
    os.close(lock)
    write_text(place, "new")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [other.name, "page"]


def test_a_folder_moved_aside_by_a_killed_writer_is_put_back(tmp_path):
    left = left_behind(tmp_path / "model", "old")
    (left / "old" / "card").write_text("old")
    remove_leftovers(tmp_path / "model")
    assert (tmp_path / "model" / "card").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_names_as_long_as_they_may_be_can_be_written(tmp_path):
    place = tmp_path / ("n" * 250)
    assert write_text(place, "new").read_text() == "new"
