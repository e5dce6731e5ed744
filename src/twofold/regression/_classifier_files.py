"""Classifiers of bits on disk: scikit-learn's as skops, LightGBM's boosters as its own text.

A booster's text is numbers and names of columns; what reads it runs nothing from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twofold.regression._bit_classifiers import BitClassifiers

CLASSIFIERS, BOOSTERS = "classifiers.skops", "boosters.json"
BOOSTER_START = "tree\n"


def save_classifiers(embedder: BitClassifiers, folder: Path) -> Path:
    """Write classifiers into a folder; return the file."""
    if any(hasattr(model, "model_to_string") for model in embedder.models):
        texts = [
            model if isinstance(model, float) else model.model_to_string()
            for model in embedder.models
        ]
        file = folder / BOOSTERS
        file.write_text(json.dumps(texts), encoding="utf-8")
        return file
    from skops import io

    file = folder / CLASSIFIERS
    io.dump(embedder.models, file)
    return file


def load_classifiers(file: Path, n_bits: int, load_skops: Callable[[Path], Any]) -> BitClassifiers:
    """Read classifiers that `save_classifiers` wrote; `load_skops` opens what is not text."""
    models = _boosters(file) if file.name == BOOSTERS else load_skops(file)
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
    return BitClassifiers(models)


def _boosters(file: Path) -> list[Any]:
    try:
        texts = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}.") from error
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
