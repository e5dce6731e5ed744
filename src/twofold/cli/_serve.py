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
            help="A folder that twofold index or twofold search wrote: its neighbours are served.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="To listen at; any other than this lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any that is free.")] = 8738,
    max_batch: Annotated[
        int, typer.Option(min=1, max=65536, help="Items that are embedded at a time.")
    ] = 256,
    max_wait: Annotated[
        float,
        typer.Option(min=0, max=10_000, help="Milliseconds that the first of a batch waits."),
    ] = 2.0,
    max_body: Annotated[
        float, typer.Option(min=0.001, max=4096, help="Megabytes of a request.")
    ] = 16.0,
    max_items: Annotated[int, typer.Option(min=1, max=2**20, help="Items of a request.")] = 4096,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Requests a second of one address; by default any number."),
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Answer over HTTP: points, similarities and neighbours of the items that are sent.

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
            f"--host {host}: whoever reaches this machine can use the model and read the index. "
            "The connection is not encrypted, and nobody is asked who they are."
        )
    closed = run(request, on_open=_show_opened)
    show(f"{closed.n_requests:,} requests were answered.")


def _show_opened(opened: Opened) -> None:
    from twofold.cli._console import show

    facts = opened.facts
    indexed = facts["n_indexed"]
    beside = "" if indexed is None else f", and the neighbours among {indexed:,} items"
    show(
        f"Points of {facts['n_components']} numbers{beside}. How to ask:",
        f"  {opened.address}/",
        "Ctrl-C ends it, once what is in flight is answered.",
    )
