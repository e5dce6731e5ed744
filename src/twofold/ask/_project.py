"""A project folder: the answers, the latest model, and a lock while somebody has it open."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import numpy as np

from twofold._core.file_locks import HAS_LOCKS, lock_folder
from twofold._core.files import check_folder_place, new_file
from twofold.ask._items import Items
from twofold.ask._request import AskRequest
from twofold.ask._standing import StandingAnswers
from twofold.ask._store import AnswerStore, stored_ids

ANSWERS, MODEL, SCRATCH, REQUEST = "answers.sqlite", "model", "scratch", "request"
LEAST_KNOWN = 0.5
"""The share of a project's items that its data have to hold: with fewer they are other data."""


def project_folder(data: Path, named: Path | None = None) -> Path:
    """Return the folder of a project: the one named, by default beside the data."""
    if named is not None:
        return named
    place = data.absolute()
    return place.with_name(f"{place.stem if place.is_file() else place.name}.ask")


class Project:
    """A project that is open here, and nowhere else.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    request : AskRequest
        The data; kept, so that the project can be fitted later.
    items : Items
        What was read of the data.
    """

    def __init__(self, folder: Path, request: AskRequest, items: Items) -> None:
        self.folder = folder
        made_now = prepare_folder(folder)
        self._lock = _locked(folder)
        try:
            self._refuse_other_data(items)
            self.store = AnswerStore(folder / ANSWERS, items.ids())
            self.store.note(REQUEST, request.to_json())
            self._clear()  # what a killed server left
            self.scratch.mkdir()
        except BaseException:
            self._let_go()
            if made_now and not any(folder.iterdir()):
                folder.rmdir()
            raise

    @property
    def model(self) -> Path:
        """The folder of the latest model."""
        return self.folder / MODEL

    @property
    def scratch(self) -> Path:
        """A folder for what is only for this session: features and points."""
        return self.folder / SCRATCH

    def close(self) -> None:
        """Let others open the project."""
        self.store.close()
        self._clear()
        self._let_go()

    def _clear(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _refuse_other_data(self, items: Items) -> None:
        before = stored_ids(self.folder / ANSWERS)
        n_known = len(before & set(items.ids()))
        if n_known < LEAST_KNOWN * len(before):
            raise ValueError(
                f"{self.folder} is a project about other data: of its {len(before):,} items "
                f"{n_known:,} are in {items.tables[0].path}. Choose another folder with --project."
            )


def prepare_folder(folder: Path) -> bool:
    """Make a project's folder if it is not there, and say if so; refuse one with other things."""
    check_folder_place(folder)
    if not folder.exists():
        folder.mkdir(parents=True)
        return True
    if any(folder.iterdir()) and not (folder / ANSWERS).is_file():
        raise FileExistsError(
            f"{folder} contains something other than a project: choose another folder with "
            "--project."
        )
    return False


def existing_project(folder: Path) -> Path:
    """Return the database of a project that is there; refuse a folder that is none."""
    file = folder / ANSWERS
    if not file.is_file():
        raise FileNotFoundError(
            f"{folder} is not a project: it has no {ANSWERS}. `twofold ask DATA` creates one."
        )
    return file


def read_request(folder: Path) -> AskRequest:
    """Return what a project was opened with last."""
    store = AnswerStore(existing_project(folder), [])
    try:
        kept = store.noted(REQUEST)
    finally:
        store.close()
    if kept is None:
        raise ValueError(
            f"{folder} does not say which data it is about: open it with `twofold ask DATA`."
        )
    return AskRequest.from_json(kept)


def export_pairs(
    folder: Path, items: Items, file: Path, *, by_row: bool = False
) -> tuple[int, int]:
    """Write what stands as pairs, a row each: left, right, similar.

    Parameters
    ----------
    folder, items
        The project, and what is asked about.
    file : path
        A CSV file, whole or not at all.
    by_row : bool
        Whether items are named by their rows, numbered through, in place of their ids.

    Returns
    -------
    n_same, n_different : int
        Pairs that were written, of both kinds.
    """
    import pyarrow as pa
    from pyarrow import csv

    store = AnswerStore(existing_project(folder), items.ids())
    try:
        verdicts = StandingAnswers(store.looks()).verdicts()
    except sqlite3.Error as error:
        raise ValueError(f"{folder / ANSWERS} cannot be read ({error}).") from error
    finally:
        store.close()
    if not verdicts:
        raise ValueError(
            f"{folder} has no answers of same or different yet: answer some questions first, then "
            "export."
        )
    left, right = np.array(list(verdicts), dtype=np.int64).T
    columns = {
        "left": left if by_row else [items.name(item) for item in left.tolist()],
        "right": right if by_row else [items.name(item) for item in right.tolist()],
        "similar": np.fromiter(verdicts.values(), dtype=np.int8),
    }
    with new_file(file) as place:
        csv.write_csv(pa.table(columns), place)
    n_same = sum(verdicts.values())
    return n_same, len(verdicts) - n_same


def _locked(folder: Path) -> int | None:
    lock = lock_folder(folder)
    if lock is None and HAS_LOCKS:
        raise ValueError(
            f"{folder} is in use by another `twofold ask`: close that first, or choose another "
            "project."
        )
    return lock
