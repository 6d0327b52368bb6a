"""What will be done, before it is done: from the plan, the header and rows of the data, with all errors in them."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from sfumato.anonymizers.base import Anonymizer, options_of
from sfumato.data.contents import warnings_of_contents
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset
from sfumato.data.encoding import check_columns, encode, encode_column
from sfumato.data.files import Found, fitted, how_read, read_columns, read_table, sample
from sfumato.data.files.source import format_of, ignored_keys
from sfumato.data.gathering import Gathering, gather
from sfumato.data.kinds import missing_markers
from sfumato.data.knowledge_reading import FROM_DATA
from sfumato.data.persons import number_columns, persons_by, repeated_persons
from sfumato.data.population import population_source
from sfumato.data.schema import ColumnSpec, Kind, Role
from sfumato.data.terms import TermColumns
from sfumato.data.variants import spelling_sentences
from sfumato.errors import DataError, InputError, PlanError, Problem
from sfumato.models.base import Need, describe
from sfumato.models.judging.coverage import ASKS_ABOVE, coverage
from sfumato.parameters import parameters_of
from sfumato.plan.values import Plan
from sfumato.progress import SILENT, Progress

SAMPLE_ROWS = 1_000


@dataclass(frozen=True, kw_only=True)
class ColumnPreview:
    """What will happen to one column."""

    name: str
    role: Role
    kind: Kind | None
    kind_inferred: bool
    hierarchy_levels: int | None
    fate: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Preview:
    """What a plan will do."""

    plan: Plan
    source: str | None
    reading: tuple[Found, ...]  # how the source is written, and how that is known
    columns: tuple[ColumnPreview, ...]
    rows: int | None  # that were looked at; None without a source
    whole: bool  # whether these are all rows
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Preview: {len(self.columns)} columns, {len(self.warnings)} warnings; print it to read it>"

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as plain data."""
        return {
            "source": self.source,
            "reading": {found.key: {"value": found.value, "reason": found.reason} for found in self.reading},
            "rows": self.rows,
            "whole": self.whole,
            "people": self.plan.gather is not None,  # what rows are
            "columns": [asdict(column) for column in self.columns],
            "requirements": [
                {
                    **describe(model),
                    "promise": model.promise_beside(self.plan.schema),
                    "limit": model.limit,
                    "advice": model.advice,
                }
                for model in self.plan.policy
            ],
            "steps": [
                {
                    "anonymizer": step.anonymizer.name,
                    "why": step.why,
                    "options": options_of(step.anonymizer),
                    "about": {each.name: each.help for each in parameters_of(type(step.anonymizer))},
                }
                for step in self.plan.steps()
            ],
            "knowledge": _looked_up(self.plan),
            "sample": _sampled(self.plan),
            "release": {
                "format": self.plan.release.format,
                "table": self.plan.target.shown if self.plan.target else None,
                "shuffle": self.plan.release.shuffle,
            },
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        lines = [f"{column.name}: {column.role.value}, {column.fate}" for column in self.columns]
        lines += [
            f"Step {n}: {step.anonymizer.name}, because {step.why}."
            for n, step in enumerate(self.plan.steps(), start=1)
        ]
        lines += [f"Audit: {model.name}: {model.promise_beside(self.plan.schema)}" for model in self.plan.policy]
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(column.name)}</td><td>{column.role.value}</td>"
            f"<td>{column.kind.value if column.kind else ''}</td><td>{html.escape(column.fate)}</td></tr>"
            for column in self.columns
        )
        done = (f"{step.anonymizer.name}, because {step.why}" for step in self.plan.steps())
        judged = (f"{model.name}: {model.promise_beside(self.plan.schema)}" for model in self.plan.policy)
        steps, audits = ("".join(f"<li>{html.escape(each)}</li>" for each in part) for part in (done, judged))
        warnings = "".join(f"<p>Warning: {html.escape(warning)}</p>" for warning in self.warnings)
        head = "<tr><th>column</th><th>role</th><th>kind</th><th>what happens</th></tr>"
        return f"<table>{head}{rows}</table><ol>{steps}</ol><p>Then an audit:</p><ul>{audits}</ul>{warnings}"


def _looked_up(plan: Plan) -> str | None:
    """Return what terms are looked up in, and how, as a sentence; None where nothing is."""
    given = plan.knowledge
    if given is None:
        return None
    likely = (
        "all labels that explain a record are equally likely"
        if given.weights is None
        else f"labels that explain a record are weighed by {given.weights!r}"
    )
    if given.misses:
        likely += ", or lack one of its terms where none has them all"
        likely += "" if given.weights is None else " (the overlooked term counts for none of them)"
    prior = "estimated from the data" if given.prior == FROM_DATA else f"its column {given.prior!r}"
    return f"Terms are looked up in {given.path.name}: {likely}; the prior is {prior}."


def _sampled(plan: Plan) -> str | None:
    """Return whom the table is taken for a sample of, as a sentence; None where the plan does not say it."""
    given = plan.population
    parts = [
        f"a sample of {given.size:,} people" if given.size is not None else "",
        f"a sample, {given.fraction:.4g} of all people" if given.fraction is not None else "",
        f"a sample, its rows standing for as many people as {plan.weight!r} says" if plan.weight is not None else "",
        f"a part of {given.path}, which a journalist would search" if given.path is not None else "",
        f"about households, as {plan.household!r} says" if plan.household is not None else "",
    ]
    said = "; ".join(part for part in parts if part)
    return f"Risks are measured for people outside the table, too. It is {said}." if said else None


def preview(plan: Plan, *, every_row: bool = False, progress: Progress = SILENT) -> Preview:
    """Return what the plan will do with its data, or raise with every problem found in plan, header and rows.

    The first rows are looked at, or `every_row`: then what a run would find wrong in the data is found here.
    """
    plan.searchable()
    problems: list[Problem] = []
    columns: list[ColumnPreview] = []
    in_codes: dict[str, CodedColumn | CodedSets] = {}
    reading: tuple[Found, ...] = ()
    unlisted: dict[str, list[str]] = {}  # cells that look like missing ones, by column
    table, gathering, names = None, None, list(plan.schema.columns)
    if plan.source is not None:
        names = plan.names_over(read_columns(plan.source))
        check_columns(names, plan.schema)
        every_row = every_row or plan.gather is not None  # rows of a person may be anywhere
        source = fitted(plan.source, plan.schema)
        reading = how_read(source)
        table, gathering = _whole(plan, progress) if every_row else (sample(source, SAMPLE_ROWS), None)
    for name in names:
        spec = plan.schema.spec(name)
        if spec is None:
            continue
        kind, levels = spec.kind, None
        if table is not None and spec.role not in (Role.IDENTIFIER, Role.OTHER):
            try:
                coded = in_codes[name] = encode_column(
                    table.column(name), spec, plan.schema.missing, normalize=plan.schema.normalize
                )
                kind = coded.shown_kind if isinstance(coded, CodedColumn) else Kind.SET
                if isinstance(coded, CodedColumn):
                    labels = [label for label in coded.labels if label not in plan.schema.missing]
                    unlisted[name] = missing_markers(labels, pa.string())
                    levels = coded.hierarchy.height if coded.hierarchy is not None else None
            except InputError as error:
                problems.append(Problem(f"columns.{name}", str(error)))
        columns.append(
            ColumnPreview(
                name=name,
                role=spec.role,
                kind=kind,
                kind_inferred=spec.kind is None and kind is not None,
                hierarchy_levels=levels,
                fate=_told(plan, name) + _fate(plan, spec, kind),
            )
        )
    if table is not None and not problems:
        problems += _unfit(plan, Dataset(plan.schema, in_codes, None, table.num_rows, tuple(in_codes)))
    if problems:
        raise PlanError(problems)
    spelling = [sentence for column in in_codes.values() for sentence in spelling_sentences(column)]
    spelling += _spelling(plan, table) if table is not None else ()
    several = gathering.sentences() if gathering is not None else _several_rows(plan, names, progress)
    singles = (column for column in in_codes.values() if isinstance(column, CodedColumn))
    noticed = [f"Column {column.name!r} has {column.notice}." for column in singles if column.notice]
    contents = _contents(plan, table, in_codes) if table is not None else ()
    warned = (
        *(*plan.warnings(), *noticed, *_ignored_keys(plan), *several, *spelling),
        *(*_missing_warnings(unlisted), *contents),
    )
    return Preview(
        plan=plan,
        source=plan.source.shown if plan.source else None,
        reading=reading,
        columns=tuple(columns),
        rows=table.num_rows if table is not None else None,
        whole=table is not None and (every_row or table.num_rows < SAMPLE_ROWS),
        warnings=warned,
    )


def _populations(plan: Plan) -> Iterator[Problem]:
    """Yield which tables of people cannot be read, or are about other columns."""
    for place, path in plan.files.items():
        if place == "population.path" or place.endswith("].population"):
            try:
                population_source(path, plan.schema)
            except InputError as error:
                yield Problem(place, str(error))


def _unfit(plan: Plan, rows: Dataset) -> Iterator[Problem]:
    """Yield why no groups can be formed of a table with these rows and others: what is wrong with some is with all."""
    yield from _populations(plan)
    before: list[Anonymizer] = []
    for step in plan.steps():
        if step.anonymizer.phase.forms_groups:
            try:
                step.anonymizer.refuse_unfit(rows, step.policy, before)
            except InputError as error:
                yield Problem(f"anonymizers.{step.anonymizer.name}", str(error))
        before.append(step.anonymizer)


def _whole(plan: Plan, progress: Progress) -> tuple[pa.Table, Gathering | None]:
    """Return the whole table of a plan, gathered where it says so, or raise where its people do not fit."""
    table, gathering = _read(plan, progress)
    people = table.num_rows
    if plan.schema.person is not None:
        persons = persons_by(table, plan.schema.person, plan.schema)
        people, gathering = persons.people, Gathering(persons.rows, {}, notes=persons.notes)
    plan.sampling.refuse_unfit(table, people)
    return table, gathering


def _read(plan: Plan, progress: Progress) -> tuple[pa.Table, Gathering | None]:
    assert plan.source is not None
    dropped = set(plan.schema.named(Role.IDENTIFIER))
    if plan.gather is None:
        return read_table(fitted(plan.source, plan.schema), drop=dropped, progress=progress), None
    source = plan.gather.fitted(plan.source, plan.schema)
    table = read_table(source, drop=dropped - plan.gather.used, progress=progress)
    return gather(table, plan.gather, plan.schema, lambda source, drop: read_table(source, drop=drop))


def _ignored_keys(plan: Plan) -> Iterator[str]:
    """Yield which keys say how a table is written that is of a format without them."""
    events = plan.gather.events if plan.gather is not None else ()
    places = {f"gather.events[{position}]": each.source for position, each in enumerate(events, start=1)}
    for place, source in (("source", plan.source), *places.items()):
        if source is not None and (ignored := ignored_keys(source)):
            yield f"Not used, since the format {format_of(source)!r} has no such thing: [{place}] {', '.join(ignored)}."


def _several_rows(plan: Plan, names: Sequence[str], progress: Progress) -> Iterator[str]:
    """Yield what is wrong where people have several rows. Every row counts: those of a person need not be the first."""
    numbers = number_columns(names, plan.schema)
    if plan.source is None or plan.schema.person is not None or not numbers:
        return
    with suppress(DataError):  # what is wrong behind the first rows, a run says
        table = read_table(plan.source, drop=set(names) - set(numbers), progress=progress)
        if (persons := repeated_persons(table, numbers, plan.schema.missing)) is not None:
            yield persons.warning()


def _spelling(plan: Plan, table: pa.Table) -> Iterator[str]:
    """Yield what the knowledge table does not know of the terms in the table."""
    names = next((model.judged_columns for model in plan.policy if Need.KNOWLEDGE in model.needs), ())
    if plan.knowledge is None or not names:
        return
    specs = {name: spec for name in names if (spec := plan.schema.spec(name)) is not None}
    dataset = encode(table.select(list(specs)), replace(plan.schema, columns=specs, patterns=()))
    found = coverage(TermColumns.of_dataset(dataset, names).sets, plan.knowledge.read())
    for sentence in found.sentences():
        yield f"In the {found.records:,} records that were looked at: {sentence}"
    if found.asks:
        yield (
            f"If more than {ASKS_ABOVE:.0%} of all records match no label, the run ends and asks: spell terms as the "
            'table does, or write unlinked = "forbid", "linked" or "zero" under [knowledge].'
        )


def _contents(plan: Plan, table: pa.Table, in_codes: Mapping[str, CodedColumn | CodedSets]) -> Iterator[str]:
    """Yield which columns that would be published hold names or contacts, in the rows that were looked at."""
    carried = [name for name in table.column_names if (spec := plan.schema.spec(name)) and spec.role is Role.OTHER]
    rows = Dataset(plan.schema, in_codes, table.select(carried), table.num_rows, (*in_codes, *carried))
    return warnings_of_contents(rows)


def _told(plan: Plan, name: str) -> str:
    told = plan.gather.told(name) if plan.gather is not None else ""
    return f"{told}; " if told else ""


def _fate(plan: Plan, spec: ColumnSpec, kind: Kind | None) -> str:
    role = spec.role
    if spec.name == plan.schema.person:
        return "says whose row it is; people get new numbers, by chance, and all rows of a person stay"
    if role is Role.IDENTIFIER:
        return "dropped"
    if role is Role.QUASI_IDENTIFIER:
        shown = (step.anonymizer.shows(kind, hierarchy=spec.hierarchy is not None) for step in plan.steps())
        fate = next((fate for fate in shown if fate is not None), "published as it is: nothing is asked of it")
        if kind is Kind.NUMBER and plan.release.shows != "range":
            fate += f", then the {plan.release.shows} of each class is shown instead"
        return fate if spec.weight == 1 else f"{fate}; its detail counts {spec.weight:g} times"
    if spec.name in plan.masked_columns:
        return "masked by labels of its hierarchy where it would tell too much"
    if role is Role.SENSITIVE_QUASI_IDENTIFIER:
        cells = (step.anonymizer.shows_cells for step in plan.steps())
        return next((fate for fate in cells if fate is not None), "published as it is: nothing is asked of it")
    if role in (Role.SENSITIVE, Role.OTHER):
        return "published as it is"
    return "protected by its requirement"


def _missing_warnings(unlisted: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, markers in unlisted.items():
        if markers:
            yield (
                f"Column {name!r} has cells that look like missing ones: {', '.join(map(repr, markers))}. "
                "List them under [source] missing if they are."
            )
