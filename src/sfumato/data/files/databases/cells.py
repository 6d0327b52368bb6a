"""Cells for databases that know text and numbers, and no lists."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.data.files.export import as_cell
from sfumato.data.kinds import is_list, is_text, value_type
from sfumato.errors import DataError


def text_or_numbers(column: pa.ChunkedArray, name: str, separator: str) -> list[Any]:
    """Return cells as text or numbers; sets with their separator between the members."""
    if is_text(value_type(column.type)):
        return list(column.cast(pa.string()).to_pylist())
    cells = column.to_pylist()
    if is_list(column.type) and any(separator in str(member) for cell in cells for member in cell or ()):
        raise DataError(
            f"Column {name!r} has members that contain {separator!r}, which separates members in a cell.\n"
            "Give the column another separator."
        )
    try:
        return [as_cell(cell, separator, None) for cell in cells]
    except TypeError:
        raise DataError(
            f"Column {name!r} holds values of type {column.type}, which the database cannot hold.\n"
            "Drop the column, or convert it to text."
        ) from None
