"""Workbooks: one sheet is a table, its first line the header. Cells become text, as in a CSV file."""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from sfumato.data.files.columns import Texts
from sfumato.data.files.csv import header_of
from sfumato.data.files.preamble import lines_above, no_such_line
from sfumato.data.files.source import Found, Reading, Source, checked_names, kept_names, needed, without_rows
from sfumato.data.files.spelling import Spelling, first_cells
from sfumato.data.hierarchy import some
from sfumato.errors import DataError, did_you_mean

_MIDNIGHT = datetime.time()
# What damaged bytes lead to, of a packed file or of what is in it.
_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError)
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")  # files of Excel before 2007 are little file systems
# A cell with a formula of which nobody wrote what it comes to: neither a number nor, with a type, a text.
_NOT_WORKED_OUT = re.compile(rb"<c\b(?![^>]*\st=)[^>]*>\s*<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>|</c>)")
_ROW = re.compile(rb"<table:table-row\b(?:[^>]*/>|.*?</table:table-row>)", re.S)  # of LibreOffice
_PROGRAMS = "_VBA_PROJECT_CUR".encode("utf-16-le")  # and keep programs in a folder of this name


def excel_names(source: Source) -> list[str]:
    """Return the names of the columns."""
    return _Sheet(source).names


def read_excel(asked: Reading) -> pa.Table:
    """Return the table of a sheet, every cell as text; what is empty is missing."""
    source, path = asked.source, asked.path
    sheet = _Sheet(source)
    kept = kept_names(sheet.names, asked.drop, path)
    records = sheet.records[: asked.limit]
    if not records:
        raise without_rows(path, "a sheet with a header")
    spelling = sheet.spelling(kept)
    columns = {}
    for position, name in enumerate(sheet.names):
        if name in kept:
            cells = [record[position] for record in records]
            written = _column([_written(cell) for cell in cells])
            if not source.keeps(name):
                written = spelling.respelled(name, written)
            texts = zip(cells, written.to_pylist(), strict=True)
            columns[name] = _column([text if isinstance(cell, str) else _text(cell) for cell, text in texts])
    asked.stage.advance(path.stat().st_size)
    return pa.table(columns)


def _column(cells: Sequence[str]) -> pa.DictionaryArray:
    texts = Texts()
    texts.add(pa.array(cells, pa.string()))
    return texts.finish()


def how_excel(source: Source) -> tuple[Found, ...]:
    """Return how a workbook is read."""
    sheet = _Sheet(source)
    spelling = sheet.spelling(sheet.names)
    chosen = Found("sheet", sheet.name, "the plan says so" if source.sheet else "no other has content")
    row = [sheet.header_row] if int(sheet.header_row.value) > 1 else []
    return chosen, sheet.named, *row, spelling.decimal, spelling.dates


class _Merged(NamedTuple):
    """A range of merged cells."""

    first: int
    first_column: int
    last: int
    last_column: int

    def moved(self, rows: int, columns: int) -> _Merged:
        """Return the range in lines that begin with so many rows and columns less."""
        return _Merged(self.first - rows, self.first_column - columns, self.last - rows, self.last_column - columns)


class _Sheet:
    """The lines of the one sheet that is meant."""

    def __init__(self, source: Source) -> None:
        calamine = needed("python_calamine", source.path)
        self.source, self.path = source, source.path
        try:
            self._refuse_what_may_show_otherwise()
            with calamine.load_workbook(str(source.path)) as book:
                self.name = self._chosen(book, source)
                sheet = book.get_sheet_by_name(self.name)
                start = sheet.start or (0, 0)
                ranges = [_Merged(*first, *last) for first, last in sheet.merged_cell_ranges or ()]
                merged = ranges or _merged_in_open_document(source.path, self.name)
                lines = sheet.to_python()
        except (calamine.CalamineError, *_DAMAGED) as error:
            locked = isinstance(error, calamine.PasswordError)
            raise DataError(
                f"{source.path} cannot be read as a workbook: it is "
                + ("locked with a password.\nSave" if locked else "something else, damaged or cut off.\nSave")
                + " it again as .xlsx."
            ) from None
        merged = [each.moved(*start) for each in merged]
        for each in merged:  # a name that reaches down from the groups above is the name of its column
            inside = 0 <= each.first < each.last < len(lines) and 0 <= each.first_column < len(lines[0])
            if inside and each.first_column == each.last_column:
                lines[each.last][each.first_column] = lines[each.first][each.first_column]
        self.header_row = self._header_row(lines, merged, start[0])
        at = int(self.header_row.value) - 1 - start[0]
        if below := sum(
            each.last > at or (each.last == at and each.first_column < each.last_column) for each in merged
        ):
            raise DataError(
                f"{source.path} has {below:,} merged ranges of cells in sheet {self.name!r}: it cannot be told which "
                "records they belong to.\nUnmerge them, and give every record its own cells. If all of them stand "
                "above the names of columns, say where these are: [source] header_row."
            )
        rows = [line for line in lines[max(at, 0) :] if any(map(_text, line))]
        if not rows:
            raise DataError(f"{source.path} has no content in sheet {self.name!r}.\nName another: [source] sheet.")
        first, *below_it = ([_text(cell) for cell in row] for row in rows[:1000])
        self.named = header_of(source, first, below_it)
        names = first if self.named.value else [f"column_{number + 1}" for number in range(len(first))]
        self.names = checked_names(names, source.path)
        self.records: Sequence[Sequence[Any]] = rows[1:] if self.named.value else rows  # text, numbers, dates ...

    def _header_row(self, lines: Sequence[Sequence[Any]], merged: Sequence[_Merged], start: int) -> Found:
        """Return in which row of the sheet the names of columns stand."""
        if self.source.header_row is not None:
            if not any(_text(cell) for line in lines[max(self.source.header_row - 1 - start, 0) :] for cell in line):
                raise no_such_line(self.source, "that line and all below it are empty")
            return Found("header_row", self.source.header_row, "the plan says so")
        if self.source.header is not None:
            return Found("header_row", start + 1, "the plan says so")
        wide = {
            row for each in merged if each.first_column < each.last_column for row in range(each.first, each.last + 1)
        }
        above = lines_above([[_text(cell) for cell in line] for line in lines[:1000]], wide)
        return Found("header_row", start + above + 1, "the rows above have fewer cells, and are left out")

    def spelling(self, kept: Sequence[str]) -> Spelling:
        """Return how cells that are text spell numbers and dates; those that are numbers or dates need no spelling."""
        written = [[_written(cell) for cell in record] for record in self.records]
        cells = first_cells(self.names, written, self.source)
        return Spelling.of(self.source, {name: found for name, found in cells.items() if name in kept}, "")

    def _refuse_what_may_show_otherwise(self) -> None:
        if _has_macros(self.path):
            raise DataError(
                f"{self.path} is a workbook with macros, which may change what its cells show.\n"
                "Save it as .xlsx, without macros."
            )
        if blank := sum(len(_NOT_WORKED_OUT.findall(part)) for part in _parts(self.path, "xl/worksheets/")):
            raise DataError(
                f"{self.path} has {blank:,} formulas without a result: the program that wrote it left them to others.\n"
                "Open it in a spreadsheet, save it, and try again."
            )

    def _chosen(self, book: Any, source: Source) -> str:
        names: list[str] = list(book.sheet_names)
        if source.sheet is not None:
            if source.sheet not in names:
                near = did_you_mean(source.sheet, names)
                raise DataError(f"{self.path} has no sheet {source.sheet!r}.{near}\nCorrect sheet under [source].")
            return source.sheet
        filled = [name for name in names if _has_content(book, name)]
        if len(filled) != 1:
            found = f"{len(filled)} sheets with content: {some(filled)}" if filled else "no sheet with content"
            raise DataError(
                f"{self.path} has {found}.\nSay which one is the table: [source] sheet (for `sfumato init`: --sheet)."
            )
        return filled[0]


def used_sheets(source: Source) -> list[str]:
    """Return the names of the sheets with content, hidden ones among them."""
    with needed("python_calamine", source.path).load_workbook(str(source.path)) as book:
        return [name for name in book.sheet_names if _has_content(book, name)]


def _has_macros(path: Path) -> bool:
    """Whether a workbook holds programs: of Excel, packed or as before 2007, or of LibreOffice."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as parts:
            names = [name.lower() for name in parts.namelist()]
        return any(name.endswith("vbaproject.bin") or name.startswith(("basic/", "scripts/")) for name in names)
    with path.open("rb") as file:
        return file.read(len(_COMPOUND)) == _COMPOUND and _PROGRAMS in file.read()


def _parts(path: Path, start: str) -> Iterator[bytes]:
    """Yield the parts of a packed workbook whose names begin so and that are XML; none of another one."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as parts:
            yield from (parts.read(name) for name in parts.namelist() if name.startswith(start) and name[-4:] == ".xml")


def _merged_in_open_document(path: Path, name: str) -> list[_Merged]:
    """Return the cells of a sheet that are covered by others, each from the cell to its left, in LibreOffice."""
    from xml.sax.saxutils import quoteattr  # loads what speaks to the network, for nobody else

    table = re.compile(
        rb"<table:table [^>]*table:name=" + re.escape(quoteattr(name).encode()) + rb".*?</table:table>", re.S
    )
    found: list[_Merged] = []
    row = 0
    for part in _parts(path, "content"):
        for line in (line for sheet in table.finditer(part) for line in _ROW.finditer(sheet[0])):
            # Each counts as two cells side by side: nobody takes it for a name that reaches down.
            found += [_Merged(row, 0, row, 1)] * line[0].count(b"<table:covered-table-cell")
            repeated = re.search(rb'^[^>]*table:number-rows-repeated="(\d+)"', line[0])
            row += int(repeated[1]) if repeated else 1
    return found


def _has_content(book: Any, name: str) -> bool:
    sheet = book.get_sheet_by_name(name)
    return bool(sheet.height and sheet.width)


def _written(cell: Any) -> str:
    return cell if isinstance(cell, str) else ""


def _text(cell: Any) -> str:
    """Return a cell as a CSV file would have it.

    >>> _text(34.0), _text(1.5), _text(True), _text(datetime.datetime(1980, 12, 31)), _text("a ")
    ('34', '1.5', 'true', '1980-12-31', 'a ')
    """
    match cell:
        case bool():
            return str(cell).lower()
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        case datetime.datetime():
            return (cell.date() if cell.time() == _MIDNIGHT else cell).isoformat(*[" "][: cell.time() != _MIDNIGHT])
        case datetime.date() | datetime.time():
            return cell.isoformat()
        case _:
            return str(cell)
