"""The facts of a run, complete and as plain data: what private/run.json holds, and what the report shows.

| key | holds |
| --- | --- |
| `plan` | its name, digest and text |
| `inputs` | the SHA-256 of every file that went in, by its place in the plan (`source.path`, `columns.zip.hierarchy`) |
| `public` | what everybody knew when the run was made, and where each input came from; a population is a file beside |
| `knowledge` | what the knowledge table knows of the terms, and how those are spelled that it does not know |
| `spellings` | by column, the values of which several spellings were read as one: the one kept, and the others |
| `release` | how it was written, and the SHA-256 of each of its files |
| `columns`, `steps`, `verdicts`, `measurements`, `attacks`, `timings`, `warnings`, `versions` | what the page shows |
| `examples` | some rows before and after |
| `persons` | where there are several rows a person and nobody said so: how many people, and how they share classes |
| `pending` | what was left for later of `measure` and `attack`; `sfumato report` does it |

Runs of format 1 (sfumato 0.1) kept no text, no digests but the source's, and of public inputs only a prior and counts.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sfumato import __version__
from sfumato.attacks import Exposure
from sfumato.data.base_rates import BaseRates
from sfumato.data.contents import warnings_of_contents
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset
from sfumato.data.files import digest
from sfumato.data.formulas import formula_cells
from sfumato.data.knowledge import Knowledge
from sfumato.data.persons import Alike, Persons
from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.data.variants import spelling_sentences
from sfumato.disk import read_numbered, work_on
from sfumato.errors import DataError
from sfumato.metrics.base import Measurement
from sfumato.models.base import Verdict
from sfumato.pipeline.known import PRIOR, Known, Origin, Record, rates_of
from sfumato.plan import Plan

TEST_ONLY = (
    "The release was made with a seed: whoever guesses it repeats every draw. It is for tests only; make it again "
    "without a seed before it leaves the house."
)
RUN_FORMAT = 2
RUN_FILE = Path("private") / "run.json"
Facts: TypeAlias = Mapping[str, Any]


def read_facts(run: Path) -> dict[str, Any]:
    """Return the facts of an earlier run from its folder."""
    path = run / RUN_FILE
    if not path.is_file():
        raise DataError(f"{run} holds no run: there is no private/run.json in it.\nName the folder given as --out.")
    refusal = "is no run of sfumato.\nRun `sfumato anonymize` again."
    facts = read_numbered(path, RUN_FORMAT, refusal)
    release = facts.get("release")
    if not isinstance(release, dict) or not isinstance(release.get("files", {}), dict):
        raise DataError(f"{path} {refusal}")
    return facts


def foreign_to_run(folder: Path) -> list[str] | None:
    """Return what a folder holds that its run did not write, or not so, by name; None when it is no run at all."""
    try:
        facts = read_facts(folder)
        files = facts["release"].get("files")
    except (DataError, KeyError, AttributeError):
        return None
    known = {"private", "private/report.html", RUN_FILE.as_posix(), "release"}
    known |= {f"private/{name}" for name in _populations(facts).values()}
    known |= {f"release/{name.partition('/')[0]}" for name in files or () if "/" in name}  # a table of many parts
    known |= {f"release/{name}" for name in (files or ("data.csv", "data.parquet", "release.json"))}
    inside = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    foreign = [name for name in inside if name not in known and work_on(name) not in known]
    changed = [
        f"release/{name}"
        for name, sha256 in (files or {}).items()
        if (folder / "release" / name).is_file() and digest(folder / "release" / name) != sha256
    ]
    return foreign + changed


def versions() -> dict[str, str]:
    """Return the versions that a run can be repeated with."""
    packages = ("numpy", "numba", "pyarrow")
    return {
        "sfumato": __version__,
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
    }


def without_values(facts: Facts) -> dict[str, Any]:
    """Return the facts of a run that may be shown on a terminal and kept in logs: names, figures and counts.

    What holds values of columns (pictures, some rows, public inputs, the plan's text) stays in private/run.json.
    """
    hidden = ("public", "knowledge", "spellings", "examples")
    shown = {key: value for key, value in facts.items() if key not in hidden}
    shown["plan"] = {key: value for key, value in facts["plan"].items() if key != "text"}
    shown["steps"] = [{key: value for key, value in step.items() if key != "facts"} for step in facts["steps"]]
    shown["measurements"] = [
        {key: value for key, value in measurement.items() if key != "facts"} for measurement in facts["measurements"]
    ]
    return shown


# What was public, to JSON and back.


def public_facts(known: Known) -> dict[str, Any]:
    """Return public inputs as plain data."""
    knowledge, prior = known.public.knowledge, known.public.prior
    return {
        "knowledge": knowledge.as_dict() if knowledge is not None else None,
        "prior": prior.tolist() if prior is not None else None,
        "base_rates": {name: rates.as_dict() for name, rates in known.public.base_rates.items()},
        "populations": population_files(known.public.populations),
        "from": {name: origin.value for name, origin in known.origins.items()},
    }


def population_files(names: Iterable[str]) -> dict[str, str]:
    """Return the file in private/ that keeps each population."""
    return {name: f"population-{number}.parquet" for number, name in enumerate(names, start=1)}


def _populations(facts: Facts) -> Mapping[str, str]:
    return facts.get("public", {}).get("populations", {})  # type: ignore[no-any-return]


def record_of(facts: Facts, run: Path | None = None) -> Record | None:
    """Return what a run keeps for whoever judges it later; None when it kept nothing (a run of 0.1 with no counts).

    `run` is its folder; None: it was made in memory, which keeps no files.
    """
    try:
        if facts["format"] == 1:
            return _record_1(facts)
        kept = {name: run / RUN_FILE.parent / file for name, file in _populations(facts).items()} if run else {}
        return replace(_record(facts), populations=kept)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(
            "The record of public inputs in private/run.json cannot be read.\n"
            "Judge the release folder moved elsewhere, or run `sfumato anonymize` again."
        ) from None


def _record(facts: Facts) -> Record:
    public = facts["public"]
    knowledge = Knowledge.from_dict(public["knowledge"]) if public["knowledge"] is not None else None
    prior = np.array(public["prior"], dtype=np.float64) if public["prior"] is not None else None
    rates = {name: BaseRates.from_dict(shown) for name, shown in public["base_rates"].items()}
    return Record(
        knowledge=knowledge,
        prior=prior,
        base_rates=rates,
        origins={name: Origin(origin) for name, origin in public["from"].items()},
        inputs=dict(facts["inputs"]),
        plan=facts["plan"]["sha256"],
    )


def _record_1(facts: Facts) -> Record:
    prior, counts = facts.get("prior"), facts.get("base_rates") or {}
    rates = {name: BaseRates(weight=dict(values), counted=True) for name, values in counts.items()}
    sha256 = facts["source"].get("sha256")
    origins = {rates_of(name): Origin.COUNTED for name in rates}
    return Record(
        knowledge=None,
        prior=np.array(prior, dtype=np.float64) if prior is not None else None,
        base_rates=rates,
        origins=origins | {PRIOR: Origin.COUNTED} if prior is not None else origins,
        inputs={"source.path": sha256} if sha256 else {},
        plan=facts["plan"].get("sha256"),
    )


# What the report shows.


def columns_of(plan: Plan, dataset: Dataset) -> list[dict[str, Any]]:
    """Return what each column is, in order; identifiers first."""
    described: list[dict[str, Any]] = [
        {"name": name, "role": Role.IDENTIFIER.value, "dropped": True} for name in plan.schema.named(Role.IDENTIFIER)
    ]
    for name in dataset.order:
        column = dataset.columns.get(name)
        if column is None:
            described.append({"name": name, "role": Role.OTHER.value})
            continue
        entry: dict[str, Any] = {
            "name": name,
            "role": column.role.value,
            "kind": column.kind.value,
            "values": len(column.labels),
        }
        if isinstance(column, CodedColumn):
            entry["kind"] = column.shown_kind.value
            entry["kind_inferred"] = column.kind_inferred
            entry["missing"] = int(column.occurrences[column.missing]) if column.missing >= 0 else 0
            entry["levels"] = column.hierarchy.height if column.hierarchy is not None else None
        described.append(entry)
    return described


def persons_facts(persons: Persons | None, alike: Alike | None) -> dict[str, Any] | None:
    """Return what is to be known of people with several rows, in counts."""
    if persons is None:
        return None
    return {"column": persons.column, "people": persons.people, "rows": persons.rows} | (asdict(alike) if alike else {})


def warnings_of(dataset: Dataset, known: Known) -> list[str]:
    """Return what the data do not bear out of what the plan says."""
    found = list(known.coverage.sentences()) if known.coverage is not None else []
    singles = (column for column in dataset.columns.values() if isinstance(column, CodedColumn))
    found += [f"Column {column.name!r} has {column.notice}." for column in singles if column.notice]
    for column in dataset.with_role(Role.ITEMS):
        spec = dataset.schema.spec(column.name)
        named = spec.sensitive_items if spec is not None else None
        if isinstance(column, CodedSets) and column.sensitive is not None and isinstance(named, tuple):
            absent = len(set(named)) - int(column.sensitive.sum())
            if absent:
                found.append(
                    f"{absent:,} of {len(set(named)):,} sensitive items never occur in column {column.name!r}. "
                    "Check that they are written as in the data."
                )
    found += [sentence for column in dataset.columns.values() for sentence in spelling_sentences(column)]
    return [*found, *warnings_of_contents(dataset)]


def warnings_of_release(release: Release) -> list[str]:
    """Return what whoever passes a release on should know: cells that spreadsheets run, draws that can be repeated."""
    found = []
    if formulas := formula_cells(release):
        counts = ", ".join(f"{count:,} in {name!r}" for name, count in formulas.items())
        found.append(
            f"A spreadsheet would take cells of the release for formulas ({counts}). They are published as they are in "
            "the source: open the file as text, or clean the source first."
        )
    if release.description.get("test_only"):
        found.append(TEST_ONLY)
    return found


def verdict_facts(verdicts: Sequence[Verdict], schema: Schema) -> list[dict[str, Any]]:
    """Return verdicts as plain data, with what they mean in words."""
    return [
        {
            **verdict.as_dict(),
            "text": str(verdict),
            "promise": verdict.model.promise_beside(schema),
            "limit": verdict.model.limit,
            "advice": verdict.model.advice,
        }
        for verdict in verdicts
    ]


def warnings_of_steps(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what steps could not do as they would on one machine, and which columns a plan lets tell hidden cells."""
    found = []
    for step in steps:
        if told := step.get("dependences") or step["facts"].get("dependences"):
            pairs = [f"{each['known']!r} gives away {each['told']!r} ({each['strength']:.1%})" for each in told]
            more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
            found.append(
                f"Some hidden cells can be read off from another published column: {'; '.join(pairs[:5])}{more}. "
                'Drop the column that gives them away (role = "identifier"), or protect it (a role that the same '
                f'requirement judges). [anonymizers.{step["anonymizer"]}] dependence = "refuse" refuses columns that '
                "give many away."
            )
        cut = step["facts"].get("regions")
        if isinstance(cut, Mapping):
            found.append(
                f"The table has about {cut['distinct_rows']:,} distinct rows, more than the {cut['limit']:,} that are "
                f"decided about at once: {step['anonymizer']} worked on {cut['regions']:,} regions of it, each alone. "
                f"In a sample of {cut['sample']:,} rows this lost {max(cut['more_loss_in_sample'], 0):.1%} more detail "
                "than one region would. A larger --distinct-on-driver makes fewer regions."
            )
    return found


def warnings_of_losses(measurements: Sequence[Measurement], verdicts: Sequence[Facts]) -> list[str]:
    """Return what the release keeps nothing or next to nothing of, and what would have to change."""
    found = [measured.warning for measured in measurements if measured.warning]
    return [*found, _to_keep_more(verdicts)] if found else []


def warnings_of_attacks(exposures: Sequence[Exposure]) -> list[str]:
    """Return what attackers get out of the release that no figure of a requirement tells."""
    return [exposure.after.warning for exposure in exposures if exposure.after.warning]


def _to_keep_more(verdicts: Sequence[Facts]) -> str:
    """Return what would have to change; requirements that all rows together meet just so are named."""
    tight = [
        f"{verdict['model']} ({verdict['measure']} {verdict['reached']:.4g}, at least {verdict['required']:.4g} needed)"
        for verdict in verdicts
        if verdict["groups"] == 1 and verdict["bound"] == "at least" and verdict["reached"] is not None
        # Two classes need twice the rows; of values they may share all.
        if verdict["reached"] < (2 if verdict["required"] == verdict.get("k") else 1.2) * verdict["required"]
    ]
    which = f", above all of {' and of '.join(tight)}" if tight else ""
    return (
        f"To keep more, ask for less{which} (`sfumato sweep` shows what each setting costs), name fewer "
        "quasi-identifiers, or give hierarchies more levels between a value and *."
    )
