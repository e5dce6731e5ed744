"""`model.json`, read from a folder that anyone may have made: checked whole before it is used.

Its form is a schema beside this file; what a schema cannot say, that entries agree with each other,
is checked here. Nothing in it names a path, and no number in it is NaN or infinite.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from sklearn.base import BaseEstimator

from twofold._core.files import remove_leftovers

FORMAT, FORMAT_VERSION, OLDEST_VERSION = "twofold-model", 3, 2
CARD, SCHEMA = "model.json", "model.schema.json"
MOST_BYTES = 2**26
LARGEST_ITEM = 2**26
"""Numbers of one item that a model may claim to take."""
LONGEST_MESSAGE = 200
FILES = {
    "regressor": ("embedder.skops",),
    "classifiers": ("classifiers.skops", "boosters.json"),
}
"""That an embedder of a kind is in; networks and maps are in weights."""
OWN = "own "
"""Before the name of a loss that is a user's own code, of which nothing else is kept."""


def read_card(folder: Path) -> dict[str, Any]:
    """Read `model.json`, or say why the folder is no model that can be opened."""
    if not folder.exists():
        remove_leftovers(folder)  # of a save that was killed between two steps
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no model folder {folder}.")
    file = folder / CARD
    if not file.is_file():
        raise FileNotFoundError(f"{folder} is not a Twofold model: it has no {CARD}.")
    card = read_json_file(file)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{file} is not part of a Twofold model: it does not say {FORMAT!r}.")
    _refuse_other_versions(folder, card.get("format_version"))
    _compare_with_schema(file, card)
    _refuse_disagreement(file, card)
    return card


def refuse_unknown_parameters(kind: type, parameters: Mapping[str, Any], file: Path) -> None:
    """Refuse parameters that a class does not have."""
    unknown = sorted(parameters.keys() - inspect.signature(kind).parameters.keys())
    if unknown:
        raise ValueError(
            f"{file} is damaged: {kind.__name__} has no parameter {unknown[0]!r}. Save the model "
            "again."
        )


def plain_parameters(learner: BaseEstimator, nested: Collection[str]) -> dict[str, Any]:
    """Return the parameters that JSON takes, `nested` ones by the name of their class.

    What it does not take is made anew when a model is opened, or is of no more use. A checkpoint is
    a path, of this machine. None is written where another value is the default.
    """
    defaults = inspect.signature(type(learner)).parameters
    plain: dict[str, Any] = {}
    for name, value in learner.get_params(deep=False).items():
        if type(value).__name__ in nested:
            plain[name] = {type(value).__name__: plain_parameters(value, nested)}
        elif name == "loss" and not isinstance(value, str):
            plain[name] = OWN + type(value).__name__
        elif isinstance(value, np.generic):
            plain[name] = value.item()
        elif isinstance(value, bool | int | float | str) and name != "checkpoint":
            plain[name] = value
        elif value is None and defaults[name].default is not None:
            plain[name] = None
    return plain


def decoded_parameters(
    plain: Mapping[str, Any], nested: Mapping[str, type[BaseEstimator]], file: Path
) -> dict[str, Any]:
    """Return parameters as `plain_parameters` was given them."""
    decoded = dict(plain)
    for name, value in plain.items():
        if isinstance(value, dict):
            ((kind, parameters),) = value.items()
            refuse_unknown_parameters(nested[kind], parameters, file)
            decoded[name] = nested[kind](**decoded_parameters(parameters, nested, file))
    return decoded


@contextmanager
def damage_said(folder: Path, what: str) -> Iterator[None]:
    """Say in a sentence what cannot be used, where code inside takes a file at its word."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, SafetensorError) as error:
        if str(folder) in str(error):  # said already
            raise
        raise ValueError(f"{folder} is damaged: {what} cannot be used ({error}).") from error


def read_json_file(file: Path) -> Any:
    """Read JSON from a file that anyone may have made: of bounded size, without NaN."""
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file} is damaged: it has more than {MOST_BYTES} bytes.")
    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {_shortened(str(error))}.") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is not a finite number")


def _refuse_other_versions(folder: Path, written: Any) -> None:
    if isinstance(written, bool) or not isinstance(written, int):
        raise ValueError(f"{folder / CARD} is damaged: its format version is {written!r}.")
    if written > FORMAT_VERSION:
        raise ValueError(
            f"{folder} has format version {written}, newer than version {FORMAT_VERSION}, the "
            "newest that this version of Twofold reads: update Twofold."
        )
    if written < OLDEST_VERSION:
        raise ValueError(
            f"{folder} has format version {written}, written by an older Twofold; this one reads "
            f"version {OLDEST_VERSION} and later: fit and save the model again."
        )


def _compare_with_schema(file: Path, card: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = json.loads(resources.files("twofold._core").joinpath(SCHEMA).read_text("utf-8"))
    missing = sorted(set(schema["required"]) - card.keys())
    if missing:
        raise ValueError(f"{file} is damaged: it lacks {', '.join(missing)}.")
    first = best_match(Draft202012Validator(schema).iter_errors(card))
    if first is not None:
        place = "/".join(map(str, first.absolute_path)) or "the top"
        raise ValueError(f"{file} is damaged: at {place}, {_shortened(first.message)}.")
    # JSON has no infinity, but 1e999 is read as one.
    if not math.isfinite(_largest(card)):
        raise ValueError(f"{file} is damaged: it holds a number that is not finite.")


def _largest(value: Any) -> float:
    """Return the largest magnitude of any number within."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return max(map(_largest, inner), default=0.0)
    return abs(value) if isinstance(value, float) else 0.0


def _refuse_disagreement(file: Path, card: dict[str, Any]) -> None:
    embedder, names = card["embedder"], card["feature_names_in"]
    shape, n_features = embedder["input_shape"], card["n_features_in"]
    is_regressor = embedder["kind"] in ("regressor", "classifiers")
    disagreements = {
        "its embedder and its file are of different kinds": embedder["file"]
        not in FILES.get(embedder["kind"], ("weights.safetensors",)),
        "it has a mean without a scale, or a scale without a mean": (embedder["mean"] is None)
        != (embedder["scale"] is None),
        "its network takes items of no shape": not is_regressor and not shape,
        "its two input shapes differ": not is_regressor
        and bool(card["input_shape"])
        and card["input_shape"] != shape,
        "it averages views of items that are not images": embedder.get("n_views", 1) > 1
        and len(shape) != 3,
        "it has more features than its network takes": bool(shape)
        and n_features not in (None, shape[0]),
        "its number of feature names is not its number of features": names is not None
        and n_features is not None
        and len(names) != n_features,
        f"its items have more than {LARGEST_ITEM} numbers": math.prod(shape) > LARGEST_ITEM,
    }
    for sentence, is_so in disagreements.items():
        if is_so:
            raise ValueError(f"{file} is damaged: {sentence}.")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} …"
