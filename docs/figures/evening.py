"""An evening at the page that asks: digits, answered right, and each view at its end."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from sklearn.datasets import load_digits

CHROMIUM = Path("/usr/bin/chromium")
N_LOOKS = 200
FROM_EACH = 10
"""Looks after which the model is waited for, so that the curve has its points."""
LOOK = """() => ({
  nine: document.querySelector(".question.nine") !== null,
  names: [...document.querySelectorAll(".question img")].map((image) => image.alt),
})"""


@cache
def pictures() -> dict[str, Image.Image]:
    """Return a picture of each view that the documentation shows."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        kinds = write_digits(Path(name) / "digits")
        with serving(Path(name) / "digits") as link:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1180, "height": 740})
            page.goto(link)
            for number in range(N_LOOKS):
                answer(page, kinds)
                if number % FROM_EACH == 0:
                    wait_learnt(page)
            taken = take_all(page)
            browser.close()
    return taken


def write_digits(folder: Path) -> dict[str, int]:
    """Write scikit-learn's digits as images; return what each name shows."""
    folder.mkdir()
    digits = load_digits()
    kinds = {}
    for number, (pixels, kind) in enumerate(zip(digits.images, digits.target, strict=True)):
        image = Image.fromarray((pixels * 15.9).astype("uint8"))
        image.resize((64, 64), Image.Resampling.BICUBIC).save(folder / f"{number:04d}.png")
        kinds[f"{number:04d}.png"] = int(kind)
    return kinds


@contextmanager
def serving(data: Path) -> Iterator[str]:
    """Serve the page; yield its link."""
    command = [sys.executable, "-m", "twofold", "ask", str(data), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        link = next(found for line in server.stdout if (found := re.search(r"http://\S+", line)))
        yield link.group()
    finally:
        server.terminate()
        server.wait()


def answer(page: Any, kinds: dict[str, int]) -> None:
    """Answer a question as it is."""
    page.wait_for_selector(".question", timeout=60_000)
    look = page.evaluate(LOOK)
    first, *others = (kinds[name] for name in look["names"])
    if look["nine"]:
        for number, kind in enumerate(others, start=1):
            if kind == first:
                page.keyboard.press(str(number))
    page.keyboard.press("Enter" if look["nine"] else "y" if first == others[0] else "n")
    page.wait_for_timeout(50)


def wait_learnt(page: Any) -> None:
    """Wait until the model has learnt from all answers."""
    page.wait_for_timeout(300)
    page.wait_for_function(
        "() => document.querySelector('#learning').textContent === 'up to date'", timeout=120_000
    )


def take_all(page: Any) -> dict[str, Image.Image]:
    """Return the views as they look at the end of the evening."""
    taken = {}
    while page.query_selector(".question.nine"):
        page.keyboard.press("u")
        page.wait_for_timeout(50)
    wait_learnt(page)
    taken["pairs"] = picture(page)
    page.evaluate("() => (location.hash = 'quality')")
    page.wait_for_selector(".curve .features", state="attached", timeout=120_000)
    taken["quality"] = picture(page)
    page.evaluate("() => (location.hash = 'map/20')")
    page.wait_for_selector(".nearest", timeout=120_000)
    page.wait_for_selector(".map-state:empty", state="attached", timeout=120_000)
    page.wait_for_timeout(3000)
    taken["map"] = picture(page)
    return taken


def picture(page: Any) -> Image.Image:
    """Return what the window shows."""
    return Image.open(BytesIO(page.screenshot()))
