"""What a written table looks like to an outsider: distinct rows with weights, from tasks that look at a file each.

seen/FILE       the distinct rows of a file, and how many there are of each
to-judge/FILE   the same by class: all rows of a class go to the same part
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import as_arrow, as_numpy, counted
from sfumato.data.drawing import Draw
from sfumato.data.encoding import holds_sets
from sfumato.data.equal_rows import number_equal_rows
from sfumato.data.files import Source, digest, read_columns, read_table
from sfumato.data.files.metadata import needless_in
from sfumato.data.files.release import DESCRIPTION, PARTS, read_description, schema_for, strays_in
from sfumato.data.files.source import parts_of
from sfumato.data.release import Release, ReleasedColumn, judged_texts, spelling_strays
from sfumato.data.schema import Role, Schema
from sfumato.data.strays import StrayKind, stray_columns, stray_entries
from sfumato.engines.regions import Cluster
from sfumato.engines.tasks import WEIGHT
from sfumato.engines.workroom import arrived, got, plain, put, sent
from sfumato.errors import DataError, did_you_mean
from sfumato.models.base import Policy, PrivacyModel

SPARE = 4  # times as many distinct rows in files of a release, where they must be judged at once


@dataclass(frozen=True)
class Look:
    """What of each file is looked at."""

    room: Path
    schema: Schema
    columns: tuple[str, ...] | None = None  # None: all that a requirement may be about
    carried: bool = False  # whether columns that are only carried along are among these
    singles: bool = False  # whether columns of sets are left out
    draw: Draw | None = None  # which rows are looked at; None: all

    def chosen(self, found: Sequence[str]) -> list[str]:
        """Return which of the columns of a file are looked at; people's names never are."""
        if self.columns is not None:
            return [name for name in self.columns if name in found]
        hidden = (Role.IDENTIFIER,) if self.carried else (Role.OTHER, Role.IDENTIFIER)
        return [name for name in found if (spec := self.schema.spec(name)) is None or spec.role not in hidden]

    def at(self, path: Path) -> Saw:
        """Keep the distinct rows of a file, with how many there are of each."""
        source = Source(path, missing=self.schema.missing).as_spelled
        names = read_columns(source)
        chosen = self.chosen(names)
        table = read_table(source, drop=[name for name in names if name not in chosen]).select(chosen)
        schema = self.schema
        if self.columns is not None:
            wanted = {name: spec for name in chosen if (spec := schema.spec(name)) is not None}
            schema = Schema(columns=wanted, rest=schema.rest, missing=schema.missing)
        if self.singles:
            sets = [field.name for field in table.schema if self._is_set(field)]
            table = table.drop_columns(sets)
            schema = replace(schema, columns={name: spec for name, spec in schema.columns.items() if name not in sets})
        release = Release.from_table(table, schema)
        if self.draw is not None:
            rows = np.flatnonzero(self._drawn(release, path)).astype(np.int32)
            table, release = table.take(as_arrow(rows)), release.rows(rows, None)
        number_of = number_equal_rows(release.columns, release.carried, release.n_rows)
        _, first, count = np.unique(number_of, return_index=True, return_counts=True)
        distinct = table.take(as_arrow(first))
        arrays = {name: plain(distinct.column(name)) for name in distinct.column_names}
        needless = needless_in(source, self.schema.columns)
        put(self.room / "seen" / path.name, [pa.table({**arrays, WEIGHT: as_arrow(count.astype(np.int64))})])
        texts = judged_texts(release.columns, schema)
        return Saw(path.name, digest(path), release.n_rows, first.size, frozenset(names), texts, needless)

    def _is_set(self, field: pa.Field) -> bool:
        spec = self.schema.spec(field.name)
        return spec is not None and holds_sets(field.type, spec)

    def _drawn(self, release: Release, path: Path) -> NDArray[np.bool_]:
        """Return which rows are drawn: the same whenever this is done."""
        assert self.draw is not None
        if self.draw.by_class:
            return self.draw.takes(_mixed_labels(release.quasi_identifiers, release.n_rows))
        chance = np.random.default_rng(list(path.name.encode()))
        return self.draw.takes(chance.integers(0, 2**64 - 1, release.n_rows, dtype=np.uint64, endpoint=True))


@dataclass(frozen=True)
class Saw:
    """What there is to say of a file that was looked at."""

    name: str
    sha256: str
    rows: int
    distinct: int
    columns: frozenset[str]
    texts: Mapping[str, tuple[str, ...]]  # of columns whose values are judged
    needless: int = 0  # entries beside the table that its writer does not need


def tables_seen(room: Path, names: Iterable[str]) -> Iterator[pa.Table]:
    """Yield the distinct rows of written files."""
    for name in names:
        yield got(room / "seen" / name)


def held_once(table: pa.Table, number_of: NDArray[np.int64]) -> pa.Table:
    """Return rows with weights, those with the same number, (n,), held once where the first of them stood."""
    first = np.unique(number_of, return_index=True)[1]
    weight = counted(number_of, first.size, as_numpy(plain(table.column(WEIGHT))))
    return table.take(as_arrow(first)).drop_columns([WEIGHT]).append_column(WEIGHT, as_arrow(weight))


def weighted_release(table: pa.Table, schema: Schema, description: Mapping[str, Any] | None = None) -> Release:
    """Return distinct rows as a release with weights; equal ones of several files are held once."""
    weights = as_numpy(plain(table.column(WEIGHT))).astype(np.int64)
    release = Release.from_table(table.drop_columns([WEIGHT]), schema, description)
    return replace(release, weights=weights).weighted()


def send_classes(room: Path, schema: Schema, parts: int, name: str) -> dict[str, pa.Table]:
    """Send the distinct rows of a file to parts by their class; return how common values of sensitive columns are."""
    table = got(room / "seen" / name)
    release = Release.from_table(table.drop_columns([WEIGHT]), schema)
    part_of = _mixed_labels(release.quasi_identifiers, release.n_rows) % np.uint64(parts)
    sent(room / "to-judge" / name, table, part_of.astype(np.int64), parts)
    judged = [column.name for column in release.columns.values() if column.role is Role.SENSITIVE]
    return {
        column: table.select([column, WEIGHT]).group_by(column).aggregate([(WEIGHT, "sum")])
        for column in judged
        if isinstance(release.columns[column], ReleasedColumn)
    }


def _mixed_labels(columns: Sequence[ReleasedColumn], rows: int) -> NDArray[np.uint64]:
    """Return a number for each row that is the same wherever its published quasi-identifiers are."""
    number = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        of_label = [
            int.from_bytes(hashlib.blake2b(f"{code == column.missing}{label}".encode(), digest_size=8).digest())
            for code, label in enumerate(column.labels)
        ]
        number = (number * np.uint64(0x9E3779B97F4A7C15)) ^ np.array(of_label, dtype=np.uint64)[column.codes]
    return number ^ (number >> np.uint64(32))


def value_counts(found: Sequence[Mapping[str, pa.Table]], schema: Schema) -> dict[str, Release]:
    """Return how common the values of each column are in all files, each as a release with weights of that column."""
    whole = {}
    for name in found[0]:
        table = pa.concat_tables([each[name] for each in found]).rename_columns({f"{WEIGHT}_sum": WEIGHT})
        spec = schema.spec(name)
        assert spec is not None
        whole[name] = weighted_release(table, Schema(columns={name: spec}, missing=schema.missing))
    return whole


@dataclass(frozen=True, eq=False)
class PartsByClass:
    """Parts of a release, read one after the other, whenever they are asked for."""

    room: Path
    names: tuple[str, ...]
    schema: Schema
    description: Mapping[str, Any]
    parts: int
    whole: Mapping[str, Release]

    def __iter__(self) -> Iterator[Release]:
        for part in range(self.parts):
            table = arrived(self.room / "to-judge", self.names, part)
            if table.num_rows:
                yield replace(weighted_release(table, self.schema, self.description), whole=self.whole)


def release_seen(cluster: Cluster, room: Path, folder: Path, schema: Schema, policy: Policy, most: int) -> Release:
    """Return a release in parts, or Parquet files of any tool, as distinct rows with weights.

    Where there are more than `most`, they are in parts by class.
    """
    is_ours = (folder / DESCRIPTION).is_file()
    description = read_description(folder) if is_ours else {}
    schema = schema_for(description, schema) if is_ours else schema
    paths = parts_of((folder / PARTS if is_ours else folder).resolve())
    # Who draws sets looks at all that tells people apart; nobody else at columns that are only carried along.
    carried = any(model.judged_role is Role.SENSITIVE_QUASI_IDENTIFIER for model in policy)
    saw = cluster.each(Look(room, schema, carried=carried).at, paths, "read back")
    names, rows, distinct = (
        tuple(each.name for each in saw),
        *(sum(getattr(each, name) for each in saw) for name in ("rows", "distinct")),
    )
    people = sorted({name for each in saw for name in each.columns if name in schema.named(Role.IDENTIFIER)})
    strays = stray_columns(StrayKind.IDENTIFIER, people, rows)
    strays += stray_entries(StrayKind.METADATA, PARTS if is_ours else folder.name, sum(each.needless for each in saw))
    texts = {name: {text for each in saw for text in each.texts.get(name, ())} for each in saw for name in each.texts}
    strays += spelling_strays(texts, schema, rows)
    whole_only = [model for model in policy if looks_at_all(model, schema)]
    # Files have rows in common, so that there are mostly fewer distinct ones.
    if distinct <= (SPARE * most if whole_only else most):
        release = weighted_release(pa.concat_tables(tables_seen(room, names)), schema, description)
    else:
        release, parts = weighted_release(got(room / "seen" / names[0]).slice(0, 0), schema, description), None
        if len(whole_only) < len(tuple(policy)):
            parts = _in_parts(cluster, room, names, schema, description, -(-distinct // most))
        if whole_only:
            release = _seen_at_once(cluster, room, paths, schema, description, whole_only, most)
        release = replace(release, parts=parts)
    if is_ours:
        columns = frozenset(name for each in saw for name in each.columns)
        strays += strays_in(
            folder, description, {each.name: each.sha256 for each in saw}, schema, release, columns=columns, rows=rows
        )
    told = {(stray.kind, stray.name) for stray in strays}  # of all files, where one may tell the same of itself
    own = [stray for stray in release.strays if (stray.kind, stray.name) not in told]
    return replace(release, strays=(*own, *strays))


def looks_at_all(model: PrivacyModel, schema: Schema) -> bool:
    """Whether a model has to see all rows at once: without quasi-identifiers, all records are one class."""
    one_class = model.judged_role is Role.ITEMS and not schema.named(Role.QUASI_IDENTIFIER)
    return one_class or not model.judges_apart


def columns_at_once(models: Sequence[PrivacyModel], schema: Schema) -> tuple[str, ...] | None:
    """Return the columns that models look at who judge all rows at once; None: everything that tells people apart."""
    columns: list[str] = []
    for model in models:
        if model.judged_role is Role.SENSITIVE_QUASI_IDENTIFIER:
            return None
        # Of items, records are looked at, whatever class they are in, unless classes are to be safe.
        if model.judged_role is not Role.ITEMS or getattr(model, "within", None) == "classes":
            columns += schema.named(Role.QUASI_IDENTIFIER)
        columns += model.judged_columns
    return tuple(dict.fromkeys(columns))


def _seen_at_once(
    cluster: Cluster,
    room: Path,
    paths: Sequence[Path],
    schema: Schema,
    description: Mapping[str, Any],
    models: Sequence[PrivacyModel],
    most: int,
) -> Release:
    """Return the distinct rows of the columns that models look at who judge all at once, with weights."""
    columns = columns_at_once(models, schema)
    if columns is not None:
        cluster.each(Look(room, schema, columns).at, paths, "read back what is judged at once")
        schema = replace(schema, columns={name: spec for name in columns if (spec := schema.spec(name)) is not None})
    held: list[pa.Table] = []
    waiting = 0
    for table in tables_seen(room, [path.name for path in paths]):
        held, waiting = [*held, table], waiting + table.num_rows
        if waiting > SPARE * most:
            held, waiting = [_held_once(pa.concat_tables(held), schema)], 0
        if held[0].num_rows > SPARE * most:
            break
    release = weighted_release(pa.concat_tables(held), schema, description)
    if release.n_rows > SPARE * most:
        raise _too_many(models, release.n_rows, most)
    return release


def _held_once(table: pa.Table, schema: Schema) -> pa.Table:
    """Return a table of rows with weights, equal ones held once."""
    release = Release.from_table(table.drop_columns([WEIGHT]), schema)
    return held_once(table, number_equal_rows(release.columns, release.carried, release.n_rows))


def _too_many(models: Sequence[PrivacyModel], distinct: int, most: int) -> DataError:
    names = ", ".join(sorted({model.name for model in models}))
    return DataError(
        f"The release was to be judged by its distinct rows on the driver, which takes {most:,}, but it has "
        f"{distinct:,} or more, and {names} looks at all of them at once.\n"
        "Raise --distinct-on-driver if the driver has the memory. Nothing was published."
    )


def columns_seen(cluster: Cluster, room: Path, folder: Path, columns: Sequence[str], most: int) -> Release:
    """Return some columns of a release in parts as distinct rows with weights: what tables are computed back from."""
    description = read_description(folder)
    schema = schema_for(description, None)
    absent = [name for name in columns if name not in description["columns"]]
    look = Look(room, schema, tuple(dict.fromkeys(columns)))
    paths = parts_of((folder / PARTS).resolve())
    if absent:
        told = f"Column {absent[0]!r} was asked for, but the release does not have it."
        raise DataError(f"{told}{did_you_mean(absent[0], list(description['columns']))}")
    saw = cluster.each(look.at, paths, "read columns")
    if (distinct := sum(each.distinct for each in saw)) > most:
        raise DataError(
            f"A table of {', '.join(columns)} was asked for, which have {distinct:,} different combinations in the "
            f"files of the release; the driver takes {most:,}.\nAsk for fewer columns, or raise --distinct-on-driver."
        )
    wanted = {name: spec for name in look.columns or () if (spec := schema.spec(name)) is not None}
    chosen = Schema(columns=wanted, rest=schema.rest, missing=schema.missing)
    return weighted_release(pa.concat_tables(tables_seen(room, [each.name for each in saw])), chosen, description)


def _in_parts(
    cluster: Cluster, room: Path, names: tuple[str, ...], schema: Schema, description: Mapping[str, Any], parts: int
) -> PartsByClass:
    counts = cluster.each(partial(send_classes, room, schema, parts), names, "sort by class")
    return PartsByClass(room, names, schema, description, parts, value_counts(counts, schema))
