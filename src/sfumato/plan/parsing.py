"""From the structure of a TOML file to a plan. The walk goes on after a problem, so that all are told at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.choosing import aiming_at
from sfumato.data.files import Source, is_there, read_columns
from sfumato.data.knowledge_reading import KnowledgeSource
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError, PlanError, Problem, did_you_mean
from sfumato.models import PRIVACY_MODELS
from sfumato.models.base import Need, Policy, PrivacyModel
from sfumato.plan.checks import problems_of, unsearchable, wrongly_named
from sfumato.plan.columns import column_of
from sfumato.plan.gathering import gather_of
from sfumato.plan.keys import DRAFT, ENGINE, KNOWLEDGE, MEASURE, POPULATION, RELEASE, REST, SOURCE, TABLES
from sfumato.plan.notes import Notes, kind_of, names
from sfumato.plan.sources import note_secrets, source_of, target_of
from sfumato.plan.values import EngineOptions, MeasureOptions, Plan, PopulationOptions, ReleaseOptions

EXAMPLE_COLUMN = '[columns.age] role = "quasi-identifier"'
EXAMPLE_REQUIREMENT = '[[require]] model = "k-anonymity", k = 5'


def parse(
    document: Mapping[str, Any], base: Path, where: str, *, path: Path | None = None, text: str | None = None
) -> Plan:
    """Return the plan that a document describes, or raise with everything that is wrong with it."""
    notes = Notes()
    if note_secrets(document, notes):  # nothing else is said: other words might repeat them
        raise PlanError(notes.problems, where)
    notes.unknown_keys(document, TABLES, "", "the plan")
    source = notes.values(notes.table(document, "source"), SOURCE, "source")
    columns = _columns(document, base, notes)
    written = tuple(columns)

    def events_source(values: Mapping[str, Any], place: str) -> Source | None:
        return source_of({**values, "missing": source["missing"]}, base, notes, place)

    release, target = _release(notes.table(document, "release"), base, notes)
    numbered = release.persons == "numbered"
    gather = gather_of(document, source["person"], columns, events_source, numbered, notes)
    rest = columns.pop(REST, None)
    patterns = tuple(columns.pop(name) for name in list(columns) if REST in name)
    schema = Schema(columns, patterns, rest.role if rest else None, source["missing"])
    schema = replace(schema, person=source["person"]) if numbered and gather is None else schema
    schema = replace(schema, gathered=gather is not None, normalize=source["normalize"])
    requirements, chosen, places, unfit = _requirements(document.get("require", []), schema, notes)
    _note_populations(requirements, base, notes)
    knowledge, publish_prior = _knowledge(document, base, notes, normalize=source["normalize"])
    measure = _measure(notes.table(document, "measure"), schema, notes)
    named = (source["weight"], source["household"], measure.target, *(name for each in measure.tables for name in each))
    schema = schema.naming(name for name in named if name is not None)
    plan = Plan(
        schema=schema,
        policy=Policy(tuple(requirements)),
        source=source_of(source, base, notes, "source"),
        gather=gather,
        weight=source["weight"],
        household=source["household"],
        population=_population(notes.table(document, "population"), base, notes),
        knowledge=knowledge,
        publish_prior=publish_prior,
        chosen=chosen,
        options=_options(notes.table(document, "anonymizers"), notes),
        release=release,
        target=target,
        measure=measure,
        engine=EngineOptions(**notes.values(notes.table(document, "engine"), ENGINE, "engine")),
        path=path,
        text=text,
        files=notes.files,
        document=document,
        questions=tuple(notes.values(notes.table(document, "draft"), DRAFT, "draft")["questions"]),
    )
    if patterns and plan.source is not None and is_there(plan.source):
        with suppress(DataError):  # said where the source is read
            plan = replace(plan, schema=schema.over(plan.names_over(read_columns(plan.source))))
    notes.problems += (_in_the_text(problem, places, written, plan.schema) for problem in problems_of(plan))
    unmet = (*unfit, *(_in_the_text(problem, places, written, plan.schema) for problem in unsearchable(plan)))
    if notes.problems:
        raise PlanError(dict.fromkeys((*notes.problems, *unmet)), where)
    return replace(plan, unsearchable=tuple(dict.fromkeys(unmet)))


def _columns(document: Mapping[str, Any], base: Path, notes: Notes) -> dict[str, ColumnSpec]:
    """Return what the plan says of each column, patterns among them."""
    columns: dict[str, ColumnSpec] = {}
    for name, given in notes.table(document, "columns").items():
        if isinstance(given, ColumnSpec):
            columns[name] = given
        elif not isinstance(given, Mapping):
            notes.add(f"columns.{name}", f"[columns.{name}] must be a table, not {kind_of(given)}.")
        else:
            columns[name] = column_of(name, given, base, notes)
    if not columns:
        notes.add("columns", f"it declares no columns. Give each column a role: {EXAMPLE_COLUMN}.")
    return columns


def _release(given: Mapping[str, Any], base: Path, notes: Notes) -> tuple[ReleaseOptions, Source | None]:
    """Return how the release is written, and the table of a database that it becomes: then it is no file by default."""
    values = notes.values(given, RELEASE, "release")
    if values["database"] is not None and "format" not in given:
        values["format"] = None
    if values["dialect"] == "source" and values["format"] != "csv":
        notes.add("release.dialect", "[release] dialect is of CSV files, but the release is none. Leave it out.")
    return ReleaseOptions(**values), target_of(values, base, notes)


def _note_populations(requirements: Sequence[PrivacyModel], base: Path, notes: Notes) -> None:
    for position, model in enumerate(requirements, start=1):
        if Need.POPULATION in model.needs:
            place = f"require[{position}].population"
            notes.files[place] = notes.path(base, model.population, place)  # type: ignore[attr-defined]


def _population(given: Mapping[str, Any], base: Path, notes: Notes) -> PopulationOptions:
    values = notes.values(given, POPULATION, "population")
    if values["size"] is not None and values["fraction"] is not None:
        notes.add("population.fraction", "[population] has both 'size' and 'fraction'. Keep one: it tells the other.")
    if values["path"] is not None:
        notes.files["population.path"] = notes.path(base, values["path"], "population.path")
    return PopulationOptions(**values)


def _requirements(
    given: Any, schema: Schema, notes: Notes
) -> tuple[list[PrivacyModel], dict[int, str], list[int], list[Problem]]:
    """Return the requirements, the anonymizer of those that name one, by position, and where each stands in the plan.

    Requirements that cannot be understood are left out, so positions and places may differ. The last list holds the
    anonymizers that cannot meet what they are named for: only a search needs them.
    """
    unfit: list[Problem] = []
    requirements: list[PrivacyModel] = []
    chosen: dict[int, str] = {}
    places: list[int] = []
    if not isinstance(given, list | tuple) or not given:
        notes.add("require", f"it requires nothing. Say what must hold: {EXAMPLE_REQUIREMENT}.")
        return requirements, chosen, places, unfit
    for position, table in enumerate(given, start=1):
        place, where = f"require[{position}]", f"requirement {position}"
        if not isinstance(table, Mapping):
            if isinstance(table, tuple(PRIVACY_MODELS.values())):
                requirements.append(cast(PrivacyModel, table))
                places.append(position)
            else:
                notes.add(place, f"{where} must be a table or a model, not {kind_of(table)}.")
            continue
        name, anonymizer = table.get("model"), table.get("anonymizer")
        if not isinstance(name, str) or name not in PRIVACY_MODELS:
            text = f"has an unknown model {name!r}.{did_you_mean(str(name), PRIVACY_MODELS)}"
            if name is None:
                text = f"has no model. Known: {names(PRIVACY_MODELS)}."
            notes.add(f"{place}.model", f"{where} {text}")
            continue
        where = f"{where} ({name})"
        model = notes.member(PRIVACY_MODELS[name], table, ("model", "anonymizer"), place, where)
        if model is None:  # nobody else looks at the columns that it names
            notes.problems += (each.within(place) for each in wrongly_named(PRIVACY_MODELS[name], table, schema))
        if anonymizer is not None and (not isinstance(anonymizer, str) or anonymizer not in ANONYMIZERS):
            able = ANONYMIZERS if model is None else aiming_at(model)
            text = f"{where} has an unknown anonymizer {anonymizer!r}.{did_you_mean(str(anonymizer), able)}"
            notes.add(f"{place}.anonymizer", text)
        elif model is not None:
            if anonymizer is not None and ANONYMIZERS[anonymizer].meets(model):
                chosen[len(requirements)] = anonymizer
            elif anonymizer is not None:
                text = f"{where} asks for {anonymizer}, which cannot meet it. Use {names(aiming_at(model))}."
                unfit.append(Problem(f"{place}.anonymizer", text))
            requirements.append(model)
            places.append(position)
    return requirements, chosen, places, unfit


def _in_the_text(problem: Problem, places: Sequence[int], written: Sequence[str], schema: Schema) -> Problem:
    """Return a problem where the plan speaks of it.

    A requirement may stand beside others that nobody understands, and a column below a pattern that is for several.
    """
    if problem.place.startswith("columns."):
        about = [name for name in schema.columns if f"{problem.place}.".startswith(f"columns.{name}.")]
        name = max(about, key=len, default="")
        if name and name not in written:
            fitting = (each for each in written if each != REST and fnmatchcase(name, each))
            above = next(fitting, REST if REST in written else name)
            return replace(problem, place=f"columns.{above}{problem.place.removeprefix(f'columns.{name}')}")
    found = re.match(r"require\[(\d+)\]", problem.place)
    if found is None:
        return problem
    return replace(problem, place=f"require[{places[int(found[1]) - 1]}]{problem.place[found.end() :]}")


def _options(given: Mapping[str, Any], notes: Notes) -> dict[str, Anonymizer]:
    options: dict[str, Anonymizer] = {}
    for name, table in given.items():
        place = f"anonymizers.{name}"
        if name not in ANONYMIZERS:
            notes.add(place, f"[anonymizers] has an unknown name {name!r}.{did_you_mean(name, ANONYMIZERS)}")
        elif not isinstance(table, Mapping):
            notes.add(place, f"[{place}] must be a table, not {kind_of(table)}.")
        else:
            made = notes.member(ANONYMIZERS[name], table, (), place, f"[{place}]")
            options |= {name: made} if made is not None else {}
    return options


def _knowledge(
    document: Mapping[str, Any], base: Path, notes: Notes, *, normalize: bool
) -> tuple[KnowledgeSource | None, bool]:
    given = notes.table(document, "knowledge")
    if document.get("knowledge") == {}:
        notes.add("knowledge", "[knowledge] is empty. Name its path, label and terms, or leave it out.")
    values = notes.values(given, KNOWLEDGE, "knowledge")
    publish_prior = values.pop("publish_prior")
    if any(values[key] is None for key in ("path", "label", "terms")):
        return None, publish_prior
    notes.files["knowledge.path"] = path = notes.path(base, values["path"], "knowledge.path")
    if values["hierarchy"] is not None:
        values["hierarchy"] = notes.path(base, values["hierarchy"], "knowledge.hierarchy")
        notes.files["knowledge.hierarchy"] = values["hierarchy"]
    return KnowledgeSource(**{**values, "path": path}, normalize=normalize), publish_prior


def _measure(given: Mapping[str, Any], schema: Schema, notes: Notes) -> MeasureOptions:
    values = notes.values(given, MEASURE, "measure")
    target, tables = values["target"], values["tables"]
    listed = isinstance(tables, list | tuple) and all(
        isinstance(each, list | tuple) and each and all(isinstance(name, str) for name in each) for each in tables
    )
    if not listed:
        example = 'tables = [["age", "job"]]'
        notes.add("measure.tables", f"[measure] tables must be a list of lists of columns: {example}.")
        tables = ()
    asked = [("target", target)] if target is not None else []
    for key, name in (*asked, *(("tables", name) for name in sorted({name for each in tables for name in each}))):
        spec = schema.spec(name)
        if spec is None:
            near = did_you_mean(name, schema.columns)
            notes.add(f"measure.{key}", f"[measure] {key} names {name!r}, which is not a column of the plan.{near}")
        elif spec.role is Role.IDENTIFIER:
            notes.add(f"measure.{key}", f"[measure] {key} names {name!r}, an identifier, which is not published.")
    usual = MeasureOptions()
    values["tables"] = tuple(tuple(each) for each in tables)
    for key, right, what in (
        ("query_columns", _is_count, "whole numbers of at least 1"),
        ("rule_confidences", _is_share, "shares, more than 0 and at most 1"),
    ):
        given_numbers = values[key] if isinstance(values[key], list | tuple) else [values[key]]
        values[key] = tuple(given_numbers)
        if not given_numbers or not all(map(right, given_numbers)):
            default = getattr(usual, key)
            notes.add(f"measure.{key}", f"[measure] {key} must be {what}: {key} = {list(default)}.")
            values[key] = default
    return MeasureOptions(**values)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1
