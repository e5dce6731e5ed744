"""Image files to pixels of one size: upright, grey or colour, decoded once, the bad ones told."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone

from twofold.preparation import ImagePreparation, ImageWarning


def colourful(height=12, width=10):
    rows, columns = np.mgrid[:height, :width] * 15
    return np.stack([rows, columns, np.full_like(rows, 60)], axis=2).astype(np.uint8)


def written(folder, name, pixels, **options):
    path = folder / name
    Image.fromarray(pixels).save(path, **options)
    return path


def test_images_of_one_small_size_keep_their_pixels(tmp_path):
    paths = [written(tmp_path, f"{k}.png", colourful() + np.uint8(k)) for k in range(3)]
    preparation = ImagePreparation().fit(paths)
    assert preparation.shape_ == (3, 12, 10)
    wanted = [(colourful() + np.uint8(k)).transpose(2, 0, 1) for k in range(3)]
    np.testing.assert_array_equal(preparation.transform(paths), wanted)


def test_the_commonest_size_counts_and_large_images_become_64_pixels(tmp_path):
    small = [written(tmp_path, f"{k}.png", colourful(8, 8)) for k in range(2)]
    paths = [*small, written(tmp_path, "large.png", colourful(16, 12))]
    assert ImagePreparation().fit_transform(paths).shape == (3, 3, 8, 8)
    large = [written(tmp_path, "wide.jpg", np.zeros((90, 120, 3), dtype=np.uint8))]
    assert ImagePreparation().fit_transform(large).shape == (1, 1, 64, 64)


def test_grey_pictures_have_one_channel_even_if_stored_in_colour(tmp_path):
    grey = np.repeat(colourful()[:, :, :1], 3, axis=2)
    path = written(tmp_path, "grey.png", grey)
    images = ImagePreparation().fit_transform([path])
    np.testing.assert_array_equal(images[0, 0], grey[:, :, 0])
    assert ImagePreparation(channels=3).fit_transform([path]).shape == (1, 3, 12, 10)


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it clockwise
    path = written(tmp_path, "turned.jpg", colourful(), exif=exif, quality=100, subsampling=0)
    image = ImagePreparation(size=(10, 12)).fit_transform([path])[0]
    wanted = np.rot90(colourful(), -1).transpose(2, 0, 1).astype(int)
    assert np.abs(image.astype(int) - wanted).mean() < 4


def test_transparent_pixels_are_white(tmp_path):
    pixels = np.zeros((4, 4, 4), dtype=np.uint8)
    pixels[:2, :, 3] = 255
    image = ImagePreparation().fit_transform([written(tmp_path, "a.png", pixels)])[0]
    assert (image[:, :2] == 0).all()
    assert (image[:, 2:] == 255).all()


def test_sixteen_bits_become_eight(tmp_path):
    pixels = np.array([[0, 65535], [32768, 257]], dtype=np.uint16)
    image = ImagePreparation().fit_transform([written(tmp_path, "deep.png", pixels)])[0]
    np.testing.assert_array_equal(image, [[[0, 255], [127, 1]]])


def test_a_palette_is_looked_up(tmp_path):
    path = tmp_path / "palette.gif"
    Image.fromarray(colourful(4, 4)).quantize(16).save(path)
    image = ImagePreparation(channels=3).fit_transform([path])[0]
    assert np.abs(image.astype(int) - colourful(4, 4).transpose(2, 0, 1)).max() < 30


# The cache


def test_images_are_decoded_once_and_again_when_a_file_changes(tmp_path, cache, monkeypatch):
    paths = [written(tmp_path, f"{k}.png", colourful()) for k in range(2)]
    preparation = ImagePreparation().fit(paths)
    first = preparation.transform(paths)
    assert isinstance(first, np.memmap)
    assert len(list(cache.iterdir())) == 1
    with monkeypatch.context() as patched:
        patched.setattr("twofold.preparation._image_cache.decode_all", None)
        np.testing.assert_array_equal(preparation.transform(paths), first)
    written(tmp_path, "1.png", colourful()[::-1])
    changed = preparation.transform(paths)
    assert (changed[0] == first[0]).all()
    assert (changed[1] != first[1]).any()


def test_a_damaged_entry_is_decoded_again(tmp_path, cache):
    paths = [written(tmp_path, "0.png", colourful())]
    preparation = ImagePreparation().fit(paths)
    wanted = np.array(preparation.transform(paths))
    (entry,) = cache.iterdir()
    (entry / "images.npy").write_bytes(b"nothing")
    np.testing.assert_array_equal(preparation.transform(paths), wanted)


def test_a_missing_file_in_another_row_is_another_entry(tmp_path):
    good = [written(tmp_path, f"{k}.png", colourful() + np.uint8(k)) for k in range(200)]
    preparation = ImagePreparation().fit(good)
    missing = tmp_path / "missing.png"
    for row in (5, 100):
        decoded = preparation.decode([*good[:row], missing, *good[row:]])
        assert list(decoded.unreadable) == [row]


def test_the_cache_is_a_parameter(tmp_path, cache):
    paths = [written(tmp_path, "0.png", colourful())]
    elsewhere = ImagePreparation(cache=tmp_path / "kept").fit(paths)
    nowhere = ImagePreparation(cache=False).fit(paths)
    np.testing.assert_array_equal(elsewhere.transform(paths), nowhere.transform(paths))
    assert (tmp_path / "kept").is_dir()
    assert not list(cache.iterdir())


# What is wrong


def hundred(tmp_path, n_bad):
    good = written(tmp_path, "good.png", colourful(4, 4))
    bad = tmp_path / "bad.png"
    bad.write_bytes(good.read_bytes()[:40])
    paths = [good] * 200
    paths[5 : 5 + n_bad] = [bad] * n_bad
    return paths


def test_some_unreadable_images_are_skipped_and_told(tmp_path):
    paths = hundred(tmp_path, n_bad=2)
    preparation = ImagePreparation().fit(paths)
    decoded = preparation.decode(paths)
    assert decoded.rows.tolist() == [row for row in range(200) if row not in (5, 6)]
    assert decoded.images.shape == (198, 3, 4, 4)
    assert list(decoded.unreadable) == [5, 6]
    with pytest.warns(ImageWarning, match=r"2 of 200 .* first .*bad\.png in row 5 \(.*black"):
        images = preparation.transform(paths)
    assert images.shape == (200, 3, 4, 4)
    assert not images[5].any()


def test_more_than_one_in_a_hundred_is_an_error(tmp_path):
    paths = hundred(tmp_path, n_bad=3)
    preparation = ImagePreparation(cache=False).fit(paths)
    with pytest.raises(ValueError, match=r"3 of 200 .*bad\.png in row 5 .* No more than 1% may be"):
        preparation.decode(paths)
    with pytest.raises(ValueError, match=r"3 of 200"):
        preparation.transform(paths)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    path = written(tmp_path, "bomb.png", np.zeros((40, 40), dtype=np.uint8))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(ValueError, match=r"None of the 1 .* can be read: .*bomb\.png \(.*exceeds"):
        ImagePreparation().fit([path])


@pytest.mark.parametrize(
    ("arguments", "paths", "message"),
    [
        (
            {},
            ["nowhere.png"],
            r"None of the 1 image files that were tried can be read: nowhere\.png",
        ),
        ({}, [], "There are no image files"),
        (
            {"size": "big"},
            None,
            "size must be 'auto', a number of pixels, or two of them, got 'big'",
        ),
        ({"size": 10**6}, None, "at most 4096 pixels"),
        ({"channels": 2}, None, "channels must be 'auto', 1 or 3, got 2"),
    ],
)
def test_what_cannot_be_fitted_is_said(tmp_path, arguments, paths, message):
    good = [written(tmp_path, "good.png", colourful())]
    with pytest.raises(ValueError, match=message):
        ImagePreparation(**arguments).fit(good if paths is None else paths)


@pytest.mark.parametrize("paths", ["one.png", [3]])
def test_paths_have_to_be_paths(paths):
    with pytest.raises(TypeError, match=r"sequence of image files|must be paths, got 3 in row 0"):
        ImagePreparation().fit(paths)


def test_what_was_saved_decodes_alike(tmp_path):
    paths = [written(tmp_path, "0.png", colourful())]
    preparation = ImagePreparation(size=7).fit(paths)
    description = json.loads(json.dumps(preparation.save(tmp_path)))
    opened = ImagePreparation.open(description, tmp_path)
    np.testing.assert_array_equal(opened.transform(paths), preparation.transform(paths))
    assert clone(preparation).get_params() == preparation.get_params()
    for shape in ([3, 7], [2, 7, 7], [3, 0, 7], [3, 7, 10**9], [3, 7, "7"], None):
        with pytest.raises(ValueError, match="is damaged: "):
            ImagePreparation.open(description | {"shape": shape}, tmp_path)
