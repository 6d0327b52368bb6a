"""CSV files: a header, then one record a line; quoted cells may hold line breaks. Cells stay text."""

from __future__ import annotations

import codecs
import csv
import io
import secrets
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.data.files import text
from sfumato.data.files.columns import Texts
from sfumato.data.files.source import Format, Reading, Source, checked_names, kept_names
from sfumato.data.files.text import BOM, not_utf8, opened, whole_lines
from sfumato.errors import DataError

_SEPARATORS = (",", ";", "\t", "|")
_ENOUGH = 10_000  # wrong records after which it is clear that the file is not what it was taken for


@dataclass(frozen=True)
class Layout:
    """How a CSV file is written."""

    separator: str
    names: tuple[str, ...]
    header_size: int  # bytes before the first record
    header_lines: int


def layout_of(source: Source, form: Format) -> Layout:
    """Return separator and header, from the first part of the file."""
    path = source.path
    with opened(path) as stream:
        head = stream.head(text.HEAD)
    start = len(BOM) if head.startswith(BOM) else 0
    # Only the header must be right here: columns that are dropped may hold anything.
    content = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape").decode(head[start:])
    if not content.strip():
        raise DataError(f"{path} is empty.\nA table needs a header and at least one row.")
    separator = source.separator
    if separator is None:
        separator = "\t" if form == "tsv" else _guess_separator(content)
    elif len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise DataError(
            f"{path} was to be read with separator {separator!r}.\n"
            "The separator of a CSV file is one character, such as a comma, a semicolon or a tab."
        )
    lines = io.StringIO(content, newline="")
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        names = next(row for row in reader if row)
    except (csv.Error, StopIteration):
        raise DataError(
            f"{path} has a header with a quote that does not fit, or one that is longer than {text.HEAD:,} bytes.\n"
            'Put names with separators into "...", and write a quote inside it twice.'
        ) from None
    header = content[: lines.tell()]
    if any("\udc80" <= character <= "\udcff" for character in header):
        raise not_utf8(path)
    checked_names(names, path)
    return Layout(
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


def read_csv(asked: Reading) -> pa.Table:
    """Return the table of a CSV file, every cell as text."""
    source, path = asked.source, asked.path
    layout = layout_of(source, asked.form)
    kept = kept_names(layout.names, asked.drop, path)
    columns = {name: Texts() for name in kept}
    records = _Records(layout)
    rows = 0
    with opened(path, asked.digest) as stream:
        stream.skip(layout.header_size)
        stream.trailer = records.trailer
        try:
            reader = pa_csv.open_csv(
                pa.PythonFile(stream, "r"),
                read_options=pa_csv.ReadOptions(column_names=layout.names, block_size=text.BLOCK, use_threads=False),
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
                    stream.tell_progress(asked.stage)
                    if asked.is_enough(rows):
                        records.complete = True
                        break
        except MemoryError:
            raise
        except pa.ArrowException as error:
            if records.wrong:  # too many of them: the reader gave up
                raise _uneven(source, layout, records) from None
            raise _unparsed(path, str(error), rows) from None
        stream.tell_progress(asked.stage)
    if records.wrong:
        raise _uneven(source, layout, records)
    if not records.complete:
        raise DataError(
            f"{path} has a quoted cell that is never closed: its end is taken for a part of that cell.\n"
            'Close the cell with ", and write a quote inside a quoted cell twice.'
        )
    if not rows:
        raise DataError(f"{path} has a header but no rows.\nNothing can be published from it.")
    arrays = [texts.finish_apart() if name in source.sets else texts.finish() for name, texts in columns.items()]
    return pa.Table.from_arrays(arrays, names=kept)


class _Records:
    """What happens to records that do not have as many cells as the header.

    A last record, one cell too long, is put behind the file. It comes out as such only when no quoted cell is left open
    at the end, which pyarrow would not mind.
    """

    def __init__(self, layout: Layout) -> None:
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


def _uneven(source: Source, layout: Layout, records: _Records) -> DataError:
    assert records.first is not None
    number, cells = records.first
    line = _line_of(source.path, layout, number)
    return DataError(
        f"{source.path} has {'at least ' if records.wrong >= _ENOUGH else ''}{records.wrong:,} record(s) with more or "
        f"fewer cells than its header of {len(layout.names)}.\n"
        f"The first is {f'on line {line:,}' if line else f'number {number:,} behind the header'}, with {cells}.\n"
        f"Put cells that contain the separator {layout.separator!r} into quotes, or give the separator in the plan."
    )


def _line_of(path: Path, layout: Layout, number: int) -> int | None:
    """Return the line on which a record begins, or None when it cannot be told."""
    with opened(path) as stream:
        stream.skip(layout.header_size)
        blocks = (block.decode(errors="replace") for block in whole_lines(stream))
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
        return not_utf8(path)
    if "straddl" in message:
        return DataError(
            f"{path} has a record of more than {text.BLOCK >> 20} MB, somewhere behind record {rows:,}.\n"
            "Most likely a quoted cell is never closed: close it with a quote, and write quotes inside it twice."
        )
    return DataError(
        f"{path} cannot be read as CSV, somewhere behind record {rows:,}.\nCheck how the file was written."
    )
