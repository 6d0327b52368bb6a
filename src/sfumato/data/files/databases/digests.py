"""Digests of tables without an order: rows are digested one by one and added up.

They tell whether a table is still the one that was read; nobody is kept from making another one on purpose.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import as_numpy
from sfumato.data.kinds import is_list, is_text, value_type

_AT_ONCE = 1 << 16  # rows or texts
_LONG = 1 << 10  # bytes of a text beyond which it is digested for itself
_SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))  # of the two halves


def digest_of_rows(table: pa.Table) -> str:
    """Return the SHA-256 of what a table holds, whatever the order of its rows.

    >>> one = pa.table({"a": [1, 2], "b": ["x", None]})
    >>> digest_of_rows(one) == digest_of_rows(one.take([1, 0])), digest_of_rows(one) == digest_of_rows(one.slice(1))
    (True, False)
    """
    sums = [0, 0]
    known = [_of_values(column) for column in table.columns]
    for start in range(0, table.num_rows, _AT_ONCE):
        part = table.slice(start, _AT_ONCE)
        total = np.zeros((2, part.num_rows), dtype=np.uint64)
        for place, (name, of_value) in enumerate(zip(table.column_names, known, strict=True)):
            salt = np.frombuffer(hashlib.blake2b(f"{place} {name}".encode(), digest_size=16).digest(), dtype=np.uint64)
            for lane, cells in enumerate(_cell_digests(part.column(place), of_value)):
                total[lane] += _mixed(cells ^ salt[lane])
        sums = [(sums[lane] + int(_mixed(total[lane]).sum(dtype=np.uint64))) % 2**64 for lane in (0, 1)]
    about = [f"{field.name} {value_type(field.type)}" for field in table.schema]
    return hashlib.sha256(repr((about, table.num_rows, sums)).encode()).hexdigest()


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in which every bit depends on every bit (the finalizer of SplitMix64, Steele et al. 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _of_values(column: pa.ChunkedArray) -> NDArray[np.uint64] | None:
    """Return 128 bits for each value of a dictionary that all rows share, (values, 2), where that is less than rows."""
    if not pa.types.is_dictionary(column.type) or column.num_chunks != 1:
        return None
    values = column.chunk(0).dictionary
    return _texts_of(values).T if 2 * len(values) <= len(column) else None


def _texts_of(values: pa.Array) -> NDArray[np.uint64]:
    if not len(values):
        return np.zeros((2, 1), dtype=np.uint64)
    return text_digests(values if is_text(values.type) else values.cast(pa.string()))


def _cell_digests(column: pa.ChunkedArray, of_value: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
    """Return 128 bits for each cell, shape (2, rows); of lists, those of their members in order.

    `of_value` holds those of a dictionary that are known already.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if is_list(array.type):
        members = _cell_digests(array.flatten())
        sizes = as_numpy(pc.fill_null(pc.list_value_length(array), 0)).astype(np.int64)
        row_of = np.repeat(np.arange(len(array)), sizes)
        first = np.concatenate(([0], np.cumsum(sizes)))[:-1]
        place = (np.arange(row_of.size) - first[row_of]).astype(np.uint64)
        found = np.zeros((2, len(array)), dtype=np.uint64)
        for lane in (0, 1):
            np.add.at(found[lane], row_of, _mixed(members[lane] + place))
        found += sizes.astype(np.uint64)
    elif not pa.types.is_dictionary(array.type) and (
        pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    ):
        wide = array.cast(pa.int64() if pa.types.is_signed_integer(array.type) else pa.float64(), safe=False)
        numbers = as_numpy(pc.fill_null(wide, 0)).view(np.uint64)
        found = np.stack([numbers, _mixed(numbers)])
    else:
        if of_value is None:
            if not pa.types.is_dictionary(array.type) or len(array.dictionary) > len(array):
                array = array.cast(value_type(array.type)).dictionary_encode()
            of_value = _texts_of(array.dictionary).T
        found = of_value[as_numpy(pc.fill_null(array.indices, 0))].T
    return np.where(as_numpy(pc.is_null(array)), np.uint64(1), found)


def text_digests(texts: pa.Array) -> NDArray[np.uint64]:
    """Return 128 bits for each text, shape (2, texts); those of one length are looked at eight bytes at a time."""
    array = texts.cast(pa.large_binary())
    ends = np.frombuffer(array.buffers()[1], dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(array.buffers()[2] or b"", dtype=np.uint8)
    sizes = np.diff(ends)
    found = np.empty((2, len(array)), dtype=np.uint64)
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        for first in range(0, alike.size, _AT_ONCE):
            rows = alike[first : first + _AT_ONCE]
            if size > _LONG:
                parts = (content[ends[row] : ends[row] + size] for row in rows)
                told = b"".join(hashlib.blake2b(part.tobytes(), digest_size=16).digest() for part in parts)
                found[:, rows] = np.frombuffer(told, dtype="<u8").reshape(-1, 2).T
                continue
            block = np.zeros((rows.size, -(-int(size) // 8) * 8), dtype=np.uint8)
            block[:, :size] = content[ends[rows][:, np.newaxis] + np.arange(size)]
            words = block.view("<u8").T
            for lane, seed in enumerate(_SEEDS):
                mixed = np.full(rows.size, seed, dtype=np.uint64) + np.uint64(size)
                for word in words:
                    mixed = _mixed((mixed ^ word) + seed)
                found[lane, rows] = mixed
    return found
