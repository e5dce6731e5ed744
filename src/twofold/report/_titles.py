"""What sets, methods and machines are called on a page, and the order they stand in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from twofold.experiments import (
    CODE_METHODS,
    METHODS,
    PROTOCOLS,
    UNSEEN_METHODS,
    UNSEEN_PROTOCOLS,
    Method,
    Protocol,
    UnseenMethod,
    UnseenProtocol,
    code_title,
)

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


KNOWN_METHODS: dict[str, Method | UnseenMethod] = {
    **METHODS,
    **UNSEEN_METHODS,
    **CODE_METHODS,
}
"""Those of all protocols; a name stands for the same method in each."""
KNOWN_SETS: dict[str, Protocol | UnseenProtocol] = {**PROTOCOLS, **UNSEEN_PROTOCOLS}


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
    return KNOWN_METHODS[name].title if name in KNOWN_METHODS else name


def method_origin(name: str) -> str:
    """Return where a method comes from, a key of `ORIGINS`."""
    return KNOWN_METHODS[name].origin if name in KNOWN_METHODS else "other"


def method_explanation(name: str, class_name: str | None = None) -> str:
    """Return a method in one line; of one that this Twofold does not know, the learner's class."""
    known = KNOWN_METHODS.get(name)
    if known is not None:
        return known.explanation
    return f"a learner of the class {class_name}" if class_name else "not a method of this Twofold"


def set_title(name: str) -> str:
    """Return what a set, or a protocol for kinds never seen or for codes, is called."""
    return KNOWN_SETS[name].title if name in KNOWN_SETS else code_title(name) or name


def method_order(name: str) -> tuple[int, str]:
    """Return a key: known methods as they are listed, then others by name."""
    return _place(name, KNOWN_METHODS), name


def unseen_method_order(name: str) -> tuple[int, str]:
    """Return the same of methods for kinds never seen: Twofold's own come first."""
    return _place(name, UNSEEN_METHODS), name


def code_method_order(name: str) -> tuple[int, str]:
    """Return the same of methods of codes."""
    return _place(name, CODE_METHODS), name


def set_order(name: str) -> tuple[int, str]:
    """Return a key: known sets as they are listed, then others by name."""
    if code_title(name) is not None:  # of one set, short codes first
        base, n_bits, _ = name.rsplit("-", 2)
        return _place(base, KNOWN_SETS), f"{base} {int(n_bits):08d}"
    return _place(name, KNOWN_SETS), name


def _place(name: str, known: Mapping[str, object]) -> int:
    return list(known).index(name) if name in known else len(known)
