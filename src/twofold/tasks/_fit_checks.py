"""Errors in a request to fit, found before the work: options, places, columns, tables."""

from __future__ import annotations

from twofold._core.devices import resolve_device
from twofold._core.limits import refuse_beyond_memory
from twofold.datasets import Records, read_pairs
from twofold.tasks._fit_input import FitRequest
from twofold.tasks._places import check_new_model
from twofold.tasks._prepared_model import shape_of

HIDDEN, COPIES = 512, 4
"""Units of a network's last hidden layer, and how often a fit holds its weights: themselves, their
gradients and two averages of these."""


def check_request(request: FitRequest) -> None:
    """Refuse what cannot be fitted, as far as that is known before a file is read."""
    check_new_model(request.out, request.overwrite)
    resolve_device(request.device)
    if not request.data.exists():
        raise FileNotFoundError(f"The file {request.data} does not exist.")
    ways = (request.labels, request.pairs, request.triplets)
    n_named = sum(way is not None for way in ways)
    if n_named > 1 or (not n_named and not request.data.is_dir()):
        raise ValueError(
            "Say what is alike with exactly one of --labels COLUMN, --pairs FILE and --triplets "
            f"FILE; {n_named} were given."
        )
    if request.valid is not None and request.pairs is None and request.triplets is None:
        raise ValueError(
            "--valid goes with --pairs or --triplets: it is for more pairs of the same tables."
        )
    if request.text_model is not None and not request.text_model.is_dir():
        raise FileNotFoundError(
            f"--text-model must be a folder on this computer, but {request.text_model} is not: "
            "get the model first, since nothing is downloaded."
        )


def check_tables(request: FitRequest, left: Records, right: Records | None) -> None:
    """Refuse columns that are not there, options without a use, and tables of different kinds."""
    _refuse_useless_options(request, left)
    tables = (left,) if right is None else (left, right)
    named = [*request.text, *request.columns, *filter(None, [request.image])]
    for table in tables:
        table.require(named)
    _refuse_text_outside_columns(request)
    _refuse_many_components(request, sum(table.n_items for table in tables))
    if request.valid is not None:
        read_pairs(request.valid, left, right)  # its mistakes are said before the work
    if right is not None:
        _refuse_unlike_tables(left, right)


def _refuse_unlike_tables(left: Records, right: Records) -> None:
    if (left.table is None) != (right.table is None) or left.path.is_dir() != right.path.is_dir():
        raise ValueError(
            f"{left.path} and {right.path} are of different kinds: give two tables, two matrices "
            "or two folders of images."
        )
    if left.features is not None and left.features.shape[1] != right.features.shape[1]:
        raise ValueError(
            f"{left.path} is {shape_of(left.features)} and {right.path} "
            f"{shape_of(right.features)}: rows of both need the same number of features."
        )


def _refuse_useless_options(request: FitRequest, left: Records) -> None:
    """Refuse options of a table where there is none, and of images where there are none."""
    of_tables = {
        "--text": request.text,
        "--columns": request.columns,
        "--text-model": request.text_model,
    }
    is_folder, is_matrix = left.path.is_dir(), left.table is None
    given = next((name for name, value in of_tables.items() if value), None)
    if given is not None and (is_folder or is_matrix or request.image is not None):
        what = "a folder of images" if is_folder else "a matrix" if is_matrix else "taken as images"
        raise ValueError(f"{given} is for the columns of a table, but {left.path} is {what}.")
    if request.image_size is not None and not is_folder and request.image is None:
        raise ValueError(
            f"--image-size is for images, but {left.path} is something else: if a column has "
            "image files, give it with --image."
        )


def _refuse_many_components(request: FitRequest, n_items: int) -> None:
    """Refuse more components than memory has room for: targets, weights and their gradients."""
    if request.n_components is not None:
        refuse_beyond_memory(
            f"{request.n_components:,} components of {n_items:,} rows",
            4 * COPIES * request.n_components * max(n_items, HIDDEN),
            "Ask for fewer with --components.",
        )


def _refuse_text_outside_columns(request: FitRequest) -> None:
    if request.labels in request.columns:
        raise ValueError(
            f"{request.labels!r} is in both --columns and --labels, but a label cannot also be a "
            "feature. Leave it out of --columns."
        )
    outside = [name for name in request.text if request.columns and name not in request.columns]
    if outside:
        raise ValueError(
            f"--text has the column {outside[0]!r}, but --columns does not: add "
            f"--columns {outside[0]!r}."
        )
