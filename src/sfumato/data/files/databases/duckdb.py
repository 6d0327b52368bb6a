"""DuckDB files, by the library of that name: types of Arrow, lists are lists, everything else is read as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.data.files.databases.base import (
    BATCH,
    Batches,
    Column,
    Refused,
    TypedSession,
    quoted,
    relation_of,
    selecting,
)
from sfumato.data.files.databases.cells import bytes_in, is_plain, storable
from sfumato.data.files.databases.failures import IN_USE, NOT_A_DATABASE, each_of, telling
from sfumato.data.files.source import needed
from sfumato.data.kinds import is_list

# A query sees the file that was named and nothing else: no other file, no network, no variable of Python's.
CLOSED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",  # cells are not written beside the file where memory is short
    "lock_configuration": "true",
}
# What DuckDB says, as SQLSTATE has it; its texts show names and cells.
_STATES = {
    "CatalogException": "42P01",
    "BinderException": "42703",
    "ParserException": "42601",
    "SyntaxException": "42601",
    "PermissionException": "42501",
    "InvalidInputException": "25006",
    "ConversionException": "22000",
    "OutOfRangeException": "22000",
    "ConstraintException": "23000",
    "DependencyException": "2BP01",
    "OutOfMemoryException": "53200",
    "InterruptException": "57014",
    "ConnectionException": IN_USE,
    "ResourceInUseException": IN_USE,
    "SerializationException": NOT_A_DATABASE,
    "InternalException": NOT_A_DATABASE,
    "FatalException": "58030",
    "IOException": "58030",
}
_WORDS = {  # what an error of one name may mean besides
    "read-only mode": "25006",
    "lock": IN_USE,
    "not a valid DuckDB": NOT_A_DATABASE,
    "corrupt": NOT_A_DATABASE,
    "version number": NOT_A_DATABASE,
    "Permission denied": "42501",
    "No space left": "53100",
    "write-write conflict": IN_USE,
    "depend": "2BP01",
}
_PART = "sfumato_part"  # what a part of a table is called while it is written


def _state(error: Exception) -> str:
    state = _STATES.get(type(error).__name__, "42000")
    return next((near for word, near in _WORDS.items() if word in str(error)), state)


telling_state = partial(telling, "duckdb", _state)


class DuckdbSession(TypedSession):
    """A snapshot of a DuckDB file; `DuckdbWriter` writes."""

    engine: ClassVar[str] = "DuckDB"
    transactional: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        driver = needed("duckdb", path)
        with telling_state():
            self._connection = driver.connect(str(path.resolve()), read_only=True, config=CLOSED)
        try:
            self._execute("begin transaction")
            self._rows("select count(*) from duckdb_tables()")  # the snapshot begins here
        except BaseException:
            self._connection.close()
            raise

    def rows(self, relation: str) -> int:
        """Return how many rows there are."""
        return int(self._rows(f"select count(*) from {relation}")[0][0])

    def batches(self, relation: str, columns: Iterable[Column], limit: int | None = None) -> Batches:
        """Yield the columns in batches, as they are worked out."""
        with self._reader(selecting(columns, relation, limit)) as reader:
            yield from each_of(reader, telling_state)

    def tables(self) -> list[str]:
        """Return the names of all tables and views of the file."""
        sql = (
            "select table_schema, table_name from information_schema.tables "
            "where table_catalog = current_database() order by 1, 2"
        )
        found = [(schema, name) for schema, name in self._rows(sql) if "." not in schema + name]
        return [name if schema == "main" else f"{schema}.{name}" for schema, name in found]

    def exists(self, table: str) -> bool:
        """Whether there is such a table or view; names are the same whatever their case."""
        schema, _, name = table.rpartition(".")
        query = (
            "select count(*) from information_schema.tables where lower(table_name) = lower(?) "
            "and lower(table_schema) = lower(?) and table_catalog = current_database()"
        )
        return bool(self._rows(query, [name, schema or "main"])[0][0])

    def create(self, table: str, parts: Iterable[pa.Table], separators: Mapping[str, str]) -> Iterator[int]:
        """Make a table and fill it."""
        start = f"create table {relation_of(table, None)} as"
        for part in parts:
            held = pa.table({column: storable(part.column(column), column) for column in part.column_names})
            with telling_state():
                self._connection.register(_PART, held)
                try:
                    self._connection.execute(f"{start} select * from {_PART}").fetchall()
                finally:
                    self._connection.unregister(_PART)
            start = f"insert into {relation_of(table, None)}"
            yield part.num_rows

    def commit(self) -> None:
        """Make everything visible."""
        self._execute("commit")

    def close(self) -> None:
        """End it; what was not committed never happened."""
        with suppress(Refused):  # a commit that failed has ended the transaction
            self._execute("rollback")
        with telling_state():
            self._connection.close()

    def _execute(self, sql: str) -> None:
        self._rows(sql)

    def _rows(self, sql: str, values: list[Any] | None = None) -> list[Any]:
        with telling_state():
            return list(self._connection.execute(sql, values).fetchall())

    def _schema(self, relation: str) -> pa.Schema:
        with self._reader(f"select * from {relation} limit 0") as reader:
            return reader.schema

    def _reader(self, query: str) -> closing[Any]:
        """Open a stream; nothing else is asked before it ends."""
        with telling_state():
            return closing(self._connection.sql(query).to_arrow_reader(BATCH))

    def _column(self, field: pa.Field) -> Column:
        """Return how a column is read: lists as lists of text, what Arrow or sfumato has no type for as text."""
        name, kind = field.name, field.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise bytes_in(name, "bytes (blob)")
        if pa.types.is_decimal(kind):
            return Column(name, f"{quoted(name)}::varchar", pa.string(), is_decimal=True)
        if is_list(kind):
            return Column(name, f"{quoted(name)}::varchar[]", pa.large_list(pa.string()))
        if is_plain(kind):
            return Column(name, quoted(name), kind)
        return Column(name, f"{quoted(name)}::varchar", pa.string())
