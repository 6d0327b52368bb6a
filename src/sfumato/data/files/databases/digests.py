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

_AT_ONCE = 1 << 16  # texts
_LONG = 1 << 10  # bytes of a text beyond which it is digested for itself
_SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))  # of the two halves


def digest_of_rows(table: pa.Table) -> str:
    """Return the SHA-256 of what a table holds, whatever the order of its rows.

    >>> one = pa.table({"a": [1, 2], "b": ["x", None]})
    >>> digest_of_rows(one) == digest_of_rows(one.take([1, 0])), digest_of_rows(one) == digest_of_rows(one.slice(1))
    (True, False)
    """
    total = np.zeros((2, table.num_rows), dtype=np.uint64)
    for place, name in enumerate(table.column_names):
        salt = np.frombuffer(hashlib.blake2b(f"{place} {name}".encode(), digest_size=16).digest(), dtype=np.uint64)
        for lane, cells in enumerate(_cell_digests(table.column(name))):
            total[lane] += _mixed(cells ^ salt[lane])
    sums = [int(_mixed(lane).sum(dtype=np.uint64)) for lane in total]
    about = [f"{field.name} {value_type(field.type)}" for field in table.schema]
    return hashlib.sha256(repr((about, table.num_rows, sums)).encode()).hexdigest()


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in which every bit depends on every bit (the finalizer of SplitMix64, Steele et al. 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _cell_digests(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Return 128 bits for each cell, shape (2, rows); of lists, those of their members in order."""
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
        array = array.dictionary_encode() if not pa.types.is_dictionary(array.type) else array
        values = array.dictionary
        texts = values if is_text(values.type) else values.cast(pa.string())
        of_value = text_digests(texts).T if len(values) else np.zeros((1, 2), dtype=np.uint64)
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
