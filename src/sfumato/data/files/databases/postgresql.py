"""PostgreSQL, by ADBC: what has a type in Arrow keeps it, lists are lists, everything else is read as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.data.files.databases.ahead import ahead
from sfumato.data.files.databases.base import Batches, Column, Refused, TypedSession, quoted, relation_of, selecting
from sfumato.data.files.databases.cells import is_plain, storable
from sfumato.data.files.databases.failures import (
    BAD_ADDRESS,
    BROKEN_OFF,
    NO_ANSWER,
    SECONDS,
    UNKNOWN_HOST,
    each_of,
    telling,
    within,
)
from sfumato.data.files.source import needed
from sfumato.data.kinds import is_list

_BATCH_SIZE, _BYTES = "adbc.postgresql.batch_size_hint_bytes", 1 << 19  # of a batch; the driver's own is 16 MB
_NUMBERS = {"numeric", "money"}
# What libpq says where no state comes along: before there is a server, and in the middle of a stream.
_WORDS = {
    "timeout expired": NO_ANSWER,
    "could not translate host name": UNKNOWN_HOST,
    "authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "role ": "28000",
    "database ": "3D000",
    "connection to server": "08001",
    "could not connect": "08001",
    "too many clients": "53300",
    "server closed": "08006",
    "terminating connection": "08006",
    "canceling statement": "57014",
    "permission denied": "42501",
    "cannot execute": "25006",
    "in a read-only transaction": "25006",
}


def _state_in(otherwise: str, error: Exception) -> str:
    told = (state for word, state in _WORDS.items() if word in str(error))
    return getattr(error, "sqlstate", None) or next(told, otherwise)


_telling = partial(
    telling, "adbc_driver_manager", partial(_state_in, BAD_ADDRESS), in_stream=partial(_state_in, BROKEN_OFF)
)


class PostgresqlSession(TypedSession):
    """A transaction of a PostgreSQL server."""

    engine: ClassVar[str] = "PostgreSQL"
    transactional: ClassVar[bool] = True

    def __init__(self, address: str, path: Path, *, writes: bool) -> None:
        driver = needed("adbc_driver_postgresql.dbapi", path)
        limited = _with_limit(address)
        with _telling():
            self._connection = within(SECONDS, lambda: driver.connect(limited))
        try:
            self._execute(f"set lock_timeout = {round(SECONDS * 1000)}")  # others would wait behind whoever waits here
            if not writes:
                self._execute("set transaction isolation level repeatable read, read only")
        except BaseException:
            self.close()
            raise

    def rows(self, relation: str) -> int:
        """Return how many rows there are."""
        return int(self._asked(f"select count(*) from {relation}").column(0)[0].as_py())

    def batches(self, relation: str, columns: Iterable[Column], limit: int | None = None) -> Batches:
        """Yield the columns in batches, as they come from the server."""
        with self._cursor() as cursor:
            batches = _stream(cursor, selecting(columns, relation, limit))
            if limit is None:
                batches = ahead(batches, cancel=lambda: _cancel(cursor))
            with closing(batches):
                yield from batches

    def tables(self) -> list[str]:
        """Return the names of all tables and views, materialized or not, that are not the server's own."""
        sql = (
            "select nspname::text, relname::text from pg_class join pg_namespace n on n.oid = relnamespace "
            "where relkind in ('r', 'p', 'f', 'v', 'm') and nspname !~ '^(pg_|information_schema$)' "
            "and has_table_privilege(pg_class.oid, 'select') order by 1, 2"
        )
        return [
            ".".join(names.values()) for names in self._asked(sql).to_pylist() if "." not in "".join(names.values())
        ]

    def exists(self, table: str) -> bool:
        """Whether there is such a table, view or whatever else is a relation."""
        found = self._asked("select to_regclass($1) is not null", (relation_of(table, None),))
        return bool(found.column(0)[0].as_py())

    def create(self, table: str, parts: Iterable[pa.Table], separators: Mapping[str, str]) -> Iterator[int]:
        """Make a table and fill it."""
        schema, _, name = table.rpartition(".")
        mode = "create"
        for part in parts:
            held = pa.table({column: storable(part.column(column), column) for column in part.column_names})
            with self._cursor() as cursor, _telling():
                cursor.adbc_ingest(name, held, mode=mode, db_schema_name=schema or None)
            mode = "append"
            yield part.num_rows

    def set_aside(self, table: str, to: str) -> None:
        """Give a table another name, if nothing would be in the way of dropping it, such as a view."""
        self._execute("savepoint sfumato_aside")
        self.drop(table)
        self._execute("rollback to savepoint sfumato_aside")
        self.put_back(table, to)

    def commit(self) -> None:
        """Make everything visible; a new transaction begins with it."""
        with _telling():
            self._connection.commit()

    def close(self) -> None:
        """End it; what was not committed never happened."""
        with _telling():
            self._connection.close()

    def _cursor(self) -> closing[Any]:
        return closing(self._connection.cursor())

    def _execute(self, sql: str) -> None:
        with self._cursor() as cursor, _telling():
            cursor.execute(sql)

    def _asked(self, sql: str, values: tuple[Any, ...] = ()) -> pa.Table:
        with self._cursor() as cursor, _telling():
            cursor.execute(sql, values or None)
            return cursor.fetch_arrow_table()

    def _schema(self, relation: str) -> pa.Schema:
        return self._asked(f"select * from {relation} limit 0").schema

    def _column(self, field: pa.Field) -> Column:
        """Return how a column is read: arrays as lists of text, what Arrow has no type for as text."""
        name, kind = field.name, field.type
        told = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
        if told in _NUMBERS:
            return Column(name, f"{quoted(name)}::numeric::text", pa.string(), is_decimal=True)
        if is_list(kind):
            return Column(name, f"{quoted(name)}::text[]", pa.large_list(pa.string()))
        if told == "bpchar" or not is_plain(kind):
            return Column(name, f"{quoted(name)}::text", pa.string())
        return Column(name, quoted(name), kind)


def _stream(cursor: Any, query: str) -> Batches:
    """Yield what a query answers, as it comes from the server."""
    with _telling():
        cursor.adbc_statement.set_options(**{_BATCH_SIZE: str(_BYTES)})
        cursor.execute(query)
        batches = iter(cursor.fetch_record_batch())
    yield from each_of(batches, _telling)


def _cancel(cursor: Any) -> None:
    """Let a query end that nobody waits for any more."""
    with suppress(Refused), _telling():
        cursor.adbc_cancel()


def _with_limit(address: str) -> str:
    """Return an address that gives up by itself, too, so that no thread is left waiting."""
    if re.search(r"\bconnect_timeout=", address):
        return address
    limit = f"connect_timeout={SECONDS:.0f}"
    return f"{address}{'&' if '?' in address else '?'}{limit}"
