"""Files are whole or not there."""

from pathlib import Path

import pytest

from twofold._core.files import write_text


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


def test_a_write_replaces_the_file_for_all_to_read(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    write_text(place, "old")
    write_text(place, "neu ü")
    assert place.read_text(encoding="utf-8") == "neu ü"
    assert place.stat().st_mode & 0o777 == 0o644
