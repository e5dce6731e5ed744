"""The page that asks: whether it is good enough."""

from evening import pictures
from PIL import Image


def draw() -> Image.Image:
    """Take the picture at the end of an evening."""
    return pictures()["quality"]
