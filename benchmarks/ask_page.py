"""From the key to the next question on the screen, in chromium, while the worker learns."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold.ask import AskRequest, read_ask_items
from twofold.ask._project import Project
from twofold.ask._store import Look
from twofold.datasets import load_mnist

TITLE = "The page that asks: from the key to the next question"
CHROMIUM = Path("/usr/bin/chromium")
ANSWERED = (5, 500, 5000)
N_PRESSES = 150
PAUSE = 0.4
"""Seconds between two keys, on average: faster than a person goes on for long."""
MOST_95, MOST_EVER = 50.0, 200.0
SETTING = {
    "items": "60,000 MNIST images as PNG files",
    "answered before": "random pairs, half of them of one digit, a fifth held out; all right",
    "keys": f"{N_PRESSES} at each size, {PAUSE} s apart on average (uniform from half to one and a "
    "half of it), the right answers, pairs and nines as they come",
    "latency": "the keydown's own time stamp, to after the frame in which all images of the next "
    "question are decoded",
    "browser": "headless chromium 1280 × 800, on the machine of the server and the worker",
}
WATCH = """
(() => {
  window.latencies = [];
  window.nDry = 0;
  let pressed = null;
  let last = null;
  addEventListener("keydown", (event) => (pressed = event.timeStamp), true);
  const shown = async (question) => {
    const from = pressed;
    pressed = null;
    const images = [...question.querySelectorAll("img")];
    await Promise.all(images.map((image) => image.decode().catch(() => {})));
    requestAnimationFrame(() => setTimeout(() => latencies.push(performance.now() - from)));
  };
  addEventListener("DOMContentLoaded", () => {
    const seen = new MutationObserver(() => {
      const question = document.querySelector(".stage .question");
      if (!question && pressed !== null && last !== null) {
        nDry += 1;
        last = null;
      }
      if (!question || question.dataset.id === last) return;
      last = question.dataset.id;
      if (pressed !== null) shown(question);
    });
    seen.observe(document.querySelector("#view-pairs"), { childList: true, subtree: true });
  });
})();
"""
LOOK = """() => {
  const question = document.querySelector(".question");
  if (!question) return null;
  return {
    nine: question.classList.contains("nine"),
    names: [...question.querySelectorAll("img")].map((image) => image.alt),
    isLearning: document.querySelector("#learning").dataset.state === "learning",
  };
}"""


@dataclass(frozen=True, slots=True, eq=False)
class Evening:
    """What was seen at one size: latencies in milliseconds, and what went on beside."""

    latencies: NDArray[np.float64]
    n_nines: int
    n_dry: int
    share_learning: float
    load: float
    quality: str


def why_not() -> str | None:
    """Say why this machine cannot run it, None if it can."""
    if not CHROMIUM.exists():
        return f"there is no {CHROMIUM}"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return why_no_data()


def measure() -> list[Figure]:
    """Return the latencies after few and many answers."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="twofold-page-") as name:
        folder = Path(name)
        labels = write_images(folder / "digits")
        request = AskRequest(data=folder / "digits")
        items = read_ask_items(request)
        for n_answers in ANSWERED:
            project = folder / f"project-{n_answers}"
            answer_before(project, request, items, labels, n_answers)
            seen = press_keys(request.data, project, labels)
            shutil.rmtree(project)
            figures += figures_of(n_answers, seen)
    return figures


def figures_of(n_answers: int, seen: Evening) -> list[Figure]:
    """Return the two figures of the bar, and the median beside."""
    values, at = seen.latencies, f"after {n_answers:,} answers"
    note = (
        f"{len(values)} keys, {seen.n_nines} of them at nines; {seen.n_dry} times no question was "
        f"there; learning at {seen.share_learning:.0%} of them; estimate of the AUROC "
        f"{seen.quality}; load average of the machine {seen.load:.1f}"
    )
    return [
        Figure(f"{at}: 95 % under, ms", float(np.quantile(values, 0.95)), MOST_95, False, note),
        Figure(f"{at}: slowest, ms", float(values.max()), MOST_EVER, False),
        Figure(f"{at}: median, ms", float(np.median(values))),
    ]


def write_images(folder: Path) -> dict[str, int]:
    """Write MNIST's training images as files; return the digit of each name."""
    folder.mkdir()
    data = load_mnist("train")
    labels = {}
    for number, (pixels, digit) in enumerate(zip(data.images, data.classes, strict=True)):
        name = f"{number:05d}.png"
        Image.fromarray(pixels.reshape(28, 28)).save(folder / name)
        labels[name] = int(digit)
    return labels


def answer_before(
    folder: Path, request: AskRequest, items: Any, labels: dict[str, int], n_answers: int
) -> None:
    """Put answers into a project as if they had been given on earlier evenings."""
    rng = np.random.default_rng(0)
    digits = np.array([labels[Path(items.name(item)).name] for item in range(items.n_items)])
    project = Project(folder, request, items)
    for number in range(n_answers):
        left = int(rng.integers(items.n_items))
        others = np.flatnonzero((digits == digits[left]) == bool(number % 2))
        right = int(rng.choice(others[others != left]))
        same, purpose = (bool(number % 2),), "test" if rng.random() < 0.2 else "learn"
        project.store.add(Look(f"before-{number}", "me", "pair", (left, right), same, purpose))
    project.close()


def press_keys(data: Path, project: Path, labels: dict[str, int]) -> Evening:
    """Answer in a browser, and return how long each next question took."""
    from playwright.sync_api import sync_playwright

    with serving(data, project) as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(WATCH)
        page.goto(link)
        page.wait_for_selector(".question", timeout=600_000)
        page.wait_for_function(
            "() => document.querySelector('#learning').dataset.state === 'waiting'"
        )
        n_nines, n_learning = answer_all(page, labels)
        load = os.getloadavg()[0]
        latencies = np.array(page.evaluate("latencies"))
        n_dry = page.evaluate("nDry")
        page.evaluate("() => (location.hash = 'quality')")
        page.wait_for_selector(".fact .value")
        quality = page.inner_text(".fact .value")
        browser.close()
    return Evening(latencies, n_nines, n_dry, n_learning / N_PRESSES, load, quality)


def answer_all(page: Any, labels: dict[str, int]) -> tuple[int, int]:
    """Press keys at a person's pace; return how many were at nines, and how many amid learning."""
    rng = np.random.default_rng(1)
    n_nines = n_learning = 0
    for _ in range(N_PRESSES):
        page.wait_for_selector(".question")
        time.sleep(float(rng.uniform(0.5, 1.5)) * PAUSE)
        look = page.evaluate(LOOK)
        digits = [labels[Path(name).name] for name in look["names"]]
        if look["nine"]:
            for number, digit in enumerate(digits[1:], start=1):
                if digit == digits[0]:
                    page.keyboard.press(str(number))
        page.keyboard.press("Enter" if look["nine"] else "y" if digits[0] == digits[1] else "n")
        n_nines += look["nine"]
        n_learning += look["isLearning"]
    time.sleep(1)
    return n_nines, n_learning


@contextmanager
def serving(data: Path, project: Path) -> Iterator[str]:
    """Serve the page in a process of its own; yield its link."""
    command = [sys.executable, "-m", "twofold", "ask", str(data), "--project", str(project)]
    server = subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        link = next(found for line in server.stdout if (found := re.search(r"http://\S+", line)))
        yield link.group()
    finally:
        server.terminate()
        server.wait()
