"""The page that asks: the map, close up, with the neighbours of one item."""

from evening import pictures
from PIL import Image


def draw() -> Image.Image:
    """Take the picture at the end of an evening."""
    return pictures()["map"]
