"""Sentence embeddings by a model of the user's own: a local folder, and nothing is downloaded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Encoder = Callable[[Sequence[str]], NDArray[np.float32]]


def open_text_model(folder: str | os.PathLike[str]) -> Encoder:
    """Return what turns texts into vectors of length 1, by model2vec or sentence-transformers.

    Parameters
    ----------
    folder : path
        With modules.json, as sentence-transformers saves a model, or with config.json and
        model.safetensors, as model2vec does.
    """
    place = Path(folder)
    if not place.is_dir():
        raise FileNotFoundError(
            f"text_model must be a folder on this computer, but {str(folder)!r} is not: models "
            "are not downloaded here. Get it first, for instance with huggingface-cli download."
        )
    try:
        encode = _static_model(place) if _is_static(place) else _transformer(place)
    except ImportError as error:
        raise ImportError(
            f"{place} needs {error.name}: install twofold[text] for model2vec, or "
            "sentence-transformers."
        ) from error
    # Their errors are of many kinds; all of them are of this folder.
    except Exception as error:
        raise ValueError(f"{place} cannot be opened as a text model ({error}).") from error
    return lambda texts: _unit_rows(encode(list(texts)))


def _is_static(place: Path) -> bool:
    """Whether a folder holds a model of model2vec, which may look like one of the other kind."""
    config, modules = (_read_json(place / name) for name in ("config.json", "modules.json"))
    if isinstance(config, dict) and config.get("model_type") == "model2vec":
        return True
    is_one = isinstance(modules, list) and len(modules) == 1 and isinstance(modules[0], dict)
    return is_one and str(modules[0].get("type")).endswith(".StaticEmbedding")


def _read_json(file: Path) -> Any:
    """Return what a file of JSON holds, None if it is not there or damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _static_model(place: Path) -> Callable[[list[str]], Any]:
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(place)
    return lambda texts: model.encode(texts)


def _transformer(place: Path) -> Callable[[list[str]], Any]:
    if not (place / "modules.json").is_file():
        raise ValueError("it has neither modules.json nor model2vec's config.json")
    from sentence_transformers import SentenceTransformer

    with _no_bars():
        model = SentenceTransformer(str(place), local_files_only=True)
    return lambda texts: model.encode(texts, show_progress_bar=False)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Have transformers draw no bars while a model is opened."""
    from transformers.utils import logging

    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()


def _unit_rows(vectors: Any) -> NDArray[np.float32]:
    points = np.nan_to_num(np.asarray(vectors, dtype=np.float32))
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(lengths > 0, lengths, 1), dtype=np.float32)
