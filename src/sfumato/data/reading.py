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

import codecs
import csv
import hashlib
import io
import os
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from sfumato.data.dataset import as_arrow, as_numpy
from sfumato.data.encoding import is_list, is_text, unify, value_type
from sfumato.data.hierarchy import some
from sfumato.errors import DataError, did_you_mean
from sfumato.progress import SILENT, Progress, Stage

Format: TypeAlias = Literal["csv", "tsv", "transactions", "parquet", "arrow"]

ITEMS = "items"  # the only column of a transaction file

_FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "transactions",
    ".dat": "transactions",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_TEXT_FORMATS = ("csv", "tsv", "transactions")
_SEPARATORS = (",", ";", "\t", "|")
_BOM = codecs.BOM_UTF8

_BLOCK = 4 << 20  # bytes read at once; a record of a CSV file must fit
_HEAD = 1 << 20  # bytes looked at to find out how a file is written
_BATCH = 1 << 18  # rows of a parquet file read at once
_ENOUGH = 10_000  # wrong records after which it is clear that the file is not what it was taken for


@dataclass(frozen=True)
class Source:
    """Where a table is and how it is written; `separator` None means: see for yourself."""

    path: Path
    separator: str | None = None  # between cells of a csv file, between items of a transaction
    missing: tuple[str, ...] = ("",)  # cells that are missing; kept here for whoever encodes the table
    format: Format | None = None  # None: by the name of the file

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))


def read_table(source: Source, *, drop: Collection[str] = frozenset(), progress: Progress = SILENT) -> pa.Table:
    """Return the whole table without the columns in `drop`, which are not even loaded."""
    form = _format_of(source)
    parts = _parts(source.path) if form == "parquet" else [source.path]
    stage = progress.stage("read", total=sum(part.stat().st_size for part in parts))
    table = _read(source, form, drop, stage, limit=None)
    stage.done()
    return table


def sample(source: Source, rows: int = 1000) -> pa.Table:
    """Return the first rows of the table; little more than these is read."""
    return _read(source, _format_of(source), frozenset(), SILENT.stage("sample"), limit=rows).slice(0, rows)


def read_columns(source: Source) -> list[str]:
    """Return the names of the columns, without reading what is in them."""
    match form := _format_of(source):
        case "transactions":
            with _opened(source.path) as stream:
                stream.read(1)
            return [ITEMS]
        case "parquet":
            return list(_parquet_names(_parts(source.path)))
        case "arrow":
            with _arrow_batches(source.path) as (schema, _, _):
                return _checked_names(schema.names, source.path)
        case _:
            return list(_layout(source, form).names)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text; of a folder, that of its parts' names and contents in order."""
    _check_exists(path)
    try:
        if not path.is_dir():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        whole = hashlib.sha256()
        for part in _parts(path):
            whole.update(part.name.encode() + b"\0" + bytes.fromhex(digest(part)))
        return whole.hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from None


def _read(source: Source, form: Format, drop: Collection[str], stage: Stage, limit: int | None) -> pa.Table:
    match form:
        case "transactions":
            return _read_transactions(source, drop, stage, limit)
        case "parquet":
            return _read_parquet(source.path, drop, stage, limit)
        case "arrow":
            return _read_arrow(source.path, drop, stage, limit)
        case _:
            return _read_csv(source, form, drop, stage, limit)


# What a path is.


def _format_of(source: Source) -> Format:
    """Return how a file is written, by its name, once it is sure that there is something to read."""
    path = source.path
    _check_exists(path)
    if path.is_dir():
        if source.format not in (None, "parquet"):
            raise DataError(f"{path} was asked for as a {source.format} file, but is a folder.\nName the file in it.")
        return "parquet"
    if not path.is_file():
        raise DataError(f"{path} was asked for as a table, but is no ordinary file.\nSave the data to a file first.")
    if source.format is not None:
        if source.format not in _FORMATS.values():
            raise DataError(
                f"{path} was asked for in an unknown format, {source.format!r}."
                + did_you_mean(str(source.format), set(_FORMATS.values()))
            )
        return source.format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in _COMPRESSIONS
    form = _FORMATS.get(suffixes[-2] if packed and len(suffixes) > 1 else suffixes[-1]) if suffixes else None
    if form is None or (packed and form not in _TEXT_FORMATS):
        shown = "".join(suffixes[-2:] if packed else suffixes[-1:])
        raise DataError(
            f"{path} was asked for as a table, but "
            + (f"files whose name ends in {shown!r} are not known here.\n" if shown else "its name has no ending.\n")
            + "Known: .csv .tsv .txt .dat (also with .gz or .zst), .parquet (or a folder of them), .arrow .feather."
        )
    return form


def _check_exists(path: Path) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        raise DataError(
            f"{path} was asked for as a table, but there is no such file.\nCorrect the path, relative to the plan."
        ) from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> DataError:
    number = error.errno if isinstance(error, OSError) else None
    reason = os.strerror(number) if number is not None else "the system refuses it"
    return DataError(f"{path} was asked for as a table, but cannot be read: {reason}.\nCheck its path and permissions.")


def _parts(path: Path) -> list[Path]:
    """Return the parquet files that make up a table, in the order of their names."""
    if not path.is_dir():
        return [path]
    try:
        inside = sorted(path.iterdir())
    except OSError as error:
        raise _unreadable(path, error) from None
    parts = [part for part in inside if part.suffix.lower() == ".parquet" and part.name[0] not in "._"]
    if not parts:
        nested = any(part.is_dir() for part in inside)
        raise DataError(
            f"{path} is a folder, but there are no .parquet files in it.\n"
            + ("Folders inside are not searched: name the one with the parts." if nested else "Name a file instead.")
        )
    return parts


def _checked_names(names: Sequence[str], path: Path) -> list[str]:
    """Return the names of columns if each can be told from the others."""
    empty = [position for position, name in enumerate(names, start=1) if not name.strip()]
    if empty:
        raise DataError(
            f"{path} has columns without a name: {len(empty)} of {len(names)}, the first at position {empty[0]}.\n"
            "Name every column in the header."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path} has columns with the same name: {some(twice)}.\nGive each column a name of its own.")
    return list(names)


def _kept(names: Sequence[str], drop: Collection[str], path: Path) -> list[str]:
    kept = [name for name in names if name not in drop]
    if not kept:
        raise DataError(
            f"{path} has no column left: all {len(names)} are to be dropped as identifiers.\n"
            "Give at least one column another role."
        )
    return kept


# Bytes.


class _Bytes:
    """The bytes of a text file, unpacked, as pyarrow and we read them: checked for what no text file holds."""

    def __init__(self, path: Path, stream: Any, raw: Any) -> None:
        self.path = path
        self.stream = stream
        self.raw = raw
        self.closed = False
        self.at = 0  # bytes given out
        self.told = 0  # bytes of the file reported as progress
        self.ahead = pa.py_buffer(b"")  # given out before anything else
        self.last = b"\n"  # the last byte given out
        self.trailer = b""  # given out behind the last byte, on a line of its own

    def read(self, size: int = _BLOCK) -> pa.Buffer:
        """Return up to `size` bytes, nothing at the end."""
        if self.ahead.size:
            block, self.ahead = self.ahead[:size], self.ahead[size:]
        else:
            block = self._next(size)
        if not block.size and self.trailer:
            block = pa.py_buffer((b"" if self.last in (b"\n", b"\r") else b"\n") + self.trailer)
            self.trailer = b""
        self.at += block.size
        if block.size:
            self.last = block[-1:].to_pybytes()
        return block

    def _next(self, size: int) -> pa.Buffer:
        try:
            block = self.stream.read_buffer(size)
        except (OSError, pa.ArrowException):
            raise DataError(
                f"{self.path} cannot be unpacked: it is damaged or cut off.\nCopy or download the file again."
            ) from None
        if self.at == 0 and block[:2].to_pybytes() in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise DataError(f"{self.path} is UTF-16 text.\nSave the file as UTF-8.")
        characters = np.frombuffer(block, dtype=np.uint8)
        if not characters.all():
            line = _line_at(self.path, self.at + int(np.argmin(characters)))
            raise DataError(
                f"{self.path} has zero bytes, the first on line {line:,}, so it is no plain text file.\n"
                "Save the file as UTF-8 text."
            )
        return block

    def blocks(self, size: int | None = None) -> Iterator[bytes]:
        """Yield all bytes from where we are, or the next `size` of them."""
        while (size is None or size > 0) and (block := self.read(_BLOCK if size is None else min(size, _BLOCK))).size:
            yield block.to_pybytes()
            size = None if size is None else size - block.size

    def head(self, size: int) -> bytes:
        """Return up to `size` bytes from where we are, and let them be read once more."""
        head = b"".join(self.blocks(size))
        self.ahead = pa.py_buffer(head)
        self.at -= len(head)
        return head

    def skip(self, size: int) -> None:
        """Leave out the next bytes."""
        for _ in self.blocks(size):
            pass

    def tell_progress(self, stage: Stage) -> None:
        """Report how much of the file was read since the last report."""
        at = self.raw.tell()
        stage.advance(at - self.told)
        self.told = at

    # What else pyarrow asks of a file.

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


@contextmanager
def _opened(path: Path) -> Iterator[_Bytes]:
    try:
        raw = pa.OSFile(os.fsencode(path), "rb")
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None
    compression = _COMPRESSIONS.get(path.suffix.lower())
    stream = pa.CompressedInputStream(raw, compression) if compression else raw
    try:
        yield _Bytes(path, stream, raw)
    finally:
        raw.close()


def _line_at(path: Path, offset: int) -> int:
    """Return the number of the line that holds a byte of the unpacked file."""
    line = 1
    with _opened(path) as stream:
        for block in stream.blocks(offset):
            line += block.count(b"\n")
    return line


def _not_utf8(path: Path) -> DataError:
    """Return the error for a file with bytes that are no UTF-8, after looking for the first of them."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with _opened(path) as stream:
        try:
            for block in stream.blocks():
                decoder.decode(block)
                line += block.count(b"\n")
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
    return DataError(
        f"{path} is not UTF-8 text: line {line:,} has a byte that does not belong there.\n"
        "Save the file as UTF-8; files in Latin-1 or Windows-1252 often look right until the first accent."
    )


# Columns under construction.


class _Texts:
    """A column of text that arrives in chunks, each with a dictionary of its own."""

    def __init__(self) -> None:
        self.parts: list[tuple[pa.Array, pa.Array]] = []  # narrow indices, dictionary

    def add(self, chunk: pa.Array) -> None:
        """Take the next rows: text, a dictionary of text, or nothing but nulls."""
        if pa.types.is_null(chunk.type):
            chunk = chunk.cast(pa.string())
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_encode()
        # Arrow's memory rather than numpy's: the system gets it back when the chunks are done with.
        self.parts.append((chunk.indices.cast(_index_type(len(chunk.dictionary))), chunk.dictionary))

    def finish(self) -> pa.DictionaryArray:
        """Return the whole column with one dictionary; the chunks are used up."""
        dictionary, code_of = unify([part[1] for part in self.parts])
        size = sum(len(part[0]) for part in self.parts)
        codes = np.empty(size, dtype=_index_type(len(dictionary)).to_pandas_dtype())
        absent = np.empty(0, dtype=np.bool_)
        at = 0
        self.parts.reverse()
        for new_code in code_of:
            indices, _ = self.parts.pop()
            if indices.null_count:
                absent = np.pad(absent, (0, size - absent.size))
                absent[at : at + len(indices)] = as_numpy(pc.is_null(indices))
                indices = pc.fill_null(indices, 0)
            codes[at : at + len(indices)] = new_code[as_numpy(indices)] if new_code.size else 0
            at += len(indices)
        return pa.DictionaryArray.from_arrays(as_arrow(codes, absent if absent.size else None), dictionary)


def _index_type(size: int) -> pa.DataType:
    """Return the narrowest integer that numbers so many values."""
    return pa.int8() if size <= 2**7 else pa.int16() if size <= 2**15 else pa.int32()


class _TextLists:
    """A column of lists of text that arrives in chunks."""

    def __init__(self) -> None:
        self.texts = _Texts()
        self.sizes: list[NDArray[np.integer[Any]]] = []
        self.absent: list[NDArray[np.bool_]] = []

    def add(self, chunk: pa.Array) -> None:
        """Take the next rows: lists of text, or nothing but nulls."""
        if pa.types.is_null(chunk.type):
            chunk = chunk.cast(pa.large_list(pa.string()))
        self.texts.add(chunk.flatten())
        self.sizes.append(as_numpy(pc.fill_null(pc.list_value_length(chunk), 0)))
        self.absent.append(as_numpy(pc.is_null(chunk)))

    def finish(self) -> pa.LargeListArray:
        """Return the whole column, its texts with one dictionary; the chunks are used up."""
        absent = np.concatenate(self.absent)
        start = np.zeros(absent.size + 1, dtype=np.int64)
        np.cumsum(np.concatenate(self.sizes), out=start[1:])
        return pa.LargeListArray.from_arrays(
            as_arrow(start), self.texts.finish(), mask=as_arrow(absent) if absent.any() else None
        )


class _Columns:
    """The columns of a typed table that arrives in batches, with the types that they shall have in the end."""

    def __init__(self, kinds: Mapping[str, pa.DataType], path: Path) -> None:
        self.kinds = kinds
        self.path = path
        self.rows = 0
        self.texts: dict[str, _Texts | _TextLists] = {}
        self.others: dict[str, list[pa.Array]] = {}
        for name, kind in kinds.items():
            if is_text(kind):
                self.texts[name] = _Texts()
            elif is_list(kind) and is_text(value_type(kind.value_type)):
                self.texts[name] = _TextLists()
            else:
                self.others[name] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next rows."""
        self.rows += batch.num_rows
        for name, kind in self.kinds.items():
            chunk = batch.column(batch.schema.get_field_index(name))
            if name in self.texts:
                self.texts[name].add(chunk)
            else:
                self.others[name].append(chunk if chunk.type == kind else chunk.cast(kind))

    def finish(self) -> pa.Table:
        """Return the table; the batches are used up."""
        if not self.rows:
            raise DataError(f"{self.path} has columns but no rows.\nNothing can be published from it.")
        arrays = [self._column(name, kind) for name, kind in self.kinds.items()]
        return pa.Table.from_arrays(arrays, names=list(self.kinds))

    def _column(self, name: str, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
        return self.texts.pop(name).finish() if name in self.texts else pa.chunked_array(self.others.pop(name), kind)


def _common_types(schemas: Sequence[pa.Schema], names: Sequence[str], path: Path) -> dict[str, pa.DataType]:
    """Return for each column the type that takes what all parts hold; any text is plain text."""
    kinds = {}
    for name in names:
        found = {_plain_type(schema.field(name).type) for schema in schemas}
        try:
            fields = [pa.schema([(name, kind)]) for kind in found]
            kinds[name] = pa.unify_schemas(fields, promote_options="permissive").field(name).type
        except pa.ArrowException:
            raise DataError(
                f"{path} has parts that disagree about the type of column {name!r}: {some(map(str, found))}.\n"
                "Write all parts with the same types."
            ) from None
    return kinds


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if is_list(kind):
        inner = value_type(kind.value_type)
        return pa.large_list(inner) if is_text(inner) else kind
    return pa.string() if is_text(value_type(kind)) else kind


# Typed files.


def _parquet_names(parts: Sequence[Path]) -> list[str]:
    return _checked_names(_open_parquet(parts[0]).schema_arrow.names, parts[0])


def _open_parquet(path: Path) -> pa_parquet.ParquetFile:
    """Open a file so that text comes as dictionary, except inside lists, where pyarrow cannot do it throughout."""
    try:
        file = pa_parquet.ParquetFile(path)
        texts = [field.name for field in file.schema_arrow if is_text(field.type)]
        return pa_parquet.ParquetFile(path, metadata=file.metadata, read_dictionary=texts) if texts else file
    except (OSError, pa.ArrowException) as error:
        raise _broken(path, "Parquet", error) from None


def _broken(path: Path, what: str, error: Exception) -> DataError:
    if isinstance(error, PermissionError):
        return _unreadable(path, error)
    return DataError(
        f"{path} cannot be read as {what}: it is something else, damaged or cut off.\n"
        "Copy or write the file again, or give it the ending that fits its content."
    )


def _read_parquet(path: Path, drop: Collection[str], stage: Stage, limit: int | None) -> pa.Table:
    parts = _parts(path)
    names = _parquet_names(parts)
    schemas = [_open_parquet(part).schema_arrow for part in parts]
    for part, schema in zip(parts, schemas, strict=True):
        if sorted(schema.names) != sorted(names):
            differ = set(schema.names) ^ set(names)
            raise DataError(
                f"{path} has parts with different columns: {part.name} and {parts[0].name} differ in {some(differ)}.\n"
                "Keep only parts of one table in the folder."
            )
    columns = _Columns(_common_types(schemas, _kept(names, drop, path), path), path)
    for part in parts:
        file = _open_parquet(part)
        size = part.stat().st_size / max(file.metadata.num_rows, 1)
        try:
            for batch in file.iter_batches(batch_size=_BATCH, columns=list(columns.kinds)):
                columns.add(batch)
                stage.advance(size * batch.num_rows)
                if limit is not None and columns.rows >= limit:
                    return columns.finish()
        except (OSError, pa.ArrowException) as error:
            raise _broken(part, "Parquet", error) from None
    return columns.finish()


@contextmanager
def _arrow_batches(path: Path) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch], Callable[[], int]]]:
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
    except (OSError, pa.ArrowException) as error:
        raise _broken(path, "Arrow IPC", error) from None


def _read_arrow(path: Path, drop: Collection[str], stage: Stage, limit: int | None) -> pa.Table:
    with _arrow_batches(path) as (schema, batches, tell):
        names = _kept(_checked_names(schema.names, path), drop, path)
        columns = _Columns(_common_types([schema], names, path), path)
        told = 0
        for batch in batches:
            columns.add(batch)
            stage.advance(tell() - told)
            told = tell()
            if limit is not None and columns.rows >= limit:
                break
        return columns.finish()


# CSV.


@dataclass(frozen=True)
class _Layout:
    """How a CSV file is written."""

    separator: str
    names: tuple[str, ...]
    header_size: int  # bytes before the first record
    header_lines: int


def _layout(source: Source, form: Format) -> _Layout:
    """Return separator and header, from the first part of the file."""
    path = source.path
    with _opened(path) as stream:
        head = stream.head(_HEAD)
    start = len(_BOM) if head.startswith(_BOM) else 0
    # Only the header must be right here: columns that are dropped may hold anything.
    text = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape").decode(head[start:])
    if not text.strip():
        raise DataError(f"{path} is empty.\nA table needs a header and at least one row.")
    separator = source.separator
    if separator is None:
        separator = "\t" if form == "tsv" else _guess_separator(text)
    elif len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise DataError(
            f"{path} was to be read with separator {separator!r}.\n"
            "The separator of a CSV file is one character, such as a comma, a semicolon or a tab."
        )
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        names = next(row for row in reader if row)
    except (csv.Error, StopIteration):
        raise DataError(
            f"{path} has a header with a quote that does not fit, or one that is longer than {_HEAD:,} bytes.\n"
            'Put names with separators into "...", and write a quote inside it twice.'
        ) from None
    header = text[: lines.tell()]
    if any("\udc80" <= character <= "\udcff" for character in header):
        raise _not_utf8(path)
    _checked_names(names, path)
    return _Layout(
        separator=separator,
        names=tuple(names),
        header_size=start + len(header.encode()),
        header_lines=reader.line_num,
    )


def _guess_separator(text: str) -> str:
    r"""Return the separator that cuts the first records most evenly, and among these into most cells.

    >>> _guess_separator("a;b\n1,5;2\n"), _guess_separator("name\nx\n")
    (';', ',')
    """
    best, found = (0.0, 1), ","
    for separator in _SEPARATORS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths = []
        try:
            widths = [len(row) for row in islice(filter(None, reader), 100)]
        except csv.Error:  # a cell beyond all bounds
            continue
        even = sum(width == widths[0] for width in widths) / len(widths)
        if widths[0] > 1 and (even, widths[0]) > best:
            best, found = (even, widths[0]), separator
    return found


def _read_csv(source: Source, form: Format, drop: Collection[str], stage: Stage, limit: int | None) -> pa.Table:
    path = source.path
    layout = _layout(source, form)
    kept = _kept(layout.names, drop, path)
    columns = {name: _Texts() for name in kept}
    records = _Records(layout)
    rows = 0
    with _opened(path) as stream:
        stream.skip(layout.header_size)
        stream.trailer = records.trailer
        try:
            reader = pa_csv.open_csv(
                pa.PythonFile(stream, "r"),
                read_options=pa_csv.ReadOptions(column_names=layout.names, block_size=_BLOCK, use_threads=False),
                parse_options=pa_csv.ParseOptions(
                    delimiter=layout.separator,
                    newlines_in_values=True,
                    # A line without anything is a record of a single column, and a slip between records of several.
                    ignore_empty_lines=len(layout.names) > 1,
                    invalid_row_handler=records.judge,
                ),
                convert_options=pa_csv.ConvertOptions(
                    column_types={name: pa.dictionary(pa.int32(), pa.string()) for name in kept},
                    include_columns=kept,
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
            with reader:
                for batch in reader:
                    for position, texts in enumerate(columns.values()):
                        texts.add(batch.column(position))
                    rows += batch.num_rows
                    stream.tell_progress(stage)
                    if limit is not None and rows >= limit:
                        records.complete = True
                        break
        except pa.ArrowException as error:
            if records.wrong:  # too many of them: the reader gave up
                raise _uneven(source, layout, records) from None
            raise _unparsed(path, str(error), rows) from None
        stream.tell_progress(stage)
    if records.wrong:
        raise _uneven(source, layout, records)
    if not records.complete:
        raise DataError(
            f"{path} has a quoted cell that is never closed: its end is taken for a part of that cell.\n"
            'Close the cell with ", and write a quote inside a quoted cell twice.'
        )
    if not rows:
        raise DataError(f"{path} has a header but no rows.\nNothing can be published from it.")
    return pa.Table.from_arrays([texts.finish() for texts in columns.values()], names=kept)


class _Records:
    """What happens to records that do not have as many cells as the header.

    A last record, one cell too long, is put behind the file. It comes out as such only when no quoted cell is left open
    at the end, which pyarrow would not mind.
    """

    def __init__(self, layout: _Layout) -> None:
        self.end = layout.separator.join([f"end-{secrets.token_hex(8)}"] * (len(layout.names) + 1))
        self.trailer = self.end.encode() + b"\n"
        self.complete = False
        self.wrong = 0
        self.first: tuple[int, int] | None = None  # number of the first wrong record, and of its cells

    def judge(self, row: pa_csv.InvalidRow) -> str:
        """Tell pyarrow whether to go on behind a record."""
        if row.text == self.end:
            self.complete = True
            return "skip"
        self.wrong += 1
        if self.first is None:
            self.first = (row.number, row.actual_columns)
        return "skip" if self.wrong < _ENOUGH else "error"


def _uneven(source: Source, layout: _Layout, records: _Records) -> DataError:
    assert records.first is not None
    number, cells = records.first
    line = _line_of(source.path, layout, number)
    return DataError(
        f"{source.path} has {'at least ' if records.wrong >= _ENOUGH else ''}{records.wrong:,} record(s) with more or "
        f"fewer cells than its header of {len(layout.names)}.\n"
        f"The first is {f'on line {line:,}' if line else f'number {number:,} behind the header'}, with {cells}.\n"
        f"Put cells that contain the separator {layout.separator!r} into quotes, or give the separator in the plan."
    )


def _line_of(path: Path, layout: _Layout, number: int) -> int | None:
    """Return the line on which a record begins, or None when it cannot be told."""
    with _opened(path) as stream:
        stream.skip(layout.header_size)
        blocks = (block.decode(errors="replace") for block in _whole_lines(stream))
        reader = csv.reader((line for block in blocks for line in io.StringIO(block)), delimiter=layout.separator)
        seen = before = 0
        try:
            for row in reader:
                seen += bool(row) or len(layout.names) == 1
                if seen == number:
                    return layout.header_lines + before + 1
                before = reader.line_num
        except (csv.Error, DataError):
            pass
    return None


def _unparsed(path: Path, message: str, rows: int) -> DataError:
    """Return the error for what pyarrow says; its words may hold cells and stay here."""
    if "UTF8" in message:
        return _not_utf8(path)
    if "straddl" in message:
        return DataError(
            f"{path} has a record of more than {_BLOCK >> 20} MB, somewhere behind record {rows:,}.\n"
            "Most likely a quoted cell is never closed: close it with a quote, and write quotes inside it twice."
        )
    return DataError(
        f"{path} cannot be read as CSV, somewhere behind record {rows:,}.\nCheck how the file was written."
    )


# Transactions.


def _read_transactions(source: Source, drop: Collection[str], stage: Stage, limit: int | None) -> pa.Table:
    path = source.path
    _kept([ITEMS], drop, path)
    items = _TextLists()
    rows = 0
    with _opened(path) as stream:
        head = stream.head(_HEAD)
        if head.startswith(_BOM):
            stream.skip(len(_BOM))
            head = head[len(_BOM) :]
        if not head:
            raise DataError(f"{path} is empty.\nA transaction file needs at least one record, one a line.")
        cut = _ItemCutter(source, head)
        for block in _whole_lines(stream):
            try:
                records = cut(block)
            except UnicodeDecodeError:
                raise _not_utf8(path) from None
            items.add(records)
            rows += len(records)
            stream.tell_progress(stage)
            if limit is not None and rows >= limit:
                break
    return pa.Table.from_arrays([items.finish()], names=[ITEMS])


def _whole_lines(stream: _Bytes) -> Iterator[bytes]:
    r"""Yield blocks that end with a line; `\r\n` and `\r` become `\n`."""
    rest: list[bytes] = []
    for block in stream.blocks():
        end = block.rfind(b"\n") + 1
        if not end:
            rest.append(block)
            continue
        yield _unix(b"".join([*rest, block[:end]]))
        rest = [block[end:]]
    if last := b"".join(rest):
        yield _unix(last + b"\n" if not last.endswith(b"\r") else last)


def _unix(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


class _ItemCutter:
    """Cuts blocks of lines into items, all of a block at once."""

    def __init__(self, source: Source, head: bytes) -> None:
        self.path = source.path
        self.guessed = source.separator is None
        given = source.separator
        if given is None:
            given = "\t" if b"\t" in head and b" " not in head else " "
        if not given or "\n" in given or "\r" in given:
            raise DataError(
                f"{self.path} was to be read with separator {given!r} between items.\n"
                "Give what stands between two items of a line, such as a blank."
            )
        self.separator = given.encode()
        self.trim = bool(given.strip())  # blanks around a visible separator belong to nobody

    def __call__(self, block: bytes) -> pa.ListArray:
        """Return the items of each line."""
        self._refuse_mixed_blanks(block)
        separator = self.separator
        if len(separator) > 1:  # zero bytes do not occur: one of them may stand for several
            block, separator = block.replace(separator, b"\0"), b"\0"
        characters = np.frombuffer(block, dtype=np.uint8)
        is_end = characters == ord("\n")
        is_cut = is_end | (characters == separator[0])
        cut = np.flatnonzero(is_cut)
        # Item i lies before cut i. Without the cuts themselves the items stand side by side, as Arrow holds text.
        offsets = np.zeros(cut.size + 1, dtype=np.int32)
        offsets[1:] = cut - np.arange(cut.size)
        items = pa.StringArray.from_buffers(
            cut.size, pa.py_buffer(offsets), pa.py_buffer(characters[~is_cut])
        ).dictionary_encode()
        texts = items.dictionary
        if self.trim:
            _validate(texts)
            texts = pc.utf8_trim_whitespace(texts)
        _validate(texts)
        codes = as_numpy(items.indices)
        filled = as_numpy(pc.not_equal(texts, ""))[codes]
        line_of = np.cumsum(is_end[cut]) - is_end[cut]
        start = np.zeros(int(is_end.sum()) + 1, dtype=np.int32)
        np.cumsum(np.bincount(line_of[filled], minlength=start.size - 1), out=start[1:])
        return pa.ListArray.from_arrays(as_arrow(start), pa.DictionaryArray.from_arrays(as_arrow(codes[filled]), texts))

    def _refuse_mixed_blanks(self, block: bytes) -> None:
        other = {b" ": b"\t", b"\t": b" "}.get(self.separator)
        if other is None or other not in block or (other == b" " and not self.guessed):
            return
        raise DataError(
            f"{self.path} has both blanks and tabs, so it is not clear what stands between two items.\n"
            "Use one of them throughout, or give the separator in the plan."
        )


def _validate(texts: pa.StringArray) -> None:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise UnicodeDecodeError("utf-8", b"", 0, 0, "not UTF-8") from None
