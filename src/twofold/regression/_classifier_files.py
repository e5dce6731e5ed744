"""Classifiers of bits on disk: scikit-learn's as skops, LightGBM's boosters as its own text.

A booster's text is numbers and names of columns; what reads it runs nothing from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.regression._bit_classifiers import BitClassifiers

CLASSIFIERS, BOOSTERS = "classifiers.skops", "boosters.json"
BOOSTER_START = "tree\n"
MODELS, AGREEMENT = "classifiers", "agreement"
"""Beside each other where bits are rounded together; else a file holds the classifiers alone."""


def save_classifiers(embedder: BitClassifiers, folder: Path) -> Path:
    """Write classifiers into a folder; return the file."""
    agreement = embedder.agreement
    if any(hasattr(model, "model_to_string") for model in embedder.models):
        texts = [
            model if isinstance(model, float) else model.model_to_string()
            for model in embedder.models
        ]
        file = folder / BOOSTERS
        content = texts if agreement is None else _with_agreement(texts, agreement.tolist())
        file.write_text(json.dumps(content), encoding="utf-8")
        return file
    from skops import io

    file = folder / CLASSIFIERS
    models = embedder.models
    io.dump(models if agreement is None else _with_agreement(models, agreement), file)
    return file


def load_classifiers(file: Path, n_bits: int, load_skops: Callable[[Path], Any]) -> BitClassifiers:
    """Read classifiers that `save_classifiers` wrote; `load_skops` opens what is not text."""
    content = _read_text(file) if file.name == BOOSTERS else load_skops(file)
    models, agreement = content, None
    if isinstance(content, dict):
        models, agreement = content.get(MODELS), _checked_agreement(file, content, n_bits)
    if file.name == BOOSTERS:
        models = _boosters(file, models)
    if not isinstance(models, list) or len(models) != n_bits:
        raise ValueError(
            f"{file} is damaged: it does not have a classifier for each of {n_bits} bits."
        )
    wrong = [
        number
        for number, model in enumerate(models)
        if not (model in (1.0, -1.0) if isinstance(model, float) else hasattr(model, "predict"))
    ]
    if wrong:
        raise ValueError(f"{file} is damaged: its entry for bit {wrong[0]} is not a classifier.")
    return BitClassifiers(models, agreement)


def _with_agreement(models: list[Any], agreement: Any) -> dict[str, Any]:
    return {MODELS: models, AGREEMENT: agreement}


def _checked_agreement(file: Path, content: dict[str, Any], n_bits: int) -> NDArray[np.float32]:
    try:
        agreement = np.asarray(content[AGREEMENT], dtype=np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged: it has no agreement of bits.") from error
    if agreement.shape != (n_bits, n_bits) or not np.isfinite(agreement).all():
        raise ValueError(
            f"{file} is damaged: its agreement of bits is not a table of {n_bits} × {n_bits} "
            "numbers."
        )
    return agreement


def _read_text(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}.") from error


def _boosters(file: Path, texts: Any) -> list[Any]:
    if not isinstance(texts, list):
        raise ValueError(f"{file} is damaged: it does not contain a list.")
    return [_booster(file, text) if isinstance(text, str) else text for text in texts]


def _booster(file: Path, text: str) -> Any:
    try:
        from lightgbm import Booster
        from lightgbm.basic import LightGBMError
    except ImportError as error:
        raise ImportError(
            f"{file.parent} was made with boosted trees: pip install 'twofold[lightgbm]' to open "
            "it."
        ) from error
    if not text.startswith(BOOSTER_START):
        raise ValueError(f"{file} is damaged: it contains text that is not a booster.")
    try:
        return Booster(model_str=text)
    except LightGBMError as error:
        raise ValueError(f"{file} is damaged: {error}.") from error
