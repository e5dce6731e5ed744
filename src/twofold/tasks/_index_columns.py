"""What the columns of an index hold: all files are asked before any row is embedded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from twofold.datasets import iterate_columns
from twofold.search.stores import TEXT, as_kind, joined_kind, kind_of, written_kind
from twofold.tasks._points_files import N_ROWS

PARQUET, TEXTS = (".parquet", ".pq"), (".csv", ".tsv")
SHOWN_CHARACTERS = 40
AT_ONCE = "index all files at once into another folder, which then keeps what fits them all"
AS_TEXT = "save that column as text in all files"


def column_kinds(
    files: Sequence[Path], names: Sequence[str], there: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the kind in which each column of some files is kept.

    Columns of a text file are numbers if all of their values are written as such; a column that is
    not the same in all files is text.

    Parameters
    ----------
    files : sequence of Path
        Tables, of which those without columns, such as matrices, are left out.
    names : sequence of str
        Columns that every table must have.
    there : sequence of str
        Kinds that an index has already: then these are returned, and a value that does not fit is
        an error.
    """
    tables = [file for file in files if file.suffix.lower() in PARQUET + TEXTS]
    own = [_file_kinds(file, names) for file in tables]
    wanted = tuple(there) or tuple(joined_kind(kinds) or TEXT for kinds in zip(*own, strict=True))
    way_out = AT_ONCE if there else AS_TEXT
    for file, kinds in zip(tables, own, strict=True):
        pairs = zip(kinds, wanted, strict=True)
        _refuse_unfit(file, dict(zip(names, pairs, strict=True)), way_out)
    return wanted


def _file_kinds(file: Path, names: Sequence[str]) -> list[str]:
    """Return what the columns of a file hold: of a Parquet file its types, else its values."""
    if file.suffix.lower() in PARQUET:
        columns = next(iterate_columns(file, names, n_rows=1))
        return [kind_of(columns.table[name].type) for name in names]
    kinds = [""] * len(names)
    for columns in iterate_columns(file, names, n_rows=N_ROWS):
        kinds = [
            kind if kind == TEXT else joined_kind([kind, written_kind(columns.table[name])])
            for name, kind in zip(names, kinds, strict=True)
        ]
        if all(kind == TEXT for kind in kinds):
            break
    return kinds


def _refuse_unfit(file: Path, kinds: dict[str, tuple[str, str]], way_out: str) -> None:
    """Refuse a file with a value that is not of the kind that its column is kept in."""
    differing = {name: wanted for name, (own, wanted) in kinds.items() if own not in ("", wanted)}
    if not differing:
        return
    for columns in iterate_columns(file, list(differing), n_rows=N_ROWS):
        for name, wanted in differing.items():
            _, unfit = as_kind(columns.table[name], wanted)
            if unfit.size:
                row = int(unfit[0])
                value = str(columns.table[name][row].as_py())[:SHOWN_CHARACTERS]
                raise ValueError(
                    f"The column {name!r} is kept as {wanted}, but {file} has {value!r} there at "
                    f"{columns.place(row)}: correct it, or {way_out}."
                )
