"""`twofold serve MODEL`: a model behind HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twofold._core.own_names import LOOPBACK
from twofold.cli import _options as options

if TYPE_CHECKING:
    from twofold.serving import Opened


def serve(
    model: options.Model,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="INDEX",
            help="An index from twofold index or twofold search, to serve neighbours from.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8738,
    max_batch: Annotated[
        int, typer.Option(min=1, max=65536, help="Items to embed at a time.")
    ] = 256,
    max_wait: Annotated[
        float,
        typer.Option(min=0, max=10_000, help="Milliseconds to wait for more items for a batch."),
    ] = 2.0,
    max_body: Annotated[
        float, typer.Option(min=0.001, max=4096, help="Largest request, in megabytes.")
    ] = 16.0,
    max_items: Annotated[
        int, typer.Option(min=1, max=2**20, help="Most items in a request.")
    ] = 4096,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Most requests a second per address; by default unlimited."),
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Serve points, similarities and neighbours over HTTP.

    Example: twofold serve model --index products.csv.index
    """
    from twofold.cli._console import show
    from twofold.serving import Batching, Limits, ServeRequest
    from twofold.serving import serve as run

    request = ServeRequest(
        model=model,
        index=index,
        host=host,
        port=port,
        device=device,
        limits=Limits(
            body_bytes=int(max_body * 2**20),
            items=max_items,
            waiting=max(Limits().waiting, 2 * max_items),
            rate=rate,
        ),
        batching=Batching(items=max_batch, seconds=max_wait / 1000),
    )
    if host not in LOOPBACK:
        show(
            f"--host {host}: anyone who can reach this machine can use the model and read the "
            "index, without a password. The connection is not encrypted."
        )
    closed = run(request, on_open=_show_opened)
    show(f"Answered {closed.n_requests:,} requests.")


def _show_opened(opened: Opened) -> None:
    from twofold.cli._console import show

    facts = opened.facts
    indexed = facts["n_indexed"]
    beside = "" if indexed is None else f" and neighbours among {indexed:,} items"
    show(
        f"Serving points of {facts['n_components']} numbers{beside}. How to use it:",
        f"  {opened.address}/",
        "Press Ctrl-C to stop; open requests are answered first.",
    )
