"""Typed files: Parquet, alone or as a folder of parts, and Arrow IPC files and streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pa_parquet

from sfumato.data.files.columns import Columns, common_types
from sfumato.data.files.source import Reading, checked_names, kept_names, parts_of, unreadable
from sfumato.data.hierarchy import some
from sfumato.data.kinds import is_list, is_text
from sfumato.errors import DataError

_BATCH = 1 << 18  # rows of a parquet file read at once
# What damaged bytes lead to: names that are no text, sizes beyond all memory, places outside of a file.
_DAMAGED = (OSError, pa.ArrowException, ValueError, OverflowError, MemoryError)


def parquet_names(parts: Sequence[Path]) -> list[str]:
    """Return the names of the columns of the first part."""
    return checked_names(_open_parquet(parts[0]).schema_arrow.names, parts[0])


def _open_parquet(path: Path) -> pa_parquet.ParquetFile:
    """Open a file so that text comes as dictionary, except inside lists, where pyarrow cannot do it throughout."""
    try:
        file = pa_parquet.ParquetFile(path)
        texts = [field.name for field in file.schema_arrow if is_text(field.type)]
        return pa_parquet.ParquetFile(path, metadata=file.metadata, read_dictionary=texts) if texts else file
    except _DAMAGED as error:
        raise _broken(path, "Parquet", error) from None


def _broken(path: Path, what: str, error: Exception) -> DataError:
    if isinstance(error, PermissionError):
        return unreadable(path, error)
    return DataError(
        f"{path} cannot be read as {what}: it is something else, damaged or cut off.\n"
        "Copy or write the file again, or give it the ending that fits its content."
    )


def _types(path: Path, parts: Sequence[Path], drop: Collection[str]) -> dict[str, pa.DataType]:
    """Return the columns that are not dropped with the types that take what all parts hold, or raise."""
    names = parquet_names(parts)
    schemas = [_open_parquet(part).schema_arrow for part in parts]
    for part, schema in zip(parts, schemas, strict=True):
        if sorted(schema.names) != sorted(names):
            differ = set(schema.names) ^ set(names)
            raise DataError(
                f"{path} has parts with different columns: {part.name} and {parts[0].name} differ in {some(differ)}.\n"
                "Keep only parts of one table in the folder."
            )
    return common_types(schemas, kept_names(names, drop, path), path)


def read_parquet(asked: Reading) -> pa.Table:
    """Return the table of a Parquet file or of a folder of them."""
    path = asked.path
    parts = parts_of(path)
    columns = Columns(_types(path, parts, asked.drop), path, as_codes=asked.source.as_codes)
    for part in parts:
        file = _open_parquet(part)
        size = part.stat().st_size / max(file.metadata.num_rows, 1)
        try:
            for batch in _batches(file, columns.kinds, range(file.num_row_groups)):
                columns.add(batch)
                asked.stage.advance(size * batch.num_rows)
                if asked.is_enough(columns.rows):
                    return columns.finish()
        except _DAMAGED as error:
            raise _broken(part, "Parquet", error) from None
    return columns.finish()


def _batches(file: pa_parquet.ParquetFile, columns: Iterable[str], groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of some row groups; group by group where lists hold dictionaries: pyarrow reads no more."""
    names = list(columns)
    kinds = [file.schema_arrow.field(name).type for name in names]
    apart = any(is_list(kind) and pa.types.is_dictionary(kind.value_type) for kind in kinds)
    for several in [[group] for group in groups] if apart else [groups]:
        yield from file.iter_batches(batch_size=_BATCH, row_groups=several, columns=names)


@dataclass(frozen=True)
class RowGroups:
    """A Parquet file, or a folder of them, in pieces that can be read apart: the whole table in its order."""

    path: Path
    kinds: Mapping[str, pa.DataType]  # of columns that are read
    places: tuple[tuple[Path, int, int], ...]  # a file, its first row group, and the one after the last


def row_groups(path: Path, drop: Collection[str], rows: int) -> RowGroups:
    """Return a table in pieces of about so many rows, as far as its files are written so."""
    parts = parts_of(path)
    kinds, places = _types(path, parts, drop), []
    for part in parts:
        metadata = _open_parquet(part).metadata
        first, held = 0, 0
        for group in range(metadata.num_row_groups):
            held += metadata.row_group(group).num_rows
            if held >= rows or group == metadata.num_row_groups - 1:
                places += [(part, first, group + 1)] if held else []
                first, held = group + 1, 0
    if not places:
        Columns(kinds, path).finish()  # which says that there is nothing
    return RowGroups(path, kinds, tuple(places))


def read_row_groups(groups: RowGroups, number: int) -> pa.Table:
    """Return the rows of one piece."""
    part, first, last = groups.places[number]
    columns = Columns(groups.kinds, groups.path)
    try:
        for batch in _batches(_open_parquet(part), groups.kinds, range(first, last)):
            columns.add(batch)
    except _DAMAGED as error:
        raise _broken(part, "Parquet", error) from None
    return columns.finish()


@contextmanager
def arrow_batches(path: Path) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch], Callable[[], int]]]:
    """Yield the schema, the batches, and how many bytes were read so far."""
    try:
        with pa.OSFile(os.fsencode(path), "rb") as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            if is_file:
                reader = pa_ipc.open_file(file)
                batches = (reader.get_batch(position) for position in range(reader.num_record_batches))
            else:
                reader = pa_ipc.open_stream(file)
                batches = iter(reader)
            yield reader.schema, batches, file.tell
    except _DAMAGED as error:
        raise _broken(path, "Arrow IPC", error) from None


def read_arrow(asked: Reading) -> pa.Table:
    """Return the table of an Arrow IPC file or stream."""
    path = asked.path
    with arrow_batches(path) as (schema, batches, tell):
        names = kept_names(checked_names(schema.names, path), asked.drop, path)
        columns = Columns(common_types([schema], names, path), path, as_codes=asked.source.as_codes)
        told = 0
        for batch in batches:
            columns.add(batch)
            asked.stage.advance(tell() - told)
            told = tell()
            if asked.is_enough(columns.rows):
                break
        return columns.finish()
