"""The process that reads files of Stata, SPSS and SAS: some damaged bytes end it, and nothing else.

It is asked on standard input, by a line of JSON, and answers on standard output: a line of JSON about the file, then
the table as a stream of Arrow, where columns were asked for. What is wrong is the exit code: messages may show cells.
It waits some seconds for another question, since most of its time goes into starting.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pa_ipc

DAMAGED, NO_MEMORY = 3, 4  # exit codes
PORTABLE = "read_por"
_SPSS = ("read_sav", PORTABLE)
_PATIENCE = 10  # seconds
_OF_STATA = re.compile(r"%-?(?:(td|d)|(tc)|t([wmqh]))", re.IGNORECASE)  # formats: of days, of moments, of other periods
_IN_YEAR = {"w": 52, "m": 12, "q": 4, "h": 2}  # periods, counted from the first one of 1960
# Formats of days that show a part of them, or all in words: pyreadstat has their cells as plain numbers.
_DAYS_OF_SPSS = ["MOYR", "QYR", "WKYR"]
_DAYS_OF_SAS = [
    *(name + mark for name in ("MMYY", "YYMM", "YYQ") for mark in ("", "C", "D", "N", "P", "S")),
    *("MONYY", "YYMON", "YYQR", "YEAR", "QTR", "QTRR", "MONTH", "MONNAME", "DAY", "WEEKDAY", "DOWNAME", "WEEKDATX"),
    *("WORDDATE", "WORDDATX", "JULIAN", "JULDAY", "WEEKU", "WEEKV", "WEEKW", "NLDATE", "NLDATEW", "NLDATEYM"),
    *("EURDFDD", "EURDFDE", "EURDFDN", "EURDFDWN", "EURDFMN", "EURDFMY", "EURDFWDX", "EURDFWKX"),
]


def serve(asked: BinaryIO, told: BinaryIO) -> int:
    """Answer questions until one cannot be answered, or no more come, and return the exit code."""
    while question := _next(asked):
        if code := answer(question, told):
            return code
        told.flush()
    return 0


def _next(asked: BinaryIO) -> bytes:
    bored = threading.Timer(_PATIENCE, os._exit, (0,))  # nothing else ends a wait for a pipe on every system
    bored.daemon = True
    bored.start()
    question = asked.readline()
    bored.cancel()
    return question


def answer(question: bytes, told: BinaryIO) -> int:
    """Answer a question, and return the exit code."""
    request = json.loads(question)
    try:
        columns, about = _call(request)
        if not all(isinstance(name, str) for name in about.column_names):  # none, where its bytes are no text
            return DAMAGED
        labels = _labels_in(request, about.variable_to_label) if "catalog" in request else about.variable_value_labels
        facts = {
            "names": list(about.column_names),
            "rows": about.number_rows,
            "labels": {name: list(label_of.items()) for name, label_of in labels.items()},
            "titles": {name: title for name, title in about.column_names_to_labels.items() if title},
        }
        told.write(json.dumps(facts, default=str).encode() + b"\n")
        if "columns" in request:
            shown = labels if request["labels"] else {}
            columns = _with_periods(columns, about.original_variable_types) | _with_clocks(columns, request)
            table = pa.table({name: _column(columns[name], shown.get(name, {})) for name in request["columns"]})
            with pa_ipc.new_stream(told, table.schema) as stream:
                stream.write_table(table)
    except MemoryError:
        return NO_MEMORY
    except Exception:  # whatever it is, it comes from the file
        return DAMAGED
    return 0


def _call(request: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    import pyreadstat

    options: dict[str, Any] = {"output_format": "dict"}
    if request["reader"] != PORTABLE:
        options["encoding"] = request["encoding"]
    read = getattr(pyreadstat, request["reader"])
    columns, about = read(request["path"], metadataonly=True, **options)
    if "columns" in request:
        options |= {"usecols": request["columns"], "row_limit": request["limit"]}
        if request.get("as_numbers"):
            options["disable_datetime_conversion"] = True
        elif request["reader"] == "read_dta":
            kinds = [(form, _OF_STATA.match(form)) for form in set(about.original_variable_types.values()) if form]
            options["extra_date_formats"] = [form for form, kind in kinds if kind and kind[1]]
            options["extra_datetime_formats"] = [
                form for form, kind in kinds if kind and kind[2] and "%tcHH" not in form
            ]
        else:
            options["extra_date_formats"] = _DAYS_OF_SPSS if request["reader"] in _SPSS else _DAYS_OF_SAS
        columns, about = read(request["path"], **options)
    return columns, about


def _with_periods(columns: Mapping[str, Any], form_of: Mapping[str, str]) -> dict[str, Any]:
    """Return columns in which months, quarters and the like of Stata are their first days."""
    found = dict(columns)
    for name, values in columns.items():
        kind = _OF_STATA.match(form_of.get(name) or "")
        if kind and kind[3] and all(_is_missing(cell) or float(cell).is_integer() for cell in values):
            found[name] = [None if _is_missing(cell) else _first_day(int(cell), kind[3].lower()) for cell in values]
    return found


def _first_day(period: int, kind: str) -> datetime.date:
    """Return the first day of a period.

    >>> _first_day(775, "m"), _first_day(-1, "q"), _first_day(53, "w")
    (datetime.date(2024, 8, 1), datetime.date(1959, 10, 1), datetime.date(1961, 1, 8))
    """
    year, place = divmod(period, _IN_YEAR[kind])
    if kind == "w":
        return datetime.date(1960 + year, 1, 1) + datetime.timedelta(weeks=place)
    return datetime.date(1960 + year, 1 + place * 12 // _IN_YEAR[kind], 1)


def _with_clocks(columns: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, list[str | None]]:
    """Return columns of times of the day, or of how long something took: 30 hours are not 6 o'clock."""
    clocks = [name for name, values in columns.items() if any(isinstance(cell, datetime.time) for cell in values)]
    if not clocks or request["reader"] == "read_dta":
        return {}
    numbers, _ = _call({**request, "columns": clocks, "as_numbers": True})
    return {name: [None if _is_missing(cell) else _clock(cell) for cell in numbers[name]] for name in clocks}


def _clock(seconds: float) -> str:
    """Return hours, minutes and seconds.

    >>> _clock(108_000.0), _clock(-1.5)
    ('30:00:00', '-00:00:01.500000')
    """
    whole, part = divmod(round(abs(seconds) * 1e6), 10**6)
    clock = f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
    return ("-" if seconds < 0 else "") + clock + (f".{part:06}" if part else "")


def _labels_in(request: Mapping[str, Any], format_of: Mapping[str, str]) -> dict[str, dict[Any, str]]:
    """Return the value labels of columns that a catalog of SAS has under the names of their formats."""
    import pyreadstat

    _, catalog = pyreadstat.read_sas7bcat(request["catalog"], encoding=request["encoding"])
    labels_of = {name.upper(): labels for name, labels in catalog.value_labels.items()}
    # Names of formats do not end in a digit: what follows is the width at which cells are printed.
    names = {column: (name.upper(), name.upper().rstrip("0123456789.")) for column, name in format_of.items()}
    return {column: labels_of.get(whole) or labels_of.get(bare, {}) for column, (whole, bare) in names.items()}


def _column(values: Any, label_of: Mapping[Any, str]) -> pa.Array:
    cells = [None if _is_missing(cell) else cell for cell in values]
    if label_of and any(cell in label_of for cell in cells):
        cells = [None if cell is None else label_of.get(cell) or _number(cell) for cell in cells]
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


if __name__ == "__main__":
    sys.exit(serve(sys.stdin.buffer, sys.stdout.buffer))
