"""Files of Stata, SPSS and SAS: value labels are the categories, and what is declared as missing is missing."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.files.source import Format, Reading, Source, checked_names, kept_names, needed
from sfumato.errors import DataError

EXTRA = "stat"
STAT_FORMATS = ("stata", "spss", "sas")
_PORTABLE = "read_por"
MOST_PACKED = 1_100  # rows in a byte of a packed file, when all of them are the same: what deflate can do
_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": _PORTABLE,
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_BY_FORMAT: dict[Format, str] = {"stata": "read_dta", "spss": "read_sav", "sas": "read_sas7bdat"}
_SHOWN = {"stata": "Stata", "spss": "SPSS", "sas": "SAS"}


def stat_names(source: Source, form: Format) -> list[str]:
    """Return the names of the columns."""
    _, about = _call(source, form, metadataonly=True)
    return checked_names(about.column_names, source.path)


def codes_of(source: Source, form: Format) -> dict[str, dict[str, int]]:
    """Return the codes of labels, by column; columns whose codes are no whole numbers are left out."""
    if not source.labels:
        return {}
    _, about = _call(source, form, metadataonly=True)
    found: dict[str, dict[str, int]] = {}
    for name, label_of in about.variable_value_labels.items():
        if all(isinstance(code, int | float) and float(code).is_integer() for code in label_of):
            codes = {label_of[code]: int(code) for code in sorted(label_of, reverse=True)}  # of two, the lower one
            found[name] = codes
    return found


def read_stat(asked: Reading) -> pa.Table:
    """Return the table; codes with a label show the label."""
    _, about = _call(asked.source, asked.form, metadataonly=True)
    _refuse_what_cannot_be(asked.source, asked.form, about.number_rows)
    names = checked_names(about.column_names, asked.path)
    kept = kept_names(names, asked.drop, asked.path)
    columns, about = _call(asked.source, asked.form, usecols=kept, row_limit=asked.limit or 0)
    labels = about.variable_value_labels if asked.source.labels else {}
    table = pa.table({name: _column(columns[name], labels.get(name, {})) for name in kept})
    if not table.num_rows:
        raise DataError(f"{asked.path} has columns but no rows.\nNothing can be published from it.")
    asked.stage.advance(asked.path.stat().st_size)
    return table


def _call(source: Source, form: Format, **options: Any) -> tuple[dict[str, Any], Any]:
    pyreadstat = needed("pyreadstat", EXTRA, source.path)
    reader = _READERS.get(source.path.suffix.lower(), _BY_FORMAT[form])
    if reader == _PORTABLE:
        _refuse_encoding(source)
    else:
        options["encoding"] = source.encoding
    try:
        columns, about = getattr(pyreadstat, reader)(str(source.path), output_format="dict", **options)
    except MemoryError:
        raise
    except Exception:  # whatever it says may show cells
        raise _damaged(source, form) from None
    if not all(isinstance(name, str) for name in about.column_names):
        raise _damaged(source, form)
    return columns, about


def _refuse_encoding(source: Source) -> None:
    if source.encoding is not None:
        raise DataError(
            f"{source.path} was to be read as {source.encoding}, but a portable file of SPSS has its own letters.\n"
            "Leave out encoding under [source], or save the file as .sav."
        )


def _damaged(source: Source, form: Format) -> DataError:
    return DataError(
        f"{source.path} cannot be read as a file of {_SHOWN[form]}: it is something else, damaged, cut off, or of "
        "a version that is not known here.\nSave it again in a usual version, or as CSV."
    )


def _refuse_what_cannot_be(source: Source, form: Format, rows: int | None) -> None:
    """Raise where a file claims more rows than it has room for: memory would be asked for before anybody notices."""
    packed = MOST_PACKED if form == "spss" else 1
    if rows is not None and rows > packed * source.path.stat().st_size:
        raise _damaged(source, form)


def _column(values: Any, label_of: Mapping[Any, str]) -> pa.Array:
    cells = [None if _is_missing(cell) else cell for cell in values]
    if label_of and any(cell in label_of for cell in cells):
        cells = [None if cell is None else label_of.get(cell, _number(cell)) for cell in cells]
    if all(cell is None or (isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53) for cell in cells):
        return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
    if any(isinstance(cell, str) for cell in cells):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string()).dictionary_encode()
    if any(isinstance(cell, datetime.time) for cell in cells):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string()).dictionary_encode()
    return pa.array(cells)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float | np.floating) and bool(np.isnan(cell)))


def _number(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
