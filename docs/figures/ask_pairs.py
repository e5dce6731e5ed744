"""The page that asks: two items side by side."""

from evening import pictures
from PIL import Image


def draw() -> Image.Image:
    """Take the picture at the end of an evening."""
    return pictures()["pairs"]
