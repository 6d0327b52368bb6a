"""The command that shows sfumato in a browser."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.app import app
from sfumato.cli.terminal import say, stdout, telling


@app.command()
def web(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="The project: plans, runs and sweeps.")] = Path(),
    port: Annotated[int, typer.Option(help="Default: a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option(help="Whether to open a browser.")] = True,
    roots: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Folders that data may be opened from; may be repeated. Default: FOLDER."),
    ] = None,
    max_upload: Annotated[int, typer.Option(metavar="BYTES", help="The largest file to copy in.", min=1)] = 20 << 30,
) -> None:
    """Work in a browser, on this machine alone: from data to a release, without the command line."""
    from sfumato.webapp.server import serve

    def tell(words: str) -> None:
        stdout().print(words, markup=False, highlight=False, soft_wrap=True)  # an address stays in one piece

    with contextlib.suppress(KeyboardInterrupt):
        serve(folder, port=port, browser=browser, roots=roots or (), max_upload=max_upload, say=tell)
    with telling():
        say("sfumato web has ended.")
