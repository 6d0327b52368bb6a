"""Writing into DuckDB files: a copy takes the place of the file.

DuckDB does not overwrite the rows that it drops or rolls back, and has no command that does. So everything is written
into a copy in a hidden folder. With the commit the copy takes the place of the file in one step. A row that was
dropped, replaced or refused is never in the bytes of the file.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sfumato.data.files.databases.base import Refused, quoted
from sfumato.data.files.databases.duckdb import CLOSED, DuckdbSession, telling_state
from sfumato.data.files.databases.failures import IN_USE, NOT_COPIED
from sfumato.data.files.source import needed
from sfumato.disk import scratch_folder, swap_files, unwritable

_OLD = "sfumato_old"  # what the file is called, beside its copies
_LAST = ("enable_external_access", "lock_configuration")  # settings behind which no other one can be made
_ENDINGS = ("", ".wal", ".wal.checkpoint", ".wal.recovery")  # of the files that DuckDB writes
_KEPT = {  # what a copy has to have as well, by the function of DuckDB that lists it
    "schemas": "schema_name, comment",
    "tables": "schema_name, table_name, comment, sql",
    "columns": "schema_name, table_name, column_name, comment, data_type",
    "views": "schema_name, view_name, comment, sql",
    "indexes": "schema_name, index_name, table_name, comment, sql",
    "sequences": "schema_name, sequence_name, comment, sql",
    "functions": "schema_name, function_name, comment, parameters, macro_definition",
    "types": "schema_name, type_name, comment, logical_type, labels",
    "triggers": "schema_name, trigger_name, table_name, comment, sql",
}
_WITH_INTERNAL = ("schemas", "tables", "columns", "views", "functions", "types")
_NO_ROOM = ("53", "58")  # classes of states that are no fault of what is copied


class DuckdbWriter(DuckdbSession):
    """A transaction of a DuckDB file that may write.

    To set a table aside is refused where an index is built on it, and views go on to mean the old name.
    """

    def __init__(self, path: Path) -> None:
        driver = needed("duckdb", path)
        self._path, self._drops = path.resolve(), False
        self._file: Path | None = None  # the copy that takes the place of the file; then the file as it was
        self._put: tuple[int, int, int] | None = None  # the state of the file that was put in place
        with ExitStack() as ends:
            self._folder = ends.enter_context(scratch_folder(self._path))
            self._folder.mkdir(mode=0o700)
            with telling_state():
                usual = {key: value for key, value in CLOSED.items() if key not in _LAST}
                self._connection = ends.enter_context(driver.connect(":memory:", config=usual))
            files = ", ".join(_literal(f"{self._path}{ending}") for ending in _ENDINGS)
            self._execute(f"set allowed_paths = [{files}]")
            self._execute(f"set allowed_directories = [{_literal(str(self._folder))}]")
            for key in _LAST:
                self._execute(f"set {key} = {CLOSED[key]}")
            self._exists = self._path.exists()
            if self._exists:
                self._execute(f"attach {_literal(str(self._path))} as {_OLD}")  # nobody else opens it meanwhile
                self._execute(f"checkpoint {_OLD}")
            self._copy(_OLD if self._exists else None, "sfumato_names", None)  # says early what cannot be copied
            self._ends = ends.pop_all()

    def prepare(self) -> None:
        """Copy the file, to write into the copy."""
        self._file = self._folder / "new.duckdb"
        self._copy(_OLD if self._exists else None, "sfumato_new", self._file)
        self._execute("begin transaction")

    def set_aside(self, table: str, to: str) -> None:
        """Drop a table if nothing is built on it: the file as it was is kept until the session ends."""
        super().set_aside(table, to)
        self.drop(to)

    def drop(self, table: str) -> None:
        """Drop a table, whose rows are in the bytes of the copy still."""
        super().drop(table)
        self._drops = True

    def commit(self) -> None:
        """Let the copy take the place of the file; a copy of it where rows were dropped."""
        super().commit()
        name = "sfumato_new"
        if self._drops:
            self._file = self._folder / "compact.duckdb"
            self._copy(name, name := "sfumato_compact", self._file)
        assert self._file is not None
        self._execute("use memory")
        self._execute(f"checkpoint {name}")
        self._execute(f"detach {name}")
        if self._exists:
            self._execute(f"detach {_OLD}")
        elif self._path.exists():
            raise Refused(IN_USE)
        self._swap(self._file)
        self._put = _state(self._path)

    def finish(self, aside: str) -> None:
        """Drop a table that was set aside; one that this session has set aside went with the commit."""
        if self._put is None:
            super().finish(aside)

    def withdraw(self, table: str, aside: str | None) -> None:
        """Put the file back as it was, unless another program has changed it since."""
        if self._file is None or _state(self._path) != self._put:
            raise Refused(IN_USE)
        if self._exists:
            self._swap(self._file)
        else:
            self._path.unlink()

    def close(self) -> None:
        """End it; what was not committed never happened."""
        self._ends.close()

    def _swap(self, file: Path) -> None:
        try:
            swap_files(file, self._path)
        except OSError as error:
            raise unwritable(self._path, error) from None

    def _copy(self, source: str | None, name: str, file: Path | None) -> None:
        """Attach a database and copy another one into it, without rows where it is in memory; go on in it."""
        how = ""
        if file is not None and self._exists:
            ((version, size),) = self._rows(
                "select tags['storage_version'], block_size from duckdb_databases() "
                f"join pragma_database_size() using (database_name) where database_name = '{_OLD}'"
            )
            how = f" (storage_version {_literal(version.rstrip('+'))}, block_size {size})"
        self._execute(f"attach {_literal(str(file) if file is not None else ':memory:')} as {name}{how}")
        if source is not None:
            try:
                self._execute(f"copy from database {source} to {name}{' (schema)' if file is None else ''}")
            except Refused as refused:
                raise Refused(refused.sqlstate if refused.sqlstate[:2] in _NO_ROOM else NOT_COPIED) from None
            if self._content(source, rows=file is not None) != self._content(name, rows=file is not None):
                raise Refused(NOT_COPIED)
        self._execute(f"use {name}")

    def _content(self, name: str, *, rows: bool) -> list[Any]:
        """Return what is in a database, so that two can be compared."""
        found: list[Any] = []
        for kind, columns in _KEPT.items():
            ours = " and not internal" if kind in _WITH_INTERNAL else ""
            listed = self._rows(f"select {columns} from duckdb_{kind}() where database_name = '{name}'{ours}")
            found.append(sorted(map(repr, listed)))
            if kind == "tables" and rows:
                names = sorted((schema, table) for schema, table, *_ in listed)
                relations = [".".join((name, quoted(schema), quoted(table))) for schema, table in names]
                found.append([self._rows(f"select count(*) from {relation}") for relation in relations])
        return found


def _literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _state(path: Path) -> tuple[int, int, int]:
    """Return what changes when a program writes a file."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
