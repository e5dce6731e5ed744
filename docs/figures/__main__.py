"""Draw the pictures of the documentation again: all of them, or those that are named."""

import importlib
import io
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image
from style import PICTURES

NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in ("__main__", "style", "evening")
)


def rendered(figure: Figure) -> Image.Image:
    """Return a figure as an image."""
    stream = io.BytesIO()
    figure.savefig(stream)
    plt.close(figure)
    return Image.open(stream)


for name in sys.argv[1:] or NAMES:
    drawn = importlib.import_module(name).draw()
    image, n_colours = (drawn, 256) if isinstance(drawn, Image.Image) else (rendered(drawn), 96)
    image.convert("RGB").quantize(n_colours).save(PICTURES / f"{name}.png", optimize=True)
    print(f"{name}.png")
