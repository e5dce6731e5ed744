"""Run records: what one method gave on one set with one seed, as a JSON file.

A record is checked against `run-record.schema.json` when it is read, so that whatever is made of
records can rely on them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from twofold._core.files import remove_leftovers, write_text
from twofold._core.text_files import read_json
from twofold.evaluation import Metric
from twofold.experiments._code_scores import CodeScores
from twofold.experiments._kind_scores import UnseenScores

FORMAT = "twofold-run"
FORMAT_VERSION = 3
"""2 added what was found on kinds never seen, 3 scores of codes; records of earlier versions are
read as before."""
SCHEMA = "run-record.schema.json"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Where a run stood.

    Attributes
    ----------
    epoch : int
        Epochs of training; what an epoch is, the configuration says.
    seconds : float
        Of training so far, phase 1 counted in, evaluation not.
    auroc : float
        On pairs of test items.
    validation : float or None
        The neighbours' score on the validation part.
    """

    epoch: int
    seconds: float
    auroc: float
    validation: float | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """What a run came to.

    Attributes
    ----------
    auroc : float
        On pairs of test items, at the end.
    neighbours : float
        5-NN accuracy or Jaccard index of test items, at the epoch chosen.
    neighbour_metric : str
        How nearness was measured; chosen with the epoch where there was a choice.
    epoch : int or None
        Chosen on the validation part; None for a method without epochs.
    validation : float
        The score it was chosen by.
    retrieval : mapping
        Recall at 1, 5 and 10, R-precision and MAP@R among the test items, at the end.
    """

    auroc: float
    neighbours: float
    neighbour_metric: Metric
    epoch: int | None
    validation: float
    retrieval: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run.

    Attributes
    ----------
    data_set, method, seed : str, str, int
        Which run it is; in the file "set", "method" and "seed".
    configuration : mapping
        The protocol and the learner's parameters.
    data : mapping
        "n_train", "n_validation", "n_test", "n_labels", "n_pairs" and "n_without_label", the
        training items that are alike to nothing.
    score : {"accuracy", "jaccard"}
        What its neighbours' score is.
    measured, commit : str
        The day, and the state of the code.
    machine : mapping
        Processor, GPU and versions.
    device : str
        "cpu" or "cuda".
    seconds : mapping
        Of the phases: "targets" and "training"; of runs on kinds never seen also "metric", the
        metric step or a rival's whitening, and "rest", what else fitting took.
    targets_seconds : tuple of float
        Phase 1 on its own, with the sampling of its pairs, several times over.
    curve : tuple of CurvePoint
        AUROC against seconds.
    scores : Scores or None
        None where there was phase 1 only, and of a run on kinds never seen or on codes.
    unseen : UnseenScores or None
        Of a run on kinds never seen.
    codes : CodeScores or None
        Of a run on codes.
    """

    data_set: str
    method: str
    seed: int
    configuration: Mapping[str, Any]
    data: Mapping[str, int]
    score: str
    measured: str
    commit: str
    machine: Mapping[str, str]
    device: str
    seconds: Mapping[str, float]
    targets_seconds: tuple[float, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    scores: Scores | None = None
    unseen: UnseenScores | None = None
    codes: CodeScores | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON takes it."""
        fields = asdict(self)
        head = {"format": FORMAT, "format_version": FORMAT_VERSION, "set": fields.pop("data_set")}
        return json.loads(json.dumps(head | fields))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunRecord:
        """Return the record that JSON holds; it has been checked."""
        fields = {k: v for k, v in content.items() if k not in ("format", "format_version", "set")}
        scores, unseen, codes = fields["scores"], fields.get("unseen"), fields.get("codes")
        return cls(
            **fields
            | {
                "data_set": content["set"],
                "targets_seconds": tuple(fields["targets_seconds"]),
                "curve": tuple(CurvePoint(**point) for point in fields["curve"]),
                "scores": None if scores is None else Scores(**scores),
                "unseen": None if unseen is None else UnseenScores.from_json(unseen),
                "codes": None if codes is None else CodeScores(**codes),
            }
        )


def record_path(folder: Path, data_set: str, method: str, seed: int) -> Path:
    """Return where the record of a run lies."""
    return folder / data_set / f"{method}-seed{seed}.json"


def write_record(folder: Path, record: RunRecord) -> Path:
    """Write a record to its place in `folder`, whole or not at all."""
    path = record_path(folder, record.data_set, record.method, record.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, json.dumps(record.to_json(), indent=1, allow_nan=False) + "\n")


def read_record(path: Path) -> RunRecord:
    """Read one record, or say what is wrong with the file."""
    content = read_json(path, "remove it and run it again")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not a run record: it does not say {FORMAT!r}.")
    found = content.get("format_version")
    if isinstance(found, int) and found > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {found}, newer than {FORMAT_VERSION}, the newest that "
            "this version of Twofold reads: update Twofold."
        )
    validate_record(content, str(path))
    return RunRecord.from_json(content)


def read_finished(path: Path, settings: Mapping[str, Any], device: str) -> RunRecord:
    """Return the record of a run that is done, if it is this run."""
    record = read_record(path)
    if dict(record.configuration) != settings or record.device != device:
        raise ValueError(
            f"{path} was run with other settings, or on another device: choose another folder for "
            "the records, or remove it to run it again."
        )
    _remove_traces(path)
    return record


def _remove_traces(path: Path) -> None:
    """Remove what is left of a run that was killed just after its record was written."""
    shutil.rmtree(path.parent / f".{path.stem}", ignore_errors=True)
    for training in path.parent.glob(f".{path.stem}-*.safetensors"):
        training.unlink(missing_ok=True)
    for place in (path, path.with_suffix(".gallery.json")):
        remove_leftovers(place)


def read_records(folder: Path) -> tuple[RunRecord, ...]:
    """Read all records in a folder and those below it, in the order of their paths."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: give one with run records.")
    paths = [path for path in sorted(folder.rglob("*-seed*.json")) if _is_record(path, folder)]
    if not paths:
        raise FileNotFoundError(
            f"{folder} contains no run records: `twofold reproduce SET --out {folder}` creates "
            "some."
        )
    return tuple(read_record(path) for path in paths)


def validate_record(content: Mapping[str, Any], name: str) -> None:
    """Compare what a file holds with the schema."""
    from jsonschema import Draft202012Validator

    schema = json.loads(resources.files("twofold.experiments").joinpath(SCHEMA).read_text("utf-8"))
    errors = sorted(Draft202012Validator(schema).iter_errors(content), key=lambda error: error.path)
    if errors:
        place = "/".join(str(step) for step in errors[0].path) or "the record"
        raise ValueError(f"{name} is not a valid run record: at {place}, {errors[0].message}.")


def _is_record(path: Path, folder: Path) -> bool:
    """Whether a file is a finished run's, and not of one on its way, nor its gallery."""
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not is_hidden and not path.name.endswith(".gallery.json")
