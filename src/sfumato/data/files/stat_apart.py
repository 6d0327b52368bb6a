"""The process that reads files of Stata, SPSS and SAS: some damaged bytes end it, and nothing else.

It is asked on standard input, by a line of JSON, and answers on standard output: a line of JSON about the file, then
the table as a stream of Arrow, where columns were asked for. What is wrong is the exit code: messages may show cells.
It waits some seconds for another question, since most of its time goes into starting.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pa_ipc

DAMAGED, NO_MEMORY = 3, 4  # exit codes
PORTABLE = "read_por"
_PATIENCE = 10  # seconds


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
    if "columns" in request:
        options |= {"usecols": request["columns"], "row_limit": request["limit"]}
    else:
        options["metadataonly"] = True
    columns, about = getattr(pyreadstat, request["reader"])(request["path"], **options)
    return columns, about


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


if __name__ == "__main__":
    sys.exit(serve(sys.stdin.buffer, sys.stdout.buffer))
