"""CSV files: a header, then one record a line; quoted cells may hold line breaks. Cells stay text."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
import secrets
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.data.files import text
from sfumato.data.files.blanks import Blanks, follow_separators
from sfumato.data.files.columns import Apart, Texts
from sfumato.data.files.preamble import lines_above, no_such_line
from sfumato.data.files.room import POOL, give_back
from sfumato.data.files.source import Format, Found, Reading, Source, checked_names, kept_names, without_rows
from sfumato.data.files.spelling import Spelling, first_cells, looks_like_a_record
from sfumato.data.files.text import BOM, TextBytes, encoding_of, not_utf8, opened, whole_lines
from sfumato.errors import DataError
from sfumato.progress import SILENT

SEPARATORS = (",", ";", "\t", "|")
_LOOKED_AT = 1_000  # records that show how cells are spelled
_NOBODYS = ""  # the column behind a last separator
_HINT = re.compile(
    r'("?)sep=(?P<separator>[^"\r\n\0])\1(?:\r\n|\r|\n)', re.ASCII | re.IGNORECASE
)  # a first line of Excel's
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_AHEAD = 3  # blocks that are read before the first batch is there, which takes two of them
_STRADDLING = "straddl"  # what pyarrow says of a record that is longer than a block
_ENOUGH = 10_000  # wrong records after which it is clear that the file is not what it was taken for


@dataclass(frozen=True)
class Layout:
    """How a CSV file is written."""

    separator: str
    names: tuple[str, ...]
    header_size: int  # bytes before the first record, as UTF-8
    header_lines: int
    encoding: str
    records: tuple[Sequence[str], ...]  # the first ones
    found: tuple[Found, ...]  # what the plan could say, and how it is known
    blanks: bool  # whether blanks behind separators are left out
    ends_empty: bool  # whether every record ends with a separator, and so with a cell that belongs to nobody


def layout_of(source: Source, form: Format) -> Layout:
    """Return how a file is written, from its first part."""
    path = source.path
    encoding = encoding_of(source)
    with opened(path, encoding=str(encoding.value)) as stream:
        head = stream.head(text.HEAD)
    start = len(BOM) if head.startswith(BOM) else 0
    # Only the header must be right here: columns that are dropped may hold anything.
    content = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape").decode(head[start:])
    hint = _HINT.match(content)
    lines = 0  # that stand above the table
    if hint is not None:
        lines, start, content = 1, start + len(hint[0].encode()), content[hint.end() :]
    if not content.strip():
        raise DataError(f"{path} is empty.\nA table needs a header and at least one row.")
    separator = _separator_of(source, form, content, hint)
    mark = str(separator.value)
    header_row = _header_row_of(source, content, mark, lines)
    if (skipped := int(header_row.value) - lines - 1) > 0:
        above = "".join(islice(_lines(content), skipped))
        lines, start = lines + skipped, start + len(above.encode(errors="surrogateescape"))
        content = content[len(above) :]
        if source.header_row is not None:  # what stands above may have any separator
            separator = _separator_of(source, form, content, hint)
            mark = str(separator.value)
    blanks = follow_separators(head[start:], mark)
    if blanks:
        separator = replace(separator, reason=f"{separator.reason}; blanks follow each, and are left out")
    reader = csv.reader(_lines(content), delimiter=mark, strict=True, skipinitialspace=blanks)
    try:
        first = next(row for row in reader if row)
    except (csv.Error, StopIteration):
        raise DataError(
            f"{path} has a header with a quote that does not fit, or one that is longer than {text.HEAD:,} bytes.\n"
            'Put names with separators into "...", and write a quote inside it twice.'
        ) from None
    header_lines = reader.line_num
    header = "".join(islice(_lines(content), header_lines))
    if any("\udc80" <= character <= "\udcff" for character in header):
        raise not_utf8(path)
    records = _first_records(content, len(header), mark, blanks=blanks)
    named = header_of(source, first, records)
    if not named.value:
        records, header, header_lines = [first, *records], "", 0
    ends_empty = _ends_empty(first, records, named=bool(named.value))
    width = len(first) - (ends_empty and not first[-1])
    names = first[:width] if named.value else [f"column_{number + 1}" for number in range(width)]
    return Layout(
        separator=mark,
        names=tuple(checked_names(names, path)),
        header_size=start + len(header.encode()),
        header_lines=header_lines + lines,
        encoding=str(encoding.value),
        records=tuple(records),
        found=(encoding, separator, named, *[header_row][: skipped > 0]),
        blanks=blanks,
        ends_empty=ends_empty,
    )


def spelling_of(asked: Reading, layout: Layout) -> Spelling:
    """Return how decimals and dates are written, by the first records."""
    source = asked.source
    cells = first_cells(layout.names, layout.records, source)
    cells = {name: found for name, found in cells.items() if name not in asked.drop}
    return Spelling.of(source, cells, layout.separator)


def _separator_of(source: Source, form: Format, content: str, hint: re.Match[str] | None) -> Found:
    given = source.separator
    if given is None:
        if hint is not None:
            return Found("separator", hint["separator"], "its first line says so, and is left out")
        if form == "tsv":
            return Found("separator", "\t", "the name of the file says so")
        return Found("separator", _guess_separator(content), "it cuts the first records most evenly")
    if len(given) != 1 or not given.isascii() or given in '"\r\n\0':
        raise DataError(
            f"{source.path} was to be read with separator {given!r}.\n"
            "The separator of a CSV file is one character, such as a comma, a semicolon or a tab."
        )
    return Found("separator", given, "the plan says so")


def _header_row_of(source: Source, content: str, separator: str, lines: int) -> Found:
    """Return on which line the names of columns stand, `lines` of which came before the content."""
    if source.header_row is not None:
        if not any(map(str.strip, islice(_lines(content), max(source.header_row - lines - 1, 0), None))):
            raise no_such_line(source, "that line and all below it are empty")
        return Found("header_row", source.header_row, "the plan says so")
    rows, ends = [], [0]
    if source.header is None:
        reader = csv.reader(_lines(content), delimiter=separator, skipinitialspace=True)
        with contextlib.suppress(csv.Error):
            for row in islice(reader, _LOOKED_AT):
                rows.append(row)
                ends.append(reader.line_num)
    above = lines_above(rows)
    return Found("header_row", lines + ends[above] + 1, "the lines above have fewer cells, and are left out")


def _lines(content: str, start: int = 0) -> Iterator[str]:
    """Yield lines with their ends, one after the other: a stream over the whole would take four times its room."""
    return (found[0] for found in _LINE.finditer(content, start))


def _first_records(content: str, start: int, separator: str, *, blanks: bool) -> list[list[str]]:
    """Return some records behind the header; the last may be cut off, and is left out."""
    reader = csv.reader(_lines(content, start), delimiter=separator, skipinitialspace=blanks)
    records: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # whoever reads all of it says what is wrong
        records += islice(filter(None, reader), _LOOKED_AT)
    return records[:-1] if len(records) > 1 and not content.endswith(("\n", "\r")) else records


def header_of(source: Source, first: Sequence[str], records: Sequence[Sequence[str]]) -> Found:
    """Return whether the first line names the columns, or raise when it looks like a record."""
    if source.header is not None:
        return Found("header", source.header, "the plan says so")
    if odd := looks_like_a_record(first, records):
        raise DataError(
            f"{source.path} may have no line of column names: in its first line, {odd} of {len(first)} cells are "
            "like those below: numbers, dates, codes or values that occur again.\n"
            f"Say which it is: [source] header = true, or header = false, and the columns are column_1 to "
            f"column_{len(first)} (for `sfumato init`: --header, --no-header)."
        )
    return Found("header", True, "its cells look like names")


def _ends_empty(first: Sequence[str], records: Sequence[Sequence[str]], *, named: bool) -> bool:
    """Whether records end with a separator: behind a last name that is empty, or behind the last name."""
    width = len(first) + (named and bool(first[-1]))
    return width > 1 and bool(records) and all(len(record) == width and not record[-1] for record in records)


def _guess_separator(text: str) -> str:
    r"""Return the separator that cuts the first records most evenly, and among these into most cells.

    >>> _guess_separator("a;b\n1,5;2\n"), _guess_separator("name\nx\n"), _guess_separator("title\na;b\n1;2\n")
    (';', ',', ';')
    """
    best, found = (0.0, 1), ","
    for separator in SEPARATORS:
        reader = csv.reader(_lines(text), delimiter=separator, skipinitialspace=True)
        widths = []
        try:
            widths = [len(row) for row in islice(filter(None, reader), 100)]
        except csv.Error:  # a cell beyond all bounds
            continue
        even = sum(width == widths[0] for width in widths) / len(widths)
        if widths[0] > 1 and (even, widths[0]) > best:
            best, found = (even, widths[0]), separator
        usual = max(set(widths), key=widths.count)
        if 2 * best[0] < 1 < usual and 2 * widths.count(usual) > len(widths):
            found = separator  # something stands above the names of the columns
    return found


def read_csv(asked: Reading) -> pa.Table:
    """Return the table of a CSV file, every cell as text."""
    source, path = asked.source, asked.path
    layout = layout_of(source, asked.form)
    spelling = spelling_of(asked, layout)
    columns = _columns(asked, layout, min(text.SMALL, text.BLOCK))
    if columns is None:
        columns = _columns(replace(asked, digest=None, stage=SILENT.stage("read")), layout, text.BLOCK)
        assert columns is not None
    if layout.ends_empty and columns.pop(_NOBODYS).finish().dictionary.to_pylist() != [""]:
        raise DataError(
            f"{path} has records with a cell behind the last column, though the first ones end with a separator only.\n"
            f"Put cells that contain the separator {layout.separator!r} into quotes, or name that column."
        )

    def finished(name: str) -> pa.Array:
        column = columns.pop(name).finish()
        return column if source.keeps(name) else spelling.respelled(name, column)

    table = pa.table({name: finished(name) for name in list(columns)})
    give_back()
    return table


def _columns(asked: Reading, layout: Layout, block_size: int) -> dict[str, Texts | Apart] | None:
    """Return the columns of a CSV file, or None where a record may be longer than a block, but for the largest."""
    source, path = asked.source, asked.path
    names = [*layout.names, *[_NOBODYS][: layout.ends_empty]]
    kept = [*kept_names(layout.names, asked.drop, path), *names[len(layout.names) :]]
    columns = {name: Apart() if name in source.sets else Texts() for name in kept}
    records = _Records(layout, len(names))
    rows = 0
    with _quiet(), opened(path, asked.digest, layout.encoding) as stream:
        stream.skip(layout.header_size)
        stream.trailer = records.trailer
        stream.blanks = Blanks(layout.separator) if layout.blanks else None
        stream.wanted = threading.Semaphore(_AHEAD)
        try:
            with _reader(stream, layout, names, kept, records, block_size) as reader:
                for batch in reader:
                    stream.wanted.release()
                    for position, texts in enumerate(columns.values()):
                        texts.add(batch.column(position))
                    rows += batch.num_rows
                    del batch  # before the next one is made
                    stream.tell_progress(asked.stage)
                    if asked.is_enough(rows):
                        records.complete = True
                        break
        except MemoryError:
            raise
        except pa.ArrowException as error:
            if _STRADDLING in str(error) and block_size < text.BLOCK:
                return None
            if records.wrong:  # too many of them: the reader gave up
                _refuse_escapes(path, layout)
                raise _uneven(source, layout, records) from None
            raise _unparsed(path, str(error), rows) from None
        finally:
            stream.end()
        stream.tell_progress(asked.stage)
    if stream.escapes:
        _refuse_escapes(path, layout)
    if records.wrong:
        raise _uneven(source, layout, records)
    if not records.complete:
        raise DataError(
            f"{path} has a quoted cell that is never closed: its end is taken for a part of that cell.\n"
            'Close the cell with ", and write a quote inside a quoted cell twice.'
        )
    if not rows:
        raise without_rows(path, "a header")
    return columns


def _reader(
    stream: TextBytes, layout: Layout, names: list[str], kept: list[str], records: _Records, block_size: int
) -> pa_csv.CSVStreamingReader:
    return pa_csv.open_csv(
        pa.PythonFile(stream, "r"),
        read_options=pa_csv.ReadOptions(column_names=names, block_size=block_size, use_threads=False),
        parse_options=pa_csv.ParseOptions(
            delimiter=layout.separator,
            newlines_in_values=True,
            # A line without anything is a record of a single column, and a slip between records of several.
            ignore_empty_lines=len(names) > 1,
            invalid_row_handler=records.judge,
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types={name: pa.string() for name in kept},
            include_columns=kept,
            null_values=[],
            strings_can_be_null=False,
        ),
        memory_pool=POOL,
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep pyarrow from printing what it cannot hand over: a record that has too many cells and is no UTF-8."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


class _Records:
    """What happens to records that do not have as many cells as the header.

    A last record, one cell too long, is put behind the file. It comes out as such only when no quoted cell is left open
    at the end, which pyarrow would not mind.
    """

    def __init__(self, layout: Layout, width: int) -> None:
        self.end = layout.separator.join([f"end-{secrets.token_hex(8)}"] * (width + 1))
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


def _uneven(source: Source, layout: Layout, records: _Records) -> DataError:
    assert records.first is not None
    number, cells = records.first
    line = _line_of(source.path, layout, number)
    return DataError(
        f"{source.path} has {'at least ' if records.wrong >= _ENOUGH else ''}{records.wrong:,} record(s) with more or "
        f"fewer cells than its header of {len(layout.names)}.\n"
        f"The first is {f'on line {line:,}' if line else f'number {number:,} behind the header'}, with {cells}.\n"
        + (
            "Say which line names the columns: [source] header_row = 3 (for `sfumato init`: --header-row 3), or give "
            "the separator."
            if len(layout.names) == 1
            else f"Put cells that contain the separator {layout.separator!r} into quotes, or give the separator in the "
            "plan."
        )
    )


def _line_of(path: Path, layout: Layout, number: int) -> int | None:
    """Return the line on which a record begins, or None when it cannot be told."""
    seen = before = 0
    with _once_more(path, layout) as (reader, _), contextlib.suppress(csv.Error, DataError):
        for row in reader:
            seen += bool(row) or len(layout.names) == 1
            if seen == number:
                return layout.header_lines + before + 1
            before = reader.line_num
    return None


def _refuse_escapes(path: Path, layout: Layout) -> None:
    """Raise where a quoted cell goes on behind a backslash and a quote: nobody meant it to end there."""
    if (line := _escaped_line(path, layout)) is not None:
        raise DataError(
            f"{path} has a quote behind a backslash inside a quoted cell, on line {line:,}, where the cell would end.\n"
            'Write quotes inside quoted cells twice: "say ""hi""".'
        )


def _escaped_line(path: Path, layout: Layout) -> int | None:
    with _once_more(path, layout, strict=True) as (reader, last), contextlib.suppress(StopIteration, DataError):
        while True:
            try:
                next(reader)
            except csv.Error as error:
                if "expected after" in str(error) and '\\"' in last[0]:
                    return layout.header_lines + int(reader.line_num)
    return None


@contextlib.contextmanager
def _once_more(path: Path, layout: Layout, *, strict: bool = False) -> Iterator[tuple[Any, list[str]]]:
    """Yield the records of a file once more, slowly, and a place with the last line of them."""
    with opened(path, encoding=layout.encoding) as stream:
        stream.skip(layout.header_size)
        blocks = (block.decode(errors="replace") for block in whole_lines(stream))
        last = [""]

        def lines() -> Iterator[str]:
            for block in blocks:
                for last[0] in io.StringIO(block):
                    yield last[0]

        yield csv.reader(lines(), delimiter=layout.separator, skipinitialspace=layout.blanks, strict=strict), last


def _unparsed(path: Path, message: str, rows: int) -> DataError:
    """Return the error for what pyarrow says; its words may hold cells and stay here."""
    if "UTF8" in message or "Expected" in message:  # the second: about a record that could not even be handed over
        return not_utf8(path)
    if _STRADDLING in message:
        return DataError(
            f"{path} has a record of more than {text.BLOCK >> 20} MB, somewhere behind record {rows:,}.\n"
            "Most likely a quoted cell is never closed: close it with a quote, and write quotes inside it twice."
        )
    return DataError(
        f"{path} cannot be read as CSV, somewhere behind record {rows:,}.\nCheck how the file was written."
    )
