"""From files to tables, as found: cells of text files stay text, typed files keep their types.

| name ends in | holds |
| --- | --- |
| `.csv` `.tsv`, also with `.gz` or `.zst` | a header, then one record a line; quoted cells may hold line breaks |
| `.txt` `.dat`, also with `.gz` or `.zst` | transactions: one record a line, items with one blank between; no header |
| `.parquet`, or a folder of such parts | a table |
| `.arrow` `.feather` | a table, as Arrow IPC file or stream |
| `.xlsx` `.xls` `.xlsb` `.ods` | one sheet of a workbook: a header, then one record a line |
| `.dta`, `.sav` `.zsav` `.por`, `.sas7bdat` `.xpt` | a table of Stata, SPSS, SAS, with value labels |

Tables of databases are read in the same way: `data/files/databases/`.

Files are read in blocks. Columns of text become dictionaries with codes as narrow as they can be, so that a table takes
a small part of the room of its file. No message ever shows a cell: pyarrow's own messages do, and are not passed on.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa

from sfumato.data.files.csv import layout_of, read_csv, spelling_of
from sfumato.data.files.databases.digests import digest_of_rows
from sfumato.data.files.databases.reading import database_names, how_database, is_known, read_database, rows_of
from sfumato.data.files.databases.reading import named_database as named_database
from sfumato.data.files.excel import excel_names, how_excel, read_excel
from sfumato.data.files.source import TEXT_FORMATS, Reading, checked_names, format_of, parts_of, state_of
from sfumato.data.files.source import Found as Found
from sfumato.data.files.source import Source as Source
from sfumato.data.files.source import digest as digest
from sfumato.data.files.stat import how_stat, read_stat, stat_names
from sfumato.data.files.text import encoding_of, opened
from sfumato.data.files.transactions import ITEMS as ITEMS
from sfumato.data.files.transactions import read_transactions
from sfumato.data.files.typed import arrow_batches, parquet_names, read_arrow, read_parquet
from sfumato.data.schema import Schema
from sfumato.errors import DataError
from sfumato.progress import SILENT, Progress


def read_table(source: Source, *, drop: Collection[str] = frozenset(), progress: Progress = SILENT) -> pa.Table:
    """Return the whole table without the columns in `drop`, which are not even loaded."""
    asked = _all_of(source, drop, progress)
    table = _read(asked)
    asked.stage.done()
    return table


def read_digested(
    source: Source, *, drop: Collection[str] = frozenset(), progress: Progress = SILENT
) -> tuple[pa.Table, str]:
    """Return the same, and the digest of what was read.

    Text is digested on its way. Of typed files only parts are loaded, and in another order, so they are digested
    beside. Who writes the file meanwhile would make the two disagree, and is found out. Of databases, what was read is
    digested, in whatever order.
    """
    asked = _all_of(source, drop, progress)
    if asked.form == "database":
        table = _read(asked)
        asked.stage.done()
        return table, digest_of_rows(table)
    before = state_of(source.path)
    if asked.form in TEXT_FORMATS:
        found = hashlib.sha256()
        table, sha256 = _read(replace(asked, digest=found)), found.hexdigest()
    else:
        table, sha256 = _read_and_digest(asked)
    if state_of(source.path) != before:
        raise DataError(
            f"{source.path} changed while it was read, so nobody knows what was read.\n"
            "Start again when nobody writes it."
        )
    asked.stage.done()
    return table, sha256


def _all_of(source: Source, drop: Collection[str], progress: Progress) -> Reading:
    form = format_of(source)
    total: float | None
    if form == "database":
        total = rows_of(source) if progress is not SILENT else None
    else:
        total = sum(part.stat().st_size for part in parts_of(source.path))
    return Reading(source, form, progress.stage("read", total=total), drop)


def _read_and_digest(asked: Reading) -> tuple[pa.Table, str]:
    stop = threading.Event()
    with ThreadPoolExecutor(1) as beside:
        try:
            sha256 = beside.submit(digest, asked.path, stop)
            return _read(asked), sha256.result()
        except BaseException:
            stop.set()
            raise


def is_there(source: Source) -> bool:
    """Whether there is something to read, as far as that can be told without a server."""
    if source.in_catalog:
        return False
    return source.file.exists() if source.file is not None else is_known(source)


def sample(source: Source, rows: int = 1000) -> pa.Table:
    """Return the first rows of the table; little more than these is read."""
    return _read(Reading(source, format_of(source), SILENT.stage("sample"), limit=rows)).slice(0, rows)


def read_columns(source: Source) -> list[str]:
    """Return the names of the columns, without reading what is in them."""
    match form := format_of(source):
        case "transactions":
            with opened(source.path) as stream:
                stream.read(1)
            return [ITEMS]
        case "parquet":
            return list(parquet_names(parts_of(source.path)))
        case "arrow":
            with arrow_batches(source.path) as (schema, _, _):
                return checked_names(schema.names, source.path)
        case "excel":
            return excel_names(source)
        case "stata" | "spss" | "sas":
            return stat_names(source, form)
        case "database":
            return database_names(source)
        case _:
            return list(layout_of(source, form).names)


def fitted(source: Source, schema: Schema) -> Source:
    """Return how to read a source for a schema: what the plan takes as text stays as it is."""
    names = read_columns(source)
    return replace(source, sets=schema.sets, as_text=frozenset(name for name in names if schema.is_text(name)))


def how_read(source: Source) -> tuple[Found, ...]:
    """Return how a source is written, each with the reason; of typed files the format says it all."""
    form = format_of(source)
    if form == "database":
        return how_database(source)
    shown = (Found("format", form, "the plan says so" if source.format else "its name says so"),)
    if form == "transactions":
        return (*shown, encoding_of(source))
    if form == "excel":
        return (*shown, *how_excel(source))
    if form not in TEXT_FORMATS:
        return (*shown, *(how_stat(source, form) if form == "sas" else ()))
    layout = layout_of(source, form)
    spelling = spelling_of(Reading(source, form, SILENT.stage("look")), layout)
    return (*shown, *layout.found, spelling.decimal, spelling.dates)


def _read(asked: Reading) -> pa.Table:
    match asked.form:
        case "transactions":
            return read_transactions(asked)
        case "parquet":
            return read_parquet(asked)
        case "arrow":
            return read_arrow(asked)
        case "excel":
            return read_excel(asked)
        case "stata" | "spss" | "sas":
            return read_stat(asked)
        case "database":
            return read_database(asked)
        case _:
            return read_csv(asked)
