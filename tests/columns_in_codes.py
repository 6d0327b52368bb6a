"""Columns in codes for tests: made in a line, and shown as labels again."""

import pyarrow as pa

from sfumato.data.encoding import encode_column
from sfumato.data.schema import ColumnSpec, Role


def coded(values, kind=None, *, type=None, missing=("",), role=Role.QUASI_IDENTIFIER, **spec):  # noqa: A002
    """Return a column `a` in codes."""
    array = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values, type)])
    return encode_column(array, ColumnSpec(name="a", role=role, kind=kind, **spec), missing)


def shown(column):
    """Return the label of each row."""
    return [column.labels[code] for code in column.codes]


def cells(sets):
    """Return the labels of each row."""
    return [sets.cell(row) for row in range(sets.start.size - 1)]
