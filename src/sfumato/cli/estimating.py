"""The command that estimates from generalized columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.app import Json, app
from sfumato.cli.terminal import print_json, say, show_table, telling, watching
from sfumato.errors import PolicyError


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
    from sfumato.receiving.estimates import shown as figure

    if sum(each is not None for each in (columns, mean, regress)) != 1:
        raise PolicyError("An estimate was asked for, but not which one.\nGive one of --columns, --mean and --regress.")
    edges = {name: listed(given, ",") for name, given in named(bins, "--bins").items()}
    common = {name: read_base_rates(Path(path), ("",)) for name, path in named(rates, "--rates").items()}
    with watching():
        loaded = api.load(release)
        if columns is not None:
            cells = loaded.table(listed(columns, ","), bins=edges, rates=common, weight=weight)
            found, shown = [cells.as_dict()], [str(cells)]
        elif mean is not None:
            ends = None if limits is None else listed(limits, ",")
            means = loaded.mean(mean, by=listed(by or "", ","), limits=ends, rates=common.get(mean), weight=weight)
            found, shown, cells = [each.as_dict() for each in means], [str(each) for each in means], None
        else:
            outcome, _, terms = (regress or "").partition("~")
            fit = loaded.regression(outcome.strip(), listed(terms, "+"), value=value, rates=common, weight=weight)
            found, shown, cells = [fit.as_dict()], [str(fit)], None
    with telling():
        if as_json:
            print_json({"estimates": found})
        else:
            say("\n".join(shown))
            rows = cells.table().to_pylist() if cells is not None else []
            texts = ([figure(cell) if isinstance(cell, float) else str(cell) for cell in row.values()] for row in rows)
            if rows:
                show_table(rows[0], texts, len(rows), "--json prints them all")


def listed(text: str, separator: str) -> list[str]:
    """Return the names in a text, without blanks around them."""
    return [name.strip() for name in text.split(separator) if name.strip()]


def named(given: Sequence[str] | None, option: str, shape: str = "COLUMN=...") -> dict[str, str]:
    """Return what an option, which may be repeated, says of columns, or raise where it was written otherwise."""
    if bad := [each for each in given or () if "=" not in each]:
        raise PolicyError(f"{option} was given as {bad[0]!r}.\nWrite {option} {shape}")
    return dict(each.split("=", 1) for each in given or ())
