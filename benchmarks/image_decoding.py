"""Decoding a folder of JPEGs: ImagePreparation beside plain pillow with `draft`, on all cores.

Both give the same pixels at 64 × 64. They take turns in one process, each on the same files; the
median of the ratios counts. Photographs are not needed: noise smoothed at several scales has their
sizes.

python benchmarks/image_decoding.py --images 20000
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image, __version__

from twofold._core.threads import allowed_threads
from twofold.preparation import ImagePreparation

SIDE = 64
KINDS = 200
"""Different pictures; the others are copies of them under other names."""


def write_images(folder: Path, n_images: int, height: int, width: int) -> list[Path]:
    """Write JPEGs of smoothed noise."""
    rng = np.random.default_rng(0)
    for number in range(min(KINDS, n_images)):
        pixels = np.zeros((height, width, 3))
        for scale in (4, 16, 64):
            noise = rng.random((height // scale + 1, width // scale + 1, 3)) * 255 / 3
            coarse = Image.fromarray(noise.astype(np.uint8))
            pixels += np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC))
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number}.jpg", quality=85)
    paths = [folder / f"{number}.jpg" for number in range(n_images)]
    for number in range(KINDS, n_images):
        shutil.copyfile(paths[number % KINDS], paths[number])
    return paths


def plain(path: Path) -> np.ndarray:
    """Return one image as anyone would decode it."""
    with Image.open(path) as image:
        image.draft("RGB", (SIDE, SIDE))
        scaled = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        return np.asarray(scaled).transpose(2, 0, 1)


def decode_plainly(paths: list[Path]) -> np.ndarray:
    """Return all images, by pillow in as many threads as there are cores."""
    images = np.empty((len(paths), 3, SIDE, SIDE), dtype=np.uint8)
    with ThreadPoolExecutor(allowed_threads()) as threads:
        for number, image in enumerate(threads.map(plain, paths)):
            images[number] = image
    return images


def main() -> None:
    """Print seconds and ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--height", type=int, default=240)
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_images(Path(folder), asked.images, asked.height, asked.width)
        preparation = ImagePreparation(size=SIDE, channels=3).fit(paths)
        seconds: dict[str, list[float]] = {"pillow": [], "twofold": []}
        for number in range(asked.rounds):
            start = time.perf_counter()
            wanted = decode_plainly(paths)
            middle = time.perf_counter()
            preparation.set_params(cache=Path(folder, f"cache{number}"))
            images = preparation.transform(paths)
            seconds["pillow"].append(middle - start)
            seconds["twofold"].append(time.perf_counter() - middle)
            if not (images == wanted).all():
                raise SystemExit("the two decode differently")
    ratios = [a / b for a, b in zip(*seconds.values(), strict=True)]
    for name, times in seconds.items():
        rate = asked.images / statistics.median(times)
        print(f"{name:8} {statistics.median(times):6.2f} s, {rate:,.0f} images/s")  # noqa: T201
    print(  # noqa: T201
        f"twofold is {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to "
        f"{max(ratios):.2f}), cache written; {asked.images} JPEGs of {asked.width} × "
        f"{asked.height}, {allowed_threads()} cores, pillow {__version__}"
    )


if __name__ == "__main__":
    main()
