"""What an outsider gets: a table of labels and its public description.

A `Release` is made by publishing a recoding, or taken from any table of any tool. Audits see nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import TEXT, CodedColumn, CodedSets, Codes, Dataset, as_arrow, narrowed
from sfumato.data.distinct import carry, look_up, naming, occurring, text_codes
from sfumato.data.drawing import Drawn
from sfumato.data.encoding import check_released_columns, holds_sets
from sfumato.data.equal_rows import number_equal_rows
from sfumato.data.keystream import in_random_order
from sfumato.data.kinds import infer_kind, is_text, number_type, typed, value_type
from sfumato.data.knowledge import NOTHING_PUBLIC, PublicInputs
from sfumato.data.persons import numbers_of
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.sets import encode_sets, repeat_sets
from sfumato.data.strays import Stray, StrayKind, strays_among
from sfumato.data.variants import is_judged, variants_in_release
from sfumato.errors import DataError

FORMAT = 1
_ROWS = 1 << 22  # rows of a table that are made at once; the text of one column must stay below 2 GB

_Rows: TypeAlias = NDArray[np.int32]
_Maker: TypeAlias = Callable[[int, int], pa.Array | pa.ChunkedArray]  # rows first to last, as Arrow


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedColumn:
    """A column of labels as published: row r shows labels[codes[r]]; every label occurs."""

    name: str
    role: Role
    kind: Kind
    codes: Codes  # (n,)
    labels: tuple[str, ...]
    missing: int = -1  # code of the missing value, -1 when none is missing
    type: pa.DataType = TEXT  # how the labels are stored in a typed table
    spec: ColumnSpec | None = None  # what the plan declares of it: public hierarchy and domain
    several: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)  # as in a coded column


@dataclass(frozen=True, eq=False)
class Release:
    """A published table with its description."""

    columns: Mapping[str, ReleasedColumn | CodedSets]
    carried: pa.Table | None
    n_rows: int
    order: tuple[str, ...]  # all columns, in order
    description: Mapping[str, Any] = field(default_factory=dict)  # what release.json says
    public: PublicInputs = NOTHING_PUBLIC  # what everybody knows besides
    # (n,): how many published rows each row stands for, where equal ones are held once; None: one each.
    weights: NDArray[np.int64] | None = None
    # (total,): which of the rows here each published row is, in order, where equal ones are held once and written each.
    entry_of: Codes | None = None
    strays: tuple[Stray, ...] = ()  # what came along and does not belong there
    readme: str = ""  # what whoever receives it should know, in words; published along with it
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # the source's own, by column and label
    titles: Mapping[str, str] = field(default_factory=dict)  # what published columns are about, as the source says
    truth: Dataset | None = None  # the original, where whoever judges holds it: claims of chance can then be tested
    # Where a release is too large to be looked at as a whole: parts, each with all rows of some classes, and in each
    # part how common the values of single columns are in the whole.
    parts: Iterable[Release] | None = None
    whole: Mapping[str, Release] | None = None
    person_of: Codes | None = None  # (n,): whom each row is about, where people are judged (data/people.py)
    person: str | None = None  # the column that says so
    drawn: Drawn | None = None  # where these are rows drawn from a larger table
    sample: Release | None = None  # single rows with all columns, where those here lack some

    @property
    def total(self) -> int:
        """How many rows were published, equal ones counted as often as they occur."""
        return self.n_rows if self.weights is None else int(self.weights.sum())

    @property
    def quasi_identifiers(self) -> tuple[ReleasedColumn, ...]:
        """The quasi-identifiers, in order."""
        found = (column for column in self.columns.values() if column.role is Role.QUASI_IDENTIFIER)
        return tuple(column for column in found if isinstance(column, ReleasedColumn))

    @property
    def masked_columns(self) -> tuple[str, ...]:
        """The sensitive columns of which base rates are known, as it takes to read labels of a hierarchy in them."""
        found = (self.columns.get(name) for name in self.public.base_rates)
        return tuple(column.name for column in found if column is not None and column.role is Role.SENSITIVE)

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

    def weighted(self) -> Release:
        """Return the release with equal rows held once, where the first of them stood, and how many there are of each.

        It is for those who count rows, such as audits. What is published has every row.
        """
        number_of = number_equal_rows(self.columns, self.carried, self.n_rows)
        n_kinds = int(number_of.max(initial=-1)) + 1
        weights = np.zeros(n_kinds, dtype=np.int64)
        np.add.at(weights, number_of, 1 if self.weights is None else self.weights)
        first = np.full(n_kinds, self.n_rows, dtype=np.int32)
        np.minimum.at(first, number_of, np.arange(self.n_rows, dtype=np.int32))
        return self.rows(first, weights)

    def rows(self, rows: _Rows, weights: NDArray[np.int64] | None) -> Release:
        """Return some rows, and how many each of them stands for."""
        return replace(
            self,
            columns={name: _rows_of(column, rows) for name, column in self.columns.items()},
            carried=self.carried.take(as_arrow(rows)) if self.carried is not None else None,
            n_rows=rows.size,
            weights=weights,
        )

    def single_rows(self) -> Release:
        """Return the release with each row as often as it was published, equal ones side by side."""
        if self.weights is None:
            return self
        return self.rows(np.repeat(np.arange(self.n_rows, dtype=np.int32), self.weights), None)

    def table(self) -> pa.Table:
        """Return the release as an Arrow table: text as dictionaries, sets as lists, other values as they were."""
        return pa.concat_tables(self.batches(_ROWS))

    def batches(self, rows: int, *, numbers: bool = False) -> Iterator[pa.Table]:
        """Yield the table in parts of so many rows; a release without rows is one part.

        With `numbers`, number columns that came as text, as from a CSV file, become numbers unless generalized.
        """
        assert self.weights is None or self.entry_of is not None, "such a release is to be counted, not published"
        makers = [self._maker(name, numbers=numbers) for name in self.order]
        for first in range(0, max(self.total, 1), rows):
            last = min(first + rows, self.total)
            yield pa.Table.from_arrays([make(first, last) for make in makers], names=list(self.order))

    def _maker(self, name: str, *, numbers: bool) -> _Maker:
        column = self.columns.get(name)
        if column is None:
            assert self.carried is not None
            carried = self.carried.column(name)
            return lambda first, last: carried.slice(first, last - first)
        return _sets_maker(column) if isinstance(column, CodedSets) else self._values_maker(column, numbers=numbers)

    def codes_of(self, column: ReleasedColumn, first: int, last: int) -> Codes:
        """Return the codes of some published rows of a column."""
        return column.codes[first:last] if self.entry_of is None else column.codes.take(self.entry_of[first:last])

    def _values_maker(self, column: ReleasedColumn, *, numbers: bool) -> _Maker:
        missing = column.missing
        known = [label for code, label in enumerate(column.labels) if code != missing]
        as_number = numbers and is_text(column.type) and column.kind is Kind.NUMBER
        values = typed(known, number_type(known) if as_number else column.type)

        def make(first: int, last: int) -> pa.Array:
            codes, absent = self.codes_of(column, first, last), None
            if missing >= 0:
                absent = codes == missing
                codes = codes - (codes > missing)
                codes[absent] = 0  # some look below a null, too
            if is_text(values.type):
                return pa.DictionaryArray.from_arrays(as_arrow(codes, absent), values)
            return values.take(as_arrow(codes, absent))

        return make

    @classmethod
    def of(cls, table: Mapping[str, Sequence[Any]], **columns: str | Mapping[str, Any]) -> Release:
        """Take a small table as a release, to try something: of its columns is said what `Schema.of` takes."""
        return cls.from_table(pa.table(dict(table)), Schema.of(**columns))

    @classmethod
    def from_table(
        cls, table: pa.Table, schema: Schema, description: Mapping[str, Any] | None = None, *, narrow: bool = False
    ) -> Release:
        """Take any table as a release: the schema says which column plays which role.

        With `narrow`, codes are as narrow as they can be: for whoever holds equal rows once afterwards.
        """
        check_released_columns(table.column_names, schema)
        names, n_rows = table.column_names, table.num_rows
        columns: dict[str, ReleasedColumn | CodedSets] = {}
        specs = [(name, schema.spec(name)) for name in names]
        carried = [name for name, spec in specs if spec is not None and spec.role is Role.OTHER]
        strays = strays_among(specs, n_rows, description or {}, schema)
        rest = table.select(carried) if carried else None
        person_of, other_numbers = numbers_of(table, schema)
        waiting = [(spec, table.column(name)) for name, spec in reversed(specs) if spec is not None]
        del table  # like `encode`, this lets columns go one by one
        while waiting:
            spec, array = waiting.pop()
            if spec.role in (Role.IDENTIFIER, Role.OTHER):
                continue
            column = _released(array, spec, schema.missing, narrow=narrow)
            if narrow and isinstance(column, ReleasedColumn):
                column = replace(column, codes=narrowed(column.codes, len(column.labels)))
            columns[spec.name] = column
        spelled = spelling_strays(judged_texts(columns, schema), schema, n_rows)
        return cls(
            columns=columns,
            carried=rest,
            n_rows=n_rows,
            order=tuple(name for name in names if name in columns or name in carried),
            description=description or {},
            strays=(*strays, *other_numbers, *spelled),
            person_of=person_of,
            person=schema.person,
        )


def judged_texts(columns: Mapping[str, ReleasedColumn | CodedSets], schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return the texts of each column that must show each value in one spelling."""
    return {
        name: column.labels
        for name, column in columns.items()
        if is_text(column.type) and (spec := schema.spec(name)) is not None and is_judged(spec)
    }


def spelling_strays(texts: Mapping[str, Iterable[str]], schema: Schema, rows: int) -> tuple[Stray, ...]:
    """Return the columns of so many rows that show a value in several spellings, given the texts of each."""
    found = []
    for name, labels in texts.items():
        spec = schema.spec(name)
        assert spec is not None
        variants = variants_in_release(labels, spec, schema.missing)
        if variants is not None:
            found.append(Stray(StrayKind.SPELLINGS, name, rows, found=variants.counts))
    return tuple(found)


def _rows_of(column: ReleasedColumn | CodedSets, rows: _Rows) -> ReleasedColumn | CodedSets:
    return _take_sets(column, rows) if isinstance(column, CodedSets) else replace(column, codes=column.codes[rows])


def _released(
    array: pa.ChunkedArray, spec: ColumnSpec, missing: tuple[str, ...], *, narrow: bool = False
) -> ReleasedColumn | CodedSets:
    if holds_sets(array.type, spec):
        return encode_sets(array, spec, missing)
    if spec.role is Role.SENSITIVE_QUASI_IDENTIFIER:  # what is missing may be a value of its own there
        missing = tuple(marker for marker in missing if marker not in (spec.domain or ()))
    with naming(spec.name):
        codes, labels, has_missing = text_codes(array, missing, narrow=narrow)
    kind = spec.kind or infer_kind(labels, value_type(array.type))
    if has_missing:
        labels.append(missing[0] if missing else "")
    return ReleasedColumn(
        name=spec.name,
        role=spec.role,
        kind=kind,
        codes=codes,
        labels=tuple(labels),
        missing=len(labels) - 1 if has_missing else -1,
        type=value_type(array.type),
        spec=spec,
    )


def publish(
    dataset: Dataset, recoding: Recoding, models: Sequence[Mapping[str, Any]], key: bytes | None = None
) -> Release:
    """Turn codes back into labels; rows in the order of a key, or as they were when it is None."""
    rows: _Rows | None = None
    if recoding.keep_row is not None:
        rows = np.flatnonzero(recoding.keep_row).astype(np.int32)
    if key is not None:
        rows = np.arange(dataset.n_rows, dtype=np.int32) if rows is None else rows
        rows = in_random_order(rows, key)
    columns = {name: _published(column, recoding, rows, dataset.schema) for name, column in dataset.columns.items()}
    release = Release(
        columns=columns,
        carried=_carried(dataset.carried, rows) if dataset.carried is not None else None,
        n_rows=dataset.n_rows if rows is None else rows.size,
        order=dataset.order,
    )
    return replace(release, description=_describe(release, dataset, models, recoding))


def _published(
    column: CodedColumn | CodedSets, recoding: Recoding, rows: _Rows | None, schema: Schema
) -> ReleasedColumn | CodedSets:
    new = recoding.columns.get(column.name)
    if isinstance(new, CodedSets):
        return _take_sets(new, rows)
    if isinstance(column, CodedSets):
        return _take_sets(column, rows)
    labels, missing = column.labels, column.missing
    if new is not None:
        new, missing = _tidy(new, column)
        labels = new.labels
    codes = column.codes if new is None else new.codes
    if rows is not None:
        chosen = np.empty(rows.size, dtype=np.int32)
        look_up(codes, rows, chosen)
        codes = chosen
    codes, used = _used_only(codes, len(labels), ours=rows is not None)
    kept = tuple(label for label, occurs in zip(labels, used, strict=True) if occurs)
    return ReleasedColumn(
        name=column.name,
        role=column.role,
        kind=column.shown_kind,
        codes=codes,
        labels=kept,
        missing=int(used[:missing].sum()) if missing >= 0 and used[missing] else -1,
        type=column.type if new is None else TEXT,
        spec=schema.spec(column.name),
        several=column.several,
    )


def _tidy(new: Labelled, column: CodedColumn) -> tuple[Labelled, int]:
    """Return the labels once each and in the order of their text, and the code of the missing value or -1.

    The order in which an anonymizer came across its labels may say something about the original rows.
    """
    nothing = column.labels[column.missing] if column.missing >= 0 else None
    if nothing is None and new.missing >= 0:
        nothing = new.labels[new.missing]
    labels = sorted(set(new.labels))
    code_of = {label: code for code, label in enumerate(labels)}
    if list(new.labels) != labels:
        codes = np.empty_like(new.codes)
        look_up(np.array([code_of[label] for label in new.labels], dtype=np.int32), new.codes, codes)
        new = Labelled(codes=codes, labels=tuple(labels))
    return new, code_of.get(nothing, -1) if nothing is not None else -1


def _used_only(codes: Codes, n_labels: int, *, ours: bool) -> tuple[Codes, NDArray[np.bool_]]:
    """Return codes renumbered so that each occurs, in place if they are ours, and which of the labels stay.

    Labels that do not occur must not leave the house, not even in a dictionary.
    """
    used = occurring(codes, n_labels)
    if used.all():
        return codes, used
    renumbered = codes if ours else np.empty_like(codes)
    look_up(np.cumsum(used, dtype=np.int32) - np.int32(1), codes, renumbered)
    return renumbered, used


def _take_sets(sets: CodedSets, rows: _Rows | None) -> CodedSets:
    """Return the sets of some rows, with the labels that occur in them only; a declared domain is public as a whole."""
    if isinstance(sets, BitSets):
        return sets.published(rows)
    items, start = (sets.items, sets.start) if rows is None else repeat_sets(sets.items, sets.start, rows)
    items, used = _used_only(items, len(sets.labels), ours=rows is not None)
    return replace(
        sets,
        items=items,
        start=start,
        labels=tuple(label for label, occurs in zip(sets.labels, used, strict=True) if occurs),
        sensitive=sets.sensitive[used] if sets.sensitive is not None else None,
        spellings={},
    )


def _carried(table: pa.Table, rows: _Rows | None) -> pa.Table:
    """Return some rows of the columns that are carried along, again without labels that do not occur."""
    arrays = []
    for array in table.columns:
        if rows is not None:
            array = array.combine_chunks().take(as_arrow(rows))
            array = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
        arrays.append(carry(array))
    return pa.Table.from_arrays(arrays, names=table.column_names)


# Codes to Arrow.


def _sets_maker(column: CodedSets) -> _Maker:
    values = typed(column.labels, column.type)

    def make(first: int, last: int) -> pa.Array:
        start, items = members_of(column, first, last)
        return pa.LargeListArray.from_arrays(as_arrow(start), values.take(as_arrow(items)))

    return make


def members_of(column: CodedSets, first: int, last: int) -> tuple[NDArray[np.int64], Codes]:
    """Return where the sets of some rows begin and end among their members, and these members."""
    if isinstance(column, BitSets):
        part = column.with_packed(column.packed[first:last])
        return part.start, part.items
    start = column.start[first : last + 1]
    return start - start[0], column.items[start[0] : start[-1]]


def n_members(column: CodedSets) -> int:
    """Return how many members all sets have together."""
    return int(column.size.sum()) if isinstance(column, BitSets) else column.items.size


def _describe(
    release: Release, dataset: Dataset, models: Sequence[Mapping[str, Any]], recoding: Recoding
) -> dict[str, Any]:
    """Return the public description; nothing in it is computed from the original beyond what a reader needs."""
    columns = describe_columns(release)
    for name, more in recoding.public.items():
        columns[name] |= more
    dropped = dataset.n_rows - release.n_rows
    return {
        "format": FORMAT,
        "rows": release.n_rows,
        **({"rows_dropped": dropped} if dropped else {}),
        "missing": dataset.schema.missing[0] if dataset.schema.missing else "",
        "columns": columns,
        "models": [dict(model) for model in models],
    }


def describe_columns(release: Release) -> dict[str, dict[str, Any]]:
    """Return role and kind of each column, as release.json shows them."""
    described: dict[str, dict[str, Any]] = {name: {"role": Role.OTHER.value} for name in release.order}
    for name, column in release.columns.items():
        described[name] = {"role": column.role.value, "kind": column.kind.value}
        if isinstance(column, CodedSets):
            described[name]["separator"] = column.separator
    return described
