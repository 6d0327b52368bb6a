"""Releases for other programs: workbooks, and files of Stata and SPSS, in which categories are codes with labels.

What stands in them reads back label for label; what a format cannot hold is refused, with the column named.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.data.dataset import CodedSets
from sfumato.data.files.source import needed
from sfumato.data.hierarchy import some
from sfumato.data.release import Release
from sfumato.errors import DataError

_ROWS = 1 << 14  # made at once
_MOST_ROWS, _MOST_COLUMNS, _MOST_TEXT = 1_048_575, 16_384, 32_767  # of a sheet, beside the header
_EXACT = 2**53  # whole numbers that a float holds
_MOST_LABELS, _LONGEST_LABEL = 5_000, 120  # that SPSS takes, in bytes; beyond, a column stays text
_LONGEST_TITLE = {"stata": (80, 320), "spss": (256, 256)}  # that a variable label may have: characters, bytes
_PARQUET = ', or write [release] format = "parquet"'
_NAME = {
    "stata": re.compile(r"[A-Za-z_]\w{0,31}", re.ASCII),
    "spss": re.compile(r"[A-Za-z@#$][\w.@#$]{0,63}", re.ASCII),
}


def write_excel(release: Release, path: Path, missing: str) -> Iterator[int]:
    """Write a workbook with one sheet, and yield the rows of each part; text is never taken for a formula."""
    xlsxwriter = needed("xlsxwriter", path)
    if release.n_rows > _MOST_ROWS or len(release.order) > _MOST_COLUMNS:
        raise DataError(
            f"The release has {release.n_rows:,} rows and {len(release.order):,} columns, more than a sheet holds.\n"
            'Write [release] format = "csv" or "parquet".'
        )
    with xlsxwriter.Workbook(str(path), {"constant_memory": True, "in_memory": False}) as book:
        sheet = book.add_worksheet("release")
        for position, name in enumerate(release.order):
            sheet.write_string(0, position, name)
        first = 1
        for part in release.batches(_ROWS, numbers=True):
            columns = [_cells(release, name, part.column(name), missing) for name in release.order]
            for row, cells in enumerate(zip(*columns, strict=True), start=first):
                if all(cell == "" for cell in cells):
                    raise DataError(
                        "The release has rows in which every cell is missing or empty, and a sheet loses them.\n"
                        'Give missing cells a marker, [source] missing = ["NA", ""], or write [release] format = "csv".'
                    )
                for position, cell in enumerate(cells):
                    _write_cell(sheet, row, position, cell, release.order[position])
            first += part.num_rows
            yield part.num_rows


def _write_cell(sheet: Any, row: int, position: int, cell: Any, name: str) -> None:
    if isinstance(cell, str):
        if len(cell) > _MOST_TEXT:
            raise DataError(
                f"Column {name!r} has a cell of more than {_MOST_TEXT:,} characters, which no sheet holds.\n"
                'Write [release] format = "csv" or "parquet".'
            )
        if cell:
            sheet.write_string(row, position, cell)
    elif float(f"{cell:.16G}") == cell and abs(cell) < _EXACT:  # as sheets hold numbers
        sheet.write_number(row, position, cell)
    else:
        sheet.write_string(row, position, str(cell))


def write_stat(release: Release, path: Path, form: str, missing: str) -> Iterator[int]:
    """Write a file of Stata or SPSS: labels with the codes that they had in the source, else from 1 in their order.

    Columns have the variable labels that they had in the source.
    """
    pyreadstat, polars = needed("pyreadstat", path), needed("polars", path)
    if odd := [name for name in release.order if not _NAME[form].fullmatch(name)]:
        raise DataError(
            f"The release has columns whose names {'Stata' if form == 'stata' else 'SPSS'} cannot have: {some(odd)}.\n"
            'Rename them in the source, or write [release] format = "csv" or "parquet".'
        )
    columns: dict[str, list[Any]] = {name: [] for name in release.order}
    for part in release.batches(_ROWS, numbers=True):
        for name in release.order:
            columns[name] += _cells(release, name, part.column(name), None)
    labels: dict[str, dict[int, str]] = {}
    frame = {}
    for name, cells in columns.items():
        known = sorted({str(cell) for cell in cells if cell is not None})
        numbers = all(cell is None or (not isinstance(cell, str) and abs(cell) < _EXACT) for cell in cells)
        if numbers:
            frame[name] = polars.Series([None if cell is None else float(cell) for cell in cells], dtype=polars.Float64)
        elif isinstance(release.columns.get(name), CodedSets) or not _are_labels(known):
            texts = [missing if cell is None else str(cell) for cell in cells]
            frame[name] = polars.Series(texts, dtype=polars.String)
        else:
            code_of = _code_of(known, release.codes.get(name, {}))
            labels[name] = {code: label for label, code in code_of.items()}
            codes = [None if cell is None else code_of[str(cell)] for cell in cells]
            frame[name] = polars.Series(codes, dtype=polars.Float64)
    write = pyreadstat.write_dta if form == "stata" else pyreadstat.write_sav
    titles = [_cut(release.titles.get(name, ""), *_LONGEST_TITLE[form]) or None for name in release.order]
    try:
        write(polars.DataFrame(frame), str(path), column_labels=titles, variable_value_labels=labels)
    except pyreadstat.PyreadstatError:
        raise DataError(
            f"The release cannot be written as a file of {form}: a column does not fit.\n"
            'Write [release] format = "csv" or "parquet".'
        ) from None
    yield release.n_rows


def _code_of(known: list[str], own: Mapping[str, int]) -> dict[str, int]:
    """Return a code for each label: the one that it had, the number that it is, else one that none had.

    >>> _code_of(["30", "[31, 39]", "refused"], {"refused": 99, "unknown": 98})
    {'refused': 99, '30': 30, '[31, 39]': 100}
    """
    if not own:
        return {label: code for code, label in enumerate(known, start=1)}
    found = {label: own[label] for label in known if label in own}
    taken = set(own.values())
    for label in known:
        if label not in own and label.isdecimal() and str(int(label)) == label and int(label) not in taken:
            found[label] = int(label)
    last = max(*own.values(), *found.values(), 0)
    new = (label for label in known if label not in found)
    return found | {label: code for code, label in enumerate(new, start=last + 1)}


def _cut(title: str, characters: int, size: int) -> str:
    """Return what a file has room for of a variable label.

    >>> _cut("Größe", 4, 99), _cut("Größe", 99, 3)
    ('Größ', 'Gr')
    """
    return title[:characters].encode()[:size].decode(errors="ignore").rstrip()


def _are_labels(known: list[str]) -> bool:
    fits = len(known) <= _MOST_LABELS and all(len(label.encode()) <= _LONGEST_LABEL for label in known)
    return fits and all(label and label == label.strip() for label in known)


def _cells(release: Release, name: str, column: pa.ChunkedArray, missing: str | None) -> list[Any]:
    """Return cells as text or numbers; sets with their separator between the members."""
    sets = release.columns.get(name)
    separator = sets.separator if isinstance(sets, CodedSets) else "|"
    if isinstance(sets, CodedSets):
        refuse_separators(sets.labels, separator, name, _PARQUET)
    try:
        return [as_cell(cell, separator, missing) for cell in column.to_pylist()]
    except TypeError:
        raise DataError(
            f"Column {name!r} holds values of type {column.type}, which the format cannot show.\n"
            f"Drop the column{_PARQUET}."
        ) from None


def refuse_separators(members: Iterable[str], separator: str, name: str, otherwise: str = "") -> None:
    """Raise where members of sets contain what separates them in a cell; `otherwise` says what else can be done."""
    if any(separator in member for member in members):
        raise DataError(
            f"Column {name!r} has members that contain {separator!r}, which separates members in a cell.\n"
            f"Give the column another separator{otherwise}."
        )


def as_cell(cell: Any, separator: str, missing: str | None) -> Any:
    """Return what a cell of a format without types of its own shows: text or a number; raise TypeError for others."""
    match cell:
        case None:
            return missing
        case bool():
            return str(cell).lower()
        case str() | int() | float():
            return cell
        case list():
            return separator.join(map(str, cell))
        case datetime.datetime():
            return cell.isoformat(" ")
        case datetime.date() | datetime.time() | datetime.timedelta() | Decimal():
            return str(cell)
        case _:
            raise TypeError
