"""Where a plan reads from and publishes to: files, tables and queries of databases. Never how to log in there."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.data.files import Source
from sfumato.data.files.databases.connections import holds_a_secret, is_file, place_of
from sfumato.data.files.stat import takes_catalog
from sfumato.errors import DataError
from sfumato.plan.notes import Notes, one_line

# Keys that do not say how it is written.
_NOT_HOW = (
    *("path", "database", "table", "query", "person", "weight", "household", "order", "columns", "catalog"),
    "normalize",
)
_ADD = "Give the connection a name with `sfumato connections add NAME`, and write that."


def source_of(values: Mapping[str, Any], base: Path, notes: Notes, place: str) -> Source | None:
    """Return where a table is and how it is written, from the keys of [source] or of a table of events."""
    encoding = values["encoding"]
    try:
        codecs.lookup(encoding or "utf-8")
    except (LookupError, ValueError):
        known = 'such as "utf-8", "windows-1252" or "utf-16"'
        notes.add(f"{place}.encoding", f"[{place}] names an unknown encoding, {encoding!r}. Name one, {known}.")
    written = {key: value for key, value in values.items() if key not in _NOT_HOW}
    database, table, query = values["database"], values["table"], values["query"]
    catalog = _catalog_of(values, base, notes, place)
    if database is None:
        if query is not None:
            notes.add(f"{place}.query", f"[{place}] has 'query', but no database that it is of: database = \"...\".")
        if table is not None and values["path"]:
            notes.add(f"{place}.table", f"[{place}] has both 'path' and 'table'. Keep one: a table is in one place.")
        elif table is not None and place == "source":
            return Source(Path(f"catalog:{table}"), **written, table=table)
        elif table is not None:
            notes.add(f"{place}.table", f"[{place}] has 'table', but no database that it is of: database = \"...\".")
        if not values["path"]:
            return None
        path = notes.path(base, values["path"], f"{place}.path")
        return Source(path, **written, catalog=catalog, of_plan=True)
    if values["path"]:
        notes.add(f"{place}.path", f"[{place}] has both 'path' and 'database'. Keep one: a table is in one place.")
    if (table is None) == (query is None):
        said = "neither 'table' nor 'query'" if table is None else "both 'table' and 'query'"
        notes.add(f"{place}.table", f"[{place}] has {said}. One of them says what is read from the database.")
    where = _placed(database, base, notes, f"{place}.database")
    if query is not None and query.rstrip().lower().endswith(".sql"):
        query = _query_in(notes.path(base, query, f"{place}.query"), notes, f"{place}.query")
    if where is None or (table is None) == (query is None):
        return None
    return Source(where, **written, database=database, table=table, query=query)


def _catalog_of(values: Mapping[str, Any], base: Path, notes: Notes, place: str) -> Path | None:
    """Return where the value labels of a data set of SAS are."""
    if values["catalog"] is None:
        return None
    if not takes_catalog(Path(values["path"] or ""), values["format"]):
        only = "only data sets of SAS (.sas7bdat) have one. Leave it out, or correct 'path'."
        notes.add(f"{place}.catalog", f"[{place}] has 'catalog', but {only}")
        return None
    path = notes.files[f"{place}.catalog"] = notes.path(base, values["catalog"], f"{place}.catalog")
    return path


def target_of(values: Mapping[str, Any], base: Path, notes: Notes) -> Source | None:
    """Return the table that the release becomes, from the keys of [release]."""
    database, table = values["database"], values["table"]
    if database is None:
        if table is not None:
            notes.add("release.table", "[release] has 'table', but no 'database' that it is of.")
        return None
    if table is None:
        notes.add("release.table", "[release] has 'database', but no 'table' that the release becomes there.")
    where = _placed(database, base, notes, "release.database")
    return Source(where, database=database, table=table) if where is not None and table is not None else None


def secrets_in(document: Any, place: str = "") -> Iterator[str]:
    """Yield the places of a plan that hold a password, as addresses have them."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from secrets_in(value, f"{place}.{key}" if place else str(key))
    elif isinstance(document, list | tuple):
        for position, value in enumerate(document, start=1):
            yield from secrets_in(value, f"{place}[{position}]")
    elif isinstance(document, str) and holds_a_secret(document):
        yield place


def note_secrets(document: Mapping[str, Any], notes: Notes) -> bool:
    """Note places that hold a password without repeating it, and say whether there are any."""
    found = list(secrets_in(document))
    for place in found:
        notes.add(place, f"{place} holds an address with a password, which is never written down here. {_ADD}")
    return bool(found)


def _placed(database: str, base: Path, notes: Notes, place: str) -> Path | None:
    try:
        where = place_of(database, base)
    except DataError as error:
        notes.add(place, one_line(error))
        return None
    return notes.path(Path(), where, place) if is_file(database) else where


def _query_in(path: Path, notes: Notes, place: str) -> str | None:
    notes.files[place] = path
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        notes.add(place, f"{path.name} was named as a query, but cannot be read as text. Correct the path.")
        return None
    if holds_a_secret(text):
        notes.add(place, f"{path.name} holds an address with a password, which is never written down here. {_ADD}")
    return text
