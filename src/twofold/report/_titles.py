"""What sets, methods and machines are called on a page, and the order they stand in."""

from __future__ import annotations

from dataclasses import dataclass

from twofold.experiments import METHODS, PROTOCOLS

ORIGINS = {
    "paper": "The paper's",
    "twofold": "Twofold's",
    "rival": "What the paper is compared with",
    "today": "In use today",
    "other": "Others",
}
SCORES = {"accuracy": "5-NN accuracy", "jaccard": "5-NN Jaccard index"}
ALIGNED_PUBFIG83 = 10_518
"""Training images of the aligned PubFig83, which are of 64×64 pixels."""
ALIGNED_NOTE = (
    "This is the aligned PubFig83: 10,518 training images, of 64×64 pixels, enlarged. The paper "
    "had more, and of full resolution: its accuracy is not directly comparable."
)
UNTRAINED = ("raw",)
"""Methods that learn nothing: their time is no rival's."""


@dataclass(frozen=True, slots=True, order=True)
class Machine:
    """Where runs were made: what their seconds can be compared by.

    Attributes
    ----------
    device : {"cpu", "cuda"}
        The kind that trained.
    hardware : str
        What trained: the GPU, or the processor and its cores.
    host : str
        What it sits in: the system, with a GPU the processor too.
    """

    device: str
    hardware: str
    host: str

    @property
    def short(self) -> str:
        """The machine in a heading."""
        return f"{self.hardware} ({self.device.upper()})"

    @property
    def full(self) -> str:
        """The machine under a table."""
        return f"{self.short}, {self.host}"


def method_title(name: str) -> str:
    """Return what a method is called; one that this Twofold does not know keeps its name."""
    return METHODS[name].title if name in METHODS else name


def method_origin(name: str) -> str:
    """Return where a method comes from, a key of `ORIGINS`."""
    return METHODS[name].origin if name in METHODS else "other"


def method_explanation(name: str) -> str:
    """Return a method in one line."""
    return METHODS[name].explanation if name in METHODS else "not a method of this Twofold"


def set_title(name: str) -> str:
    """Return what a set is called."""
    return PROTOCOLS[name].title if name in PROTOCOLS else name


def method_order(name: str) -> tuple[int, str]:
    """Return a key: known methods as they are listed, then others by name."""
    return (list(METHODS).index(name) if name in METHODS else len(METHODS)), name


def set_order(name: str) -> tuple[int, str]:
    """Return a key: known sets as they are listed, then others by name."""
    return (list(PROTOCOLS).index(name) if name in PROTOCOLS else len(PROTOCOLS)), name
