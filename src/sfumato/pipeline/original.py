"""The table that a plan is about: read at most once, digested while it is read, encoded at most once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from sfumato.data.dataset import Dataset
from sfumato.data.encoding import check_columns
from sfumato.data.files import digest, fitted, read_columns
from sfumato.data.persons import Persons, number_columns, repeated_persons
from sfumato.data.schema import Role
from sfumato.engines.base import Engine
from sfumato.errors import PlanError, Problem
from sfumato.pipeline.clock import Clock
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress


@dataclass(eq=False)
class Original:
    """A table given in memory, or else the source that the plan names."""

    plan: Plan
    engine: Engine
    given: pa.Table | None = None
    progress: Progress = SILENT
    clock: Clock = field(default_factory=Clock)
    in_memory: bool = field(init=False)  # whether the table was given, rather than named by the plan
    persons: Persons | None = field(default=None, init=False)  # where a table has several rows a person; once encoded
    _sha256: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.in_memory = self.given is not None

    @classmethod
    def coded(cls, plan: Plan, engine: Engine, dataset: Dataset) -> Original:
        """Return an original that was encoded before."""
        original = cls(plan, engine)
        original.dataset, original.in_memory = dataset, True
        return original

    @property
    def at_hand(self) -> bool:
        """Whether there is a table to look at: one was given, or the plan names a source that is there."""
        return self.in_memory or (self.plan.source is not None and self.plan.source.path.exists())

    @cached_property
    def dataset(self) -> Dataset:
        """The table in codes. The table itself is let go: nobody needs both."""
        table, self.given = self.given if self.given is not None else self._read(), None
        with self.clock.time("encode"):
            stage = self.progress.stage("encode")
            schema = self.plan.schema
            self.persons = repeated_persons(table, number_columns(table.column_names, schema), schema.missing)
            dataset = self.engine.encode(table, schema)
            stage.done()
        return dataset

    @cached_property
    def sha256(self) -> str | None:
        """The digest of the source; None for a table in memory."""
        if self.in_memory or self.plan.source is None:
            return None
        return self._sha256 or digest(self.plan.source.path)

    def facts(self) -> dict[str, Any]:
        """Return what is to be known about where the data came from."""
        rows = {"rows": self.dataset.n_rows}
        if self._sha256 is None or self.plan.source is None:
            return rows
        return {"path": self.plan.source.path.name, "sha256": self._sha256, **rows}

    def _read(self) -> pa.Table:
        source = self.plan.source
        if source is None:
            raise PlanError([Problem("source.path", 'it names no data: [source] path = "...".')])
        with self.clock.time("read"):
            names, schema = read_columns(source), self.plan.schema
            check_columns(names, schema)  # before reading everything
            dropped = frozenset(schema.named(Role.IDENTIFIER)) - set(number_columns(names, schema))
            source = fitted(source, schema)
            table, self._sha256 = self.engine.read(source, dropped, self.progress)
        return table
