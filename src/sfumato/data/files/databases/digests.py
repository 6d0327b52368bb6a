"""Digests of tables without an order: rows are digested one by one and added up.

They tell whether a table is still the one that was read; nobody is kept from making another one on purpose.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import as_numpy
from sfumato.data.files.room import POOL
from sfumato.data.kinds import is_list, is_text, value_type

_AT_ONCE = 1 << 14  # rows or texts; what is worked out for them is allocated anew each time
_BESIDE = 2  # threads
_LONG = 1 << 10  # bytes of a text beyond which it is digested for itself
_WORD = 8  # bytes of a text that are looked at together
_SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))  # of the two halves
_NONE = np.ones((2, 1), dtype=np.uint64)  # the digest of a cell without a value
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def digest_of_rows(table: pa.Table) -> str:
    """Return the SHA-256 of what a table holds, whatever the order of its rows.

    >>> one = pa.table({"a": [1, 2], "b": ["x", None]})
    >>> digest_of_rows(one) == digest_of_rows(one.take([1, 0])), digest_of_rows(one) == digest_of_rows(one.slice(1))
    (True, False)
    """
    salts = [_salt(place, name) for place, name in enumerate(table.column_names)]
    known = [_of_values(column, salt) for column, salt in zip(table.columns, salts, strict=True)]

    def summed(start: int) -> list[int]:
        part = table.slice(start, _AT_ONCE)
        total = np.zeros((2, part.num_rows), dtype=np.uint64)
        for column, salt, of_value in zip(part.columns, salts, known, strict=True):
            total += _salted_cells(column, salt, of_value)
        return [int(lane) for lane in mixed(total).sum(axis=1, dtype=np.uint64)]

    with ThreadPoolExecutor(_BESIDE) as beside:
        found = beside.map(summed, range(0, table.num_rows, _AT_ONCE))
        sums = [sum(lane) % 2**64 for lane in zip([0, 0], *found, strict=True)]
    about = [f"{field.name} {value_type(field.type)}" for field in table.schema]
    return hashlib.sha256(repr((about, table.num_rows, sums)).encode()).hexdigest()


def _salt(place: int, name: str) -> NDArray[np.uint64]:
    """Return what makes cells of one column unlike those of another, (2, 1)."""
    told = hashlib.blake2b(f"{place} {name}".encode(), digest_size=16).digest()
    return np.frombuffer(told, dtype=np.uint64).reshape(2, 1)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in which every bit depends on every bit (the finalizer of SplitMix64, Steele et al. 2014)."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _of_values(column: pa.ChunkedArray, salt: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
    """Return what each value of a dictionary that all rows share adds to its row, and no value, (2, values + 1).

    None where there is none, or where rows are hardly more than values.
    """
    if not pa.types.is_dictionary(column.type) or column.num_chunks != 1:
        return None
    values = column.chunk(0).dictionary
    return _salted_values(values, salt) if 2 * len(values) <= len(column) else None


def _salted_values(values: pa.Array, salt: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return mixed(_value_digests(values) ^ salt)


def _salted_cells(
    column: pa.ChunkedArray, salt: NDArray[np.uint64], of_value: NDArray[np.uint64] | None
) -> NDArray[np.uint64]:
    """Return what each cell adds to the digest of its row, shape (2, rows); `of_value` says it of known values."""
    array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks, memory_pool=POOL)
    if of_value is not None:
        return _taken(of_value, array.indices)
    kind = array.type
    if is_text(value_type(kind)) or is_list(kind) or _is_number(kind):
        return mixed(_cell_digests(array) ^ salt)
    coded = pc.dictionary_encode(array.cast(value_type(kind)), memory_pool=POOL)
    return _taken(_salted_values(coded.dictionary, salt), coded.indices)


def _cell_digests(array: pa.Array) -> NDArray[np.uint64]:
    """Return 128 bits for each cell, shape (2, rows); of lists, those of their members in order."""
    kind = array.type
    if pa.types.is_dictionary(kind) and len(array.dictionary) <= len(array):
        return _taken(_value_digests(array.dictionary), array.indices)
    if is_list(kind):
        found = _list_digests(array)
    elif _is_number(kind):
        wide = array.cast(pa.int64() if pa.types.is_signed_integer(kind) else pa.float64(), safe=False)
        numbers = as_numpy(pc.fill_null(wide, 0) if wide.null_count else wide).view(np.uint64)
        found = np.stack([numbers, mixed(numbers)])
    else:
        found = text_digests(array.cast(value_type(kind), memory_pool=POOL).cast(pa.string()))
    return np.where(as_numpy(pc.is_null(array)), _NONE, found) if array.null_count else found


def _list_digests(array: pa.Array) -> NDArray[np.uint64]:
    members = _cell_digests(array.flatten())
    sizes = as_numpy(pc.fill_null(pc.list_value_length(array), 0)).astype(np.int64)
    row_of = np.repeat(np.arange(len(array)), sizes)
    first = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    place = (np.arange(row_of.size) - first[row_of]).astype(np.uint64)
    found = np.zeros((2, len(array)), dtype=np.uint64)
    for lane in (0, 1):
        np.add.at(found[lane], row_of, mixed(members[lane] + place))
    found += sizes.astype(np.uint64)
    return found


def _value_digests(values: pa.Array) -> NDArray[np.uint64]:
    """Return 128 bits for each value, and for none behind the last, shape (2, values + 1)."""
    return np.append(text_digests(values.cast(pa.string(), memory_pool=POOL)), _NONE, axis=1)


def _taken(of_value: NDArray[np.uint64], indices: pa.Array) -> NDArray[np.uint64]:
    """Return those of the values that the cells hold, (2, rows); the last where there is none."""
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int32()), of_value.shape[1] - 1)
    places = as_numpy(indices)
    return np.stack([lane[places] for lane in of_value])


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def text_digests(texts: pa.Array, halves: int = 2) -> NDArray[np.uint64]:
    """Return 64 or 128 bits for each text, shape (halves, texts); eight bytes of each are looked at together."""
    ends, content = text_parts(texts)
    found = np.empty((halves, len(texts)), dtype=np.uint64)
    for first in range(0, len(texts), _AT_ONCE):
        some = ends[first : first + _AT_ONCE + 1].astype(np.int64)
        found[:, first : first + _AT_ONCE] = _short_texts(content, some, halves)
    for row in np.flatnonzero(np.diff(ends) > _LONG):
        told = hashlib.blake2b(content[ends[row] : ends[row + 1]].tobytes(), digest_size=16).digest()
        found[:, row] = np.frombuffer(told, dtype="<u8")[:halves]
    return found


def text_parts(texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return where texts end, behind where the first one begins, and the bytes in which they lie."""
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    if not len(texts):
        return np.zeros(1, dtype=kind), np.empty(0, dtype=np.uint8)
    _, ends, content = texts.buffers()
    first, last = texts.offset, texts.offset + len(texts) + 1
    return np.frombuffer(ends, dtype=kind, count=last)[first:], np.frombuffer(content or b"", dtype=np.uint8)


def _short_texts(content: NDArray[np.uint8], ends: NDArray[np.int64], halves: int) -> NDArray[np.uint64]:
    """Return the digests of texts that are not long, (halves, texts), and anything for those that are."""
    seeds = _SEEDS[:halves]
    sizes = np.diff(ends)
    found = np.stack([sizes.astype(np.uint64) + seed for seed in seeds])
    for read in range(0, min(int(sizes.max(initial=0)), _LONG), _WORD):
        rows: Any = np.flatnonzero(sizes > read) if (sizes <= read).any() else slice(None)
        words = first_words(content, ends[:-1][rows] + read, np.minimum(sizes[rows] - read, _WORD))
        for lane, seed in zip(found, seeds, strict=True):
            lane[rows] = mixed((lane[rows] ^ words) + seed)
    return found


def first_words(content: NDArray[np.uint8], start: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.uint64]:
    """Return as numbers the bytes that start at these places, up to eight of each, (texts,)."""
    if content.size < _WORD:
        content = np.pad(content, (0, _WORD))
    word_at = np.ndarray(content.size - _WORD + 1, dtype="<u8", buffer=content, strides=(1,))
    within = np.minimum(start, word_at.size - 1)  # where a word ends before the content does
    words: NDArray[np.uint64] = word_at[within] >> (8 * (start - within)).astype(np.uint64)
    words &= _ALL >> (8 * (_WORD - sizes)).astype(np.uint64)  # without the bytes of the next text
    return words
