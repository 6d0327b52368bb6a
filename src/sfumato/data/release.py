"""What an outsider gets: a table of labels and its public description.

A `Release` is made by publishing a recoding, or taken from any table of any tool. Audits see nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Codes, Dataset
from sfumato.data.encoding import encode_column, infer_kind, is_integer, text_codes
from sfumato.data.hierarchy import some
from sfumato.data.recoding import Recoding
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

FORMAT = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedColumn:
    """A column of labels as published: row r shows labels[codes[r]]; every label occurs."""

    name: str
    role: Role
    kind: Kind
    codes: Codes  # (n,)
    labels: tuple[str, ...]
    missing: int = -1  # code of the missing value, -1 when none is missing
    type: pa.DataType = pa.string()  # how the labels are stored in a typed table
    spec: ColumnSpec | None = None  # what the plan declares of it: public hierarchy and domain


@dataclass(frozen=True, eq=False)
class Release:
    """A published table with its description."""

    columns: Mapping[str, ReleasedColumn | CodedSets]
    carried: pa.Table | None
    n_rows: int
    order: tuple[str, ...]  # all columns, in order
    description: Mapping[str, Any] = field(default_factory=dict)  # what release.json says

    @property
    def quasi_identifiers(self) -> tuple[ReleasedColumn, ...]:
        """The quasi-identifiers, in order."""
        found = (column for column in self.columns.values() if column.role is Role.QUASI_IDENTIFIER)
        return tuple(column for column in found if isinstance(column, ReleasedColumn))

    def column(self, name: str) -> ReleasedColumn:
        """Return a column of single labels by name."""
        column = self.columns.get(name)
        if not isinstance(column, ReleasedColumn):
            found = "holds sets" if column is not None else "is not in it"
            raise DataError(f"Column {name!r} was asked for, but {found}.\nThe release has: {', '.join(self.columns)}.")
        return column

    def sets(self, name: str) -> CodedSets:
        """Return a column of sets by name."""
        column = self.columns.get(name)
        if not isinstance(column, CodedSets):
            found = "holds single values" if column is not None else "is not in it"
            raise DataError(f"Column {name!r} was asked for as sets, but {found}.")
        return column

    def table(self) -> pa.Table:
        """Return the release as an Arrow table: text as dictionaries, unchanged numbers as numbers, sets as lists."""
        arrays = []
        for name in self.order:
            column = self.columns.get(name)
            if column is None:
                assert self.carried is not None
                arrays.append(self.carried.column(name))
            elif isinstance(column, CodedSets):
                terms = pa.DictionaryArray.from_arrays(pa.array(column.items), pa.array(column.labels, pa.string()))
                arrays.append(pa.LargeListArray.from_arrays(pa.array(column.start), terms.cast(pa.string())))
            else:
                arrays.append(_array(column))
        return pa.Table.from_arrays(arrays, names=list(self.order))

    @classmethod
    def from_table(cls, table: pa.Table, schema: Schema, description: Mapping[str, Any] | None = None) -> Release:
        """Take any table as a release: the schema says which column plays which role."""
        _check_released_columns(table.column_names, schema)
        columns: dict[str, ReleasedColumn | CodedSets] = {}
        carried = []
        for name in table.column_names:
            spec = schema.spec(name)
            if spec is None or spec.role is Role.IDENTIFIER:
                continue
            if spec.role is Role.OTHER:
                carried.append(name)
                continue
            array = table.column(name)
            if spec.kind is Kind.SET or spec.role is Role.ITEMS or pa.types.is_nested(array.type):
                columns[name] = encode_column(array, spec, schema.missing)
                continue
            codes, labels, has_missing = text_codes(array, schema.missing)
            labels = [*labels, schema.missing[0] if schema.missing else ""] if has_missing else labels
            columns[name] = ReleasedColumn(
                name=name,
                role=spec.role,
                kind=spec.kind or infer_kind(labels[: len(labels) - has_missing], array.type),
                codes=codes,
                labels=tuple(labels),
                missing=len(labels) - 1 if has_missing else -1,
                type=array.type.value_type if pa.types.is_dictionary(array.type) else array.type,
                spec=spec,
            )
        return cls(
            columns=columns,
            carried=table.select(carried) if carried else None,
            n_rows=table.num_rows,
            order=tuple(name for name in table.column_names if name in columns or name in carried),
            description=description or {},
        )


def publish(
    dataset: Dataset, recoding: Recoding, models: list[Mapping[str, Any]], rng: np.random.Generator | None = None
) -> Release:
    """Turn codes back into labels; rows in random order, or as they were when `rng` is None."""
    rows: NDArray[np.intp] | None = np.flatnonzero(recoding.keep_row) if recoding.keep_row is not None else None
    n_rows = rows.size if rows is not None else dataset.n_rows
    if rng is not None:
        shuffled = rng.permutation(n_rows)
        rows = rows[shuffled] if rows is not None else shuffled
    columns = {name: _published(column, recoding, rows) for name, column in dataset.columns.items()}
    release = Release(
        columns=columns,
        carried=dataset.carried.take(pa.array(rows))
        if dataset.carried is not None and rows is not None
        else dataset.carried,
        n_rows=n_rows,
        order=dataset.order,
    )
    return replace(release, description=_describe(release, dataset, models))


def _published(
    column: CodedColumn | CodedSets, recoding: Recoding, rows: NDArray[np.intp] | None
) -> ReleasedColumn | CodedSets:
    new = recoding.columns.get(column.name)
    if isinstance(column, CodedSets):
        sets = new if isinstance(new, CodedSets) else column
        return _take_sets(sets, rows)
    if isinstance(new, CodedSets):
        return _take_sets(new, rows)
    codes = column.codes if new is None else new.codes
    labels = column.labels if new is None else new.labels
    if rows is not None:
        codes = codes[rows]
    # Labels that do not occur must not leave the house, not even in a dictionary.
    used = np.bincount(codes, minlength=len(labels)) > 0
    if not used.all():
        codes = (np.cumsum(used, dtype=np.int32) - np.int32(1))[codes]
    kept = tuple(label for label, occurs in zip(labels, used, strict=True) if occurs)
    missing = -1
    if column.missing >= 0 and column.labels[column.missing] in kept:
        missing = kept.index(column.labels[column.missing])
    return ReleasedColumn(
        name=column.name,
        role=column.role,
        kind=column.kind,
        codes=codes,
        labels=kept,
        missing=missing,
        type=_published_type(column) if new is None else pa.string(),
        spec=None,
    )


def _published_type(column: CodedColumn) -> pa.DataType:
    """Return the type of an unchanged column: as found; numbers that came as text become numbers."""
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if text and column.kind is Kind.NUMBER:
        known = [label for code, label in enumerate(column.labels) if code != column.missing]
        return pa.int64() if all(is_integer(label) for label in known) else pa.float64()
    return column.type


def _take_sets(sets: CodedSets, rows: NDArray[np.intp] | None) -> CodedSets:
    """Return the sets of some rows, with the labels that occur in them only."""
    items, start = sets.items, sets.start
    if rows is not None:
        size = np.diff(start)[rows]
        new_start = np.zeros(rows.size + 1, dtype=np.int64)
        np.cumsum(size, out=new_start[1:])
        items = items[np.repeat(start[rows] - new_start[:-1], size) + np.arange(new_start[-1])]
        start = new_start
    used = np.bincount(items, minlength=len(sets.labels)) > 0
    renumbered = (np.cumsum(used, dtype=np.int32) - np.int32(1))[items] if not used.all() else items
    return replace(
        sets,
        items=renumbered,
        start=start,
        labels=tuple(label for label, occurs in zip(sets.labels, used, strict=True) if occurs),
        sensitive=sets.sensitive[used] if sets.sensitive is not None else None,
    )


def _array(column: ReleasedColumn) -> pa.Array:
    labels: list[str | None] = list(column.labels)
    if column.missing >= 0:
        labels[column.missing] = None
    values = pa.array(labels, pa.string())
    if pa.types.is_string(column.type):
        dictionary = pa.array([label for label in labels if label is not None], pa.string())
        if column.missing < 0:
            return pa.DictionaryArray.from_arrays(pa.array(column.codes), dictionary)
        codes = column.codes - (column.codes > column.missing)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=column.codes == column.missing), dictionary)
    return values.cast(column.type).take(pa.array(column.codes))


def _describe(release: Release, dataset: Dataset, models: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the public description; nothing in it is computed from the original beyond what the release shows."""
    columns: dict[str, dict[str, Any]] = {}
    for name in release.order:
        column = release.columns.get(name)
        if column is None:
            columns[name] = {"role": Role.OTHER.value}
            continue
        columns[name] = {"role": column.role.value, "kind": column.kind.value}
        if isinstance(column, CodedSets):
            columns[name]["separator"] = column.separator
    return {
        "format": FORMAT,
        "rows": release.n_rows,
        "missing": dataset.schema.missing[0] if dataset.schema.missing else "",
        "columns": columns,
        "models": models,
    }


def _check_released_columns(found: list[str], schema: Schema) -> None:
    """Raise unless every column that a requirement may need is there, and nothing is there that nobody judged."""
    problems = []
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        problems.append(f"The table has columns with the same name: {some(twice)}.")
    dispensable = (Role.IDENTIFIER, Role.OTHER)
    absent = [spec.name for spec in schema if spec.role not in dispensable and spec.name not in found]
    if absent:
        problems.append(
            f"The table lacks {len(absent)} column(s) of the plan: {some(absent, 20)}.\nIt has: {some(found, 20)}."
        )
    silent = [name for name in found if schema.spec(name) is None]
    if silent:
        problems.append(
            f"The table has {len(silent)} column(s) that the plan says nothing about: {some(silent, 20)}.\n"
            'Give each a role under [columns], or all of them with [columns."*"] role = "other".'
        )
    if problems:
        raise DataError("\n".join(problems))
