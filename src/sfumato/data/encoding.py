"""From a table as found to coded columns: roles checked, identifiers dropped, kinds inferred and stated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from sfumato.data.codebook import Codebook
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset, narrowed
from sfumato.data.distinct import Placed, Tally, carry, naming
from sfumato.data.hierarchy import some
from sfumato.data.kinds import is_list
from sfumato.data.names import repeated
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.sets import PlacedSets, SetCodebook, encode_sets
from sfumato.errors import DataError, HierarchyError, did_you_mean
from sfumato.progress import SILENT, Progress

_Encoder: TypeAlias = Callable[[pa.ChunkedArray, ColumnSpec], CodedColumn | CodedSets]


def encode(table: pa.Table, schema: Schema, progress: Progress = SILENT, *, narrow: bool = False) -> Dataset:
    """Return the table in codes, or raise with everything in the schema that does not fit the table.

    With `narrow`, codes of single values are as narrow as they can be: for whoever holds equal rows once afterwards.
    Identifiers need not be in the table any more. The columns are let go one after the other: who hands over the last
    reference to the table never holds both in full.
    """
    stage = progress.stage("encode", total=table.num_columns)

    def coded(array: pa.ChunkedArray, spec: ColumnSpec) -> CodedColumn | CodedSets:
        stage.advance()
        column = encode_column(array, spec, schema.missing, narrow=narrow, normalize=schema.normalize)
        if narrow and isinstance(column, CodedColumn):
            column = replace(column, codes=narrowed(column.codes, len(column.labels)))
        return column

    box = [table]
    del table
    dataset = _encode(box, schema, coded)
    stage.done()
    return dataset


@dataclass(frozen=True, eq=False)
class Codebooks:
    """The codebooks of a whole table, by which its parts are coded alike.

    >>> schema = Schema(rest=Role.SENSITIVE)
    >>> parts = [pa.table({"a": ["x", "y"]}), pa.table({"a": ["w", "y"]})]
    >>> books = Codebooks.of(add_tallies(tally(part, schema) for part in parts), schema)
    >>> books.by_column["a"].column.labels, [books.encode(part).column("a").codes.tolist() for part in parts]
    (('w', 'x', 'y'), [[1, 2], [0, 2]])
    """

    schema: Schema
    by_column: Mapping[str, Codebook | SetCodebook]

    @classmethod
    def of(cls, tallies: Mapping[str, Tally], schema: Schema) -> Codebooks:
        """Decide about every column that is coded, or raise with everything that does not fit."""
        books: dict[str, Codebook | SetCodebook] = {}
        problems = []
        for name, counted in tallies.items():
            spec = schema.spec(name)
            assert spec is not None
            try:
                if counted.sets or holds_sets(counted.type, spec):
                    books[name] = SetCodebook.of(counted, spec, normalize=schema.normalize)
                else:
                    books[name] = Codebook.of(counted, spec, schema.missing, normalize=schema.normalize)
            except (DataError, HierarchyError) as error:
                problems.append(str(error))
        if problems:
            raise DataError("\n".join(problems))
        return cls(schema, books)

    def encode(self, table: pa.Table) -> Dataset:
        """Return the table, or a part of it, in codes; nothing is decided any more."""

        def by_book(array: pa.ChunkedArray, spec: ColumnSpec) -> CodedColumn | CodedSets:
            book = self.by_column[spec.name]
            if isinstance(book, SetCodebook):
                return book.encode(PlacedSets.of(array, spec, self.schema.missing))
            return book.encode(_placed(array, spec))

        return _encode([table], self.schema, by_book)


def tally(table: pa.Table, schema: Schema) -> dict[str, Tally]:
    """Return the tally of each column that is coded."""
    tallies = {}
    for name in table.column_names:
        spec, array = schema.spec(name), table.column(name)
        if spec is None or spec.role in (Role.IDENTIFIER, Role.OTHER):
            continue
        _refuse_lists_of_single_values(array.type, spec)
        if holds_sets(array.type, spec):
            tallies[name] = PlacedSets.of(array, spec, schema.missing).members.tally
        else:
            tallies[name] = _placed(array, spec).tally
    return tallies


def add_tallies(parts: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """Return the tallies of a table from those of its parts."""
    whole: dict[str, Tally] = {}
    for part in parts:
        for name, counted in part.items():
            whole[name] = whole[name] + counted if name in whole else counted
    return whole


def encode_column(
    array: pa.ChunkedArray,
    spec: ColumnSpec,
    missing: tuple[str, ...],
    *,
    narrow: bool = False,
    normalize: bool = False,
) -> CodedColumn | CodedSets:
    """Return one column in codes; with `narrow`, those of single values may come in narrower integers."""
    _refuse_lists_of_single_values(array.type, spec)
    if holds_sets(array.type, spec):
        return encode_sets(array, spec, missing, normalize=normalize)
    placed = _placed(array, spec, narrow=narrow)
    return Codebook.of(placed.tally, spec, missing, normalize=normalize).encode(placed)


def holds_sets(found_type: pa.DataType, spec: ColumnSpec) -> bool:
    """Whether a column is one of sets: so declared, or found as lists."""
    return spec.holds_sets or is_list(found_type)


def _refuse_lists_of_single_values(found_type: pa.DataType, spec: ColumnSpec) -> None:
    if is_list(found_type) and spec.kind not in (None, Kind.SET):
        raise DataError(f"Column {spec.name!r} is declared as {spec.kind} but holds lists.\nDeclare it as a set.")


def _placed(array: pa.ChunkedArray, spec: ColumnSpec, *, narrow: bool = False) -> Placed:
    with naming(spec.name):
        return Placed.of(array, narrow=narrow)


def _encode(box: list[pa.Table], schema: Schema, encoder: _Encoder) -> Dataset:
    """Return the table that is in the box, which is taken out."""
    table = box.pop()
    names, n_rows = table.column_names, table.num_rows
    dropped = [name for name in schema.named(Role.IDENTIFIER) if name not in names]
    check_columns(names, schema, dropped)
    if n_rows >= 2**31:
        raise DataError(f"The table has {n_rows:,} rows; one machine takes up to {2**31 - 1:,}.\nUse the Spark engine.")
    waiting = [(name, table.column(name)) for name in reversed(names)]
    del table
    columns: dict[str, CodedColumn | CodedSets] = {}
    carried: dict[str, pa.ChunkedArray] = {}
    problems: list[str] = []
    while waiting:
        name, array = waiting.pop()
        spec = schema.spec(name)
        if spec is None or spec.role is Role.IDENTIFIER:
            continue
        try:
            if spec.role is Role.OTHER:
                with naming(name):
                    carried[name] = carry(array)
            else:
                columns[name] = encoder(array, spec)
        except (DataError, HierarchyError) as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    return Dataset(
        schema=schema,
        columns=columns,
        carried=pa.Table.from_arrays(list(carried.values()), names=list(carried)) if carried else None,
        n_rows=n_rows,
        order=tuple(name for name in names if name in columns or name in carried),
    )


def check_columns(found: Sequence[str], schema: Schema, dropped: Collection[str] = ()) -> None:
    """Raise unless each column of the table has a role and each column of the schema is in the table, once.

    `dropped` are columns that were let go before, or may be.
    """
    problems = []
    if twice := repeated(found):
        problems.append(f"The table has columns with the same name: {some(twice)}.\nRename them in the file.")
    if schema.columns and schema.rest is None and set(schema.columns).isdisjoint(found):
        raise DataError(  # without their names: they may be somebody's record
            f"The plan names {len(schema.columns)} column(s), but the table has none of them "
            f"and {len(found)} others.\n"
            "Check that the file begins with a line of column names, and that the plan is about this file."
        )
    for name in schema.columns:
        if name not in found and name not in dropped:
            problems.append(
                f"The plan names a column that the table does not have: {name!r}.{did_you_mean(name, found)}"
            )
    if alike := {name: like for name in found if (like := schema.lookalike(name)) and schema.spec(name) is None}:
        pairs = ", ".join(f"{name!r} (as {like!r})" for name, like in alike.items())
        problems.append(
            f"The table has {len(alike)} column(s) whose names differ from names in the plan only in case or blanks: "
            f"{pairs}.\n"
            'Give each a role of its own under [columns]: the role of "*" does not apply to them.'
        )
    if silent := [name for name in found if schema.spec(name) is None and name not in alike]:
        problems.append(
            f"The plan says nothing about {len(silent)} column(s) of the table: {some(silent, 20)}.\n"
            'Give each a role under [columns], or all of them with [columns."*"] role = "other".'
        )
    if problems:
        raise DataError("\n".join(problems))


def check_released_columns(found: list[str], schema: Schema) -> None:
    """Raise unless every column that a requirement may need is there."""
    problems = []
    if twice := repeated(found):
        problems.append(f"The table has columns with the same name: {some(twice)}.")
    dispensable = (Role.IDENTIFIER, Role.OTHER)
    if absent := [spec.name for spec in schema if spec.role not in dispensable and spec.name not in found]:
        problems.append(
            f"The table lacks {len(absent)} column(s) of the plan: {some(absent, 20)}.\nIt has: {some(found, 20)}."
        )
    if problems:
        raise DataError("\n".join(problems))
