"""Anything else that has an ODBC driver, by arrow-odbc: standard SQL, tables without lists.

Each database has words of its own for what standard SQL leaves open; they are tried one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.files.databases.base import BATCH, Batches, Column, Refused, TypedSession, quoted, relation_of
from sfumato.data.files.databases.cells import bytes_in, text_or_numbers
from sfumato.data.files.databases.failures import BAD_ADDRESS, BROKEN_OFF, NO_ANSWER, SECONDS, each_of, telling, within
from sfumato.data.files.source import needed
from sfumato.data.kinds import is_text
from sfumato.errors import DataError

_BYTES = 1 << 26  # of a batch on its way; fewer rows come at once where cells may be long
_TEXT = 1 << 12  # bytes of a cell where the driver does not say; a longer one is refused, never cut
_SNAPSHOTS = (
    "set transaction isolation level repeatable read, read only",
    "set transaction isolation level repeatable read",
    "set transaction read only",
)
_STATES = {"IM002": BAD_ADDRESS, "IM003": BAD_ADDRESS, "01000": BAD_ADDRESS, "HYT00": NO_ANSWER, "HYT01": NO_ANSWER}
# Told as no connection by some.
_LOGINS = ("authentication failed", "Login failed", "Access denied", "invalid username")


def _state(error: Exception) -> str:
    if any(word in str(error) for word in _LOGINS):
        return "28000"
    found = re.search(r"State: (\w{5})", str(error))
    return _STATES.get(found[1], found[1]) if found else BROKEN_OFF


_telling = partial(telling, "arrow_odbc", _state)


class OdbcSession(TypedSession):
    """A transaction of a database that ODBC knows."""

    engine: ClassVar[str] = "a database by ODBC"
    transactional: ClassVar[bool] = False  # some make tables at once, and it is not known which one this is

    def __init__(self, address: str, path: Path, *, writes: bool) -> None:
        try:
            driver = needed("arrow_odbc", path)
        except OSError:
            raise DataError(
                f"{path} needs ODBC, but the driver manager is not installed here.\n"
                "Install it (on Debian: apt install unixodbc) and the driver of the database."
            ) from None
        text = re.sub(r"^\s*odbc:", "", address, flags=re.IGNORECASE)
        with _telling():
            self._connection: Any = within(
                SECONDS, lambda: driver.connect(text, login_timeout_sec=int(SECONDS), autocommit=False)
            )
        self._made: str | None = None  # a table that has no name yet, and may be there already
        if not writes:
            self._first_that_works(_SNAPSHOTS)

    def rows(self, relation: str) -> int:
        """Return how many rows there are."""
        return int(next(self._read(f"select count(*) as n from {relation}")).column(0)[0].as_py())

    def batches(self, relation: str, columns: Iterable[Column], limit: int | None = None) -> Batches:
        """Yield the columns in batches; who wants the first rows only stops when there are enough."""
        columns = list(columns)
        schema = pa.schema([(column.name, column.kind) for column in columns])
        for batch in self._read(f"select {', '.join(column.selected for column in columns)} from {relation}"):
            yield pa.record_batch([array.cast(field.type) for array, field in zip(batch, schema, strict=True)], schema)

    def tables(self) -> list[str]:
        """Return the names of all tables and views, where the database tells them as standard SQL does; else none."""
        sql = "select table_schema as s, table_name as n from information_schema.tables"
        found: set[tuple[str, str]] = set()
        with suppress(Refused):
            for batch in self._read(sql):
                found.update(zip(*(map(str, column.to_pylist()) for column in batch), strict=True))
        own = ("pg_catalog", "information_schema", "sys", "mysql", "performance_schema")
        return [f"{schema}.{name}" for schema, name in sorted(found) if schema.lower() not in own and "." not in name]

    def exists(self, table: str) -> bool:
        """Whether there is such a table or view, as standard SQL tells it."""
        schema, _, name = table.rpartition(".")
        sql = "select count(*) as n from information_schema.tables where table_name = ?"
        found = self._read(sql + (" and table_schema = ?" if schema else ""), [name, schema] if schema else [name])
        return bool(next(found).column(0)[0].as_py())

    def create(self, table: str, parts: Iterable[pa.Table], separators: Mapping[str, str]) -> Iterator[int]:
        """Make a table and fill it: numbers, and text as wide as it has to be."""
        made = [_storable(part, separators) for part in parts]
        kinds = {name: _declared(name, made) for name in made[0].column_names}
        declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())
        self._execute(f"create table {relation_of(table, None)} ({declared})")
        self._made = table
        for part in made:
            if part.num_rows:
                with _telling():
                    self._connection.from_table_to_db(part, relation_of(table, None), BATCH)
            yield part.num_rows

    def rename(self, table: str, to: str, about: str) -> None:
        """Give a table its name; comments are not in standard SQL."""
        self.put_back(table, to)
        self._made = None

    def put_back(self, table: str, to: str) -> None:
        """Give a table another name."""
        name = to.rpartition(".")[2]
        self._first_that_works(
            (
                f"alter table {relation_of(table, None)} rename to {quoted(name)}",
                f"exec sp_rename '{_in_quotes(table)}', '{_in_quotes(name)}'",
                f"rename table {relation_of(table, None)} to {quoted(name)}",
            ),
            must=True,
        )

    def commit(self) -> None:
        """Make everything visible; a new transaction begins with it."""
        with _telling():
            self._connection.commit()

    def close(self) -> None:
        """End it; what was not committed never happened, where the database can do that."""
        with suppress(Refused), _telling():
            self._connection.rollback()
            if self._made is not None:
                self.drop(self._made)
                self._connection.commit()
        self._connection = None  # which ends it

    def _first_that_works(self, statements: Iterable[str], *, must: bool = False) -> None:
        refusals = []
        for statement in statements:
            try:
                self._execute(statement)
                return
            except Refused as refused:
                refusals.append(refused)
                if not must:  # nothing was done yet that would be lost
                    self._connection.rollback()
        if must:
            raise refusals[0]

    def _execute(self, sql: str) -> None:
        with _telling():
            self._connection.execute(sql)

    def _schema(self, relation: str) -> pa.Schema:
        with _telling():
            sql = f"select * from {relation} where 1 = 0"
            return self._connection.read_arrow_batches(sql, 1, max_text_size=_TEXT, max_binary_size=1).schema

    def _read(self, sql: str, values: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        limits = {"max_text_size": _TEXT, "max_bytes_per_batch": _BYTES}
        with _telling():
            batches = iter(self._connection.read_arrow_batches(sql, BATCH, values, **limits))
        yield from each_of(batches, _telling)

    def _column(self, field: pa.Field) -> Column:
        kind = field.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
            raise bytes_in(field.name)
        if pa.types.is_decimal(kind):
            return Column(field.name, quoted(field.name), pa.string(), is_decimal=True)
        return Column(field.name, quoted(field.name), pa.string() if is_text(kind) or pa.types.is_time(kind) else kind)


def _storable(part: pa.Table, separators: Mapping[str, str]) -> pa.Table:
    """Return a part with nothing but numbers and text in it."""
    columns: dict[str, Any] = {}
    for name in part.column_names:
        column = part.column(name)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            columns[name] = column.cast(pa.int64() if pa.types.is_integer(column.type) else pa.float64())
        else:
            cells = text_or_numbers(column, name, separators.get(name, "|"))
            columns[name] = pa.chunked_array(
                [pa.array([None if cell is None else str(cell) for cell in cells], pa.string())]
            )
    return pa.table(columns)


def _declared(name: str, parts: list[pa.Table]) -> str:
    kind = parts[0].column(name).type
    if pa.types.is_integer(kind):
        return "bigint"
    if pa.types.is_floating(kind):
        return "double precision"
    longest = max(pc.max(pc.binary_length(part.column(name))).as_py() or 1 for part in parts)
    return f"varchar({max(longest, 16)})"


def _in_quotes(text: str) -> str:
    return text.replace("'", "''")
