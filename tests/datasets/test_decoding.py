"""Image files become arrays of the right pixels, in the right order."""

import io
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twofold.datasets._decoding import (
    CHUNK,
    ImageFile,
    central_square,
    decode,
    decode_all,
    scale_shorter_side,
    scale_to_square,
)

PLACE = Path("set/one.png")


def _png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def _file(content: Path | bytes) -> ImageFile:
    return ImageFile("one", content, PLACE)


def _pixels(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def _ramp(length: int, slope: float) -> np.ndarray:
    """Brightness along one line, `slope` a pixel."""
    return np.round(slope * (np.arange(length) + 0.5)).astype(np.uint8)


def test_channels_come_first_and_rows_before_columns() -> None:
    pixels = _pixels(4, 7)
    image = decode(_file(_png(pixels)), lambda image: image)
    np.testing.assert_array_equal(image, pixels.transpose(2, 0, 1))
    assert image.dtype == np.uint8


def test_grey_and_palette_images_become_red_green_and_blue() -> None:
    grey = _pixels(5, 5)[:, :, 0]
    image = decode(_file(_png(grey)), lambda image: image)
    np.testing.assert_array_equal(image, np.stack([grey] * 3))
    file = io.BytesIO()
    Image.fromarray(grey).convert("P").save(file, "PNG")
    np.testing.assert_array_equal(decode(_file(file.getvalue()), lambda image: image), image)


def test_one_channel_may_be_asked_for() -> None:
    grey = _pixels(5, 7)[:, :, 0]
    image = decode(_file(_png(grey)), lambda image: image, "L")
    np.testing.assert_array_equal(image, grey[None])


@pytest.mark.parametrize(
    ("size", "left", "top"), [((10, 10), 2, 2), ((9, 6), 1, 0), ((6, 13), 0, 3)]
)
def test_the_central_square_is_cut_exactly(size: tuple[int, int], left: int, top: int) -> None:
    pixels = _pixels(size[1], size[0])
    cut = np.asarray(central_square(Image.fromarray(pixels), 6))
    np.testing.assert_array_equal(cut, pixels[top : top + 6, left : left + 6])


@pytest.mark.parametrize("scale", [scale_to_square, scale_shorter_side])
def test_an_image_of_the_right_size_is_left_alone(scale) -> None:
    pixels = _pixels(100, 100)
    np.testing.assert_array_equal(np.asarray(scale(Image.fromarray(pixels), 100)), pixels)


@pytest.mark.parametrize("scale", [scale_to_square, scale_shorter_side])
@pytest.mark.parametrize("size", [(64, 64), (333, 500), (1, 1), (101, 99)])
def test_a_constant_image_stays_constant(scale, size: tuple[int, int]) -> None:
    scaled = np.asarray(scale(Image.new("RGB", size, (200, 7, 90)), 100))
    assert np.unique(scaled.reshape(-1, 3), axis=0).tolist() == [[200, 7, 90]]


@pytest.mark.parametrize("length", [50, 200, 64])
def test_a_ramp_stays_the_ramp_of_its_new_size(length: int) -> None:
    ramp = np.tile(_ramp(length, 250 / length)[None, :, None], (length, 1, 3))
    scaled = np.asarray(scale_to_square(Image.fromarray(ramp), 100)).astype(int)
    expected = _ramp(100, 2.5).astype(int)
    # Bicubic keeps straight lines, but for rounding and the outermost pixels.
    assert np.abs(scaled[:, 5:-5, 1] - expected[None, 5:-5]).max() <= 1


@pytest.mark.parametrize(
    ("size", "scaled"),
    [
        ((500, 333), (150, 100)),
        ((333, 500), (100, 150)),
        ((80, 50), (160, 100)),
        ((3, 3), 2 * (100,)),
    ],
)
def test_the_shorter_side_is_scaled_and_the_other_in_proportion(
    size: tuple[int, int], scaled: tuple[int, int]
) -> None:
    assert scale_shorter_side(Image.new("RGB", size), 100).size == scaled


@pytest.mark.parametrize("content", [b"", b"<!DOCTYPE html>", _png(_pixels(30, 30))[:500]])
def test_what_is_no_whole_image_is_named(content: bytes) -> None:
    sentence = r"set.one\.png cannot be read as an image \(.*\): get it again, or remove it"
    with pytest.raises(ValueError, match=sentence):
        decode(_file(content), lambda image: image)


def test_a_jpeg_cut_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "one.jpg"
    Image.fromarray(_pixels(64, 64)).save(path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(ValueError, match=r"one\.png cannot be read as an image .*truncated"):
        decode(_file(path), lambda image: image)


def test_many_images_come_in_the_order_of_their_files() -> None:
    greys = np.arange(CHUNK + 20) % 251
    contents = [_png(np.full((1, 1, 3), grey, dtype=np.uint8)) for grey in range(251)]
    files = [_file(contents[grey]) for grey in greys]
    decoded = [image[0, 0, 0] for image in decode_all(files, partial(scale_to_square, side=1))]
    np.testing.assert_array_equal(decoded, greys)
