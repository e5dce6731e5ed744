"""A run in progress: its evaluations are kept in a folder until its record is written."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.files import new_file, write_text
from twofold._core.numpy_files import read_npz
from twofold._core.text_files import read_json
from twofold.evaluation import Metric
from twofold.experiments._records import CurvePoint

NOTES = "progress.json"
BEST, LAST = "best.npz", "last.npz"
CHECKPOINT = "training.safetensors"


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A run evaluated at one epoch, and the points it was evaluated by.

    Attributes
    ----------
    epoch : int
        After how many epochs; 0 for a method without any.
    validation : float
        The neighbours' score on the validation part.
    metric : str
        How nearness was measured.
    fitted_points, test_points : ndarray of float32
        Embeddings of the items learnt from, and of the test items.
    """

    epoch: int
    validation: float
    metric: Metric
    fitted_points: NDArray[np.float32]
    test_points: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Trained:
    """What a finished training leaves to be told.

    Attributes
    ----------
    metric : str
        How points are compared.
    targets_seconds, training_seconds : float
        Of the phases.
    """

    metric: str
    targets_seconds: float
    training_seconds: float


class RunProgress:
    """The evaluations of a run so far.

    Parameters
    ----------
    folder : Path or None
        Where it is kept; None keeps nothing.
    configuration : mapping
        Of the run, its device included: what was kept of another is put aside.

    Attributes
    ----------
    curve : list of CurvePoint
        Of all evaluations, without phase 1's seconds.
    best, last : Evaluation or None
        The one that the validation part scores highest, and the latest.
    trained : Trained or None
        Set once the training is done and only scores are missing.
    """

    def __init__(self, folder: Path | None, configuration: dict[str, Any]) -> None:
        self.folder = folder
        self.curve: list[CurvePoint] = []
        self.best: Evaluation | None = None
        self.last: Evaluation | None = None
        self.trained: Trained | None = None
        self._configuration = configuration
        if folder is not None:
            self._open(folder)

    @property
    def checkpoint(self) -> Path | None:
        """Where the network's training is kept."""
        return None if self.folder is None else self.folder / CHECKPOINT

    def forget_from(self, epoch: int) -> None:
        """Drop evaluations at and after an epoch that is run again."""
        self.curve = [point for point in self.curve if point.epoch < epoch]
        if self.best is not None and self.best.epoch >= epoch:
            self.best = None

    def note(self, evaluation: Evaluation, seconds: float, auroc: float) -> None:
        """Add an evaluation; the best is the one of the highest score, the latest of several."""
        self.curve.append(CurvePoint(evaluation.epoch, seconds, auroc, evaluation.validation))
        self.last = evaluation
        # Of epochs that are equally good the later has learnt more.
        is_best = self.best is None or evaluation.validation >= self.best.validation
        if is_best:
            self.best = evaluation
        if self.folder is not None:
            _write_evaluation(self.folder / LAST, evaluation)
            if is_best:
                _write_evaluation(self.folder / BEST, evaluation)
            self._write_notes(self.folder)

    def finish(self, trained: Trained) -> None:
        """Note that the training is done."""
        self.trained = trained
        if self.folder is not None:
            self._write_notes(self.folder)

    def remove(self) -> None:
        """Forget a run whose record is written."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write_notes(self, folder: Path) -> None:
        notes = {
            "configuration": self._configuration,
            "curve": [asdict(point) for point in self.curve],
            "trained": None if self.trained is None else asdict(self.trained),
        }
        write_text(folder / NOTES, json.dumps(notes))

    def _open(self, folder: Path) -> None:
        """Take up what was kept; what is damaged or of other settings is begun anew."""
        try:
            notes = read_json(folder / NOTES)
            best, last = _read_evaluation(folder / BEST), _read_evaluation(folder / LAST)
            trained = None if notes["trained"] is None else Trained(**notes["trained"])
            goes_on = trained is not None or (folder / CHECKPOINT).exists()
            if notes["configuration"] == self._configuration and goes_on:
                self.curve = [CurvePoint(**point) for point in notes["curve"]]
                self.best, self.last, self.trained = best, last, trained
                return
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)


def _write_evaluation(path: Path, evaluation: Evaluation) -> None:
    with new_file(path) as beside, beside.open("wb") as file:
        np.savez(file, **asdict(evaluation))


def _read_evaluation(path: Path) -> Evaluation:
    stored = read_npz(path)
    return Evaluation(
        int(stored["epoch"]),
        float(stored["validation"]),
        str(stored["metric"]),  # type: ignore[arg-type]
        stored["fitted_points"],
        stored["test_points"],
    )
