"""The contract of databases: one transaction that reads, or one that writes, reads back and commits."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import pyarrow as pa

BATCH = 1 << 16  # rows read or written at once
Batches: TypeAlias = Generator[pa.RecordBatch, None, None]


@dataclass(frozen=True)
class Column:
    """A column of a table or query: how it is selected, and what comes then."""

    name: str
    selected: str  # SQL
    kind: pa.DataType
    is_decimal: bool = False  # digits in text, which are a number where a float holds all of them


class Session(Protocol):
    """A transaction of one database. Relations are SQL: a table's name with quotes, or a query in brackets.

    Every method raises `Refused`, never what the driver says.
    """

    engine: ClassVar[str]  # what the database is called
    transactional: ClassVar[bool]  # whether tables are made and renamed inside of a transaction, or at once

    def prepare(self) -> None:
        """Get ready to write rows; what is refused early needs less than that."""
        return

    def names(self, relation: str) -> list[str]:
        """Return the names of the columns, in their order."""

    def columns(self, relation: str, names: Iterable[str], limit: int | None = None) -> list[Column]:
        """Return how some columns are read, of all rows or of the first ones."""

    def rows(self, relation: str) -> int:
        """Return how many rows there are."""

    def batches(self, relation: str, columns: Iterable[Column], limit: int | None = None) -> Batches:
        """Yield these columns in batches, of all rows or of the first ones; to be closed before the session is."""

    def tables(self) -> list[str]:
        """Return the names of all tables and views that may be seen, with their schemas, as plans write them."""

    def exists(self, table: str) -> bool:
        """Whether there is a table, a view or whatever else has such a name."""

    def create(self, table: str, parts: Iterable[pa.Table], separators: Mapping[str, str]) -> Iterator[int]:
        """Make a table and fill it, and yield the rows of each part; sets are joined where there are no lists."""

    def rename(self, table: str, to: str, about: str) -> None:
        """Give a table its name, and a comment where tables have such; `to` is in the same schema."""

    def set_aside(self, table: str, to: str) -> None:
        """Give a table another name in the same schema, if it could be dropped: to put it back, or to drop it later."""
        self.put_back(table, to)

    def put_back(self, table: str, to: str) -> None:
        """Give a table that was set aside its name again."""

    def drop(self, table: str) -> None:
        """Let a table go."""

    def commit(self) -> None:
        """Make everything visible that was done."""

    def finish(self, aside: str) -> None:
        """Let a table go for good that was set aside: the one that replaces it is there to stay."""
        if self.exists(aside):
            self.drop(aside)
        self.commit()

    def withdraw(self, table: str, aside: str | None) -> None:
        """Let a table go that was committed, and give the one that was set aside for it its name again."""
        self.drop(table)
        if aside is not None:
            self.put_back(aside, table)
        self.commit()

    def close(self) -> None:
        """End it; what was not committed never happened, as far as the database can do that."""


class TypedSession(Session, Protocol):
    """A transaction of a database whose columns have types, whatever their rows hold."""

    def _schema(self, relation: str) -> pa.Schema:
        """Return names and types of the columns."""

    def _column(self, field: pa.Field) -> Column:
        """Return how a column is read."""

    def _execute(self, sql: str) -> Any:
        """Have something done."""

    def names(self, relation: str) -> list[str]:
        """Return the names of the columns."""
        return list(self._schema(relation).names)

    def columns(self, relation: str, names: Iterable[str], limit: int | None = None) -> list[Column]:
        """Return how columns are read."""
        schema = self._schema(relation)
        return [self._column(schema.field(name)) for name in names]

    def rename(self, table: str, to: str, about: str) -> None:
        """Give a table its name, and a comment."""
        self.put_back(table, to)
        comment = about.replace("'", "''")
        self._execute(f"comment on table {relation_of(to, None)} is '{comment}'")

    def put_back(self, table: str, to: str) -> None:
        """Give a table its name again."""
        self._execute(f"alter table {relation_of(table, None)} rename to {quoted(to.rpartition('.')[2])}")

    def drop(self, table: str) -> None:
        """Let a table go."""
        self._execute(f"drop table {relation_of(table, None)}")


class Refused(Exception):  # noqa: N818 - says what is the case; becomes an error of sfumato where it is known what was asked
    """A database refuses something: a SQLSTATE, of which the first two characters are a class."""

    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate
        super().__init__(sqlstate)


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever its characters.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def selecting(columns: Iterable[Column], relation: str, limit: int | None) -> str:
    """Return the query for some columns, of all rows or of the first ones."""
    selected = ", ".join(f"{column.selected} as {quoted(column.name)}" for column in columns)
    return f"select {selected} from {relation}" + (f" limit {limit}" if limit is not None else "")


def relation_of(table: str | None, query: str | None) -> str:
    """Return what stands behind "from": a table with its schema, if any, or a query.

    >>> print(relation_of("clinic.stays", None), relation_of(None, "select 1 as a;"))
    "clinic"."stays" (select 1 as a
    ) q
    """
    if query is not None:
        return f"({query.strip().rstrip(';')}\n) q"  # the line ends a comment
    assert table is not None
    return ".".join(map(quoted, table.split(".")))
