"""Records with images to be asked about, and a server of them that can be started again."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from running import Running
from sklearn.datasets import load_digits

N_RECORDS = 48
WORDS = ("nought", "one", "two", "three")


def write_records(folder: Path) -> Path:
    """Write a table of digits with its images: four kinds, a title and a price for each."""
    digits = load_digits(n_class=len(WORDS))
    lines = ["id,file,title,price"]
    for number in range(N_RECORDS):
        name = f"{number:02d}.png"
        Image.fromarray((digits.images[number] * 15).astype("uint8")).save(folder / name)
        title = f"digit {WORDS[digits.target[number]]} of writer {number % 7}"
        lines.append(f"d{number:02d},{name},{title},{number % 5}.50")
    file = folder / "digits.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


class PageServer:
    """`twofold ask` of the records, which can be killed and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        self._arguments = (write_records(folder), "--id", "id", "--image", "file")
        self._running = Running(*self._arguments)

    @property
    def link(self) -> str:
        """Of the page, with its token."""
        return self._running.link

    @property
    def origin(self) -> str:
        """Where the page is."""
        return self._running.origin

    def kill(self) -> None:
        """End it as a loss of power would."""
        self._running.kill()

    def start(self) -> None:
        """Start it again."""
        self._running = Running(*self._arguments, "--port", self._running.port)

    def stop(self) -> tuple[int, str]:
        """End it by Ctrl-C; return its exit code and what it said of errors."""
        return self._running.stop()


def wait_until(page, condition, arg=None):
    """Wait until JavaScript is true, asked twenty times a second.

    Asked at every frame, as Playwright does by default, each frame is drawn, by this processor.
    """
    page.wait_for_function(condition, arg=arg, polling=50)
