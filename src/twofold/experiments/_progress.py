"""A run on its way: what has been seen of it is kept in a folder, until its record is written."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.files import new_file, write_text
from twofold.evaluation import NeighbourMetric
from twofold.experiments._records import CurvePoint

NOTES = "progress.json"
POINTS = "best.npz"
CHECKPOINT = "training.safetensors"


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The epoch that the validation part likes best, and the points it gave.

    Attributes
    ----------
    epoch : int or None
        Which; None for a method without epochs.
    validation : float
        The neighbours' score on the validation part.
    metric : str
        How nearness was measured.
    fitted_points, test_points : ndarray of float32
        Embeddings of the items learnt from, and of the test items.
    """

    epoch: int | None
    validation: float
    metric: NeighbourMetric
    fitted_points: NDArray[np.float32]
    test_points: NDArray[np.float32]


class RunProgress:
    """What has been seen of a run so far.

    Parameters
    ----------
    folder : Path or None
        Where it is kept; None keeps nothing.
    configuration : mapping
        Of the run: what was kept of another is put aside.
    """

    def __init__(self, folder: Path | None, configuration: dict[str, Any]) -> None:
        self.folder = folder
        self.curve: list[CurvePoint] = []
        self.best: Best | None = None
        self._configuration = configuration
        if folder is not None:
            self._open(folder)

    @property
    def checkpoint(self) -> Path | None:
        """Where the network's training is kept."""
        return None if self.folder is None else self.folder / CHECKPOINT

    def forget_from(self, epoch: int) -> None:
        """Drop what was seen at and after an epoch that is run again."""
        self.curve = [point for point in self.curve if point.epoch < epoch]

    def note(self, point: CurvePoint, best: Best | None) -> None:
        """Add a point of the curve, and the new best epoch if it is one."""
        self.curve.append(point)
        if best is not None:
            self.best = best
        if self.folder is None:
            return
        if best is not None:
            with new_file(self.folder / POINTS) as beside, beside.open("wb") as file:
                np.savez(file, fitted=best.fitted_points, test=best.test_points)
        write_text(self.folder / NOTES, json.dumps(self._notes()))

    def remove(self) -> None:
        """Forget a run whose record is written."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _notes(self) -> dict[str, Any]:
        assert self.best is not None
        return {
            "configuration": self._configuration,
            "curve": [asdict(point) for point in self.curve],
            "best": {name: getattr(self.best, name) for name in ("epoch", "validation", "metric")},
        }

    def _open(self, folder: Path) -> None:
        """Take up what was kept; what is damaged or of other settings is begun anew."""
        try:
            notes = json.loads((folder / NOTES).read_text(encoding="utf-8"))
            with np.load(folder / POINTS, allow_pickle=False) as points:
                best = Best(
                    **notes["best"], fitted_points=points["fitted"], test_points=points["test"]
                )
            if notes["configuration"] == self._configuration and (folder / CHECKPOINT).exists():
                self.curve = [CurvePoint(**point) for point in notes["curve"]]
                self.best = best
                return
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            pass
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
