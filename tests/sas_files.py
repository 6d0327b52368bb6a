"""Data sets and catalogs of SAS, written by the C library inside pyreadstat, which itself offers no way to do so."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyreadstat import _readstat_writer

_TEXT, _DOUBLE = 0, 5  # readstat_type_t
_Write = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def write_sas7bdat(
    path: Path,
    columns: dict[str, list[Any]],
    *,
    titles: Mapping[str, str] = MappingProxyType({}),
    formats: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write columns of text or numbers; None is missing. Some have variable labels, or formats of a catalog."""
    library, writer, written = _writer()
    variables = {}
    for name, cells in columns.items():
        is_text = any(isinstance(cell, str) for cell in cells)
        width = max(len((cell or "").encode()) for cell in cells) if is_text else 0
        kind = _TEXT if is_text else _DOUBLE
        made = library.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width))
        variables[name] = ctypes.c_void_p(made), is_text
        library.readstat_variable_set_label(variables[name][0], titles.get(name, "").encode())
        library.readstat_variable_set_format(variables[name][0], formats.get(name, "").encode())
    rows = len(next(iter(columns.values())))
    _done(library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(rows)))
    for row in range(rows):
        _done(library.readstat_begin_row(writer))
        for name, (variable, is_text) in variables.items():
            cell = columns[name][row]
            if is_text:
                _done(library.readstat_insert_string_value(writer, variable, (cell or "").encode()))
            elif cell is None:
                _done(library.readstat_insert_missing_value(writer, variable))
            else:
                _done(library.readstat_insert_double_value(writer, variable, ctypes.c_double(cell)))
        _done(library.readstat_end_row(writer))
    _done(library.readstat_end_writing(writer))
    library.readstat_writer_free(writer)
    path.write_bytes(bytes(written))


def write_sas7bcat(path: Path, formats: Mapping[str, Mapping[Any, str]]) -> None:
    """Write a catalog: value labels of text or numbers, by the name of their format."""
    library, writer, written = _writer()
    for name, label_of in formats.items():
        is_text = name.startswith("$")
        made = library.readstat_add_label_set(writer, _TEXT if is_text else _DOUBLE, name.encode())
        for value, label in label_of.items():
            if is_text:
                library.readstat_label_string_value(ctypes.c_void_p(made), value.encode(), label.encode())
            else:
                library.readstat_label_double_value(ctypes.c_void_p(made), ctypes.c_double(value), label.encode())
    _done(library.readstat_begin_writing_sas7bcat(writer, None))
    _done(library.readstat_end_writing(writer))
    library.readstat_writer_free(writer)
    path.write_bytes(bytes(written))


def _writer() -> tuple[Any, ctypes.c_void_p, bytearray]:
    """Return the library, something that writes, and what it has written."""
    library = ctypes.CDLL(_readstat_writer.__file__)
    for name in ("readstat_writer_init", "readstat_add_variable", "readstat_add_label_set"):
        getattr(library, name).restype = ctypes.c_void_p
    written = bytearray()

    def write(data: int, size: int, _: int) -> int:
        written.extend(ctypes.string_at(data, size))
        return size

    library.keep = _Write(write)  # as long as there is the library
    writer = ctypes.c_void_p(library.readstat_writer_init())
    _done(library.readstat_set_data_writer(writer, library.keep))
    return library, writer, written


def _done(error: int) -> None:
    assert error == 0, f"ReadStat: error {error}"
