"""Files of Stata, SPSS and SAS: value labels are the categories, and what is declared as missing is missing.

They are read in a process of their own, since some damaged bytes end whatever reads them.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as pa_ipc

from sfumato.data.files.source import Format, Reading, Source, checked_names, kept_names, needed
from sfumato.data.files.stat_apart import NO_MEMORY, PORTABLE
from sfumato.errors import DataError

EXTRA = "stat"
STAT_FORMATS = ("stata", "spss", "sas")
MOST_PACKED = 1_100  # rows in a byte of a packed file, when all of them are the same: what deflate can do
_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": PORTABLE,
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_BY_FORMAT: dict[Format, str] = {"stata": "read_dta", "spss": "read_sav", "sas": "read_sas7bdat"}
_SHOWN = {"stata": "Stata", "spss": "SPSS", "sas": "SAS"}
_APART = Path(__file__).with_name("stat_apart.py")


def stat_names(source: Source, form: Format) -> list[str]:
    """Return the names of the columns."""
    return checked_names(_about(source, form)["names"], source.path)


def codes_of(source: Source, form: Format) -> dict[str, dict[str, int]]:
    """Return the codes of labels, by column; columns whose codes are no whole numbers are left out."""
    if not source.labels:
        return {}
    found: dict[str, dict[str, int]] = {}
    for name, labels in _about(source, form)["labels"].items():
        if all(isinstance(code, int | float) and float(code).is_integer() for code, _ in labels):
            found[name] = {label: int(code) for code, label in sorted(labels, reverse=True)}  # of two, the lower one
    return found


def titles_of(source: Source, form: Format) -> dict[str, str]:
    """Return what columns are about, by their names: the variable labels, each on one line."""
    if not source.labels:
        return {}
    titles = {name: " ".join(str(title).split()) for name, title in _about(source, form)["titles"].items()}
    return {name: title for name, title in titles.items() if title}


def read_stat(asked: Reading) -> pa.Table:
    """Return the table; codes with a label show the label."""
    source, form = asked.source, asked.form
    about = _about(source, form)
    _refuse_what_cannot_be(source, form, about["rows"])
    kept = kept_names(checked_names(about["names"], asked.path), asked.drop, asked.path)
    wanted = {"columns": kept, "limit": asked.limit or 0, "labels": source.labels}
    _, table = _answered(_request(source, form) | wanted, source, form)
    assert table is not None
    if not table.num_rows:
        raise DataError(f"{asked.path} has columns but no rows.\nNothing can be published from it.")
    asked.stage.advance(asked.path.stat().st_size)
    return table


def _about(source: Source, form: Format) -> Mapping[str, Any]:
    """Return what a file says of itself: names, rows, labels."""
    request, found = _request(source, form), source.path.stat()
    return _described(json.dumps(request), found.st_size, found.st_mtime_ns, source, form)


@lru_cache(maxsize=16)
def _described(request: str, size: int, changed: int, source: Source, form: Format) -> Mapping[str, Any]:
    return _answered(json.loads(request), source, form)[0]


def _request(source: Source, form: Format) -> dict[str, Any]:
    reader = _READERS.get(source.path.suffix.lower(), _BY_FORMAT[form])
    if reader == PORTABLE and source.encoding is not None:
        raise DataError(
            f"{source.path} was to be read as {source.encoding}, but a portable file of SPSS has its own letters.\n"
            "Leave out encoding under [source], or save the file as .sav."
        )
    return {"path": str(source.path.absolute()), "reader": reader, "encoding": source.encoding}


def _answered(request: Mapping[str, Any], source: Source, form: Format) -> tuple[Mapping[str, Any], pa.Table | None]:
    """Return what another process reads, or raise: it is gone where bytes are damaged, or says so."""
    needed("pyreadstat", EXTRA, source.path)
    about, table = None, None
    command = [sys.executable, "-P", str(_APART)]  # -P: what lies beside it, or beside the data, is not imported
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as child:  # type: ignore[call-overload]
        try:
            with contextlib.suppress(OSError, ValueError, pa.ArrowException):  # it ended in the middle of a sentence
                child.stdin.write(json.dumps(request).encode() + b"\n")
                child.stdin.close()
                about = json.loads(child.stdout.readline())
                table = pa_ipc.open_stream(child.stdout).read_all() if "columns" in request else None
        except BaseException:
            child.kill()
            raise
    if child.returncode == NO_MEMORY:
        raise MemoryError
    if child.returncode or about is None or (table is None and "columns" in request):
        raise _damaged(source, form)
    return about, table


def _refuse_what_cannot_be(source: Source, form: Format, rows: int | None) -> None:
    """Raise where a file claims more rows than it has room for: memory would be asked for before anybody notices."""
    packed = MOST_PACKED if form == "spss" else 1
    if rows is not None and rows > packed * source.path.stat().st_size:
        raise _damaged(source, form)


def _damaged(source: Source, form: Format) -> DataError:
    return DataError(
        f"{source.path} cannot be read as a file of {_SHOWN[form]}: it is something else, damaged, cut off, or of "
        "a version that is not known here.\nSave it again in a usual version, or as CSV."
    )
