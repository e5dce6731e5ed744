"""Draw the pictures of the documentation again: all of them, or those that are named."""

import importlib
import io
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image
from style import PICTURES

NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in ("__main__", "style")
)

for name in sys.argv[1:] or NAMES:
    figure = importlib.import_module(name).draw()
    drawn = io.BytesIO()
    figure.savefig(drawn)
    Image.open(drawn).convert("RGB").quantize(96).save(PICTURES / f"{name}.png", optimize=True)
    plt.close(figure)
    print(f"{name}.png")
