"""Cells of a release as databases hold them: text and numbers, and lists where they have such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sfumato.data.files.export import as_cell, refuse_separators
from sfumato.data.kinds import is_list, is_text, value_type
from sfumato.errors import DataError


def text_or_numbers(column: pa.ChunkedArray, name: str, separator: str) -> list[Any]:
    """Return cells as text or numbers; sets with their separator between the members."""
    if is_text(value_type(column.type)):
        return list(column.cast(pa.string()).to_pylist())
    cells = column.to_pylist()
    if is_list(column.type):
        refuse_separators((str(member) for cell in cells for member in cell or ()), separator, name)
    try:
        return [as_cell(cell, separator, None) for cell in cells]
    except TypeError:
        raise _not_held(column, name) from None


def is_plain(kind: pa.DataType) -> bool:
    """Whether databases with types of their own have this one of Arrow's."""
    tests: tuple[Callable[[pa.DataType], bool], ...] = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_date,
        pa.types.is_timestamp,
        is_text,
    )
    return any(test(kind) for test in tests)


def storable(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column in a type that the database has: sets as arrays of text, what it has not as text."""
    kind = value_type(column.type)
    try:
        if is_list(kind):
            return column.cast(pa.large_list(pa.string()))
        if is_text(kind):
            return column.cast(pa.string())
        return column if is_plain(kind) or pa.types.is_decimal(kind) else column.cast(pa.string())
    except pa.ArrowException:
        raise _not_held(column, name) from None


def _not_held(column: pa.ChunkedArray, name: str) -> DataError:
    return DataError(
        f"Column {name!r} holds values of type {column.type}, which the database cannot hold.\n"
        "Drop the column, or convert it to text."
    )


def bytes_in(name: str, what: str = "bytes") -> DataError:
    """Return the error for a column that cannot be read."""
    return DataError(
        f"Column {name!r} was to be read, but it holds {what}, which are neither text nor a number.\n"
        "Give it the role identifier, or select something of it by a query."
    )
