"""Files of Stata, SPSS and SAS: value labels are the categories, and what is declared as missing is missing.

They are read in a process of their own, since some damaged bytes end whatever reads them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as pa_ipc

from sfumato.data.files.databases.connections import without_addresses
from sfumato.data.files.source import Format, Found, Reading, Source, checked_names, kept_names, needed, without_rows
from sfumato.data.files.stat_apart import DAMAGED, NO_MEMORY, PORTABLE
from sfumato.errors import DataError

STAT_FORMATS = ("stata", "spss", "sas")
MOST_PACKED = 1_100  # rows in a byte of a packed file, when all of them are the same: what deflate can do
_DATA_SET = "read_sas7bdat"  # whose value labels lie in a catalog beside it
_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": PORTABLE,
    ".sas7bdat": _DATA_SET,
    ".xpt": "read_xport",
}
_BY_FORMAT: dict[Format, str] = {"stata": "read_dta", "spss": "read_sav", "sas": _DATA_SET}
_SHOWN = {"stata": "Stata", "spss": "SPSS", "sas": "SAS"}
_APART = Path(__file__).with_name("stat_apart.py")
_WAITING: list[tuple[int, subprocess.Popen[bytes]]] = []  # processes that may be asked again, by who started them


def stat_names(source: Source, form: Format) -> list[str]:
    """Return the names of the columns."""
    return checked_names(_about(source, form)["names"], source.path)


def takes_catalog(path: Path, form: Format | None) -> bool:
    """Whether a file is a data set of SAS, by its name and by what somebody says of it."""
    return form in (None, "sas") and _READERS.get(path.suffix.lower(), _DATA_SET if form else None) == _DATA_SET


def with_catalog_beside(source: Source) -> Source:
    """Return a data set of SAS with the catalog of the same name, where there is one beside it."""
    if source.catalog is not None or not source.labels or not takes_catalog(source.path, source.format):
        return source
    beside = source.path.with_suffix(".sas7bcat")
    return replace(source, catalog=beside) if beside.is_file() else source


def how_stat(source: Source, form: Format) -> tuple[Found, ...]:
    """Return which catalog gives value labels, and to how many columns."""
    if source.catalog is None or not source.labels:
        return ()
    labelled = sum(bool(labels) for labels in _about(source, form)["labels"].values())
    reason = "the plan says so" if source.of_plan else "it is named, or lies beside the table"
    return (Found("catalog", source.catalog.name, f"{reason}; it has value labels for {labelled:,} column(s)"),)


def codes_of(source: Source, form: Format) -> dict[str, dict[str, int]]:
    """Return the codes of labels, by column; columns whose codes are no whole numbers are left out."""
    if not source.labels:
        return {}
    found: dict[str, dict[str, int]] = {}
    for name, labels in _about(source, form)["labels"].items():
        if all(isinstance(code, int | float) and float(code).is_integer() for code, _ in labels):
            found[name] = {
                label: int(code) for code, label in sorted(labels, reverse=True) if label
            }  # of two, the lower
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
    rows, packed = about["rows"], MOST_PACKED if form == "spss" else 1
    if rows is not None and rows > packed * source.path.stat().st_size:
        raise _damaged(source, form)  # before memory is asked for all the rows that it claims
    kept = kept_names(checked_names(about["names"], asked.path), asked.drop, asked.path)
    wanted = {"columns": kept, "limit": asked.limit or 0, "labels": source.labels}
    _, table = _answered(_request(source, form) | wanted, source, form)
    assert table is not None
    if not table.num_rows:
        raise without_rows(asked.path)
    asked.stage.advance(asked.path.stat().st_size)
    return table


def _about(source: Source, form: Format) -> Mapping[str, Any]:
    """Return what a file says of itself: names, rows, labels."""
    request = _request(source, form)
    found = tuple(Path(request[key]).stat() for key in ("path", "catalog") if key in request)
    return _described(json.dumps(request), tuple((file.st_size, file.st_mtime_ns) for file in found), source, form)


@lru_cache(maxsize=16)
def _described(request: str, state: tuple[Any, ...], source: Source, form: Format) -> Mapping[str, Any]:
    return _answered(json.loads(request), source, form)[0]


def _request(source: Source, form: Format) -> dict[str, Any]:
    reader = _READERS.get(source.path.suffix.lower(), _BY_FORMAT[form])
    if reader == PORTABLE and source.encoding is not None:
        raise DataError(
            f"{source.path} was to be read as {source.encoding}, but a portable file of SPSS has its own letters.\n"
            "Leave out encoding under [source], or save the file as .sav."
        )
    request = {"path": str(source.path.absolute()), "reader": reader, "encoding": source.encoding}
    if source.catalog is not None and source.labels:
        request["catalog"] = str(_checked_catalog(source.catalog, source).absolute())
    return request


def _checked_catalog(catalog: Path, source: Source) -> Path:
    """Return a catalog that is there, beside a table that can have one."""
    if not takes_catalog(source.path, source.format):
        raise DataError(
            f"{source.path} was to be read with {catalog.name}, but only data sets of SAS (.sas7bdat) have a catalog.\n"
            "Leave out catalog under [source]."
        )
    if not catalog.is_file():
        raise DataError(
            f"{catalog} was asked for as a catalog of SAS, but there is no such file.\n"
            "Correct catalog under [source]. Without it, or with labels = false, codes stand for themselves."
        )
    return catalog


def _answered(request: Mapping[str, Any], source: Source, form: Format) -> tuple[Mapping[str, Any], pa.Table | None]:
    """Return what another process reads, or raise: it is gone where bytes are damaged, or says so."""
    needed("pyreadstat", source.path)
    question = json.dumps(request).encode() + b"\n"
    code, about, table = 0, None, None
    while about is None and code not in (DAMAGED, NO_MEMORY) and (child := _one_that_waits()):
        code, about, table = _asked(child, question, rows="columns" in request)
    if about is None and code not in (DAMAGED, NO_MEMORY):  # none has waited, or it has gone for reasons of its own
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-P", str(_APART)]  # -P: what lies beside it, or beside the data, is not imported
        child = subprocess.Popen(command, env=without_addresses(), **pipes)  # type: ignore[call-overload]
        code, about, table = _asked(child, question, rows="columns" in request)
    if code == NO_MEMORY:
        raise MemoryError
    if about is None:
        raise _blamed(request, source, form)
    return about, table


def _asked(
    child: subprocess.Popen[bytes], question: bytes, *, rows: bool
) -> tuple[int, Mapping[str, Any] | None, pa.Table | None]:
    """Return 0 and what a process answers, which then waits for another question; or its exit code and nothing."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):  # it ended in the middle of a sentence
            child.stdin.write(question)
            child.stdin.flush()
            about = json.loads(child.stdout.readline())
            table = pa_ipc.open_stream(child.stdout).read_all() if rows else None
            _WAITING.append((os.getpid(), child))
            return 0, about, table
    except BaseException:
        child.kill()
        child.wait()
        raise
    _end(child)
    return child.returncode, None, None


def _one_that_waits() -> subprocess.Popen[bytes] | None:
    with contextlib.suppress(IndexError):  # other threads ask as well
        maker, child = _WAITING.pop()
        return child if maker == os.getpid() else _one_that_waits()
    return None


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError), child:  # closes its pipes, and waits
        pass


@atexit.register
def _end_all() -> None:
    for maker, child in _WAITING:
        if maker == os.getpid():
            _end(child)


def _blamed(request: Mapping[str, Any], source: Source, form: Format) -> DataError:
    """Return the error for a table, or for its catalog where the table is read without it."""
    if "catalog" in request and "columns" not in request:  # rows are asked for once the catalog was read
        with contextlib.suppress(DataError):
            _answered({key: value for key, value in request.items() if key != "catalog"}, source, form)
            return DataError(
                f"{source.catalog} cannot be read as a catalog of SAS: it is something else, damaged, or cut off.\n"
                "Save it again. Without catalog under [source], or with labels = false, codes stand for themselves."
            )
    return _damaged(source, form)


def _damaged(source: Source, form: Format) -> DataError:
    return DataError(
        f"{source.path} cannot be read as a file of {_SHOWN[form]}: it is something else, damaged, cut off, or of "
        "a version that is not known here.\nSave it again in a usual version, or as CSV."
    )
