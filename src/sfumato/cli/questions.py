"""Commands that answer questions about a table: judge, measure, attack, reconstruct, describe, sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.app import (
    DistinctOnDriver,
    Engine,
    Json,
    Master,
    Overwrite,
    PlanFile,
    PlanOption,
    ProgressFile,
    Seed,
    TableOption,
    app,
)
from sfumato.cli.estimating import listed, named
from sfumato.cli.junit import telling_junit
from sfumato.cli.terminal import (
    INTERRUPTED,
    fail,
    print_json,
    reply,
    say,
    show_table,
    stderr,
    stdout,
    telling,
    warn,
    watching,
    wrote,
)

if TYPE_CHECKING:
    from sfumato.attacks.base import Exposure
    from sfumato.estimators.base import CrossTable
    from sfumato.metrics.base import Measurement
    from sfumato.models.base import Verdict

AnyTable = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A run, a release folder, a table of any tool, or database:NAME.", show_default=False
    ),
]


@app.command()
def audit(
    data: AnyTable,
    plan: PlanOption,
    table: TableOption = None,
    name_items: Annotated[
        bool,
        typer.Option("--name-items", help="Name the items of the worst rule. They are secrets: do not pass them on."),
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write verdicts as test results in JUnit's XML, for CI systems."),
    ] = None,
    _: ProgressFile = None,
    engine: Engine = None,
    master: Master = None,
    distinct_on_driver: DistinctOnDriver = None,
    as_json: Json = False,
) -> None:
    """Judge any table by the plan's requirements; exit 1 if one does not hold."""
    from sfumato import api

    with telling_junit(junit) as verdicts, _asking(data, table, plan, engine, master, distinct_on_driver) as asked:
        verdicts += api.audit(**asked, name_items=name_items)
    satisfied, notes = all(verdict.satisfied for verdict in verdicts), _notes(verdicts)
    exit_code = 0 if satisfied else 1
    with telling(exit_code):
        if as_json:
            shown = [verdict.as_dict() for verdict in verdicts]
            print_json({"satisfied": satisfied, "verdicts": shown, "notes": notes})
        else:
            warn(notes, "Note")
            _show_verdicts(verdicts, name_items=name_items)
    raise typer.Exit(exit_code)


def _notes(found: Iterable[Verdict | Measurement | Exposure]) -> list[str]:
    """Return what there is to know about what was looked at, each note once."""
    return list(dict.fromkeys(note for each in found for note in each.notes))


@contextmanager
def _asking(
    data: Path, table: str | None, plan: Path, engine: str | None, master: str | None, distinct_on_driver: int | None
) -> Iterator[dict[str, Any]]:
    """Yield what each question about a table is asked with, while its progress is shown."""
    from sfumato.data.files import named_database
    from sfumato.plan import Plan

    with watching() as progress:
        where = _where(engine, master, distinct_on_driver)
        yield {"data": named_database(data, table) or data, "plan": Plan.load(plan), "progress": progress, **where}


def _where(engine: str | None, master: str | None, distinct_on_driver: int | None) -> dict[str, Any]:
    """Return where a table is looked at, as far as somebody said so."""
    given = {"engine": engine, "master": master, "distinct_on_driver": distinct_on_driver}
    return given if any(value is not None for value in given.values()) else {}


def _show_verdicts(verdicts: Sequence[Verdict], *, name_items: bool) -> None:
    for verdict in verdicts:
        say(str(verdict), style="green" if verdict.satisfied else "bold red")
    for verdict in verdicts if name_items else ():
        worst = verdict.facts.get("worst_rule", {})
        if "item" in worst:
            known = ", ".join(worst["antecedent"]) or "(nothing)"
            say(f"worst rule: {known} -> {worst['item']} ({worst['confidence']})")


@app.command()
def check(plan: PlanFile, as_json: Json = False) -> None:
    """Find all that a run would find wrong in plan and data, and what cannot be met; makes nothing.

    Reads every row. Exit 1 if no release can meet a requirement.
    """
    from sfumato.plan import Plan
    from sfumato.plan.preview import preview
    from sfumato.workbench.bench import Workbench

    with watching() as progress:
        seen = preview(Plan.load(plan), every_row=True, progress=progress)
        found = Workbench(plan, progress).reach(strict=True)
    fine = all(each.state != "impossible" for each in found)
    with telling(0 if fine else 1):
        if as_json:
            reached = [each.as_dict() for each in found]
            print_json({"satisfied": fine, "rows": seen.rows, "warnings": list(seen.warnings), "reach": reached})
        else:
            warn(seen.warnings)
            for each in found:
                style = {"possible": "green", "impossible": "bold red"}.get(each.state, "yellow")
                say(f"{each.position + 1}. {each.model}: {each.words}", style=style)
    raise typer.Exit(0 if fine else 1)


@app.command()
def measure(
    data: AnyTable,
    plan: PlanOption,
    table: TableOption = None,
    target: Annotated[str | None, typer.Option(help="Column that a classifier predicts, before and after.")] = None,
    engine: Engine = None,
    master: Master = None,
    distinct_on_driver: DistinctOnDriver = None,
    as_json: Json = False,
) -> None:
    """Measure what a release is still good for, against the plan's source."""
    from sfumato import api

    with _asking(data, table, plan, engine, master, distinct_on_driver) as asked:
        measurements = api.measure(**asked, target=target)
    notes = _notes(measurements)
    with telling():
        if as_json:
            shown = {"measurements": [measurement.headline() for measurement in measurements]}
            print_json({**shown, "statistics": _statistics(measurements), "notes": notes})
        else:
            warn(notes, "Note")
            say("\n".join(map(str, measurements)))
            _show_statistics(_statistics(measurements))


def _statistics(measurements: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Return what an analyst would compute, before and after."""
    return [each for found in measurements for each in found.facts.get("statistics", ())]


def _show_statistics(found: Sequence[Mapping[str, Any]]) -> None:
    if found:
        say("\nWhat an analyst would compute:")
        rows = ((each["what"], f"{each['before']:.4g}", f"{each['after']:.4g}") for each in found)
        show_table(("", "before", "after"), rows, len(found), "--json prints them all")


@app.command()
def attack(
    data: AnyTable,
    plan: PlanOption,
    table: TableOption = None,
    threshold: Annotated[float, typer.Option(help="Whoever an intruder is surer of than this is exposed.")] = 0.5,
    factor: Annotated[
        float,
        typer.Option(help="A person is exposed if a value below 5 % becomes more than this many times as likely."),
    ] = 10.0,
    width: Annotated[
        float, typer.Option(help="Numbers in an interval of this share of the whole range are near each other.")
    ] = 0.05,
    population: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A larger table of people that a journalist would search.")
    ] = None,
    _: ProgressFile = None,
    engine: Engine = None,
    master: Master = None,
    distinct_on_driver: DistinctOnDriver = None,
    as_json: Json = False,
) -> None:
    """Show what an intruder learns from a table, beside the plan's source and what guessing would get."""
    from sfumato import api

    with _asking(data, table, plan, engine, master, distinct_on_driver) as asked:
        exposures = api.attack(**asked, threshold=threshold, factor=factor, width=width, population=population)
    notes = _notes(exposures)
    words = "\n".join(map(str, exposures)) or "No attack of this version applies to the table."
    if not as_json:
        warn(notes, "Note")
    reply(as_json, {"attacks": [exposure.as_dict() for exposure in exposures], "notes": notes}, words)


@app.command()
def reconstruct(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="The folder of a randomized release.", show_default=False)
    ],
    columns: Annotated[
        list[str],
        typer.Option(
            "--columns", "-c", metavar="A,B", help="Columns of the table; may be repeated.", show_default=False
        ),
    ],
    where: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Keep records with this value; may be repeated.")
    ] = None,
    method: Annotated[str, typer.Option(metavar="METHOD", help="auto, paper, value-adding, inverse or mle.")] = "auto",
    budget: Annotated[float, typer.Option(help="Operations that `auto` and `mle` may take.", min=0)] = 2e9,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the table goes, .csv or .parquet.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which error to expect.")] = False,
    overwrite: Overwrite = False,
    engine: Engine = None,
    master: Master = None,
    distinct_on_driver: DistinctOnDriver = None,
    as_json: Json = False,
) -> None:
    """Compute a table back from a randomized release: counts with standard errors."""
    from sfumato.data.files.release import read_release
    from sfumato.estimators import ESTIMATORS, query
    from sfumato.parameters import one_of
    from sfumato.pipeline import columns_at

    kept = named(where, "--where", "column=value.")
    estimator = ESTIMATORS[one_of(method, "--method", ESTIMATORS)]()
    names = [name for each in columns for name in listed(each, ",")]
    with watching() as progress:
        if elsewhere := _where(engine, master, distinct_on_driver):
            seen = columns_at(release, (*names, *kept), **elsewhere)
        else:
            seen = read_release(release, progress=progress)
        question = query(seen, names, kept)
        expected = question.expectation()
        style = "red" if expected.outlook == "hopeless" else "yellow" if expected.outlook == "doubtful" else None
        if dry_run or style:  # what is fine is told with the answer
            stderr().print(str(expected), style=style, markup=False, highlight=False)
        if dry_run:
            if as_json:
                print_json(expected.as_dict())
            return
        answer = question.estimate(estimator, budget)
    if out is not None:
        answer.write(out, overwrite=overwrite)
        wrote(out)
    with telling():
        _show_answer(answer, out, as_json=as_json)


def _show_answer(answer: CrossTable, out: Path | None, *, as_json: bool) -> None:
    rows = answer.table().to_pylist() if out is None else []
    for row, uncertain in zip(rows, answer.uncertain.ravel().tolist(), strict=False):
        row["uncertain"] = uncertain
    if as_json:
        print_json({**answer.as_dict(), **({"out": str(out)} if out is not None else {"table": rows})})
        return
    say(str(answer))
    if out is not None:
        say(f"Table: {out}")
        return
    doubt = "? The standard error exceeds the count: such a cell tells nothing by itself."
    below = doubt if answer.uncertain.any() else ""
    texts = (
        (
            *(row[name] for name in answer.columns),
            *(f"{row['count']:,.1f}", f"{row['std_error']:,.1f}", "?" if row["uncertain"] else ""),
        )
        for row in sorted(rows, key=lambda row: -row["count"])
    )
    head = (*answer.columns, "count", "std_error", "")
    show_table(head, texts, len(rows), "--out FILE writes them all", below)


@app.command()
def describe(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release folder.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Print a data dictionary: what each column means, how it was changed, what must not be concluded."""
    from sfumato import api

    with watching():
        words = api.describe(release)
    reply(as_json, words.as_dict(), str(words))


@app.command()
def sweep(
    plan: PlanFile,
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUES",
            help="A setting and its values: k=2,5,10 or t=0.2..0.5 or t=0.2..0.5/7. Several of these make a grid. "
            "The full name of a setting is MODEL.NAME or ANONYMIZER.NAME.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the measurements go; a stopped sweep there goes on.")
    ] = Path("sfumato-sweep"),
    loss: Annotated[
        str | None, typer.Option(metavar="NAME", help="Measurement to trade against. Default: what the settings move.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Combinations side by side. Default: all cores.", min=1)] = None,
    seed: Seed = None,
    overwrite: Overwrite = False,
    _: ProgressFile = None,
    as_json: Json = False,
) -> None:
    """Try combinations of settings: what does each cost, and where does strictness get dear? Writes no release."""
    from sfumato import api
    from sfumato.engines import available_threads
    from sfumato.plan import Plan
    from sfumato.report.sweep import sweep_text
    from sfumato.sweeping import parse_vary

    loaded, values = Plan.load(plan), parse_vary(vary)
    try:
        with watching() as progress:
            found = api.sweep(
                loaded,
                values,
                out=out,
                loss=loss,
                jobs=jobs or available_threads(),
                seed=seed,
                overwrite=overwrite,
                progress=progress,
            )
    except KeyboardInterrupt:
        fail(f"Stopped. What is finished is kept in {out}: the same command goes on.", INTERRUPTED, as_json)
    wrote(out)
    exit_code = 0 if found.facts["holding"] else 1
    shown = f"{sweep_text(found.facts, stdout().width)}\n\nTable: {out / 'sweep.csv'}\nPage:  {out / 'sweep.html'}"
    reply(as_json, {"out": str(out), **found.facts}, shown, exit_code)
    raise typer.Exit(exit_code)
