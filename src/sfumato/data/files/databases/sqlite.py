"""SQLite, by the standard library: cells of a column may be of any type, and there are no lists."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa

from sfumato.data.files.databases.base import BATCH, Batches, Column, Refused, Session, quoted, selecting
from sfumato.data.files.databases.cells import bytes_in, text_or_numbers
from sfumato.data.files.databases.failures import IN_USE, NOT_A_DATABASE, NOT_UTF8, SECONDS

# What SQLite says, as SQLSTATE has it; its texts show names and cells.
_STATES = {
    "SQLITE_BUSY": IN_USE,
    "SQLITE_LOCKED": IN_USE,
    "SQLITE_READONLY": "25006",
    "SQLITE_AUTH": "42501",
    "SQLITE_PERM": "42501",
    "SQLITE_NOTADB": NOT_A_DATABASE,
    "SQLITE_CORRUPT": NOT_A_DATABASE,
    "SQLITE_CANTOPEN": "42501",
    "SQLITE_FULL": "53100",
    "SQLITE_NOMEM": "53200",
    "SQLITE_IOERR": "58030",
    "SQLITE_CONSTRAINT": "23000",
    "SQLITE_INTERRUPT": "57014",
    "SQLITE_ERROR": "42601",
}


class SqliteSession(Session):
    """A transaction of a SQLite file."""

    engine: ClassVar[str] = "SQLite"
    transactional: ClassVar[bool] = True

    def __init__(self, path: Path, *, writes: bool) -> None:
        mode = "rwc" if writes else "ro"
        with _telling():
            self._connection = sqlite3.connect(
                f"file:{quote(str(path.resolve()))}?mode={mode}", uri=True, timeout=SECONDS, isolation_level=None
            )
        try:
            with _telling():
                self._connection.execute("pragma trusted_schema = off")  # views run no functions with effects
                if writes:
                    self._connection.execute("pragma secure_delete = on")  # what is dropped is overwritten
                    self._connection.execute("pragma cache_spill = off")  # nothing is on the disk before the commit
                self._connection.execute("begin immediate" if writes else "begin")
                self._connection.execute("select count(*) from sqlite_master")  # the snapshot begins here
        except BaseException:
            self._connection.close()
            raise

    def names(self, relation: str) -> list[str]:
        """Return the names of the columns."""
        return [about[0] for about in self._execute(f"select * from {relation} limit 0").description]

    def columns(self, relation: str, names: Iterable[str], limit: int | None = None) -> list[Column]:
        """Return how columns are read: as whole numbers or numbers where every cell is one, else as text."""
        relation = relation if limit is None else f"(select * from {relation} limit {limit})"
        names = list(names)
        kinds = ", ".join(f"group_concat(distinct typeof({quoted(name)}))" for name in names)
        found = self._row(f"select {kinds} from {relation}")
        return [
            _column(name, set((kinds or "null").split(",")) - {"null"})
            for name, kinds in zip(names, found, strict=True)
        ]

    def rows(self, relation: str) -> int:
        """Return how many rows there are."""
        return int(self._row(f"select count(*) from {relation}")[0])

    def batches(self, relation: str, columns: Iterable[Column], limit: int | None = None) -> Batches:
        """Yield the columns in batches."""
        columns = list(columns)
        schema = pa.schema([(column.name, column.kind) for column in columns])
        rows = self._execute(selecting(columns, relation, limit))
        while True:
            with _telling():
                part = rows.fetchmany(BATCH)
            if not part:
                return
            cells = zip(*part, strict=True)
            yield pa.record_batch(
                [pa.array(each, field.type) for each, field in zip(cells, schema, strict=True)], schema
            )

    def tables(self) -> list[str]:
        """Return the names of all tables and views."""
        sql = "select name from sqlite_master where type in ('table', 'view') and name not glob 'sqlite_*' order by 1"
        rows = self._execute(sql)
        with _telling():
            return [name for (name,) in rows if "." not in name]

    def exists(self, table: str) -> bool:
        """Whether there is such a table or view; names are the same whatever their case."""
        query = "select count(*) from sqlite_master where type in ('table', 'view') and lower(name) = lower(?)"
        return bool(self._row(query, (table,))[0])

    def create(self, table: str, parts: Iterable[pa.Table], separators: Mapping[str, str]) -> Iterator[int]:
        """Make a table and fill it."""
        insert = ""
        for part in parts:
            if not insert:
                declared = ", ".join(f"{quoted(field.name)} {_declared(field.type)}" for field in part.schema)
                self._execute(f"create table {quoted(table)} ({declared})")
                insert = f"insert into {quoted(table)} values ({', '.join('?' * part.num_columns)})"
            columns = [
                text_or_numbers(part.column(name), name, separators.get(name, "|")) for name in part.column_names
            ]
            with _telling():
                self._connection.executemany(insert, zip(*columns, strict=True))
            yield part.num_rows

    def rename(self, table: str, to: str, about: str) -> None:
        """Give a table its name; SQLite has no comments."""
        self.put_back(table, to)

    def put_back(self, table: str, to: str) -> None:
        """Give a table another name; views go on to mean whatever has the old one."""
        self._execute("pragma legacy_alter_table = on")
        self._execute(f"alter table {quoted(table)} rename to {quoted(to)}")
        self._execute("pragma legacy_alter_table = off")

    def drop(self, table: str) -> None:
        """Let a table go."""
        self._execute(f"drop table {quoted(table)}")

    def commit(self) -> None:
        """Make everything visible, and begin anew."""
        self._execute("commit")
        self._execute("begin immediate")

    def finish(self, aside: str) -> None:
        """Drop a table that was set aside, and overwrite it also in the file that SQLite may write ahead."""
        super().finish(aside)
        self._execute("rollback")  # of nothing: outside of a transaction alone that file is emptied
        if self._row("pragma wal_checkpoint(truncate)")[0]:
            raise Refused(IN_USE)

    def close(self) -> None:
        """End it."""
        self._connection.close()

    def _row(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        with _telling():
            return self._connection.execute(sql, values).fetchone()

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        with _telling():
            return self._connection.execute(sql, values)


@contextmanager
def _telling() -> Iterator[None]:
    """Turn what SQLite says into a state."""
    try:
        yield
    except UnicodeDecodeError:  # of a name: cells are told apart below
        raise Refused(NOT_UTF8) from None
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR"
        known = next((state for word, state in _STATES.items() if name.startswith(word)), "42601")
        raise Refused("22021" if "decode to UTF-8" in str(error) else _nearer(known, str(error))) from None


def _nearer(state: str, text: str) -> str:
    """Return which of several errors that share a number it is."""
    if state == "42601":
        told = {"no such table": "42P01", "no such column": "42703", "view ": "42809"}
        return next((each for words, each in told.items() if text.startswith(words)), state)
    return state


def _column(name: str, kinds: set[str]) -> Column:
    if "blob" in kinds:
        raise bytes_in(name, "bytes (blob)")
    if kinds == {"integer"}:
        return Column(name, quoted(name), pa.int64())
    if kinds and kinds <= {"integer", "real"}:
        return Column(name, f"cast({quoted(name)} as real)", pa.float64())
    return Column(name, quoted(name) if kinds <= {"text"} else f"cast({quoted(name)} as text)", pa.string())


def _declared(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "integer"
    return "real" if pa.types.is_floating(kind) else "text"
