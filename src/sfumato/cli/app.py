"""The application: its name, and the options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sfumato import __version__
from sfumato.cli.terminal import follow

ORDER = (  # of commands, as somebody comes to need them
    *("demo", "init", "explain", "check", "anonymize", "audit", "measure", "attack", "report", "sweep", "describe"),
    *("estimate", "reconstruct", "web", "knowledge", "connections", "schema", "warm"),
)


class _InOrder(TyperGroup):
    """Lists commands as somebody comes to need them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


app = typer.Typer(
    cls=_InOrder,
    name="sfumato",
    help="Publish personal data safely when columns do not split cleanly into identifying and sensitive.",
    epilog="Start with `sfumato demo`, or with `sfumato init DATA` on a table of your own.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan, a TOML file.", show_default=False)]
PlanOption = Annotated[
    Path, typer.Option("--plan", "-p", metavar="PLAN", help="The plan, a TOML file.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]
TableOption = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="TABLE",
        help="Of a database (DATA is database:NAME or a file of SQLite or DuckDB): schema.table.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Repeat a run exactly, for tests only. Without it, chance comes from the system.", min=0),
]
Threads = Annotated[int | None, typer.Option(help="Threads to use. Default: all cores.", min=1)]
Engine = Annotated[
    str | None,
    typer.Option(metavar="ENGINE", help="Where it runs: local, this machine, or spark.", show_default="local"),
]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Of Spark, such as spark://HOST:7077.", show_default="this machine")
]
DistinctOnDriver = Annotated[
    int | None,
    typer.Option(help="Of Spark: distinct rows that the driver decides about.", min=1, show_default="20,000,000"),
]
ProgressFile = Annotated[
    Path | None,
    typer.Option(
        "--progress",
        metavar="FILE",
        hidden=True,
        callback=follow,
        help="Append how the work goes on to a file, a JSON object a line.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output of an earlier run.")]
NoMeasure = Annotated[
    bool, typer.Option("--no-measure", help="Leave for later what was lost: `sfumato report RUN` measures it.")
]
NoAttack = Annotated[
    bool, typer.Option("--no-attack", help="Leave for later what an intruder gets: `sfumato report RUN` works it out.")
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"sfumato {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
