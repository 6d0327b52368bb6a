"""The table and the plan as they are now, and the questions that can be asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.builders import hierarchy_source
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset
from sfumato.data.encoding import check_columns, encode_column
from sfumato.data.files import Source, fitted, read_table
from sfumato.data.gathering import gather
from sfumato.data.hierarchy import ROOT
from sfumato.data.people import people_of
from sfumato.data.persons import persons_by
from sfumato.data.schema import ColumnSpec, Role
from sfumato.drafting import draft_table
from sfumato.drafting.roles import Guess
from sfumato.editing import PlanDocument
from sfumato.errors import DataError, InputError, PlanError
from sfumato.pipeline.known import Gathering
from sfumato.pipeline.making import refuse_unfit
from sfumato.plan import Plan
from sfumato.plan.members import some_requirement
from sfumato.progress import SILENT, Progress
from sfumato.workbench.columns import Coded, ColumnFacts
from sfumato.workbench.coverage import NONE, Coverage, coverage, groups_of, laid_over
from sfumato.workbench.reach import Reach, reach
from sfumato.workbench.trial import Trial, sampled, trial
from sfumato.workbench.uniqueness import Uniqueness, known_by, uniqueness

BROKEN = "broken"
FEW = 3  # values of a column in a list of columns
MOST_COMPARED = 60  # columns that one is held against


@dataclass(eq=False)
class _Held:
    """A table in memory, and what was worked out from it."""

    of: object  # what it was made of, and in which state that was
    file: object  # what it was read from
    table: pa.Table
    missing: tuple[str, ...]
    coded: dict[str, Coded]
    encoded: dict[str, tuple[object, CodedColumn | CodedSets]]  # by column: for what it was made, and the column
    guesses: Mapping[str, Guess] | None = None


class Workbench:
    """Answers questions about a plan and its source; both are looked at again for each, and read when they changed."""

    def __init__(self, path: Path, progress: Progress = SILENT) -> None:
        self.path = path
        self.progress = progress
        self._held: _Held | None = None

    def columns(self) -> list[ColumnFacts]:
        """Return what each column of the source is by the plan, and what it looks like."""
        document, held = self._look()
        guesses = self._guesses(held)
        names = held.table.column_names
        return [self._facts(number, name, document, held, guesses) for number, name in enumerate(names)]

    def values(self, name: str, most: int = 500) -> dict[str, Any]:
        """Return the values of a column with their rows, the most frequent first, for the holder's eyes."""
        return self._coded(self._look()[1], name).values(most)

    def groups(self, name: str, hierarchy: Any = None, most: int = 500) -> dict[str, Any]:
        """Return the values of a column, and those that only its hierarchy has, with what each is in; for its holder.

        Where there are more than `most`, nothing but how many is said.
        """
        document, held = self._look()
        coded = self._coded(held, name)
        spec = self._with_hierarchy(document, name, hierarchy)
        above: dict[str, str] = {}
        others: list[str] = []
        if spec.hierarchy is not None:
            found, _ = laid_over(spec, coded.labels, coded.type)
            above = {below: group for below, group in groups_of(found).items() if group != ROOT}
            others = sorted(set(found.leaves) - set(coded.labels))
        if len(coded.labels) + len(others) > most:
            return {"values": [], "above": {}, "more": len(coded.labels) + len(others)}
        return {"values": [*coded.values(most)["values"], *([value, 0] for value in others)], "above": above, "more": 0}

    def uniqueness(self, names: Sequence[str]) -> Uniqueness:
        """Return how many people are alone with what some columns say of them."""
        _, held = self._look()
        columns = {name: self._coded(held, name) for name in names}
        return uniqueness({name: (each.codes, each.size) for name, each in columns.items()}, held.table.num_rows)

    def coverage(self, name: str, hierarchy: Any = None) -> Coverage:
        """Return what a hierarchy knows of a column: the plan's own, or another one as a plan would give it."""
        document, held = self._look()
        return self._coverage(document, held, name, hierarchy)

    def reach(self, *, strict: bool = False) -> list[Reach]:
        """Return what can be reached of each requirement, or raise with all problems of the plan.

        When `strict`, raise also what a run would find wrong in the data before it decides anything.
        """
        document, held = self._look()
        plan = document.plan(self.path.parent)
        dataset = self._dataset(plan, held)
        if strict:
            refuse_unfit(plan, dataset)
        known = Gathering(plan, lambda: dataset, progress=self.progress, judging=True, making=strict).known()
        drops_rows = any(getattr(step.anonymizer, "drop_rows", 0) for step in plan.steps())
        return reach(dataset, plan.policy, known.public, drops_rows=drops_rows)

    def trial(self) -> Trial:
        """Return what a run by the plan would cost, or raise with all problems of the plan."""
        document, held = self._look()
        plan = document.plan(self.path.parent)
        few = replace(held, table=sampled(held.table, np.random.default_rng()), coded={}, encoded={})
        return trial(plan, self._dataset(plan, few if few.table is not held.table else held), held.table.num_rows)

    def looks(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return a few values of each of some columns, for the holder's eyes."""
        _, held = self._look()
        return {name: self._coded(held, name).samples()[:FEW] for name in names}

    def known_by(self, name: str) -> list[str]:
        """Return the columns whose value always tells that of a column: whoever knows one of them knows it."""
        _, held = self._look()
        told = self._coded(held, name)
        others = [each for each in held.table.column_names if each != name][:MOST_COMPARED]
        columns = {each: self._coded(held, each) for each in others}
        return known_by((told.codes, told.size), {each: (of.codes, of.size) for each, of in columns.items()})

    # What the questions have in common.

    def _look(self) -> tuple[PlanDocument, _Held]:
        """Return the plan as it is written now, and its table: read again if it is another one, or has changed."""
        document = PlanDocument.open(self.path)
        try:
            plan = document.plan(self.path.parent)
        except PlanError:  # it has problems, which are told elsewhere; its table can still be looked at
            plan = None
        source = plan.source if plan is not None else self._source(document)
        if source is None:
            raise DataError("The plan names no data.\nOpen a table first.")
        if source.database is None and not source.path.exists():
            raise DataError(f"The table {source.path.name} is not where the plan says.\nPut it back, or open another.")
        file = (source, _state(source.path) if source.database is None else None)
        if plan is None and self._held is not None and self._held.file == file:
            return document, self._held
        read = source if plan is None else _fitted(source, plan)
        events = [_state(path) for path in plan.files.values()] if plan is not None and plan.gather is not None else []
        of = (read, file, plan.gather if plan is not None else None, events)
        if self._held is None or self._held.of != of:
            self._held = None  # before the next one is read: both may not fit
            table = read_table(read, progress=self.progress)
            if plan is not None and plan.gather is not None:
                table = gather(table, plan.gather, plan.schema, lambda each, drop: read_table(each, drop=drop))[0]
            self._held = _Held(of, file, table, source.missing, {}, {})
        return document, self._held

    def _source(self, document: PlanDocument) -> Source | None:
        """Return what a plan reads where the rest of it has problems."""
        given = document.get(("source",)) or {}
        kept = {key: value for key, value in given.items() if key != "person"} if isinstance(given, Mapping) else given
        return _bare(self.path.parent, source=kept, columns={"*": {"role": Role.QUASI_IDENTIFIER.value}}).source

    def _coded(self, held: _Held, name: str) -> Coded:
        if name not in held.table.column_names:
            raise DataError(f"The table has no column {name!r}.\nIt may have changed: look at the columns again.")
        if name not in held.coded:
            held.coded[name] = Coded.of(held.table.column(name), held.missing)
        return held.coded[name]

    def _guesses(self, held: _Held) -> Mapping[str, Guess]:
        if held.guesses is None:
            try:
                held.guesses = {guess.name: guess for guess in draft_table(held.table, self.progress).guesses}
            except DataError:  # nothing in it looks as if it could be published
                held.guesses = {}
        return held.guesses

    def _facts(
        self, number: int, name: str, document: PlanDocument, held: _Held, guesses: Mapping[str, Guess]
    ) -> ColumnFacts:
        coded, guess = self._coded(held, name), guesses.get(name)
        try:
            covered = self._coverage(document, held, name)
        except InputError:
            covered = Coverage(BROKEN)
        kind = document.get(("columns", name, "kind"))
        lengths = [len(label) for label in coded.labels]
        return ColumnFacts(
            number=number,
            name=name,
            kind=kind if isinstance(kind, str) else guess.kind.value if guess is not None else "",
            role=self._role(document, name),
            guess=guess.role.value if guess is not None else None,
            reason=guess.reason if guess is not None else "",
            warning=guess.warning if guess is not None else "",
            distinct=len(coded.labels),
            missing=coded.rows_missing / max(coded.codes.size, 1),
            shortest=min(lengths, default=0),
            longest=max(lengths, default=0),
            hierarchy=covered.state,
            hierarchy_missing=covered.missing,
        )

    def _role(self, document: PlanDocument, name: str) -> str | None:
        role = document.get(("columns", name, "role"))
        return role if isinstance(role, str) else document.get(("columns", "*", "role"))

    def _coverage(self, document: PlanDocument, held: _Held, name: str, hierarchy: Any = None) -> Coverage:
        coded = self._coded(held, name)
        given = hierarchy if hierarchy is not None else document.get(("columns", name, "hierarchy"))
        if given is None:
            return Coverage(NONE, values=len(coded.labels), rows_missing=coded.rows_missing)
        spec = self._with_hierarchy(document, name, given)
        return coverage(spec, coded.labels, coded.rows, coded.rows_missing, coded.type)

    def _with_hierarchy(self, document: PlanDocument, name: str, hierarchy: Any) -> ColumnSpec:
        """Return a column with the plan's hierarchy or another one, and only what a hierarchy depends on.

        Another key may be wrong, and it is the holder who looks.
        """
        table = document.get(("columns", name)) or {}
        spec = _spec(name, {key: table[key] for key in ("kind", "domain", "bins") if key in table}, self.path.parent)
        given = hierarchy if hierarchy is not None else table.get("hierarchy")
        return spec if given is None else replace(spec, hierarchy=hierarchy_source(given, self.path.parent))

    def _dataset(self, plan: Plan, held: _Held) -> Dataset:
        """Return the columns that audits look at in codes; those that were coded for the same before, as they are."""
        if plan.gather is None:  # else the table has the columns that were made
            check_columns(held.table.column_names, plan.schema)
        columns: dict[str, CodedColumn | CodedSets] = {}
        for name in held.table.column_names:
            spec = plan.schema.spec(name)
            if spec is None or spec.role in (Role.IDENTIFIER, Role.OTHER):
                continue
            files = [path for place, path in plan.files.items() if place.startswith(f"columns.{name}.")]
            made_for = (spec, plan.schema.missing, plan.schema.normalize, [_state(path) for path in files])
            known = held.encoded.get(name)
            if known is None or known[0] != made_for:
                array, schema = held.table.column(name), plan.schema
                known = (made_for, encode_column(array, spec, schema.missing, normalize=schema.normalize))
                held.encoded[name] = known
            columns[name] = known[1]
        named = [name for name in (plan.weight, plan.household) if name in held.table.column_names]
        dataset = Dataset(
            schema=plan.schema,
            columns=columns,
            carried=held.table.select(named) if named else None,
            n_rows=held.table.num_rows,
            order=tuple(columns),
        )
        person = plan.schema.person
        return dataset if person is None else people_of(dataset, persons_by(held.table, person, plan.schema))


def _spec(name: str, keys: Mapping[str, Any], base: Path) -> ColumnSpec:
    """Return a column with some keys of its own, for who looks at nothing else of the plan."""
    spec = _bare(base, columns={name: {"role": Role.QUASI_IDENTIFIER.value, **keys}}).schema.spec(name)
    assert spec is not None
    return spec


def _bare(base: Path, **parts: Any) -> Plan:
    """Return a plan of some parts, with as little else as a plan has to have."""
    return Plan.from_dict({**parts, "require": [some_requirement()]}, base)


def _fitted(source: Source, plan: Plan) -> Source:
    return plan.gather.fitted(source, plan.schema) if plan.gather is not None else fitted(source, plan.schema)


def _state(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file does."""
    if not path.exists():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size
