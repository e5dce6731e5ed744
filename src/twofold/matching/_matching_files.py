"""A fitted pair model on disk: a plain description, and one safetensors file of arrays.

Reading runs nothing: trees are arrays of numbers, looked through before one is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.files import new_file
from twofold._core.reasons import reason_of
from twofold.matching._columns import ColumnKind
from twofold.matching._forest import LARGEST, LEAF, Forest
from twofold.matching._linear import Linear
from twofold.matching._pair_features import SETS, ColumnPlan, Comparison
from twofold.matching._set_similarities import Rarity

FORMAT = 1
FILE = "pair_model.safetensors"
Arrays = dict[str, NDArray[Any]]

FOREST_TYPES = {
    "roots": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
}
LINEAR_TYPES = {"mean": np.float64, "scale": np.float64, "weight": np.float64}


def write_model(model: Any, comparison: Comparison, folder: Path) -> dict[str, Any]:
    """Write a forest or linear model and its comparison; return what describes them."""
    from safetensors.numpy import save_file

    if not isinstance(model, (Forest, Linear)):
        raise TypeError(
            "Your own classifier cannot be saved without pickle: fit with model='boosted' or "
            "'logistic', or save it yourself."
        )
    is_forest = isinstance(model, Forest)
    types = FOREST_TYPES if is_forest else LINEAR_TYPES
    arrays = {f"model.{name}": np.ascontiguousarray(getattr(model, name)) for name in types}
    for column, plan in enumerate(comparison.plans):
        for kind in SETS:
            rarity = comparison.rarity[plan.name, kind]
            arrays[f"{column}.{kind}.codes"] = rarity.codes
            arrays[f"{column}.{kind}.frequency"] = rarity.frequency
    with new_file(folder / FILE) as place:
        save_file(arrays, place)
    return {
        "format": FORMAT,
        "file": FILE,
        "model": "forest" if is_forest else "linear",
        "base": model.base if isinstance(model, Forest) else model.intercept,
        "columns": [asdict(plan) for plan in comparison.plans],
        "n_records": next(iter(comparison.rarity.values())).n_records,
        "one_table": comparison.one_table,
    }


def read_model(description: Mapping[str, Any], folder: Path) -> tuple[Forest | Linear, Comparison]:
    """Read what `write_model` wrote, or say in one sentence why it cannot be used."""
    place = folder / FILE
    if description.get("format") != FORMAT:
        raise ValueError(
            f"The pair model in {folder} has format {description.get('format')!r}, but this "
            f"version reads {FORMAT}: fit it again."
        )
    try:
        arrays = _read_arrays(place)
        comparison = _comparison(description, arrays)
        model = _model(description, arrays, _n_features(description, comparison))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{place} is damaged ({reason_of(error)}): fit the model again."
        ) from error
    return model, comparison


def _read_arrays(place: Path) -> Arrays:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not place.is_file():
        raise FileNotFoundError(f"{place} is missing: the model's folder is incomplete.")
    try:
        return dict(load_file(place))
    except SafetensorError as error:
        raise ValueError(reason_of(error)) from error


def _comparison(description: Mapping[str, Any], arrays: Arrays) -> Comparison:
    plans = tuple(ColumnPlan(str(c["name"]), c["kind"]) for c in description["columns"])
    wrong = [plan.kind for plan in plans if plan.kind not in get_args(ColumnKind)]
    if wrong or not plans or len({plan.name for plan in plans}) < len(plans):
        raise ValueError(f"columns of an unknown kind or twice: {wrong}")
    n_records = description["n_records"]
    if type(n_records) is not int or not 0 <= n_records < 2**53:
        raise ValueError(f"n_records is {str(n_records)[:20]!r}")
    rarity = {}
    for column, plan in enumerate(plans):
        for kind in SETS:
            codes = _array(arrays, f"{column}.{kind}.codes", np.uint64)
            frequency = _array(arrays, f"{column}.{kind}.frequency", np.int64)
            if codes.shape != frequency.shape or np.any(codes[1:] <= codes[:-1]):
                raise ValueError(f"the codes of column {plan.name!r} are not in order")
            if frequency.size and not 0 < frequency.min() <= frequency.max() <= n_records:
                raise ValueError(
                    f"a code of column {plan.name!r} occurs in more records than there are"
                )
            rarity[plan.name, kind] = Rarity(codes, frequency, n_records)
    return Comparison(plans, rarity, bool(description["one_table"]))


def _n_features(description: Mapping[str, Any], comparison: Comparison) -> int:
    n_given = description["n_given"]
    if isinstance(n_given, bool) or not isinstance(n_given, int) or n_given < 0:
        raise ValueError(f"n_given is {n_given!r}")
    if description["calibration"].keys() - {"slope", "offset"}:
        raise ValueError("its calibration has more than slope and offset")
    for name in ("slope", "offset"):
        _finite(name, description["calibration"][name])
    if description["kind"] not in ("boosted", "logistic"):
        raise ValueError(f"no such kind: {str(description['kind'])[:20]!r}")
    _finite("threshold", description["threshold"])
    return len(comparison.feature_names) + n_given


def _model(description: Mapping[str, Any], arrays: Arrays, n_features: int) -> Forest | Linear:
    base = _finite("base", description["base"])
    if description["model"] == "linear":
        parts = {name: _array(arrays, f"model.{name}", kind) for name, kind in LINEAR_TYPES.items()}
        if any(part.shape != (n_features,) for part in parts.values()):
            raise ValueError(f"a linear model of {n_features} features has other shapes")
        if not np.all(parts["scale"] > 0):
            raise ValueError("a scale is not above 0")
        return Linear(**parts, intercept=base)
    if description["model"] != "forest":
        raise ValueError(f"no such model: {description['model']!r}")
    parts = {name: _array(arrays, f"model.{name}", kind) for name, kind in FOREST_TYPES.items()}
    _check_forest(parts, n_features)
    return Forest(**parts, base=base)


def _check_forest(parts: Arrays, n_features: int) -> None:
    """Refuse trees that could not be followed from root to leaf."""
    feature, left, right = parts["feature"], parts["left"], parts["right"]
    n_nodes = len(feature)
    if any(len(part) != n_nodes for name, part in parts.items() if name != "roots"):
        raise ValueError("the nodes' arrays differ in length")
    if np.any((feature < LEAF) | (feature >= n_features)):
        raise ValueError("a node uses a feature that does not exist")
    if np.any((parts["roots"] < 0) | (parts["roots"] >= n_nodes)):
        raise ValueError("a tree starts at a node that does not exist")
    inner = np.flatnonzero(feature != LEAF)
    for child in (left[inner], right[inner]):
        if np.any((child <= inner) | (child >= n_nodes)):  # so that every walk ends
            raise ValueError("a node leads to one that does not follow it")


def _array(arrays: Arrays, name: str, kind: Any) -> NDArray[Any]:
    array = arrays[name]
    if array.dtype != kind or array.ndim != 1:
        raise ValueError(f"{name} has another type or shape")
    if array.dtype.kind == "f" and not np.all(np.abs(array) <= LARGEST):
        raise ValueError(f"{name} holds numbers that are not finite, or beyond {LARGEST:g}")
    return array


def _finite(name: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{name} is not finite, or not a number")
    return float(value)
