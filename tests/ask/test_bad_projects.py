"""What cannot be asked about, or opened, is one sentence, and nothing is written."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from running import write_pictures
from typer.testing import CliRunner

from twofold._core.listening import listen
from twofold.ask import AskRequest, Closed, read_ask_items
from twofold.ask._pictures import Pictures
from twofold.ask._project import Project
from twofold.cli import app, main

CSV = "id,title\na,red chair\nb,green chair\nc,blue table\n"


def mistake(monkeypatch, capsys, *words):
    """Return what a command says that ends by a user's mistake."""
    monkeypatch.setattr("sys.argv", ["twofold", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.fixture
def said(monkeypatch, capsys):
    return lambda *words: mistake(monkeypatch, capsys, "ask", *words, "--no-browser")


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "items.csv"
    file.write_text(CSV)
    return file


def test_a_folder_without_images(said, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "notes.txt").write_text("none")
    assert "contains no image" in said(tmp_path / "photos")
    assert not (tmp_path / "photos.ask").exists()


def test_a_table_without_an_id(said, tmp_path):
    file = tmp_path / "items.csv"
    file.write_text("title,maker\nred chair,A\nred chair,B\n")
    assert "no column of ids" in said(file)
    assert "'nr'" in said(file, "--id", "nr")


def test_ids_that_repeat(said, table):
    table.write_text(CSV + "a,again\n")
    assert "'a'" in said(table)


def test_features_of_another_length_or_of_no_matrix(said, table, tmp_path):
    np.save(tmp_path / "two.npy", np.zeros((2, 4), np.float32))
    assert "has 2 rows, and there are 3 items" in said(table, "--features", tmp_path / "two.npy")
    assert "must be a .npy or .npz file" in said(table, "--features", table)


def test_a_matrix_alone_shows_nothing(said, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5, 4), np.float32))
    assert "cannot be shown" in said(tmp_path / "x.npy")


def test_one_item_is_too_few(said, tmp_path):
    assert "at least two are needed" in said(write_pictures(tmp_path / "photos", 1))


def test_a_project_of_other_data(said, table, tmp_path):
    request = AskRequest(data=table)
    Project(tmp_path / "items.ask", request, read_ask_items(request)).close()
    table.write_text(CSV.replace("\na,", "\nx,").replace("\nb,", "\ny,"))
    assert "is a project about other data: of its 3 items 1 are in" in said(table)


def test_a_project_that_is_open_elsewhere(said, table, tmp_path):
    request = AskRequest(data=table)
    project = Project(tmp_path / "items.ask", request, read_ask_items(request))
    assert "is in use by another `twofold ask`" in said(table)
    project.close()


def test_a_folder_that_holds_other_things_is_left_alone(said, table, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert "contains something other than a project" in said(table, "--project", tmp_path / "mine")
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_a_port_in_use_is_passed_over_for_the_next():
    with listen("127.0.0.1", 18_737) as first, listen("127.0.0.1", 18_737) as second:
        assert first.getsockname()[1] < second.getsockname()[1]


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(OSError, match=r"cannot listen at 192\.0\.2\.1"):
        listen("192.0.2.1", 18_800)


def test_an_image_that_cannot_be_read_is_shown_as_such(tmp_path):
    folder = write_pictures(tmp_path / "photos", 4)
    pictures = Pictures(read_ask_items(AskRequest(data=folder)))
    (folder / "02.png").write_bytes(b"no image")
    (folder / "03.png").unlink()
    assert pictures.get(1, 64).media_type == "image/png"
    for item in (2, 3):
        assert b"cannot be read" in pictures.get(item, 64).content


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    secret = tmp_path / "secret.png"
    Image.new("L", (8, 8), 77).save(secret)
    folder = write_pictures(tmp_path / "photos", 3)
    (folder / "01.png").unlink()
    (folder / "01.png").symlink_to(secret)
    table = tmp_path / "tables" / "items.csv"
    table.parent.mkdir()
    table.write_text("id,file\na,../secret.png\nb,../photos/00.png\n")
    np.save(tmp_path / "x.npy", np.eye(2, dtype=np.float32))
    by_path = AskRequest(data=table, image="file", features=tmp_path / "x.npy")
    for request, item in ((AskRequest(data=folder), 1), (by_path, 0)):
        assert b"cannot be read" in Pictures(read_ask_items(request)).get(item, 64).content


def test_an_export_before_the_first_answer(said, table, tmp_path):
    out = tmp_path / "pairs.csv"
    assert "is not a project" in said(table, "--export", out)
    request = AskRequest(data=table)
    Project(tmp_path / "items.ask", request, read_ask_items(request)).close()
    assert "has no answers of same or different yet" in said(table, "--export", out)
    assert not out.exists()


def test_fit_takes_data_or_a_project(monkeypatch, capsys, table, tmp_path):
    out = tmp_path / "model"
    both = mistake(monkeypatch, capsys, "fit", table, "--project", tmp_path, "--out", out)
    assert "Give either DATA or --project" in both
    none = mistake(monkeypatch, capsys, "fit", "--project", tmp_path, "--out", out)
    assert "is not a project" in none
    more = mistake(
        monkeypatch, capsys, "fit", "--project", tmp_path, "--labels", "kind", "--out", out
    )
    assert "--labels goes with DATA" in more


def test_other_machines_are_let_in_only_with_a_warning(table, monkeypatch):
    closed = Closed(table.with_name("items.ask"), 0, None)
    monkeypatch.setattr("twofold.ask.ask", lambda *_, **__: closed)
    said = CliRunner().invoke(app, ["ask", str(table), "--host", "0.0.0.0", "--no-browser"])
    assert "anyone who can reach this machine and has the link" in " ".join(said.output.split())
