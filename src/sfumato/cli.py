"""The command line: parses, calls, shows. Exit codes: 0 done and safe, 1 a requirement does not hold, 2 plan or data
wrong, 3 a bug in sfumato.

Heavy modules are imported inside the commands, so that `sfumato --help` answers at once.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sfumato import __version__
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.models.base import Verdict
    from sfumato.progress import Progress

INTERRUPTED = 130  # as shells have it
TABLE_WIDTH = 80  # columns of a terminal below which tables are set as lists
SHOWN = 30  # rows of a table that fit a screen

app = typer.Typer(
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
Seed = Annotated[
    int | None,
    typer.Option(help="Repeat a run exactly, for tests only. Without it, chance comes from the system.", min=0),
]
Threads = Annotated[int | None, typer.Option(help="Threads to use. Default: all cores.", min=1)]
Engine = Annotated[str, typer.Option(metavar="ENGINE", help="Where it runs: local, this machine.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output of an earlier run.")]


class _NoPandas:
    """Keeps pandas out of the commands, which never hold one of its frames.

    Where it is installed, pyarrow would load it to see whether somebody hands it a frame: a third of the start-up time.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used on the command line", name=name)


def main() -> None:
    """Run the command line; every error becomes a message and an exit code."""
    as_json = "--json" in sys.argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows ? for what it cannot
    sys.meta_path.insert(0, _NoPandas())
    try:
        code = app(standalone_mode=False)
    except SfumatoError as error:
        _fail(str(error), error.exit_code, as_json)
    except typer.Abort:
        _fail("Stopped.", INTERRUPTED, as_json)
    except KeyboardInterrupt:
        _fail("Stopped. Nothing was written.", INTERRUPTED, as_json)
    except BrokenPipeError:
        _leave(0)  # whoever read our output has seen enough
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # a wrong option or argument
            _fail(error.format_message() + "\nSee `sfumato --help`.", int(error.exit_code), as_json)
        if os.environ.get("SFUMATO_DEBUG"):
            traceback.print_exc()
        _fail(
            f"Something unexpected happened ({type(error).__name__}). Nothing was written.\n"
            "This is a bug in sfumato. Set SFUMATO_DEBUG=1 to see where (the trace may show values of your data).",
            3,
            as_json,
        )
    else:
        _leave(code if isinstance(code, int) else 0)


def _leave(exit_code: int) -> NoReturn:
    """End the process at once: threads of libraries that are still about at an ordinary end may abort it instead."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(exit_code)


def _fail(message: str, exit_code: int, as_json: bool) -> NoReturn:
    if as_json:
        _print_json({"error": message, "exit_code": exit_code}, indent=None)
    _stderr().print(f"sfumato: {message}", markup=False, highlight=False, soft_wrap=True, style="red")
    _leave(exit_code)


def _stderr() -> Console:
    return Console(stderr=True)


def _stdout() -> Console:
    return Console()


def _print_json(content: Mapping[str, Any], indent: int | None = 1) -> None:
    unicode = (
        (sys.stdout.encoding or "").lower().startswith("utf")
    )  # anything else gets escapes: they read back the same
    print(json.dumps(content, indent=indent, ensure_ascii=not unicode))  # noqa: T201


@contextmanager
def _watching() -> Iterator[Progress]:
    """Show bars for what takes over a second, and say when loops are compiled for the first time."""
    from sfumato.bars import Bars
    from sfumato.compiling import when_compiling

    console = _stderr()

    def tell() -> None:
        console.print("Compiling the inner loops: once, some seconds; later runs load them from disk.", style="dim")

    with Bars(console) as bars, when_compiling(tell):
        yield bars


def _show_columns(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show columns of the data side by side where there is room, else one below the other: nothing is cut off."""
    if console.width < TABLE_WIDTH:
        for name, role, kind, words in rows:
            about = f"{role}, {kind}" if kind else role
            console.print(f"{name}: {about}", markup=False, highlight=False)
            console.print(Padding(Text(words), (0, 0, 0, 4)))
        return
    table = Table(box=None, pad_edge=False)
    for word in head:
        table.add_column(word, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _show_verdicts(verdicts: tuple[Verdict, ...]) -> None:
    for verdict in verdicts:
        style = "green" if verdict.satisfied else "bold red"
        _stdout().print(str(verdict), style=style, markup=False, highlight=False)


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
        _stdout().print(f"{rows:,} made-up patients and a plan are in {out}", highlight=False)
    _anonymize(Plan.load(plan), out / "run", overwrite=True, as_json=as_json)


@app.command()
def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The table to publish.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the draft goes.")] = Path("plan.toml"),
    separator: Annotated[str | None, typer.Option(help="Between cells (csv) or items (transactions).")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Draft a plan for a table: kinds, likely roles, hierarchies, each with a reason."""
    from sfumato.data.files import Source
    from sfumato.disk import atomic_file
    from sfumato.drafting import draft
    from sfumato.plan.json_schema import FILE, schema_text

    schema_file = out.parent / FILE
    with atomic_file(out, overwrite=overwrite) as temporary, _watching() as progress:
        drafted = draft(Source(path=data, separator=separator), out.parent, progress)
        temporary.write_text(drafted.text, encoding="utf-8")
    with atomic_file(schema_file, overwrite=True) as temporary:
        temporary.write_text(schema_text(), encoding="utf-8")
    if as_json:
        shown = [
            {"name": g.name, "role": g.role.value, "kind": g.kind.value, "reason": g.reason, "warning": g.warning}
            for g in drafted.guesses
        ]
        written = {"plan": str(out), "schema": str(schema_file)}
        _print_json({**written, "guesses": shown, "warnings": list(drafted.warnings)})
        return
    console = _stdout()
    rows = [(guess.name, guess.role.value, guess.kind.value, guess.reason) for guess in drafted.guesses]
    _show_columns(console, ("column", "role", "kind", "why (a guess)"), rows)
    for warning in drafted.warnings:
        console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)
    console.print(
        f"\nWrote {out}. Every role is a guess: read each line and what it costs if it is wrong, then "
        f"`sfumato explain {out}`. Editors complete and check it by {schema_file}.",
        highlight=False,
        markup=False,
    )


@app.command()
def schema() -> None:
    """Print a JSON Schema of the plan, for editors that complete and check it."""
    from sfumato.plan.json_schema import schema_text

    print(schema_text(), end="")  # noqa: T201


@app.command()
def explain(plan: PlanFile, as_json: Json = False) -> None:
    """Say what a plan will do, in what order, and why; find every error without reading all data."""
    from sfumato.plan import Plan
    from sfumato.preview import preview

    found = preview(Plan.load(plan))
    if as_json:
        _print_json(found.as_dict())
        return
    console = _stdout()
    facts = found.as_dict()
    console.print(f"Source: {facts['source'] or 'a frame given in Python'}\n", highlight=False, markup=False)
    rows = []
    for column in facts["columns"]:
        kind = f"{column['kind']} (inferred)" if column["kind_inferred"] else column["kind"] or ""
        rows.append((column["name"], column["role"], kind, column["fate"]))
    _show_columns(console, ("column", "role", "kind", "what happens"), rows)
    for number, step in enumerate(facts["steps"], start=1):
        console.print(f"\nStep {number}: {step['anonymizer']}, because {step['why']}.", highlight=False, markup=False)
        for name, value in step["options"].items():
            about = f": {step['about'][name]}" if name in step["about"] else ""
            console.print(Padding(Text(f"{name} = {json.dumps(value, default=str)}{about}"), (0, 0, 0, 4)))
    console.print("\nThen an independent audit of the written release, requirement by requirement:", highlight=False)
    for requirement in facts["requirements"]:
        parameters = {key: value for key, value in requirement.items() if key not in ("model", "promise", "limit")}
        shown = ", ".join(f"{key} = {value}" for key, value in parameters.items())
        console.print(f"- {requirement['model']} ({shown})", highlight=False, markup=False)
        console.print(f"    promises: {requirement['promise']}", highlight=False, markup=False)
        console.print(f"    does not stop: {requirement['limit']}", highlight=False, markup=False)
    order = "in random order" if facts["release"]["shuffle"] else "in the order of the source"
    console.print(
        f"\nThe release is written as {facts['release']['format']}, rows {order}; only if every audit passes."
    )
    for warning in facts["warnings"]:
        console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)


@app.command()
def anonymize(
    plan: PlanFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where release/ and private/ go.", show_default=False)],
    seed: Seed = None,
    threads: Threads = None,
    engine: Engine = "local",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Make a release that satisfies the plan, audit it, measure it, and report."""
    from sfumato.plan import Plan

    _anonymize(Plan.load(plan), out, seed=seed, threads=threads, engine=engine, overwrite=overwrite, as_json=as_json)


def _anonymize(
    plan: Any,
    out: Path,
    *,
    seed: int | None = None,
    threads: int | None = None,
    engine: str = "local",
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    from sfumato import api
    from sfumato.report.text import summary

    for warning in plan.warnings():
        _stderr().print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)
    with _watching() as progress:
        run = api.run(plan, out, seed=seed, threads=threads, engine=engine, overwrite=overwrite, progress=progress)
    if as_json:
        _print_json({"out": str(out), **run.facts})
        return
    console = _stdout()
    console.print(summary(run.facts), markup=False, highlight=False)
    console.print(
        f"\nRelease: {out / 'release'}\nReport:  {out / 'private' / 'report.html'}", markup=False, highlight=False
    )


@app.command()
def audit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A release folder, or a table of any tool.", show_default=False)
    ],
    plan: PlanOption,
    show_items: Annotated[
        bool,
        typer.Option("--show-items", help="Name the items of the worst rule. They are secrets: do not pass them on."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge any table by the plan's requirements; exit 1 if one does not hold."""
    from sfumato import api
    from sfumato.plan import Plan

    with _watching() as progress:
        verdicts = api.audit(data, Plan.load(plan), name_items=show_items, progress=progress)
    satisfied = all(verdict.satisfied for verdict in verdicts)
    notes = list(dict.fromkeys(note for verdict in verdicts for note in verdict.notes))
    if as_json:
        shown = {"satisfied": satisfied, "verdicts": [verdict.as_dict() for verdict in verdicts]}
        _print_json({**shown, "notes": notes})
    else:
        for note in notes:
            _stderr().print(f"Note: {note}", style="yellow", markup=False, highlight=False)
        _show_verdicts(verdicts)
        for verdict in verdicts if show_items else ():
            worst = verdict.facts.get("worst_rule", {})
            if "item" in worst:
                known = ", ".join(worst["antecedent"]) or "(nothing)"
                _stdout().print(f"worst rule: {known} -> {worst['item']} ({worst['confidence']})", markup=False)
    raise typer.Exit(0 if satisfied else 1)


@app.command()
def measure(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="A release folder, or a table of any tool.", show_default=False)
    ],
    plan: PlanOption,
    target: Annotated[str | None, typer.Option(help="Column that a classifier predicts, before and after.")] = None,
    as_json: Json = False,
) -> None:
    """Measure what a release is still good for, against the plan's source."""
    from sfumato import api
    from sfumato.plan import Plan

    with _watching() as progress:
        measurements = api.measure(release, Plan.load(plan), target=target, progress=progress)
    if as_json:
        _print_json({"measurements": [measurement.as_dict() for measurement in measurements]})
        return
    console = _stdout()
    for measurement in measurements:
        console.print(str(measurement), markup=False, highlight=False)


@app.command()
def attack(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A release folder, or a table of any tool.", show_default=False)
    ],
    plan: PlanOption,
    threshold: Annotated[float, typer.Option(help="Whoever an intruder is surer of than this is exposed.")] = 0.5,
    population: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A larger table of people that a journalist would search.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what an intruder learns from a table, beside the plan's source and what guessing would get."""
    from sfumato import api
    from sfumato.plan import Plan

    with _watching() as progress:
        exposures = api.attack(data, Plan.load(plan), threshold=threshold, population=population, progress=progress)
    if as_json:
        _print_json({"attacks": [exposure.as_dict() for exposure in exposures]})
        return
    console = _stdout()
    for exposure in exposures:
        console.print(str(exposure), markup=False, highlight=False)
    if not exposures:
        console.print("No attack of this version applies to the table.", highlight=False)


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
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Keep records with this value; may be repeated."),
    ] = None,
    method: Annotated[str, typer.Option(metavar="METHOD", help="auto, paper, value-adding, inverse or mle.")] = "auto",
    budget: Annotated[float, typer.Option(help="Operations that `auto` and `mle` may take.", min=0)] = 2e9,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the table goes, .csv or .parquet.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which error to expect.")] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Compute a table back from a randomized release: counts with standard errors."""
    from sfumato.data.files.release import read_release
    from sfumato.errors import PolicyError
    from sfumato.estimators import ESTIMATORS, query
    from sfumato.parameters import one_of

    if bad := [each for each in where or () if "=" not in each]:
        raise PolicyError(f"--where was given as {bad[0]!r}.\nWrite --where column=value.")
    estimator = ESTIMATORS[one_of(method, "--method", ESTIMATORS)]()
    names = [name.strip() for each in columns for name in each.split(",") if name.strip()]
    with _watching() as progress:
        question = query(
            read_release(release, progress=progress), names, dict(each.split("=", 1) for each in where or ())
        )
        expected = question.expectation()
        style = "red" if expected.outlook == "hopeless" else "yellow" if expected.outlook == "doubtful" else None
        _stderr().print(str(expected), style=style, markup=False, highlight=False)
        if dry_run:
            if as_json:
                _print_json(expected.as_dict())
            return
        answer = question.estimate(estimator, budget)
    if out is not None:
        answer.write(out, overwrite=overwrite)
    rows = answer.table().to_pylist() if out is None else []
    if as_json:
        _print_json({**answer.as_dict(), **({"out": str(out)} if out is not None else {"table": rows})})
        return
    console = _stdout()
    console.print(str(answer), markup=False, highlight=False)
    if out is not None:
        console.print(f"Table: {out}", markup=False, highlight=False)
        return
    shown = Table(*answer.columns, "count", "std_error", box=None, pad_edge=False)
    for row in sorted(rows, key=lambda row: -row["count"])[:SHOWN]:
        shown.add_row(*(row[name] for name in answer.columns), f"{row['count']:,.1f}", f"{row['std_error']:,.1f}")
    console.print(shown, markup=False, highlight=False)
    if len(rows) > SHOWN:
        console.print(f"and {len(rows) - SHOWN:,} more; --out FILE writes them all", markup=False, highlight=False)


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
    as_json: Json = False,
) -> None:
    """Try combinations of settings: what does each cost, and where does strictness get dear? Writes no release."""
    from sfumato import api
    from sfumato.engines import available_threads
    from sfumato.plan import Plan
    from sfumato.sweeping import parse_vary

    loaded, values = Plan.load(plan), parse_vary(vary)
    try:
        with _watching() as progress:
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
        _fail(f"Stopped. What is finished is kept in {out}: the same command goes on.", INTERRUPTED, as_json)
    if as_json:
        _print_json({"out": str(out), **found.facts})
    else:
        console = _stdout()
        console.print(str(found), markup=False, highlight=False)
        console.print(f"\nTable: {out / 'sweep.csv'}\nPage:  {out / 'sweep.html'}", markup=False, highlight=False)
    raise typer.Exit(0 if found.facts["holding"] else 1)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page goes. Default: RUN/private/report.html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the report page of a run again."""
    from sfumato.disk import atomic_file
    from sfumato.pipeline import read_facts
    from sfumato.report.page import render

    page = out or run / "private" / "report.html"
    facts = read_facts(run)
    with atomic_file(page, overwrite=True) as temporary:
        temporary.write_text(render(facts), encoding="utf-8")
    if as_json:
        _print_json({"report": str(page)})
    else:
        _stdout().print(f"Report: {page}", markup=False, highlight=False)


if __name__ == "__main__":
    main()
