"""Answers on disk: an SQLite database that has an answer once it says so, whatever happens next.

A *look* is what a person did at one question, and holds an answer a pair. Nothing is ever deleted:
what is taken back is marked, so that a project tells its whole story.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from twofold.ask._questions import Kind, Purpose

FORMAT, FORMAT_VERSION = "twofold-answers", 1
LONGEST_NAME = 80
"""Characters of a person's name that are kept."""
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE items (item INTEGER PRIMARY KEY, side INTEGER NOT NULL, id TEXT NOT NULL,
                    UNIQUE (side, id));
CREATE TABLE looks (look INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, who TEXT NOT NULL,
                    kind TEXT NOT NULL, purpose TEXT NOT NULL, weight REAL NOT NULL,
                    answered TEXT NOT NULL, seconds REAL, undone TEXT, undo_key TEXT UNIQUE);
CREATE TABLE answers (look INTEGER NOT NULL REFERENCES looks, place INTEGER NOT NULL,
                      item INTEGER NOT NULL REFERENCES items,
                      other INTEGER NOT NULL REFERENCES items,
                      same INTEGER, PRIMARY KEY (look, place));
CREATE INDEX looks_of_person ON looks (who, look);
"""

ItemId = tuple[int, str]
"""The table, 0 or 1, and the id in it."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a person said at one question.

    Attributes
    ----------
    key : str
        By which it is known when it is sent twice.
    who : str
        The person.
    kind : {"pair", "nine"}
        How it was asked.
    items : tuple of int
        The two items; or the one that was asked about, and those beside it.
    same : tuple of bool or None
        Whether each further item is the same as the first; None is unsure.
    purpose, weight
        Of the question.
    seconds : float or None
        That it took.
    """

    key: str
    who: str
    kind: Kind
    items: tuple[int, ...]
    same: tuple[bool | None, ...]
    purpose: Purpose = "learn"
    weight: float = 1.0
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class KeptLook:
    """A look as the store has it: with its number, and when it was taken, in UTC."""

    number: int
    look: Look
    answered: str


class AnswerStore:
    """The answers of a project.

    Items are numbers from 0 in the order in which the data have them; the store knows them by
    their ids, so that rows may be added to the data, or change places, from day to day.

    Parameters
    ----------
    file : path
        The database; made if it is not there.
    ids : sequence of (table, id)
        The items of today's data, in their order.
    clock : callable, optional
        Tells the time of day.

    Attributes
    ----------
    n_gone : int
        Answers that are about items which today's data do not have; they are kept, and left out.
    """

    def __init__(
        self,
        file: Path,
        ids: Sequence[ItemId],
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._base = open_database(file)
        with self._writing():
            known = _add_items(self._base, ids)
        self._stored = [known[one] for one in ids]
        self._row = {number: row for row, number in enumerate(self._stored)}
        self.n_gone = self._count_gone()

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def add(self, look: Look) -> KeptLook | None:
        """Keep a look; when this returns it is on the disk. None if it was there already."""
        when = self._clock().isoformat(timespec="seconds")
        first = self._stored[look.items[0]]
        values = (look.key, look.who[:LONGEST_NAME], look.kind, look.purpose, look.weight, when)
        with self._writing():
            if self._base.execute("SELECT 1 FROM looks WHERE key = ?", (look.key,)).fetchone():
                return None
            number: Any = self._base.execute(
                "INSERT INTO looks (key, who, kind, purpose, weight, answered, seconds) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*values, look.seconds),
            ).lastrowid
            self._base.executemany(
                "INSERT INTO answers (look, place, item, other, same) VALUES (?, ?, ?, ?, ?)",
                [
                    (number, place, first, self._stored[other], None if said is None else int(said))
                    for place, (other, said) in enumerate(
                        zip(look.items[1:], look.same, strict=True)
                    )
                ],
            )
        return KeptLook(number, look, when)

    def undo(self, who: str, key: str) -> KeptLook | None:
        """Take back the last look of a person that stands; None if there is none.

        A key that was used before takes nothing more back: the same look is returned again.
        """
        row = self._base.execute("SELECT look FROM looks WHERE undo_key = ?", (key,)).fetchone()
        if row is None:
            row = self._base.execute(
                "SELECT max(look) FROM looks WHERE who = ? AND undone IS NULL", (who,)
            ).fetchone()
            if row[0] is None:
                return None
            when = self._clock().isoformat(timespec="seconds")
            with self._writing():
                self._base.execute(
                    "UPDATE looks SET undone = ?, undo_key = ? WHERE look = ?", (when, key, row[0])
                )
        return next(self._looks("look = ?", (row[0],)), None)

    def looks(self) -> Iterator[KeptLook]:
        """Yield the looks that stand, in their order, as far as their items are there."""
        return self._looks("undone IS NULL")

    def number_of(self, item: int) -> int:
        """Return the number by which the store knows an item of today's data, for ever."""
        return self._stored[item]

    def item_of(self, number: int) -> int:
        """Return the item of today's data that the store knows by a number."""
        if number not in self._row:
            raise ValueError("This question is about an item that is no longer there.")
        return self._row[number]

    def note(self, name: str, value: str) -> None:
        """Keep a fact of the project by its name."""
        with self._writing():
            self._base.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def noted(self, name: str) -> str | None:
        """Return a fact, None if there is none of that name."""
        row = self._base.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def _looks(self, condition: str, values: tuple[object, ...] = ()) -> Iterator[KeptLook]:
        rows = self._base.execute(
            "SELECT look, key, who, kind, purpose, weight, answered, seconds, item, other, same "
            f"FROM looks JOIN answers USING (look) WHERE {condition} ORDER BY look, place",
            values,
        )
        for number, group in groupby(rows, key=itemgetter(0)):
            some = list(group)
            _, key, who, kind, purpose, weight, answered, seconds, item, *_ = some[0]
            items = [item, *(row[9] for row in some)]
            if not all(one in self._row for one in items):
                continue
            said = tuple(None if row[10] is None else bool(row[10]) for row in some)
            places = tuple(self._row[one] for one in items)
            look = Look(key, who, kind, places, said, purpose, weight, seconds)
            yield KeptLook(number, look, answered)

    def _count_gone(self) -> int:
        rows = self._base.execute(
            "SELECT item, other FROM answers JOIN looks USING (look) WHERE undone IS NULL"
        )
        return sum(item not in self._row or other not in self._row for item, other in rows)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Have what is written within be there whole or not at all."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")


def open_database(file: Path) -> sqlite3.Connection:
    """Open a database of answers, made if it is not there; what is no such file is a sentence."""
    try:
        base = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = FULL")  # an answer survives a loss of power
        base.execute("PRAGMA foreign_keys = ON")
        if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            # In one step: who is killed here leaves no half of a database.
            facts = (
                f"INSERT INTO facts VALUES ('format', '{FORMAT}'), ('version', '{FORMAT_VERSION}');"
            )
            base.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {facts} COMMIT;")
        facts_there = dict(base.execute("SELECT name, value FROM facts").fetchall())
    except sqlite3.Error as error:
        raise ValueError(
            f"{file} cannot be read as answers ({error}): it is damaged, or belongs to another "
            "program."
        ) from error
    if facts_there.get("format") != FORMAT:
        raise ValueError(f"{file} contains something other than answers: choose another project.")
    if facts_there.get("version") != str(FORMAT_VERSION):
        raise ValueError(
            f"{file} has version {facts_there.get('version')}, but this Twofold reads "
            f"{FORMAT_VERSION}: update Twofold."
        )
    return base


def stored_ids(file: Path) -> set[ItemId]:
    """Return the items that a database of answers knows; none if it is not there."""
    if not file.is_file():
        return set()
    base = open_database(file)
    try:
        return {(int(side), str(name)) for side, name in base.execute("SELECT side, id FROM items")}
    finally:
        base.close()


def _add_items(base: sqlite3.Connection, ids: Sequence[ItemId]) -> dict[ItemId, int]:
    """Put items into the store that it does not have; return the numbers of all."""
    base.executemany("INSERT OR IGNORE INTO items (side, id) VALUES (?, ?)", ids)
    rows = base.execute("SELECT side, id, item FROM items")
    return {(int(side), str(name)): int(item) for side, name, item in rows}
