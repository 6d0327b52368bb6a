"""The table that a plan is about: read at most once, digested while it is read, encoded at most once."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.data.dataset import Dataset
from sfumato.data.encoding import check_columns
from sfumato.data.files import Source, digest, fitted, is_there
from sfumato.data.gathering import Gather, Gathering, gather
from sfumato.data.people import people_of
from sfumato.data.persons import Alike, Persons, number_columns, persons_by
from sfumato.data.schema import Role
from sfumato.engines.base import Engine
from sfumato.engines.local import LOCAL_SERVES
from sfumato.errors import DataError, InputError, PlanError, Problem
from sfumato.pipeline.clock import Clock
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress


@dataclass(eq=False)
class Original:
    """A table given in memory, or else the source that the plan names."""

    plan: Plan
    engine: Engine
    given: Any = None  # a table of the engine's own kind
    progress: Progress = SILENT
    clock: Clock = field(default_factory=Clock)
    once: bool = field(default=False, init=False)  # whether equal rows of a large table may be held once
    in_memory: bool = field(init=False)  # whether the table was given, rather than named by the plan
    persons: Persons | None = field(default=None, init=False)  # where a table has several rows a person; once encoded
    gathering: Gathering | None = field(default=None, init=False)  # what was gathered, where rows were
    digests: dict[str, str] = field(default_factory=dict, init=False)  # of tables of events, by place in the plan
    _sha256: str | None = field(default=None, init=False)
    _seen: dict[str, str] = field(default_factory=dict, init=False)  # when a database was looked at

    def __post_init__(self) -> None:
        self.in_memory = self.given is not None

    @classmethod
    def coded(cls, plan: Plan, engine: Engine, dataset: Dataset) -> Original:
        """Return an original that was encoded before."""
        original = cls(plan, engine)
        original.dataset, original.in_memory = dataset, True
        return original

    def hold_once(self) -> None:
        """Hold equal rows of a large table once, where a release is written row by row."""
        form = self.engine.form(self.plan.release.format)
        self.once = self.plan.target is None and form in ("csv", "parquet")

    @property
    def at_hand(self) -> bool:
        """Whether there is a table to look at: one was given, or the plan names a source that is there."""
        source = self.plan.source
        if source is not None and source.in_catalog and not self.engine.holds_rows:
            return True
        return self.in_memory or (source is not None and is_there(source))

    @cached_property
    def dataset(self) -> Dataset:
        """The table in codes. The table itself is let go: nobody needs both."""
        if (self.plan.gather is not None or self.plan.schema.person is not None) and not self.engine.holds_rows:
            raise DataError(
                f"People were to be counted with --engine {self.engine.name}, whose rows lie in many parts.\n"
                f"Gather them first, or {LOCAL_SERVES}."
            )
        table, self.given = self.given if self.given is not None else self._read(), None
        schema = self.plan.schema
        if self.plan.gather is not None:
            table = self._gathered(table, self.plan.gather)
        elif schema.person is not None:
            with self.clock.time("encode"):
                persons = persons_by(table, schema.person, schema)
                self.gathering = Gathering(persons.rows, {}, notes=persons.notes)
                return people_of(self.engine.encode(table, schema, self.plan.steps(), self.progress), persons)
        else:
            self.persons = self.engine.persons(table, schema)
        box, steps = [table], self.plan.steps()
        del table
        with self.clock.time("encode"):
            once = self.once and self.persons is None
            return self.engine.encode(box.pop(), schema, steps, self.progress, once=once)

    @cached_property
    def sha256(self) -> str | None:
        """The digest of the source; None for a table in memory."""
        if self.in_memory or self.plan.source is None or self.plan.source.in_catalog:
            return None
        if self._sha256 is None and self.plan.source.database is not None:
            _ = self.dataset  # what a database holds is digested as it is read
        return self._sha256 or digest(self.plan.source.path)

    def read_ahead(self) -> None:
        """Read it before anybody asks whether it has changed: it is digested on the way, and not by itself."""
        if self.at_hand and self.engine.holds_rows:
            with suppress(InputError):  # told when its rows are asked for, if it has not changed
                _ = self.dataset

    @cached_property
    def unreadable(self) -> bool:
        """Whether there is a source that cannot be read now: its server is away, say, or it is no table any more."""
        try:
            return self.at_hand and self.sha256 == ""
        except InputError:
            return True

    def facts(self) -> dict[str, Any]:
        """Return what is to be known about where the data came from."""
        rows: dict[str, Any] = {"rows": self.dataset.total}
        if self.gathering is not None:
            rows["gathered"] = self.gathering.rows
        if self.plan.source is not None and self.plan.source.in_catalog and not self.in_memory:
            return {"path": self.plan.source.shown, "table": self.plan.source.table, **rows}
        if self._sha256 is None or self.plan.source is None:
            return rows
        return {**self._place(self.plan.source), "sha256": self._sha256, **rows}

    def _place(self, source: Source) -> dict[str, Any]:
        if source.database is None:
            return {"path": source.path.name}
        query = None if source.query is None else hashlib.sha256(source.query.encode()).hexdigest()
        return {"path": source.shown, "database": source.database, "table": source.table, "query": query, **self._seen}

    def warnings(self, alike: Alike | None, notes: Collection[str] = ()) -> list[str]:
        """Return what deserves a second look about people with several rows."""
        found = [*notes, *([self.persons.warning(alike)] if self.persons is not None else [])]
        return [*found, *self.gathering.sentences()] if self.gathering is not None else found

    def _gathered(self, table: pa.Table, asked: Gather) -> pa.Table:
        """Return one row a person; the numbers of people are let go with the rows that they were on."""
        places = {_same(each.source): f"gather.events[{n}].path" for n, each in enumerate(asked.events, start=1)}

        def read(source: Source, drop: Collection[str]) -> pa.Table:
            events, sha256 = self.engine.read(source, drop, self.progress)
            assert sha256 is not None, "people are gathered from files"
            self.digests[places[_same(source)]] = sha256
            return events

        with self.clock.time("gather"):
            found, self.gathering = gather(table, asked, self.plan.schema, read)
        return found

    def _read(self) -> pa.Table:
        source = self.plan.source
        if source is None:
            raise PlanError([Problem("source.path", 'it names no data: [source] path = "...".')])
        with self.clock.time("read"):
            names, schema = self.engine.column_names(source), self.plan.schema
            check_columns(self.plan.names_over(names), schema)  # before reading everything
            asked = self.plan.gather
            numbers = number_columns(names, schema) if self.engine.holds_rows and schema.person is None else ()
            used = asked.used if asked is not None else frozenset(numbers)
            dropped = frozenset(schema.named(Role.IDENTIFIER)) - used
            if not source.in_catalog:
                source = asked.fitted(source, schema) if asked is not None else fitted(source, schema)
            source = replace(source, as_codes=self.once and asked is None and schema.person is None)
            self._seen = {"snapshot": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}
            table, self._sha256 = self.engine.read(source, dropped, self.progress)
        return table


def _same(source: Source) -> tuple[Path, str | None, str | None]:
    """Return what tells a source from others, however it is read."""
    return source.path, source.table, source.query
