"""Commands that make something: examples, drafts, releases, reports."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.text import Text

from sfumato.cli.app import (
    DistinctOnDriver,
    Engine,
    Json,
    Master,
    NoAttack,
    NoMeasure,
    Overwrite,
    PlanFile,
    ProgressFile,
    Seed,
    TableOption,
    Threads,
    app,
)
from sfumato.cli.terminal import indented, print_json, reply, say, show_columns, stdout, telling, warn, watching, wrote

if TYPE_CHECKING:
    from sfumato.drafting import Draft


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the example goes.")] = Path("sfumato-demo"),
    rows: Annotated[int, typer.Option(help="How many made-up patients.", min=100)] = 5_000,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Make an example, run it, print the verdicts and where the report is."""
    from sfumato.generators import write_demo
    from sfumato.plan import Plan

    plan = write_demo(out, rows, overwrite=overwrite)
    if not as_json:
        say(f"{rows:,} made-up patients and a plan are in {out}")
    _anonymize(Plan.load(plan), out / "run", overwrite=True, as_json=as_json)


@app.command()
def init(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The table to publish: a file, or database:NAME.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the draft goes.")] = Path("plan.toml"),
    table: TableOption = None,
    separator: Annotated[str | None, typer.Option(help="Between cells (csv) or items (transactions).")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text, such as windows-1252.")] = None,
    header: Annotated[bool | None, typer.Option(help="Whether the first line names the columns.")] = None,
    header_row: Annotated[int | None, typer.Option(min=1, help="The line that names the columns, from 1 on.")] = None,
    decimal: Annotated[str | None, typer.Option(help="Mark of decimals: a point or a comma.")] = None,
    dates: Annotated[str | None, typer.Option(help="day-month-year, month-day-year or year-month-day.")] = None,
    sheet: Annotated[str | None, typer.Option(help="Of a workbook.")] = None,
    form: Annotated[str | None, typer.Option("--format", help="Of the file, where its name does not tell.")] = None,
    overwrite: Overwrite = False,
    _: ProgressFile = None,
    as_json: Json = False,
) -> None:
    """Draft a plan for a table: kinds, likely roles, hierarchies, each with a reason."""
    from sfumato.data.files import Source, named_database
    from sfumato.data.files.source import DECIMALS, FORMATS, ORDERS
    from sfumato.disk import atomic_file
    from sfumato.drafting import draft
    from sfumato.errors import OutputError
    from sfumato.parameters import one_of
    from sfumato.plan import is_plan
    from sfumato.plan.json_schema import FILE, schema_text

    schema_file = out.parent / FILE
    if overwrite and out.is_file() and not is_plan(out):
        raise OutputError(f"{out} is no plan, so it is not overwritten.\nName another file with --out.")
    with atomic_file(out, overwrite=overwrite) as temporary, watching() as progress:
        source = Source(
            path=data,
            separator=separator,
            encoding=encoding,
            header=header,
            header_row=header_row,
            decimal=one_of(decimal, "--decimal", DECIMALS) if decimal else None,
            dates=one_of(dates, "--dates", ORDERS) if dates else None,
            sheet=sheet,
            format=cast("Any", one_of(form, "--format", FORMATS) if form else None),
        )
        drafted = draft(named_database(data, table) or source, out.parent, progress)
        temporary.write_text(drafted.text, encoding="utf-8")
    wrote(out)
    with atomic_file(schema_file, overwrite=True) as temporary:
        temporary.write_text(schema_text(), encoding="utf-8")
    with telling():
        if as_json:
            print_json({"plan": str(out), "schema": str(schema_file), **drafted.as_dict()})
        else:
            _show_draft(drafted, out, schema_file)


def _show_draft(drafted: Draft, out: Path, schema_file: Path) -> None:
    show_columns(stdout(), ("column", "role", "kind", "why (a guess)"), drafted.overview())
    for warning in drafted.warnings:
        say(f"Warning: {warning}", style="yellow")
    if drafted.questions:
        say("\nQuestions, the most dangerous first (they stand at the top of the plan):", style="bold")
    for question in drafted.questions:
        say(f"- {question}")
    say(
        f"\nWrote {out}. Every role is a guess: read each line and what it costs if it is wrong, then "
        f"`sfumato explain {out}`. Editors complete and check it by {schema_file}."
    )


@app.command()
def schema() -> None:
    """Print a JSON Schema of the plan, for editors that complete and check it."""
    from sfumato.plan.json_schema import schema_text

    with telling():
        print(schema_text(), end="")  # noqa: T201


@app.command()
def warm(
    plan: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="Only what this plan needs.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the inner loops ahead, so that no run waits for it: those of every model, or what a plan needs."""
    from sfumato.pipeline.warming import warm as compile_ahead
    from sfumato.plan import Plan

    with watching() as progress:
        warmed = compile_ahead(Plan.load(plan) if plan is not None else None, progress)
    with telling():
        if as_json:
            print_json(warmed.as_dict())
        elif not warmed.loops:
            say(f"All loops were there already, as {warmed.seconds:.0f} s of made-up work show.")
        else:
            say(f"{len(warmed.loops)} loops were compiled in {warmed.seconds:.0f} s; runs load them from disk now.")
        if not warmed.kept:
            warn(["No folder for compiled loops can be written: name one in the environment as NUMBA_CACHE_DIR."])


@app.command()
def explain(
    plan: PlanFile,
    every_row: Annotated[
        bool, typer.Option("--all", help="Read every row, to find all that a run would find wrong in the data.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what a plan will do, in what order, and why; find every error in the plan, the header and the first rows."""
    from sfumato.plan import Plan
    from sfumato.plan.preview import preview

    with watching() as progress:
        facts = preview(Plan.load(plan), every_row=every_row, progress=progress).as_dict()
    with telling():
        if as_json:
            print_json(facts)
        else:
            _show_preview(facts)


def _show_preview(facts: Mapping[str, Any]) -> None:
    from sfumato.report.wording import plain

    console = stdout()
    rows, whole = facts["rows"], facts["whole"]
    unit = "people, one row each" if facts["people"] else "rows"
    looked_at = f"all {rows:,} {unit}" if whole else f"the first {rows:,} rows; --all reads every row" if rows else ""
    source = f"{facts['source']} ({looked_at})" if looked_at else facts["source"] or "a frame given in Python"
    console.print(f"Source: {source}", highlight=False, markup=False)
    for key, found in facts["reading"].items():
        shown = json.dumps(found["value"], ensure_ascii=False)
        console.print(indented(f"{key} = {shown}: {found['reason']}"))
    console.print()
    rows = []
    for column in facts["columns"]:
        kind = f"{column['kind']} (inferred)" if column["kind_inferred"] else column["kind"] or ""
        rows.append((column["name"], column["role"], kind, column["fate"]))
    show_columns(console, ("column", "role", "kind", "what happens"), rows)
    for number, step in enumerate(facts["steps"], start=1):
        console.print(f"\nStep {number}: {step['anonymizer']}, because {step['why']}.", highlight=False, markup=False)
        for name, value in step["options"].items():
            console.print(indented(f"{name} = {json.dumps(value, default=str)}: {step['about'][name]}"))
    for said in (facts["knowledge"], facts["sample"]):
        if said is not None:
            console.print(f"\n{said}", highlight=False, markup=False)
    console.print("\nThen an independent audit of the written release, requirement by requirement:", highlight=False)
    for requirement in facts["requirements"]:
        words = ("model", "promise", "limit", "advice")
        shown = ", ".join(f"{key} = {plain(value)}" for key, value in requirement.items() if key not in words)
        asked = textwrap.wrap(f"- {requirement['model']} ({shown})", console.width, subsequent_indent="  ")
        console.print(Text("\n".join(asked)))
        console.print(indented(f"promises: {requirement['promise']}"))
        console.print(indented(f"does not stop: {requirement['limit']} {requirement['advice']}".rstrip()))
    order = "in random order" if facts["release"]["shuffle"] else "in the order of the source"
    release = facts["release"]
    forms = [f"as {release['format']}"] if release["format"] else []
    forms += [f"into {release['table']}"] if release["table"] else []
    shown = f"\nThe release is written {' and '.join(forms)}, rows {order}; only if every audit passes."
    console.print(shown, markup=False)
    for warning in facts["warnings"]:
        console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)


@app.command()
def anonymize(
    plan: PlanFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where release/ and private/ go.", show_default=False)],
    seed: Seed = None,
    threads: Threads = None,
    engine: Engine = None,
    master: Master = None,
    distinct_on_driver: DistinctOnDriver = None,
    overwrite: Overwrite = False,
    no_measure: NoMeasure = False,
    no_attack: NoAttack = False,
    _: ProgressFile = None,
    as_json: Json = False,
) -> None:
    """Make a release that satisfies the plan, audit and publish it, then measure, attack and report."""
    from sfumato.plan import Plan

    _anonymize(
        Plan.load(plan),
        out,
        as_json=as_json,
        seed=seed,
        threads=threads,
        engine=engine,
        master=master,
        distinct_on_driver=distinct_on_driver,
        overwrite=overwrite,
        measure=not no_measure,
        attack=not no_attack,
    )


def _anonymize(plan: Any, out: Path, *, as_json: bool, **options: Any) -> None:
    from sfumato import api
    from sfumato.pipeline import without_values
    from sfumato.report.text import summary
    from sfumato.report.verdict import left_open

    warn(plan.warnings())
    with watching() as progress:

        def published() -> None:
            wrote(out, f"Its release was audited; `sfumato report {out}` completes the rest.")

        run = api.run(plan, out, published=published, progress=progress, **options)
        wrote(out)
    with telling():
        warn([warning for warning in run.facts["warnings"] if warning not in plan.warnings()])  # found in the data
        if as_json:
            print_json({"out": str(out), **without_values(run.facts)})
        else:
            say(summary(run.facts, stdout().width))
            warn([words for words in (left_open(run.facts),) if words], "Note")
            if plan.target is not None:
                say(f"\nTable:   {plan.target.shown}; nobody was given the right to read it")
            say(f"\nRelease: {out / 'release'}\nReport:  {out / 'private' / 'report.html'}")


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page goes. Default: RUN/private/report.html.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", "-p", metavar="PLAN", help="Where the plan is now, if it was moved.")
    ] = None,
    no_measure: NoMeasure = False,
    no_attack: NoAttack = False,
    as_json: Json = False,
) -> None:
    """Make the report page of a run again, once what is missing was measured and attacked: that needs the source."""
    from sfumato import api
    from sfumato.disk import atomic_file
    from sfumato.errors import OutputError
    from sfumato.report.page import is_page, render

    page = out or run / "private" / "report.html"
    if page.is_file() and not is_page(page):
        raise OutputError(f"{page} exists already and is no report of sfumato.\nName another file with --out.")
    with watching() as progress:
        facts = api.complete(run, plan, measure=not no_measure, attack=not no_attack, progress=progress)
    with atomic_file(page, overwrite=True) as temporary:
        temporary.write_text(render(facts), encoding="utf-8")
    wrote(page)
    reply(as_json, {"report": str(page), "pending": facts.get("pending", [])}, f"Report: {page}")
