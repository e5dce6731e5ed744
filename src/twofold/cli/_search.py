"""`twofold search MODEL --index DATA --query DATA`: the rows that are nearest to others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twofold._core.plain_json import json_value
from twofold.cli import _options as options

if TYPE_CHECKING:
    from twofold.tasks import SearchResult

SHOWN_QUERIES = 5


def search(
    model: options.Model,
    index: Annotated[
        Path,
        typer.Option(
            metavar="DATA",
            help="The rows to search in, or an index of them that twofold index wrote.",
        ),
    ],
    query: Annotated[Path, typer.Option(metavar="DATA", help="The rows to search for.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Number of neighbours per row.")] = 10,
    columns: options.Columns = None,
    id_column: options.IdColumn = None,
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file for all results.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Where to keep the index of rows; by default next to DATA, as DATA.index."
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write an HTML page of the neighbours, with images.")
    ] = None,
    device: options.Device = "auto",
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Find the nearest rows. The index is kept, so that next time only new rows are embedded.

    Examples: twofold search model --index products.csv --query new.csv -k 5 --columns title

    twofold search model --index products.index --query new.csv (written by twofold index)
    """
    from twofold.cli._console import show, show_json, step_bars
    from twofold.tasks import SearchRequest, search_files

    request = SearchRequest(
        model=model,
        index=index,
        query=query,
        k=k,
        store=store,
        columns=tuple(columns or ()),
        id_column=id_column,
        out=out,
        page=page,
        device=device,
        overwrite=overwrite,
    )
    with step_bars() as progress:
        result = search_files(request, progress)
    if page is not None:
        from twofold._core.files import write_text
        from twofold.report import search_page

        write_text(page, search_page(result))
    if as_json:
        show_json(_plain(result))
        return
    if out is None:
        for number in range(min(SHOWN_QUERIES, len(result.query_ids))):
            show(_nearest(result, number))
        if len(result.query_ids) > SHOWN_QUERIES:
            show(f"These are {SHOWN_QUERIES} of {len(result.query_ids):,}; --out FILE writes all.")
    else:
        show(f"Wrote the {k} nearest neighbours of {len(result.query_ids):,} rows to {out}.")
    if page is not None:
        show(f"Open {page} in a browser.")
    show(
        f"The index has {result.n_items:,} rows, {result.n_embedded:,} of them newly embedded; it "
        f"is kept in {result.store}."
    )


def _nearest(result: SearchResult, number: int) -> Any:
    from twofold.cli._console import table

    found, measured = result.neighbours, getattr(result.neighbours, result.measure)
    rows = [
        (
            str(found.ids[number][place]),
            f"{measured[number][place]:.4g}",
            *(str(values[number][place]) for values in result.fields.values()),
        )
        for place in range(len(found.ids[number]))
    ]
    return table(
        ("id", result.measure, *result.fields),
        rows,
        title=f"Nearest to {result.query_ids[number]}",
        text=("id", *result.fields),
    )


def _plain(result: SearchResult) -> dict[str, Any]:
    found = result.neighbours
    return {
        "metric": result.metric,
        "n_items": result.n_items,
        "n_embedded": result.n_embedded,
        "store": str(result.store),
        "queries": [
            {
                "id": _plain_id(query),
                "nearest": [
                    {
                        "id": _plain_id(found.ids[number][place]),
                        "similarity": float(found.similarity[number][place]),
                        "distance": float(found.distance[number][place]),
                        **{
                            name: json_value(values[number][place])
                            for name, values in result.fields.items()
                        },
                    }
                    for place in range(len(found.ids[number]))
                ],
            }
            for number, query in enumerate(result.query_ids)
        ],
        "seconds": result.seconds,
    }


def _plain_id(name: Any) -> Any:
    return name.item() if hasattr(name, "item") else name
