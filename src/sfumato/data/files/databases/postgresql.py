"""PostgreSQL, by ADBC: what has a type in Arrow keeps it, lists are lists, everything else is read as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.data.files.databases.ahead import ahead
from sfumato.data.files.databases.base import Batches, Column, Refused, quoted, relation_of
from sfumato.data.files.databases.cells import is_plain, storable
from sfumato.data.files.databases.failures import BAD_ADDRESS, NO_ANSWER, SECONDS, UNKNOWN_HOST, within
from sfumato.data.files.source import needed
from sfumato.data.kinds import is_list

EXTRA = "databases"
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


class PostgresqlSession:
    """A transaction of a PostgreSQL server."""

    engine: ClassVar[str] = "PostgreSQL"
    transactional: ClassVar[bool] = True

    def __init__(self, address: str, path: Path, *, writes: bool) -> None:
        driver = needed("adbc_driver_postgresql.dbapi", EXTRA, path)
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

    def names(self, relation: str) -> list[str]:
        """Return the names of the columns."""
        return list(self._schema(relation).names)

    def columns(self, relation: str, names: Iterable[str], limit: int | None = None) -> list[Column]:
        """Return how columns are read; the types of the database say it, whatever the rows."""
        schema = self._schema(relation)
        return [_column(schema.field(name)) for name in names]

    def rows(self, relation: str) -> int:
        """Return how many rows there are."""
        return int(self._asked(f"select count(*) from {relation}").column(0)[0].as_py())

    def batches(self, relation: str, columns: Iterable[Column], limit: int | None = None) -> Batches:
        """Yield the columns in batches, as they come from the server."""
        selected = ", ".join(f"{column.selected} as {quoted(column.name)}" for column in columns)
        query = f"select {selected} from {relation}" + (f" limit {limit}" if limit is not None else "")
        with self._cursor() as cursor:
            batches = _stream(cursor, query)
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

    def rename(self, table: str, to: str, about: str) -> None:
        """Give a table its name, and a comment."""
        name = quoted(to.rpartition(".")[2])
        self._execute(f"alter table {relation_of(table, None)} rename to {name}")
        comment = about.replace("'", "''")
        self._execute(f"comment on table {relation_of(to, None)} is '{comment}'")

    def set_aside(self, table: str, to: str) -> None:
        """Give a table another name, if nothing would be in the way of dropping it, such as a view."""
        self._execute("savepoint sfumato_aside")
        self.drop(table)
        self._execute("rollback to savepoint sfumato_aside")
        self.put_back(table, to)

    def put_back(self, table: str, to: str) -> None:
        """Give a table its name again."""
        self._execute(f"alter table {relation_of(table, None)} rename to {quoted(to.rpartition('.')[2])}")

    def drop(self, table: str) -> None:
        """Let a table go."""
        self._execute(f"drop table {relation_of(table, None)}")

    def commit(self) -> None:
        """Make everything visible; a new transaction begins with it."""
        with _telling():
            self._connection.commit()

    def close(self) -> None:
        """End it; what was not committed never happened."""
        with _telling():
            self._connection.close()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def _execute(self, sql: str) -> None:
        with self._cursor() as cursor, _telling():
            cursor.execute(sql)

    def _asked(self, sql: str, values: tuple[Any, ...] = ()) -> pa.Table:
        with self._cursor() as cursor, _telling():
            cursor.execute(sql, values or None)
            return cursor.fetch_arrow_table()

    def _schema(self, relation: str) -> pa.Schema:
        return self._asked(f"select * from {relation} limit 0").schema


def _stream(cursor: Any, query: str) -> Batches:
    """Yield what a query answers, as it comes from the server."""
    with _telling():
        cursor.adbc_statement.set_options(**{_BATCH_SIZE: str(_BYTES)})
        cursor.execute(query)
        batches = iter(cursor.fetch_record_batch())
    while True:
        with _telling():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _cancel(cursor: Any) -> None:
    """Let a query end that nobody waits for any more."""
    with suppress(Refused), _telling():
        cursor.adbc_cancel()


@contextmanager
def _telling() -> Iterator[None]:
    """Turn what the driver says into a state."""
    try:
        yield
    except Refused:
        raise
    except (OSError, pa.ArrowException) as error:  # in the middle of a stream
        raise Refused(_state_in(str(error), "22000")) from None
    except Exception as error:
        if not type(error).__module__.startswith("adbc_driver_manager"):
            raise
        raise Refused(getattr(error, "sqlstate", None) or _state_in(str(error), BAD_ADDRESS)) from None


def _state_in(text: str, otherwise: str) -> str:
    return next((state for word, state in _WORDS.items() if word in text), otherwise)


def _with_limit(address: str) -> str:
    """Return an address that gives up by itself, too, so that no thread is left waiting."""
    if re.search(r"\bconnect_timeout=", address):
        return address
    limit = f"connect_timeout={SECONDS:.0f}"
    return f"{address}{'&' if '?' in address else '?'}{limit}"


def _column(field: pa.Field) -> Column:
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
