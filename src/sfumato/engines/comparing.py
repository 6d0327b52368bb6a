"""A table in parts beside its release, for measures and attacks: both as distinct rows with weights, counted where they
lie, and single rows of a random part of both for what cannot be counted so (sets, columns that are carried along).

Where even distinct rows are too many, the random part is all that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, Dataset, as_arrow
from sfumato.data.drawing import Draw, Drawn
from sfumato.data.encoding import Codebooks, holds_sets
from sfumato.data.files.release import DESCRIPTION, PARTS, read_description, schema_for
from sfumato.data.files.source import parts_of
from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.data.strays import StrayKind, stray_columns
from sfumato.engines.class_tasks import distinct_terms
from sfumato.engines.coding import Coded
from sfumato.engines.cutting import mixed
from sfumato.engines.region_tasks import AllDistinct, of_distinct
from sfumato.engines.regions import Cluster, too_many
from sfumato.engines.seeing import Look, Saw, tables_seen, weighted_release
from sfumato.engines.tasks import Part, coded_part, rows_like
from sfumato.engines.workroom import got, kept
from sfumato.errors import DataError

ROWS_DRAWN = 1_000_000
FAIR = 8  # times as many rows, or as few, may be drawn by classes as are wanted


def drawn_rows(room: Path, quasi_identifiers: Sequence[str], draw: Draw, part: Part) -> NDArray[np.bool_]:
    """Return which rows of a part are drawn."""
    dataset = coded_part(room, part.name)
    numbers: NDArray[Any] = (part.first + np.arange(part.rows))[:, np.newaxis]
    if draw.by_class:
        numbers = np.stack([dataset.column(name).codes for name in quasi_identifiers], axis=1)
    return draw.takes(mixed(numbers))


def count_drawn(room: Path, quasi_identifiers: Sequence[str], draw: Draw, part: Part) -> int:
    """Return how many rows of a part are drawn."""
    return int(drawn_rows(room, quasi_identifiers, draw, part).sum())


def take_drawn(room: Path, quasi_identifiers: Sequence[str], draw: Draw, part: Part) -> pa.Table:
    """Return the rows of a part that are drawn, in codes."""
    rows = np.flatnonzero(drawn_rows(room, quasi_identifiers, draw, part))
    return got(room / "coded" / part.name).take(as_arrow(rows))


@dataclass(eq=False)
class Comparing:
    """Looks at both, by tasks on the files of each."""

    cluster: Cluster
    room: Path
    folder: Path  # of the release
    schema: Schema
    most: int  # distinct rows that are counted here
    wanted: int = field(default_factory=lambda: ROWS_DRAWN)  # rows of a random part
    coded: Coded | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        is_ours = (self.folder / DESCRIPTION).is_file()
        self.description = read_description(self.folder) if is_ours else {}
        self.schema = schema_for(self.description, self.schema) if is_ours else self.schema
        self.paths = parts_of((self.folder / PARTS if is_ours else self.folder).resolve())

    @property
    def rows(self) -> int:
        """Rows of the release."""
        return sum(pa_parquet.read_metadata(path).num_rows for path in self.paths)

    @property
    def counts_all(self) -> bool:
        """Whether the release has nothing but single values, whose distinct rows say everything."""
        return all(
            spec is None or spec.role is Role.IDENTIFIER or not (spec.role is Role.OTHER or holds_sets(each.type, spec))
            for each in pa_parquet.read_schema(self.paths[0])
            for spec in (self.schema.spec(each.name),)
        )

    def both(self, before: Dataset | None) -> tuple[Dataset | None, Release]:
        """Return the original, once it was looked at, and the release, alike."""
        after = self._counted_release()
        if after is None or (before is not None and before.drawn is not None):
            if before is not None and before.drawn is None:
                before = self._drawn_original()
            return before, self._drawn_release()
        if self._lacks(after):
            after = replace(after, sample=self._drawn_release())
            before = replace(before, sample=self._drawn_original()) if before is not None else None
        return before, after

    def _lacks(self, after: Release) -> bool:
        """Whether there are columns of single rows, in either."""
        published = set(pa_parquet.read_schema(self.paths[0]).names) - set(self.schema.named(Role.IDENTIFIER))
        found = set(self.coded.template.order) if self.coded is not None else set()
        return not (published | found) <= after.columns.keys()

    # The original.

    def columns(self, template: Dataset, books: Codebooks, rows: int) -> tuple[str, ...]:
        """Return the columns whose distinct rows are counted: those of single values, before and after."""
        described = self.description.get("columns", {})
        return tuple(
            column.name
            for column in template.columns.values()
            if isinstance(column, CodedColumn) and "separator" not in described.get(column.name, {})
        )

    def original(self, coded: Coded) -> Dataset:
        """Return distinct rows of the original with weights; single rows of a random part where they are too many."""
        self.coded = coded
        names = self.columns(coded.template, kept(self.room / "books"), coded.rows)
        sizes = [len(coded.template.column(name).labels) for name in names]
        if too_many(self.cluster, self.room, coded.parts, names, sizes, self.most) is not None:
            return self._drawn_original()
        distinct = AllDistinct.of(self.room, coded.parts, sizes)
        found = of_distinct(coded.template, names, distinct.codes, distinct.weight)
        order = tuple(name for name in found.order if name in names)
        found = replace(found, columns={name: found.columns[name] for name in names}, order=order)
        return replace(found, of_terms=self._terms(coded))

    def _terms(self, coded: Coded) -> Dataset | None:
        """Return what all rows tell of terms; None where there are none, or too many: then a run has to know it."""
        columns = [column.name for column in coded.template.with_role(Role.QUASI_SENSITIVE)]
        try:
            return distinct_terms(self.cluster, self.room, coded.parts, columns, self.most) if columns else None
        except DataError:
            return None

    def _drawn_original(self) -> Dataset:
        assert self.coded is not None
        parts, rows = self.coded.parts, self.coded.rows
        names = [column.name for column in self.coded.template.quasi_identifiers]
        draw = Draw(self.wanted / max(rows, 1), by_class=bool(names))
        if draw.by_class:
            counted = self.cluster.each(partial(count_drawn, self.room, names, draw), parts, "count a sample")
            draw = self._fair(draw, sum(counted))
        tables = self.cluster.each(partial(take_drawn, self.room, names, draw), parts, "draw a sample")
        found = rows_like(pa.concat_tables(tables), self.coded.template)
        return replace(found, drawn=_said(found.n_rows, rows, draw))

    def _fair(self, draw: Draw, found: int) -> Draw:
        """Return how to draw: row by row where classes gave far too few rows, or too many."""
        if draw.share < 1 and not self.wanted / FAIR <= found <= self.wanted * FAIR:
            return replace(draw, by_class=False)
        return draw

    # The release.

    def _counted_release(self) -> Release | None:
        """Return distinct rows with weights; None where they are too many."""
        look = Look(self.room, self.schema, singles=True)
        saw = self.cluster.each(look.at, self.paths, "count the release")
        if sum(each.distinct for each in saw) > self.most:
            return None
        table = pa.concat_tables(tables_seen(self.room, [each.name for each in saw]))
        return self._with_people(weighted_release(table, self._schema_of(table), self.description))

    def _drawn_release(self) -> Release:
        """Return single rows of a random part, with all columns."""
        rows, names = self.rows, set(pa_parquet.read_schema(self.paths[0]).names)
        by_class = any(spec.role is Role.QUASI_IDENTIFIER and spec.name in names for spec in self.schema)
        draw = Draw(self.wanted / max(rows, 1), by_class=by_class)
        saw = self._drawn_by(draw)
        if draw.by_class and self._fair(draw, sum(each.rows for each in saw)) != draw:
            draw = replace(draw, by_class=False)
            saw = self._drawn_by(draw)
        table = pa.concat_tables(tables_seen(self.room, [each.name for each in saw]))
        release = weighted_release(table, self._schema_of(table), self.description).single_rows()
        told = {**self.description, "rows": release.n_rows} if self.description else {}
        return replace(self._with_people(release), description=told, drawn=_said(release.n_rows, rows, draw))

    def _drawn_by(self, draw: Draw) -> list[Saw]:
        look = Look(self.room, self.schema, carried=True, draw=draw)
        return self.cluster.each(look.at, self.paths, "draw a sample of the release")

    def _schema_of(self, table: pa.Table) -> Schema:
        wanted = {name: spec for name in table.column_names if (spec := self.schema.spec(name)) is not None}
        return replace(self.schema, columns=wanted)

    def _with_people(self, release: Release) -> Release:
        """Return a release that tells of names of people which came along; they are not read."""
        people = [name for name in pa_parquet.read_schema(self.paths[0]).names if name in self._identifiers]
        return replace(release, strays=stray_columns(StrayKind.IDENTIFIER, people, release.total))

    @property
    def _identifiers(self) -> frozenset[str]:
        return frozenset(self.schema.named(Role.IDENTIFIER))


def _said(found: int, rows: int, draw: Draw) -> Drawn | None:
    return Drawn(found, rows, draw.by_class) if draw.share < 1 else None
