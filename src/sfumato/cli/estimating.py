"""The command that estimates from generalized columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato.cli.app import Json, app
from sfumato.cli.terminal import print_json, say, stdout, telling, watching
from sfumato.errors import PolicyError

SHOWN = 30  # cells of a table that fit a screen


@app.command()
def estimate(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release folder.", show_default=False)],
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Count combinations of these columns.")] = None,
    mean: Annotated[str | None, typer.Option(metavar="COLUMN", help="The mean of a column of numbers.")] = None,
    regress: Annotated[str | None, typer.Option(metavar="Y~A+B", help="A linear regression of Y on A and B.")] = None,
    by: Annotated[str | None, typer.Option(metavar="A,B", help="With --mean: one for each published label.")] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=EDGES", help="With --columns: age=20,30,40 counts from 20 up to 30, and so on."),
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(metavar="LOW,HIGH", help="With --mean: what no value exceeds, where cells show nothing."),
    ] = None,
    value: Annotated[str | None, typer.Option(help="With --regress: the word of Y that counts, if it has any.")] = None,
    rates: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=FILE", help="How common values are (value, weight); without, all count the same."),
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="Weight of each row, as in surveys.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate tables, means and regressions from generalized columns, with errors and bounds that hold for sure."""
    from sfumato import api
    from sfumato.data.base_rates import read_base_rates

    if sum(each is not None for each in (columns, mean, regress)) != 1:
        raise PolicyError("An estimate was asked for, but not which one.\nGive one of --columns, --mean and --regress.")
    edges = {name: _listed(given, ",") for name, given in _named(bins, "--bins").items()}
    common = {name: read_base_rates(Path(path), ("",)) for name, path in _named(rates, "--rates").items()}
    with watching():
        loaded = api.load(release)
        if columns is not None:
            cells = loaded.table(_listed(columns, ","), bins=edges, rates=common, weight=weight)
            found, shown = [cells.as_dict()], [str(cells)]
        elif mean is not None:
            ends = None if limits is None else _listed(limits, ",")
            means = loaded.mean(mean, by=_listed(by or "", ","), limits=ends, rates=common.get(mean), weight=weight)
            found, shown, cells = [each.as_dict() for each in means], [str(each) for each in means], None
        else:
            outcome, _, terms = (regress or "").partition("~")
            fit = loaded.regression(outcome.strip(), _listed(terms, "+"), value=value, rates=common, weight=weight)
            found, shown, cells = [fit.as_dict()], [str(fit)], None
    with telling():
        if as_json:
            print_json({"estimates": found})
        else:
            say("\n".join(shown))
            _show(cells.table().to_pylist() if cells is not None else [])


def _show(cells: Sequence[dict[str, object]]) -> None:
    from sfumato.receiving.estimates import shown

    if not cells:
        return
    screen = Table(*cells[0], box=None, pad_edge=False)
    for row in cells[:SHOWN]:
        screen.add_row(*(shown(cell) if isinstance(cell, float) else str(cell) for cell in row.values()))
    stdout().print(screen, markup=False, highlight=False)
    if len(cells) > SHOWN:
        say(f"and {len(cells) - SHOWN:,} more; --json prints them all")


def _listed(text: str, separator: str) -> list[str]:
    return [name.strip() for name in text.split(separator) if name.strip()]


def _named(given: Sequence[str] | None, option: str) -> dict[str, str]:
    if bad := [each for each in given or () if "=" not in each]:
        raise PolicyError(f"{option} was given as {bad[0]!r}.\nWrite {option} COLUMN=...")
    return dict(each.split("=", 1) for each in given or ())
