"""From a table or a query of a database to a table: in one read-only snapshot, only the columns that are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.files.columns import Columns
from sfumato.data.files.databases.base import Column, Refused, Session, relation_of
from sfumato.data.files.databases.connections import DUCKDB, FILES, address_of, is_file, known_address, place_of
from sfumato.data.files.databases.failures import BAD_ADDRESS, refusal
from sfumato.data.files.source import DATABASE, Found, Reading, Source, checked_names, kept_names
from sfumato.errors import DataError

_DIGITS = 15  # that a float holds, whatever they are


@contextmanager
def reading(source: Source) -> Iterator[Session]:
    """Open a snapshot of the database of a source, or go on in the one that is open."""
    what = f"table {source.table!r} was to be read from" if source.table else "a query was to be answered by"
    try:
        if source.session is not None:
            yield source.session
            return
        with closing(session_of(source, writes=False)) as session:
            yield session
    except Refused as refused:
        raise refusal(what[0].upper() + what[1:], source.path, refused) from None


def session_of(source: Source, *, writes: bool) -> Session:
    """Open a transaction of the database that a source names."""
    from sfumato.data.files.databases.duckdb import DuckdbSession
    from sfumato.data.files.databases.duckdb_writing import DuckdbWriter
    from sfumato.data.files.databases.odbc import OdbcSession
    from sfumato.data.files.databases.postgresql import PostgresqlSession
    from sfumato.data.files.databases.sqlite import SqliteSession

    if (path := source.file) is not None:
        if not writes and not path.is_file():
            raise DataError(f"{path} was asked for as a database, but there is no such file.\nCorrect the path.")
        if path.suffix.lower() not in DUCKDB:
            return SqliteSession(path, writes=writes)
        return DuckdbWriter(path) if writes else DuckdbSession(path)
    assert source.database is not None
    address = address_of(source.database)
    match address.engine:
        case "sqlite":
            return SqliteSession(Path(address.text.partition("://")[2]), writes=writes)
        case "duckdb":
            path = Path(address.text.partition("://")[2])
            return DuckdbWriter(path) if writes else DuckdbSession(path)
        case "postgresql":
            return PostgresqlSession(address.text, source.path, writes=writes)
        case "odbc":
            return OdbcSession(address.text, source.path, writes=writes)
        case _:
            raise Refused(BAD_ADDRESS)


def tried(source: Source) -> tuple[str, list[str]]:
    """Return what kind of database answers, and the names of its tables."""
    try:
        with closing(session_of(source, writes=False)) as session:
            return session.engine, session.tables()
    except Refused as refused:
        raise refusal("A connection was tried to", source.path, refused) from None


def named_database(data: Path, table: str | None) -> Source | None:
    """Return the table of a database that somebody names in place of a file, None where it is a file."""
    name = str(data)
    if not name.startswith(DATABASE) and not is_file(name):
        if table is not None:
            raise DataError(
                f"A table of {data} was asked for, but it is no database.\n"
                f"Write {DATABASE}NAME for a connection, or name a file of SQLite or DuckDB ({', '.join(FILES)})."
            )
        return None
    database = name.removeprefix(DATABASE)
    path = place_of(database, Path())
    if table is None:
        raise DataError(
            f"{path} is a database, and it was not said what to read from it.\nName a table of it: --table."
        )
    return Source(path, database=database, table=table)


def database_names(source: Source) -> list[str]:
    """Return the names of the columns of a table or query."""
    with reading(source) as session:
        return checked_names(session.names(relation_of(source.table, source.query)), source.path)


def how_database(source: Source) -> tuple[Found, ...]:
    """Return which database it is, and how that is known."""
    assert source.database is not None
    origin = "a file" if source.file is not None else f"its address is known from {address_of(source.database).origin}"
    return (Found("database", source.database, origin),)


def is_known(source: Source) -> bool:
    """Whether the connection of a source is known, without asking anybody."""
    return source.session is not None or (source.database is not None and known_address(source.database) is not None)


def rows_of(source: Source) -> int | None:
    """Return how many rows there are; None for a query, which would be worked out twice."""
    if source.table is None:
        return None
    with reading(source) as session:
        return session.rows(relation_of(source.table, None))


def read_database(asked: Reading) -> pa.Table:
    """Return the table of a database."""
    source = asked.source
    relation = relation_of(source.table, source.query)
    with reading(source) as session:
        names = kept_names(checked_names(session.names(relation), source.path), asked.drop, source.path)
        found = session.columns(relation, names, asked.limit)
        columns = Columns({column.name: column.kind for column in found}, source.path, lent=True)
        with closing(session.batches(relation, found, asked.limit)) as batches:
            for batch in batches:
                columns.add(batch)
                asked.stage.advance(batch.num_rows)
                if asked.is_enough(columns.rows):
                    break
    table = columns.finish()
    for column in found:
        if column.is_decimal:
            table = _with_numbers(table, column)
    return table


def _with_numbers(table: pa.Table, column: Column) -> pa.Table:
    """Return digits as numbers, where floats hold all of them."""
    place, texts = table.column_names.index(column.name), table.column(column.name).combine_chunks()
    dictionary = texts.dictionary
    digits = pc.utf8_length(pc.replace_substring_regex(dictionary, r"^[-0.]+|\.", ""))
    plain = pc.all(pc.match_substring_regex(dictionary, r"^-?\d+(\.\d+)?$")).as_py()
    if plain is False or (pc.max(digits).as_py() or 0) > _DIGITS:
        return table
    whole = not pc.any(pc.match_substring(dictionary, ".")).as_py()
    numbers = dictionary.cast(pa.int64() if whole else pa.float64())
    return table.set_column(place, column.name, numbers.take(texts.indices))
