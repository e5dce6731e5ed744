"""Work that writes, and what must hold of its files after a kill and after the next run."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hostile_models import X, Y, small_learner
from killing import run_killed

from twofold import MetricLearner, Network, load
from twofold._core.files import write_text
from twofold.experiments import reproduce
from twofold.experiments._records import read_record

PAGE = "<html>" + "a page " * 10_000 + "</html>"


@dataclass(frozen=True)
class Scenario:
    """Work in a folder.

    Attributes
    ----------
    prepare : callable (folder)
        Makes what is there before.
    work : callable (folder)
        Is killed; done again, it must come to its end.
    check_killed, check_done : callable (folder)
        What must hold after a kill, and after it was done again.
    """

    prepare: Callable[[Path], object]
    work: Callable[[Path], object]
    check_killed: Callable[[Path], object]
    check_done: Callable[[Path], object]


@cache
def learners() -> tuple[MetricLearner, MetricLearner]:
    """Return an old and a new learner."""
    quick = Network(max_epochs=1)
    old = small_learner(metric="seen", embedder=quick).fit(X, Y)
    return old, small_learner(metric="seen", embedder=quick).fit(X, (Y + 1) % 3)


def _points(learner: Any) -> bytes:
    return np.round(learner.transform(X), 3).tobytes()


def _is_one_of_two(folder: Path) -> None:
    assert _points(load(folder / "model", device="cpu")) in set(map(_points, learners()))


def _is_whole_if_there(folder: Path) -> None:
    if (folder / "model").exists():
        _is_one_of_two(folder)


def _is_new(folder: Path) -> None:
    assert _points(load(folder / "model", device="cpu")) == _points(learners()[1])
    assert _names(folder) == ["model"]


def _names(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())


@cache
def _trained() -> bytes:
    return _train(None).tobytes()


def _train(checkpoint: Path | None) -> np.ndarray:
    network = Network(max_epochs=3, checkpoint=checkpoint)
    return small_learner(metric="seen", embedder=network).fit(X, Y).transform(X)


def _check_checkpoint(folder: Path) -> None:
    from safetensors import safe_open

    if (folder / "training").exists():
        with safe_open(folder / "training", framework="np") as file:
            json.loads(file.metadata()["training"])


def _train_as_ever(folder: Path) -> None:
    # Whether it goes on or begins anew, the points are those of one that was never killed.
    assert _train(folder / "training").tobytes() == _trained()


def _nothing_is_left(folder: Path) -> None:
    assert _names(folder) == []


def _page_is_old_or_new(folder: Path) -> None:
    assert (folder / "page.html").read_text() in ("old", PAGE)


def _page_is_new(folder: Path) -> None:
    assert (folder / "page.html").read_text() == PAGE
    assert _names(folder) == ["page.html"]


def _report(folder: Path) -> None:
    from twofold.cli._report import report

    report(folder / "runs", folder / "page.html", folder / "tables.md")


@cache
def _runs() -> Path:
    place = Path(tempfile.mkdtemp(prefix="twofold-runs-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    _reproduce(place)
    return place


def _check_outputs(folder: Path) -> None:
    page, tables = folder / "page.html", folder / "tables.md"
    assert page.read_text() == "old" or page.read_text().rstrip().endswith("</html>")
    assert not tables.exists() or tables.read_text().endswith("\n")


def _outputs_are_new(folder: Path) -> None:
    assert (folder / "page.html").read_text().rstrip().endswith("</html>")
    assert _names(folder) == ["page.html", "runs", "tables.md"]


def _reproduce(folder: Path) -> list[Any]:
    return list(reproduce("digits", folder, methods=["twofold", "raw"], epochs=2, device="cpu"))


def _check_records(folder: Path) -> None:
    for path in (folder / "digits").glob("*-seed*.json"):
        if not path.name.endswith(".gallery.json"):
            read_record(path)


def _records_are_whole(folder: Path) -> None:
    for path in sorted((_runs() / "digits").glob("*-seed?.json")):
        expected, found = read_record(path), read_record(folder / "digits" / path.name)
        assert found.scores == expected.scores
        assert len(found.curve) == len(expected.curve)
    assert _names(folder / "digits") == _names(_runs() / "digits")


def kill_and_check(scenario: Scenario, folder: Path, at_call: int) -> bool:
    """Kill a scenario at a call, check, do it again, check; say whether it was killed at all."""
    scenario.prepare(folder)
    outcome, _ = run_killed(lambda: scenario.work(folder), at_call)
    assert outcome in ("killed", "finished"), f"{outcome} at call {at_call}"
    scenario.check_killed(folder)
    scenario.work(folder)
    scenario.check_done(folder)
    return outcome == "killed"


SCENARIOS = {
    "save": Scenario(
        lambda folder: None,
        lambda folder: learners()[1].save(folder / "model"),
        _is_whole_if_there,
        _is_new,
    ),
    "save over a model": Scenario(
        lambda folder: learners()[0].save(folder / "model"),
        lambda folder: learners()[1].save(folder / "model"),
        _is_one_of_two,
        _is_new,
    ),
    "checkpoint": Scenario(
        lambda folder: None,
        _train_as_ever,
        _check_checkpoint,
        _nothing_is_left,
    ),
    "page": Scenario(
        lambda folder: write_text(folder / "page.html", "old"),
        lambda folder: write_text(folder / "page.html", PAGE),
        _page_is_old_or_new,
        _page_is_new,
    ),
    "report": Scenario(
        lambda folder: (
            shutil.copytree(_runs(), folder / "runs"),
            write_text(folder / "page.html", "old"),
        ),
        _report,
        _check_outputs,
        _outputs_are_new,
    ),
    "reproduce": Scenario(lambda folder: None, _reproduce, _check_records, _records_are_whole),
}
