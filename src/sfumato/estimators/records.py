"""The records behind a query: which sets each shows, counted in the cheapest way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import as_arrow, as_numpy
from sfumato.estimators.base import Axis, Table
from sfumato.estimators.kronecker import combinations_shown
from sfumato.kernels.cells.reconstruction import count_planes, count_records

# Nanoseconds, measured: a word of a bit plane, and a combination that is counted one by one.
WORD, COMBINATION = 0.25, 2.0
STRIDES = 1 << 31
BLOCK = 1024  # words of a bit plane that are combined while they are in the cache


@dataclass(frozen=True, eq=False)
class Cells:
    """One column of the records: the distinct sets, and which of them each record shows."""

    axis: Axis
    set_of: NDArray[np.int32]  # (n,)
    start: NDArray[np.int64]  # (sets + 1,)
    members: NDArray[np.int64]

    @classmethod
    def of_sets(cls, axis: Axis, column: BitSets) -> Cells:
        """Take a randomized column."""
        packed = np.ascontiguousarray(column.packed)
        if packed.shape[1] == 1:
            encoded = as_arrow(packed.ravel()).dictionary_encode()
            distinct = as_numpy(encoded.dictionary)[:, None]
        else:
            width = packed.shape[1] * packed.itemsize
            cells = pa.Array.from_buffers(pa.binary(width), len(packed), [None, pa.py_buffer(packed)])
            encoded = cells.dictionary_encode()
            content = encoded.dictionary.buffers()[1]
            distinct = np.frombuffer(content, dtype=packed.dtype, count=len(encoded.dictionary) * packed.shape[1])
            distinct = distinct.reshape(-1, packed.shape[1])
        sets = column.with_packed(distinct)
        return cls(axis, as_numpy(encoded.indices).astype(np.int32), sets.start, sets.items.astype(np.int64))

    @classmethod
    def of_values(cls, axis: Axis, codes: NDArray[np.int32]) -> Cells:
        """Take an ordinary column."""
        every = np.arange(axis.d + 1, dtype=np.int64)
        return cls(axis, codes, every, every[:-1])

    def planes(self) -> NDArray[np.uint64]:
        """Return one bit a record and value, shape (d, words)."""
        n = self.set_of.size
        words = -(-n // 64)
        holds = np.zeros((self.start.size - 1, self.axis.d), dtype=np.bool_)
        holds[np.repeat(np.arange(self.start.size - 1), np.diff(self.start)), self.members] = True
        planes = np.zeros((self.axis.d, 8 * words), dtype=np.uint8)
        for value in range(self.axis.d):
            bits = np.packbits(holds[:, value][self.set_of], bitorder="little")
            planes[value, : bits.size] = bits
        return planes.view(np.uint64)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct combinations of sets, in ascending order, and how many records show each."""

    sets: NDArray[np.int32]  # (patterns, q)
    weight: NDArray[np.float64]  # (patterns,)


@dataclass(frozen=True, eq=False)
class Records:
    """The columns of a query."""

    cells: tuple[Cells, ...]
    n_rows: int
    # How many records each one stands for, where equal ones are held once; None: one each.
    weights: NDArray[np.int64] | None = None

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns and how they were randomized."""
        return tuple(column.axis for column in self.cells)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return tuple(axis.d for axis in self.axes)

    def only(self, positions: Sequence[int]) -> Records:
        """Return the same records with some of the columns."""
        return replace(self, cells=tuple(self.cells[position] for position in positions))

    @cached_property
    def seen(self) -> Table:
        """How many records show each combination of values."""
        size = math.prod(self.shape)
        by_planes = WORD * size * self.n_rows / 64 if self.weights is None else math.inf
        by_records = COMBINATION * self.n_rows * combinations_shown(self.axes)
        counts = self.seen_by_planes() if by_planes < by_records else self.seen_by_records()
        return counts.astype(np.float64).reshape(self.shape)

    def seen_by_planes(self) -> NDArray[np.int64]:
        """Count by combining bits: the work does not depend on how many values cells show."""
        counts = np.zeros(math.prod(self.shape), dtype=np.int64)
        if self.n_rows:
            first = np.concatenate([[0], np.cumsum(self.shape)[:-1]]).astype(np.int64)
            planes = np.concatenate([column.planes() for column in self.cells])
            sizes = np.array(self.shape, dtype=np.int64)
            everyone = np.full((sizes.size, BLOCK), ~np.uint64(0))
            count_planes(planes, first, sizes, np.zeros_like(sizes), everyone, counts)
        return counts

    def seen_by_records(self) -> NDArray[np.int64]:
        """Count one by one: the work does not depend on how many combinations there are."""
        counts = np.zeros(math.prod(self.shape), dtype=np.int64)
        first, start, members = self.members(self.shape, [column.members for column in self.cells])
        sets = np.stack([column.set_of for column in self.cells], axis=1)
        places = np.empty(max(combinations_shown(self.axes), 1), dtype=np.int64)
        weights = np.ones(len(sets), dtype=np.int64) if self.weights is None else self.weights
        count_records(sets, first, start, members, weights, places, counts)
        return counts

    def members(
        self, shape: Sequence[int], members: Sequence[NDArray[np.int64]], starts: Sequence[NDArray[Any]] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the sets of all columns behind one another, members multiplied by strides: first, start, members."""
        starts = starts if starts is not None else [column.start for column in self.cells]
        first, all_starts, all_members = [], [np.zeros(1, dtype=np.int64)], []
        n_sets = n_members = 0
        for position, (start, own) in enumerate(zip(starts, members, strict=True)):
            first.append(n_sets)
            all_starts.append(start[1:] + n_members)
            all_members.append(own * math.prod(shape[position + 1 :]))
            n_sets += start.size - 1
            n_members += own.size
        return np.array(first, dtype=np.int64), np.concatenate(all_starts), np.concatenate(all_members)

    @cached_property
    def patterns(self) -> Patterns:
        """The distinct combinations of sets."""
        sizes = [column.start.size - 1 for column in self.cells]
        if math.prod(sizes) <= max(4 * self.n_rows, 1 << 16):  # counting all that could be is the quickest
            count = self.by_sets.ravel()
            found = np.flatnonzero(count)
            return Patterns(np.stack(np.unravel_index(found, sizes), axis=1).astype(np.int32), count[found])
        key = np.zeros(self.cells[0].set_of.size, dtype=np.int64)
        n_keys = 1
        for column, n_sets in zip(self.cells, sizes, strict=True):
            if n_keys * n_sets >= STRIDES:
                key, n_keys = _renumbered(key)
            key = key * n_sets + column.set_of
            n_keys *= n_sets
        numbers, n_patterns = _renumbered(key)
        some_row = np.empty(n_patterns, dtype=np.int64)
        some_row[numbers] = np.arange(numbers.size)
        sets = np.stack([column.set_of[some_row] for column in self.cells], axis=1)
        return Patterns(sets, self.counted(numbers, n_patterns))

    @property
    def by_sets(self) -> Table:
        """How many records show each combination of sets, an axis for each column."""
        sizes = [column.start.size - 1 for column in self.cells]
        key = np.zeros(self.cells[0].set_of.size, dtype=np.int64)
        for column, n_sets in zip(self.cells, sizes, strict=True):
            key = key * n_sets + column.set_of
        return self.counted(key, math.prod(sizes)).reshape(sizes)

    def counted(self, numbers: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        """Return how many records have each of the numbers 0 to size - 1, (size,), given that of each record here."""
        return np.bincount(numbers, weights=self.weights, minlength=size).astype(np.float64)


def _renumbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Number distinct keys 0, 1, ... in ascending order."""
    encoded = as_arrow(keys).dictionary_encode()
    distinct = as_numpy(encoded.dictionary)
    rank = np.empty(distinct.size, dtype=np.int64)
    rank[np.argsort(distinct)] = np.arange(distinct.size)
    return rank[as_numpy(encoded.indices)], distinct.size
