"""Coded data: what every algorithm works on.

n rows, v values of a column. Codes are int32 in a meaningful order: numbers by value, categories by the leaves of their
hierarchy (else by text), ordered columns as declared; a missing value is a value of its own and comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.drawing import Drawn
from sfumato.data.hierarchy import Hierarchy, Tree
from sfumato.data.schema import Kind, Role, Schema
from sfumato.errors import DataError

Codes: TypeAlias = NDArray[np.int32]
TEXT = pa.string()
STEP = 1 << 16  # rows, or members of sets, worked on at once: what is made of them stays in the cache
_DENSE = 1 << 27  # keys at most of which each has a place of its own while distinct ones are counted
_FEW = 1 << 22  # of which places are found quickly
_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}  # by their names in Arrow


def as_arrow(values: NDArray[Any], absent: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers or truth values as Arrow sees them, numbers in place, null where `absent`.

    Unlike `pa.array` this does not load pandas, where it is installed, to have a look at them first.
    """
    size = values.size
    valid = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    if values.dtype == np.bool_:
        values = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(kind, size, [valid, pa.py_buffer(np.ascontiguousarray(values))])


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """Return the type of numbers or truth values in numpy: Arrow's own answer takes pandas in its earlier versions.

    >>> dtype_of(pa.int8()), dtype_of(pa.float64()), dtype_of(pa.bool_())
    (dtype('int8'), dtype('float64'), dtype('bool'))
    """
    return np.dtype(_FLOATS.get(str(kind), str(kind)))


def as_numpy(array: pa.Array) -> NDArray[Any]:
    """Return numbers or truth values as numpy sees them, numbers in place; what lies below a null is anything."""
    content = array.buffers()[1]
    if content is None or not len(array):
        return np.empty(0, dtype=dtype_of(array.type))
    first, last = array.offset, array.offset + len(array)
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(content, dtype=np.uint8)
        return np.unpackbits(bits, count=last, bitorder="little")[first:].view(np.bool_)
    return np.frombuffer(content, dtype=dtype_of(array.type), count=last)[first:]


def starts_of(sizes: NDArray[Any] | Sequence[int]) -> NDArray[np.int64]:
    """Return where runs of these sizes begin, one behind the other, and where the last one ends, (n + 1,).

    >>> starts_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    start = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=start[1:])
    return start


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedColumn:
    """A column of single values."""

    name: str
    role: Role
    kind: Kind
    codes: Codes  # (n,)
    labels: tuple[str, ...]  # (v,), as found in the data
    values: NDArray[np.float64] | None = None  # (v,), numbers only; nan where missing
    missing: int = -1  # code of the missing value, -1 when none is missing
    hierarchy: Hierarchy | None = None
    type: pa.DataType = TEXT  # as found in the data, to publish unchanged values the same way
    kind_inferred: bool = False
    dates: bool = False  # an ordered column whose order is that of time
    weight: float = 1.0  # of a quasi-identifier: what its detail counts beside that of others
    ends: tuple[str, str] | None = None  # of numbers and dates: the lowest and the highest value of a declared domain
    notice: str = ""  # what the holder should know of its values, to go on "Column 'age' has"
    counts: NDArray[np.int64] | None = None  # (v,): rows of the whole table by code, where its rows are not all here
    # Of people with several rows: which values a label stands for, where these differ; None is a missing one.
    several: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by label: others that were read as it

    @property
    def occurrences(self) -> NDArray[np.int64]:
        """How many rows of the whole table hold each code, (v,)."""
        return self.counts if self.counts is not None else counted(self.codes, len(self.labels))

    @property
    def shown_kind(self) -> Kind:
        """The kind as the plan has it: dates are coded as ordered values."""
        return Kind.DATE if self.dates else self.kind

    @cached_property
    def tree(self) -> Tree | None:
        """The hierarchy over this column's codes."""
        return Tree.over(self.hierarchy, self.labels, self.missing) if self.hierarchy is not None else None

    def interval_loss(self, first: Codes, last: Codes) -> NDArray[np.float64]:
        """Return the loss of publishing "some value from `first` to `last`", each in 0..1 and of the same shape.

        Numbers: the width of the interval over the width of the column. Others: (values covered - 1) / (values - 1).
        An interval that mixes the missing value with others loses everything.
        """
        first, last = np.asarray(first), np.asarray(last)
        if self.values is None:
            return (last - first) / max(len(self.labels) - 1, 1)
        known = self.values[~np.isnan(self.values)]
        width = float(known[-1] - known[0]) if known.size else 0.0
        loss = np.nan_to_num(self.values[last] - self.values[first], nan=0.0) / (width or 1.0)
        if self.missing >= 0:
            loss = np.where((last == self.missing) & (first < last), 1.0, loss)
        return loss

    def node_loss(self) -> NDArray[np.float64]:
        """Return the loss of publishing each node of the tree, shape (m,); the root loses 1 unless one value occurs."""
        if self.tree is None:
            raise DataError(f"Column {self.name!r} has no hierarchy.\nGive it one in the plan.")
        return self.interval_loss(self.tree.first, self.tree.last)


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedSets:
    """A column whose cells are sets: row r holds items[start[r]:start[r + 1]], ascending, without repeats."""

    name: str
    role: Role
    items: Codes
    start: NDArray[np.int64]  # (n + 1,)
    labels: tuple[str, ...]  # (v,)
    separator: str = "|"
    sensitive: NDArray[np.bool_] | None = None  # (v,), role items only
    kind: Kind = Kind.SET
    type: pa.DataType = TEXT  # of a member, as found in the data
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # as in a column of single values

    def cell(self, row: int) -> tuple[str, ...]:
        """Return the labels in one row."""
        return tuple(self.labels[item] for item in self.items[self.start[row] : self.start[row + 1]])

    @property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each item, (items,)."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def with_items(self, row_of: NDArray[np.int64], items: NDArray[Any], **changes: Any) -> CodedSets:
        """Return the column with other items, given the row of each, ascending."""
        size = np.bincount(row_of, minlength=self.start.size - 1)
        return replace(self, items=items.astype(np.int32), start=starts_of(size), **changes)


def narrowed(codes: Codes, n_labels: int) -> NDArray[Any]:
    """Return codes as narrow as they can be, of one, two or four bytes: for keeping, not for work."""
    return codes.astype(np.int8 if n_labels <= 2**7 else np.int16 if n_labels <= 2**15 else np.int32, copy=False)


def weights_of(columns: Sequence[CodedColumn]) -> NDArray[np.float64]:
    """Return what the loss of each column counts, 1 on average, or raise when no column's does; shape (columns,)."""
    weights = np.array([column.weight for column in columns], dtype=np.float64)
    if weights.size and not weights.any():
        raise DataError(
            f"A loss is to be minimized, but each of the {weights.size:,} quasi-identifiers has weight = 0.\n"
            "Give at least one a weight above 0."
        )
    return weights * (weights.size / weights.sum()) if weights.size else weights


def visible_labels(column: CodedColumn, markers: Sequence[str]) -> tuple[str, ...]:
    """Return what stands for each code inside a set: a missing value is the first marker that can be seen, if any."""
    if column.missing < 0:
        return column.labels
    marker = next((marker.strip() for marker in markers if marker.strip()), "")
    return (*column.labels[: column.missing], marker, *column.labels[column.missing + 1 :])


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table in codes. Identifiers are gone; columns with role `other` are carried along as they were found."""

    schema: Schema
    columns: Mapping[str, CodedColumn | CodedSets]
    carried: pa.Table | None
    n_rows: int
    order: tuple[str, ...]  # all columns to publish, in the order of the source
    # (n,): how many rows of the table each row stands for, where equal ones are held once; None: one each.
    weights: NDArray[np.int64] | None = None
    # How many rows the whole table has, where these are some of them; `counts` of its columns are then about all.
    whole: int | None = None
    # (total,): which of the rows here each row of the table is, where equal ones are held once and that is known.
    entry_of: Codes | None = None
    rows: RowsOf | None = None  # where each row is a person with several: these, all of which are published
    drawn: Drawn | None = None  # where these are rows drawn from a larger table
    sample: Dataset | None = None  # single rows with all columns, where those here lack some
    # The distinct rows of columns of terms, with weights, where these columns have no rows here.
    of_terms: Dataset | None = None

    @property
    def total(self) -> int:
        """How many rows the table has, equal ones counted as often as they occur."""
        if self.whole is not None:
            return self.whole
        return self.n_rows if self.weights is None else int(self.weights.sum())

    @property
    def held(self) -> Dataset:
        """The same with only those columns whose rows are here, which are not all where a table is divided."""

        def is_held(column: CodedColumn | CodedSets) -> bool:
            size = column.codes.size if isinstance(column, CodedColumn) else column.start.size - 1
            return size == self.n_rows

        columns = {name: column for name, column in self.columns.items() if is_held(column)}
        carried = set(self.carried.column_names if self.carried is not None else ())
        return replace(self, columns=columns, order=tuple(name for name in self.order if name in {*columns, *carried}))

    def standing_for(self, row_of: NDArray[np.int64], weights: NDArray[np.int64] | None) -> Dataset:
        """Return single values of some rows, each as often as it is named, and how many rows each stands for."""
        held = self.held
        columns: dict[str, CodedColumn | CodedSets] = {
            name: replace(column, codes=column.codes[row_of], counts=column.occurrences)
            for name, column in held.columns.items()
            if isinstance(column, CodedColumn)
        }
        columns = {**self.columns, **columns}
        return replace(self, columns=columns, n_rows=row_of.size, weights=weights, entry_of=None, carried=None)

    def weights_in(self, rows: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Return the weights of some rows, or of all."""
        return self.weights if self.weights is None or rows is None else self.weights[rows]

    def with_role(self, *roles: Role) -> tuple[CodedColumn | CodedSets, ...]:
        """Return the columns with one of these roles, in order."""
        return tuple(column for column in self.columns.values() if column.role in roles)

    @property
    def quasi_identifiers(self) -> tuple[CodedColumn, ...]:
        """The quasi-identifiers, in order."""
        return tuple(column for column in self.with_role(Role.QUASI_IDENTIFIER) if isinstance(column, CodedColumn))

    def column(self, name: str) -> CodedColumn:
        """Return a column of single values by name."""
        column = self.columns.get(name)
        if not isinstance(column, CodedColumn):
            found = "holds sets" if column is not None else "is not among the coded columns"
            raise DataError(f"Column {name!r} was asked for as a column of single values, but {found}.")
        return column


@dataclass(frozen=True, eq=False)
class RowsOf:
    """The rows of people, as they were found, without the numbers of people."""

    table: Dataset
    person_of: Codes  # (n,): each row's place in the table of people
    varying: frozenset[str]  # quasi-identifiers that differ between rows of a person


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct combinations of some columns, each once with its weight, in ascending order of codes."""

    codes: Codes  # (c, columns)
    weight: NDArray[np.int64]  # (c,)
    distinct_of: Codes  # (n,)


def distinct_rows(columns: Sequence[CodedColumn], n_rows: int) -> DistinctRows:
    """Count identical rows once: cost afterwards follows distinct rows, not rows.

    >>> import numpy as np
    >>> column = lambda codes: CodedColumn(name="a", role=Role.OTHER, kind=Kind.CATEGORY,
    ...     codes=np.array(codes, np.int32), labels=("x", "y"))
    >>> distinct = distinct_rows([column([0, 1, 0]), column([1, 0, 1])], 3)
    >>> distinct.codes.tolist(), distinct.weight.tolist(), distinct.distinct_of.tolist()
    ([[0, 1], [1, 0]], [2, 1], [0, 1, 0])
    """
    return distinct_codes([(column.codes, len(column.labels)) for column in columns], n_rows)


def counted(codes: NDArray[Any], size: int, weights: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return how many rows have each of the codes 0 to size - 1, (size,), given how many each row stands for.

    >>> counted(np.array([0, 2, 2]), 3).tolist(), counted(np.array([0, 2, 2]), 3, np.array([5, 1, 3])).tolist()
    ([1, 0, 2], [5, 0, 4])
    """
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, codes.size, STEP):
        part = codes[start : start + STEP]
        if weights is not None:
            np.add.at(counts, part, weights[start : start + STEP])
        elif size > part.size:
            np.add.at(counts, part, 1)
        else:
            counts += np.bincount(part, minlength=size)
    return counts


def distinct_codes(
    columns: Sequence[tuple[Codes, int]], n_rows: int, weights: NDArray[np.int64] | None = None
) -> DistinctRows:
    """Do the same for codes with how many values each column has, and how many rows each row stands for.

    Columns are taken together as far as their combinations are few, those that occur are numbered, and the next ones
    join these: so each row is looked at a few times only, and tables of combinations stay small.
    """
    dense = min(max(4 * n_rows, 1 << 20), _DENSE)
    few = min(_FEW, dense)
    distinct_of: Codes = np.zeros(n_rows, dtype=np.int32)
    number_of, n_distinct = np.zeros(1, dtype=np.int32), min(n_rows, 1)
    of_distinct: list[Codes] = []
    waiting = list(columns)
    while waiting:
        span, taken = n_distinct, 0
        if n_distinct * waiting[0][1] > few:
            few = dense  # so many combinations occur that it does not help to number them often
        while taken < len(waiting) and (not taken or span * waiting[taken][1] <= few):
            span *= waiting[taken][1]
            taken += 1
        together, waiting = waiting[:taken], waiting[taken:]
        join = _joined if span <= dense else _joined_by_hash
        number_of, keys = join(distinct_of, number_of, together, span)
        n_distinct, found = keys.size, []
        for _, n_values in reversed(together):
            keys, codes = np.divmod(keys, n_values)
            found.append(codes.astype(np.int32))
        of_distinct = [*(codes[keys] for codes in of_distinct), *reversed(found)]
    for start in range(0, n_rows, STEP):
        distinct_of[start : start + STEP] = number_of.take(distinct_of[start : start + STEP])
    codes = np.empty((n_distinct, len(columns)), dtype=np.int32)
    for position, each in enumerate(of_distinct):
        codes[:, position] = each
    return DistinctRows(codes=codes, weight=counted(distinct_of, n_distinct, weights), distinct_of=distinct_of)


_Numbered: TypeAlias = tuple[Codes, NDArray[np.int64]]  # the number of each key, and the keys in ascending order


def _joined(distinct_of: Codes, number_of: Codes, columns: Sequence[tuple[Codes, int]], span: int) -> _Numbered:
    """Join columns, all keys below `span`: put the key of each row into `distinct_of`, and number the keys."""
    occurs, room = np.zeros(span, dtype=np.bool_), np.empty(STEP, dtype=np.int64)
    for start in range(0, distinct_of.size, STEP):
        keys = _keys(distinct_of, number_of, columns, start, room)
        occurs[keys] = True
        distinct_of[start : start + STEP] = keys
    distinct = np.flatnonzero(occurs)
    number_of = np.empty(span, dtype=np.int32)
    number_of[distinct] = np.arange(distinct.size, dtype=np.int32)
    return number_of, distinct


def _joined_by_hash(distinct_of: Codes, number_of: Codes, columns: Sequence[tuple[Codes, int]], span: int) -> _Numbered:
    """Do the same where keys are too many for a place each: into `distinct_of` goes where a key occurred first."""
    wide = np.empty(distinct_of.size, dtype=np.int64)
    for start in range(0, distinct_of.size, STEP):
        _keys(distinct_of, number_of, columns, start, wide[start : start + STEP])
    encoded = as_arrow(wide).dictionary_encode()
    distinct_of[:] = as_numpy(encoded.indices)
    distinct = as_numpy(encoded.dictionary)
    order = np.argsort(distinct)
    number_of = np.empty(distinct.size, dtype=np.int32)
    number_of[order] = np.arange(distinct.size, dtype=np.int32)
    return number_of, distinct[order]


def _keys(
    distinct_of: Codes, number_of: Codes, columns: Sequence[tuple[Codes, int]], start: int, room: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the keys of some rows in a given room: who asks for a new one each time pays for clearing it."""
    part = distinct_of[start : start + STEP]
    keys = room[: part.size]
    keys[:] = number_of.take(part) if number_of.size > 1 else 0
    for codes, n_values in columns:
        keys *= n_values
        keys += codes[start : start + STEP]
    return keys
