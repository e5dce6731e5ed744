"""Options that several commands have, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA_HELP = "CSV, TSV, Parquet, .npy, .npz, or a folder of images."

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder written by twofold fit.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", help=DATA_HELP)]
Right = Annotated[
    Path | None,
    typer.Option(metavar="DATA", help="The second table, if pairs are between two tables."),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help='The column with the ids of the rows; by default "id" if there is one, or the '
        "column that the pairs name; otherwise row numbers from 0.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", metavar="COLUMNS", help="Columns to show: a,b, or the option once for each."
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file or folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Threshold = Annotated[
    float | None,
    typer.Option(help="A pair is alike from this value on; by default the one from fit."),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMNS",
        help="Treat these columns as text: a,b, or the option once for each.",
    ),
]
OnlyColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="COLUMNS",
        help="Use only these columns: a,b, or the option once for each.",
    ),
]
Image = Annotated[
    str | None,
    typer.Option("--image", metavar="COLUMN", help="The column with file names of images."),
]
ImageSize = Annotated[
    int | None,
    typer.Option("--image-size", min=8, max=512, help="Scale images to this many pixels a side."),
]
TextModel = Annotated[
    Path | None,
    typer.Option(
        "--text-model",
        metavar="FOLDER",
        help="A local model2vec or sentence-transformers model for the text columns.",
    ),
]
