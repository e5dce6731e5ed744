"""From a project to a model that all other commands take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twofold.ask._items import read_ask_items
from twofold.ask._project import export_pairs, read_request
from twofold.tasks import FitRequest, FitResult, fit_files


def fit_project(
    folder: Path, asked: FitRequest, progress: Callable[[str, float], Any] | None = None
) -> tuple[FitRequest, FitResult]:
    """Fit a model on the answers of a project, as `twofold fit` does on a file of pairs.

    Parameters
    ----------
    folder : path
        The project; it knows the data, and which columns count.
    asked : FitRequest
        Where the model goes, and the settings of the fit.
    progress : callable (what, share), optional
        Called as the work progresses.

    Returns
    -------
    request, result
        What was fitted, and what it came to.
    """
    given = next((name for name, value in _of_data(asked).items() if value), None)
    if given is not None:
        raise ValueError(
            f"{given} goes with DATA, but the project {folder} has its own: leave it out."
        )
    kept = read_request(folder)
    items = read_ask_items(kept)
    with TemporaryDirectory(prefix="twofold-ask-") as beside:
        pairs = Path(beside) / "answers.csv"
        is_matrix = kept.features is not None  # of all items, whatever the tables are
        n_same, n_different = export_pairs(folder, items, pairs, by_row=is_matrix)
        if not n_same or not n_different:
            raise ValueError(
                f"{folder} has {n_same} pair(s) that are the same and {n_different} that are "
                "different: learning needs some of both. Answer more questions with `twofold "
                "ask`."
            )
        data = {
            name: getattr(kept, name)
            for name in ("data", "right", "id_column", "text", "columns", "image", "image_size")
        }
        if kept.features is not None:
            data = {"data": kept.features}
        else:
            data["text_model"] = kept.text_model
        request = replace(asked, pairs=pairs, **data)
        return request, fit_files(request, progress)


def _of_data(asked: FitRequest) -> dict[str, Any]:
    """Return what a user may say of data, by its option."""
    return {
        "--right": asked.right,
        "--labels": asked.labels,
        "--pairs": asked.pairs,
        "--valid": asked.valid,
        "--triplets": asked.triplets,
        "--id": asked.id_column,
        "--text": asked.text,
        "--columns": asked.columns,
        "--image": asked.image,
        "--image-size": asked.image_size,
        "--text-model": asked.text_model,
    }
