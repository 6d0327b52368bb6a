"""Which rows of a published table are equal: the same labels, the same sets, the same in columns carried along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedSets, as_numpy

if TYPE_CHECKING:
    from sfumato.data.release import ReleasedColumn


def number_equal_rows(
    columns: Mapping[str, ReleasedColumn | CodedSets], carried: pa.Table | None, n_rows: int
) -> NDArray[np.int64]:
    """Return for each row the number of its kind, shape (n,): 0, 1, ... as they appear."""
    number_of = np.zeros(n_rows, dtype=np.int64)
    for codes in _codes(columns.values(), carried):
        keys = number_of * (int(codes.max(initial=0)) + 1) + codes  # both are below 2**31
        number_of = as_numpy(pa.array(keys).dictionary_encode().indices).astype(np.int64)
    return number_of


def _codes(columns: Iterable[ReleasedColumn | CodedSets], carried: pa.Table | None) -> Iterable[NDArray[Any]]:
    for column in columns:
        if isinstance(column, BitSets):
            yield from (_codes_of_values(pa.chunked_array([word])) for word in np.ascontiguousarray(column.packed.T))
        elif isinstance(column, CodedSets):
            yield _codes_of_sets(column)
        else:
            yield column.codes
    for array in carried.columns if carried is not None else ():
        yield _codes_of_values(array)


def _codes_of_sets(column: CodedSets) -> NDArray[Any]:
    """Return equal codes for equal sets: their members, side by side, are compared as bytes."""
    items = np.ascontiguousarray(column.items, dtype=np.int32)
    start = np.asarray(column.start, dtype=np.int64) * items.itemsize
    cells = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), start.size - 1, [None, pa.py_buffer(start), pa.py_buffer(items)]
    )
    return as_numpy(cells.dictionary_encode().indices)


def _codes_of_values(array: pa.ChunkedArray) -> NDArray[Any]:
    """Return equal codes for equal values; a missing one is a value of its own."""
    if pa.types.is_nested(array.type):  # Arrow cannot compare them
        array = pa.chunked_array([pa.array([repr(value) for value in array.to_pylist()], pa.large_string())])
    whole = array.unify_dictionaries() if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    parts = [as_numpy(part.indices.cast(pa.int64()).fill_null(len(part.dictionary))) for part in whole.chunks]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
