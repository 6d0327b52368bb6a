"""From files to tables, as found: cells of text files stay text, typed files keep their types.

| name ends in | holds |
| --- | --- |
| `.csv` `.tsv`, also with `.gz` or `.zst` | a header, then one record a line; quoted cells may hold line breaks |
| `.txt` `.dat`, also with `.gz` or `.zst` | transactions: one record a line, items with one blank between; no header |
| `.parquet`, or a folder of such parts | a table |
| `.arrow` `.feather` | a table, as Arrow IPC file or stream |

Files are read in blocks. Columns of text become dictionaries with codes as narrow as they can be, so that a table takes
a small part of the room of its file. No message ever shows a cell: pyarrow's own messages do, and are not passed on.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from sfumato.data.files.csv import layout_of, read_csv
from sfumato.data.files.source import Format, Source, checked_names, digest, format_of, parts_of
from sfumato.data.files.text import opened
from sfumato.data.files.transactions import ITEMS, read_transactions
from sfumato.data.files.typed import arrow_batches, parquet_names, read_arrow, read_parquet
from sfumato.progress import SILENT, Progress, Stage

__all__ = ["ITEMS", "Source", "digest", "read_columns", "read_table", "sample"]


def read_table(source: Source, *, drop: Collection[str] = frozenset(), progress: Progress = SILENT) -> pa.Table:
    """Return the whole table without the columns in `drop`, which are not even loaded."""
    form = format_of(source)
    parts = parts_of(source.path) if form == "parquet" else [source.path]
    stage = progress.stage("read", total=sum(part.stat().st_size for part in parts))
    table = _read(source, form, drop, stage, limit=None)
    stage.done()
    return table


def sample(source: Source, rows: int = 1000) -> pa.Table:
    """Return the first rows of the table; little more than these is read."""
    return _read(source, format_of(source), frozenset(), SILENT.stage("sample"), limit=rows).slice(0, rows)


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
        case _:
            return list(layout_of(source, form).names)


def _read(source: Source, form: Format, drop: Collection[str], stage: Stage, limit: int | None) -> pa.Table:
    match form:
        case "transactions":
            return read_transactions(source, drop, stage, limit)
        case "parquet":
            return read_parquet(source.path, drop, stage, limit)
        case "arrow":
            return read_arrow(source.path, drop, stage, limit)
        case _:
            return read_csv(source, form, drop, stage, limit)
