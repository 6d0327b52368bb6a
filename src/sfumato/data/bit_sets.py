"""Sets over a declared domain, one bit for each value: what a randomized column is published as.

A census of 68 columns fits into a few hundred megabytes this way, where lists of codes would take gigabytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import TEXT, CodedSets, Codes, starts_of
from sfumato.data.schema import ColumnSpec, Kind, Role

PackedBits: TypeAlias = NDArray[Any]  # (n, w) unsigned: bit b of word w says that labels[64 * w + b] is a member
_STEP = 1 << 16  # rows unpacked at once


class BitSets(CodedSets):
    """A column of sets over a declared domain, in the order of the domain; `items` and `start` are made when asked for.

    `in_order` is False when some cell was found in another order than the domain's: that order may tell something.
    """

    packed: PackedBits
    in_order: bool
    spec: ColumnSpec | None  # what the plan declares of it

    def __init__(
        self,
        *,
        name: str,
        role: Role,
        packed: PackedBits,
        labels: tuple[str, ...],
        separator: str = "|",
        type: pa.DataType = TEXT,  # noqa: A002
        in_order: bool = True,
        spec: ColumnSpec | None = None,
        spellings: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        vars(self).update(name=name, role=role, packed=packed, labels=labels, separator=separator, sensitive=None)
        vars(self).update(kind=Kind.SET, type=type, in_order=in_order, spec=spec, spellings=spellings or {})

    @property
    def size(self) -> NDArray[np.int64]:
        """How many members each set has, shape (n,)."""
        counted: NDArray[np.int64] = np.bitwise_count(self.packed).sum(axis=1, dtype=np.int64)
        return counted

    @property
    def start(self) -> NDArray[np.int64]:
        """Where the members of each row begin, shape (n + 1,)."""
        return starts_of(self.size)

    @property
    def items(self) -> Codes:
        """The members, row after row."""
        parts = [self.members(first, first + _STEP) for first in range(0, len(self.packed), _STEP)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)

    def members(self, first: int, last: int) -> Codes:
        """Return the members of some rows, row after row."""
        places = np.flatnonzero(self.bits(first, last).view(np.bool_))  # much faster than numbers in two directions
        return np.remainder(places, max(len(self.labels), 1), dtype=np.int64).astype(np.int32)

    def bits(self, first: int, last: int) -> NDArray[np.uint8]:
        """Return for some rows and each label whether it is a member, shape (rows, labels)."""
        part = np.ascontiguousarray(self.packed[first:last])
        part = part.astype(part.dtype.newbyteorder("<"), copy=False)
        return np.unpackbits(part.view(np.uint8), axis=1, count=len(self.labels), bitorder="little")

    def parts(self) -> NDArray[np.float64]:
        """Return how many records each label stands for when the members of a set share its record, shape (labels,)."""
        size, total = self.size, np.zeros(len(self.labels))
        for first in range(0, len(self.packed), _STEP):
            bits, of = self.bits(first, first + _STEP), size[first : first + _STEP]
            for count in np.unique(of[of > 0]):
                total += bits[of == count].sum(axis=0, dtype=np.int64) / count
        return total

    def take(self, rows: NDArray[np.int32]) -> BitSets:
        """Return the sets of some rows."""
        return self.with_packed(self.packed[rows])

    def published(self, rows: NDArray[np.int32] | None) -> BitSets:
        """Return the sets of some rows, or all, without what the source called their members otherwise."""
        other = self if rows is None else self.take(rows)
        if self.spellings:
            other = copy(other)
            vars(other).update(spellings={})
        return other

    def with_packed(self, packed: PackedBits, *, in_order: bool | None = None) -> BitSets:
        """Return other sets over the same domain."""
        other = copy(self)
        vars(other).update(packed=packed, in_order=self.in_order if in_order is None else in_order)
        return other


def empty_bit_sets(n_rows: int, n_labels: int) -> PackedBits:
    """Return room for sets over so many labels: one short word a row where that is enough."""
    for kind in (np.uint8, np.uint16, np.uint32):
        if n_labels <= 8 * np.dtype(kind).itemsize:
            return np.zeros((n_rows, 1), dtype=kind)
    return np.zeros((n_rows, -(-n_labels // 64)), dtype=np.uint64)


def bit_sets_of(items: NDArray[Any], start: NDArray[np.int64], n_labels: int) -> PackedBits:
    """Return sets packed into words; the members of each are distinct.

    >>> bit_sets_of(np.array([0, 2, 1]), np.array([0, 2, 2, 3]), 3).ravel().tolist()
    [5, 0, 2]
    """
    packed = empty_bit_sets(start.size - 1, n_labels)
    for word in range(packed.shape[1]):
        inside = items // 64 == word
        bit = np.where(inside, np.uint64(1) << (items % 64).astype(np.uint64), np.uint64(0))
        # Sums of different bits are their union; what overflows in the running sum cancels in the difference.
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(bit, dtype=np.uint64)])
        packed[:, word] = running[start[1:]] - running[start[:-1]]
    return packed
