"""A folder of images: classes by folder, what cannot be read, neighbours on a page."""

import numpy as np
import pytest
from PIL import Image
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


def test_the_model_reads_images_by_itself(digits, model):
    opened = PreparedModel.open(digits / "model")
    points = opened.embed(read_records(digits / "new"))
    assert points.shape == (4, model.n_components)
