"""Options that several commands have, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA_HELP = "CSV, TSV, Parquet, .npy, .npz, or a folder of images."

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that twofold fit wrote.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", help=DATA_HELP)]
Right = Annotated[
    Path | None,
    typer.Option(metavar="DATA", help="The second table, where pairs are between two."),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help='The column that names the rows; by default "id", if there is one, else row numbers '
        "from 0.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="COLUMN", help="Columns to show; may be given again."),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is there under that name.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Threshold = Annotated[
    float | None,
    typer.Option(help="From when on a pair is alike; by default what fit chose."),
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="COLUMN", help="A column that is text; may be given again."),
]
OnlyColumns = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="COLUMN", help="Only these columns; may be given again."),
]
Image = Annotated[
    str | None,
    typer.Option("--image", metavar="COLUMN", help="The column with file names of images."),
]
ImageSize = Annotated[
    int | None,
    typer.Option("--image-size", min=8, max=512, help="Pixels of a side that images get."),
]
TextModel = Annotated[
    Path | None,
    typer.Option(
        "--text-model",
        metavar="FOLDER",
        help="A local model2vec or sentence-transformers model for the text columns.",
    ),
]
