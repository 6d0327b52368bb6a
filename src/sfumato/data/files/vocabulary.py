"""The distinct values of a column that arrives in parts, numbered in the order in which they first occur.

Each value has a key of 64 bits: numbers, days and texts of up to seven bytes are their own key; a longer text is
digested, and compared byte by byte with the one that has the same key. A slot of a table says which value has a key;
the values of a part are looked up together, as fast as a hash table of Arrow's does it, in a quarter of the room.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import STEP, as_arrow, as_numpy
from sfumato.data.files.databases.digests import first_words, mixed, text_digests, text_parts
from sfumato.data.files.room import POOL, Growing, empty
from sfumato.data.kinds import is_text

_FEWEST = 1 << 8  # slots
_FEW = 1 << 10  # texts of which Arrow makes a hash table in no time
_SHORT = 7  # bytes of a text that fit into a key, beside how many there are
_DIGESTED = np.uint64(1 << 63)  # the bit of a key that says that other texts may have it


class Vocabulary:
    """Values of one type, none twice; beside them, 16 to 24 bytes are held for each.

    >>> known = Vocabulary(pa.string())
    >>> known.numbers(pa.array(["b", "a"])).tolist(), known.numbers(pa.array(["c", "b", "c"])).tolist()
    ([0, 1], [2, 0, 2])
    >>> known.values().to_pylist()
    ['b', 'a', 'c']
    """

    def __init__(self, kind: pa.DataType) -> None:
        self.size = 0
        self.kind = pa.string() if is_text(kind) and not pa.types.is_large_string(kind) else kind
        self._content, self._ends = Growing(), Growing()
        self._ends.add(text_parts(pa.nulls(0, self.kind))[0])
        self._value_at = np.full(_FEWEST, -1, dtype=np.int32)  # of each slot, -1 where it is free
        self._key_of = np.empty(2 * _FEWEST // 3, dtype=np.uint64)

    def values(self) -> pa.Array:
        """Return all values; none can be added while anybody holds them."""
        ends = [self._ends.buffer()] if is_text(self.kind) else []
        return pa.Array.from_buffers(self.kind, self.size, [None, *ends, self._content.buffer()])

    def numbers(self, values: pa.Array) -> NDArray[np.int32]:
        """Return the number of each value, (n,); new ones get the next numbers. None is null."""
        values = values.cast(self.kind, memory_pool=POOL)
        if is_text(self.kind) and self.size <= _FEW:
            known = pc.index_in(values, value_set=self.values(), memory_pool=POOL)
            if not known.null_count:
                return as_numpy(known)
        self._make_room(len(values))
        keys, rows = _keys(values), np.arange(len(values))
        found, slot_of = np.empty((2, len(values)), dtype=np.int32)
        while rows.size:
            self._place(rows, keys, found, slot_of)
            rows = self._unlike(values, rows, keys, found)
            keys[rows] = (keys[rows] + np.uint64(1)) | _DIGESTED
        is_late = found >= self.size
        if is_late.any():
            new = np.flatnonzero(found == np.arange(self.size, self.size + len(values), dtype=np.int32))
            if new.size < len(values):
                values, keys = pc.take(values, as_arrow(new), memory_pool=POOL), keys[new]
                found[is_late] = self.size + np.searchsorted(new, found[is_late] - self.size)
                self._value_at[slot_of[new]] = found[new]
            self._add(values, keys)
        return found

    def _place(
        self, rows: NDArray[np.int64], keys: NDArray[np.uint64], found: NDArray[np.int32], slot_of: NDArray[np.int32]
    ) -> None:
        """Note for each of these rows which value has its key, or that it is the first, and then which slot it took.

        Row r stands for the value behind the last that is known, and r more.
        """
        last = self._value_at.size - 1
        keys = keys.take(rows)
        self._key_of[self.size + rows] = keys
        slots = (mixed(keys) & np.uint64(last)).view(np.int64)
        for step in count(1):
            values = self._value_at.take(slots)
            free = np.flatnonzero(values < 0)
            if free.size:
                taken = slots.take(free)
                # Of several rows with the same slot the first gets it.
                self._value_at[taken[::-1]] = rows.take(free)[::-1] + self.size
                values[free] = self._value_at.take(taken)
            found[rows], slot_of[rows] = values, slots
            left = np.flatnonzero(self._key_of.take(values) != keys)
            if not left.size:
                return
            rows, keys, slots = rows.take(left), keys.take(left), (slots.take(left) + step) & last

    def _unlike(
        self, values: pa.Array, rows: NDArray[np.int64], keys: NDArray[np.uint64], found: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Return those of the rows whose key is that of another text."""
        if not is_text(self.kind):
            return rows[:0]
        rows = rows[(keys[rows] >= _DIGESTED) & (found[rows] != rows + self.size)]
        if not rows.size:
            return rows
        known = found[rows] < self.size
        unlike = np.empty(rows.size, dtype=np.bool_)
        for some, where, first in ((known, self.values(), 0), (~known, values, self.size)):
            ours = pc.take(values, as_arrow(rows[some]), memory_pool=POOL)
            others = pc.take(where, as_arrow(found[rows[some]] - first), memory_pool=POOL)
            unlike[some] = as_numpy(pc.not_equal(ours, others, memory_pool=POOL))
        return rows[unlike]

    def _add(self, values: pa.Array, keys: NDArray[np.uint64]) -> None:
        if is_text(self.kind):
            ends, content = text_parts(values)
            behind = self._content.size - int(ends[0])
            if behind + int(ends[-1]) > np.iinfo(ends.dtype).max:
                raise pa.ArrowCapacityError("texts of a column take more bytes than its type can hold")
            self._content.add(content[ends[0] : ends[-1]])
            self._ends.add(ends[1:] + ends.dtype.type(behind))
        else:
            self._content.add(_bits(values))
        self._key_of[self.size : self.size + len(values)] = keys
        self.size += len(values)

    def _make_room(self, more: int) -> None:
        """See to it that a third of the slots stays free."""
        slots, values = self._value_at.size, self.size + more
        if values <= self._key_of.size:
            return
        while 3 * values > 2 * slots:
            slots *= 2
        keys, self._key_of = self._key_of[: self.size], empty(2 * slots // 3, np.uint64)
        self._key_of[: self.size] = keys
        self._value_at = empty(slots, np.int32)
        self._value_at.fill(-1)
        for start in range(0, self.size, STEP):
            self._place_anew(np.arange(start, min(start + STEP, self.size), dtype=np.int32))

    def _place_anew(self, values: NDArray[np.int32]) -> None:
        """Give values a slot, none of which has one."""
        last = self._value_at.size - 1
        slots = (mixed(self._key_of.take(values)) & np.uint64(last)).view(np.int64)
        for step in count(1):
            free = np.flatnonzero(self._value_at.take(slots) < 0)
            self._value_at[slots.take(free)] = values.take(free)
            left = np.flatnonzero(self._value_at.take(slots) != values)
            if not left.size:
                return
            slots, values = (slots.take(left) + step) & last, values.take(left)


def _bits(values: pa.Array) -> NDArray[Any]:
    """Return numbers or days as whole numbers of the same bits."""
    kind = np.dtype(f"u{values.type.bit_width // 8}")
    if not len(values):
        return np.empty(0, dtype=kind)
    return np.frombuffer(values.buffers()[1], dtype=kind, count=values.offset + len(values))[values.offset :]


def _keys(values: pa.Array) -> NDArray[np.uint64]:
    """Return 64 bits for each value, (n,)."""
    if not is_text(values.type):
        wide: NDArray[np.uint64] = _bits(values).astype(np.uint64)
        return wide
    ends, content = text_parts(values)
    sizes = np.diff(ends)
    if not sizes.size or int(sizes.min()) > _SHORT:
        digests: NDArray[np.uint64] = text_digests(values, halves=1)[0] | _DIGESTED
        return digests
    keys = first_words(content, ends[:-1], np.minimum(sizes, _SHORT))
    keys |= sizes.astype(np.uint64) << np.uint64(56)
    if int(sizes.max()) > _SHORT:
        keys = np.where(sizes > _SHORT, text_digests(values, halves=1)[0] | _DIGESTED, keys)
    return keys
