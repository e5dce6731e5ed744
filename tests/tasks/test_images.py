"""A folder of images: classes by folder, what cannot be read, neighbours on a page."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet
from sklearn.datasets import load_digits

from twofold.datasets import read_records
from twofold.report import search_page
from twofold.tasks import FitRequest, PreparedModel, SearchRequest, fit_files, search_files


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """120 digits as PNG files, a folder a class, one of them damaged; and ten without classes."""
    place = tmp_path_factory.mktemp("digits")
    images, classes = load_digits(return_X_y=True)
    for row in range(110):
        folder = place / "train" / f"digit {classes[row] % 4}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = (images[row].reshape(8, 8) * 15).astype(np.uint8)
        Image.fromarray(pixels).resize((12, 12)).save(folder / f"{row}.png")
    (place / "train" / "digit 0" / "broken.png").write_bytes(b"no image")
    (place / "new").mkdir()
    for row in range(110, 114):
        pixels = (images[row].reshape(8, 8) * 15).astype(np.uint8)
        Image.fromarray(pixels).resize((12, 12)).save(place / "new" / f"{row}.png")
    return place


@pytest.fixture(scope="module")
def model(digits, monkeypatch_module):
    request = FitRequest(data=digits / "train", out=digits / "model", max_epochs=2, metric="seen")
    return fit_files(request)


@pytest.fixture(scope="module")
def monkeypatch_module(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield patch


def test_one_folder_a_class_gives_the_labels_and_a_damaged_file_is_left_out(model):
    assert model.stated == {"classes": 4, "items with one": 110}
    assert model.n_features == 144
    (note,) = [note for note in model.notes if "cannot be read" in note]
    assert note.startswith("1 image(s) cannot be read and are skipped, first ")
    assert "broken.png" in note


def test_neighbours_of_images_are_shown_as_pictures(digits, model):
    (digits / "train" / "digit 0" / "broken.png").unlink(missing_ok=True)
    request = SearchRequest(
        model=digits / "model", index=digits / "train", query=digits / "new", k=3
    )
    result = search_files(request)
    assert result.neighbours.ids.shape == (4, 3)
    page = search_page(result)
    assert page.count("data:image/png;base64,") == 4 * (1 + 3)
    assert f"the nearest first, with {result.measure} below each." in page


def test_a_picture_is_of_the_row_that_was_found_where_the_index_has_another_order(
    digits, model, tmp_path
):
    names = sorted((digits / "new").iterdir())
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    request = SearchRequest(model=digits / "model", index=shelf, query=digits / "new", k=4)
    for first in (2, 0):  # the index has the images 2 and 3 first, the folder 0 and 1
        for path in names[first : first + 2]:
            shutil.copy(path, shelf)
        result = search_files(request)
    pictures = re.findall(r'src="(data:[^"]*)"', search_page(result))
    shown = np.array(pictures, dtype=object).reshape(4, 1 + 4)
    picture_of = dict(zip(result.query_ids, shown[:, 0], strict=True))
    assert len(set(picture_of.values())) == 4
    expected = [[picture_of[one] for one in found] for found in result.neighbours.ids]
    assert shown[:, 1:].tolist() == expected


def test_images_in_a_column_of_bytes_are_searched(digits, model, tmp_path):
    names = sorted((digits / "new").iterdir())
    contents = [path.read_bytes() for path in names]
    parquet.write_table(pa.table({"id": range(4), "image": contents}), tmp_path / "rows.parquet")
    request = SearchRequest(
        model=digits / "model", index=tmp_path / "rows.parquet", query=digits / "new", k=4
    )
    files = search_files(replace(request, index=digits / "new", store=tmp_path / "of files"))
    rows = {path.name: row for row, path in enumerate(names)}
    for n_embedded in (4, 0):
        result = search_files(request)
        assert result.n_embedded == n_embedded
        expected = [[rows[one] for one in found] for found in files.neighbours.ids]
        assert result.neighbours.ids.tolist() == expected
    assert search_page(result).count("data:image/png;base64,") == 4  # of the queries alone


def test_the_model_reads_images_by_itself(digits, model):
    opened = PreparedModel.open(digits / "model")
    points = opened.embed(read_records(digits / "new"))
    assert points.shape == (4, model.n_components)
