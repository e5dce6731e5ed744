"""Folders are whole or not there, and what is not ours is left alone."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from twofold._core import file_switch
from twofold._core.files import new_file, new_folder


def fill(place: Path, text: str = "new") -> None:
    with new_folder(place, "card") as folder:
        (folder / "card").write_text(text)


def test_a_new_folder_takes_its_place_when_it_is_whole(tmp_path):
    place = tmp_path / "model"
    with new_folder(place, "card") as folder:
        (folder / "card").write_text("new")
        assert not place.exists()
        assert folder.parent.parent == tmp_path  # beside, so that a move is enough
    assert (place / "card").read_text() == "new"
    assert list(tmp_path.iterdir()) == [place]


def test_a_folder_of_ours_is_replaced_as_a_whole(tmp_path):
    fill(tmp_path / "model", "old")
    (tmp_path / "model" / "weights").write_text("old")
    fill(tmp_path / "model")
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["card"]
    assert (tmp_path / "model" / "card").read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "model").mkdir()
    fill(tmp_path / "model")
    assert (tmp_path / "model" / "card").read_text() == "new"


@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_folder_and_nothing_beside_it(tmp_path, kind):
    fill(tmp_path / "model", "old")

    def fill_half() -> None:
        with new_folder(tmp_path / "model", "card") as folder:
            (folder / "card").write_text("half")
            raise kind("disk full")

    with pytest.raises(kind, match="disk full"):
        fill_half()
    assert (tmp_path / "model" / "card").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_a_failure_where_there_was_none_leaves_none(tmp_path):
    with pytest.raises(OSError, match="disk full"), new_folder(tmp_path / "model", "card"):
        raise OSError("disk full")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def no_exchange(monkeypatch):
    """A file system that cannot switch two folders in one step."""
    monkeypatch.setattr(file_switch, "exchange", lambda one, other: False)


def test_without_an_exchange_a_folder_is_replaced_in_two_steps(tmp_path, no_exchange):
    fill(tmp_path / "model", "old")
    fill(tmp_path / "model")
    assert (tmp_path / "model" / "card").read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_a_move_that_fails_brings_the_old_folder_back(tmp_path, monkeypatch, no_exchange):
    fill(tmp_path / "model", "old")
    rename = Path.rename

    def fail_for_new(self, target):
        if self.name == "new":
            raise OSError("device busy")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_new)
    with pytest.raises(OSError, match="device busy"):
        fill(tmp_path / "model")
    assert (tmp_path / "model" / "card").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"contains other files .* or one with card in it"):
        fill(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis"]


def test_a_file_is_left_alone(tmp_path):
    (tmp_path / "model").write_text("a file")
    with pytest.raises(FileExistsError, match="is a file: give a folder"):
        fill(tmp_path / "model")
    assert (tmp_path / "model").read_text() == "a file"


def test_a_folder_within_one_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist: create it first"):
        fill(tmp_path / "nowhere" / "model")


def test_the_folder_may_be_read_by_others(tmp_path):
    fill(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o055 == 0o055


def test_a_path_may_be_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with new_folder("model", "card") as folder:
        (folder / "card").write_text("new")
    assert (tmp_path / "model" / "card").read_text() == "new"


def test_a_full_disk_is_said_of_the_folder_and_not_of_what_is_on_its_way(tmp_path):
    with (
        pytest.raises(OSError, match=rf"^{tmp_path}/model could not be written \(no room\)"),
        new_folder(tmp_path / "model", "card") as place,
        new_file(place / "weights"),
    ):
        raise OSError(errno.ENOSPC, "no room")
    assert not list(tmp_path.iterdir())
