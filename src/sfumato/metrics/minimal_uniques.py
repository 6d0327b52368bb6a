"""Minimal sample uniques: sets of columns that single a record out, and of which none can be left out.

After Elliot et al. (2002) and Manning et al. (2008). Sets of columns are walked from small to large, each with the
groups that its parent left. Who is alone in a group is alone in all further ones and leaves the walk, so that its cost
is that of the groups which are left. c distinct rows with their weights over d columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import DistinctRows

Integers = NDArray[np.int64]
MOST_SETS = 1_023  # of columns: all of ten
MOST_VISITS = 200_000_000  # of distinct rows


@dataclass(frozen=True, eq=False)
class MinimalUniques:
    """What singles records out. A set of columns is counted for a record if nothing in it could be left out."""

    columns: int  # d
    size: int  # of the largest sets that were looked at
    number: Integers  # (c, size): how many sets of each size single a distinct row out
    by_column: Integers  # (d, size): how many of all these hold a column
    crowd: Integers  # (c,): the fewest records that share what some set of so many columns shows of a distinct row
    visits: int  # of distinct rows, over all sets of columns

    @property
    def smallest(self) -> Integers:
        """The size of the smallest set that singles a distinct row out, 0 where none does, shape (c,)."""
        any_of = self.number > 0
        return np.where(any_of.any(axis=1), any_of.argmax(axis=1) + 1, 0)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of each distinct row: small sets and many sets raise it (Elliot et al. 2002), shape (c,)."""
        return self.number @ set_scores(self.columns, self.size)

    @property
    def contributions(self) -> NDArray[np.float64]:
        """The share of all scores that comes from sets with a column, shape (d,); a set counts for each of its own."""
        total = float(self.scores.sum())
        of_column = self.by_column @ set_scores(self.columns, self.size)
        return of_column / total if total else np.zeros(self.columns)


def set_scores(columns: int, size: int) -> NDArray[np.float64]:
    """Return the score of a set of 1, 2, ... columns: the product of (columns - i) from its size to the largest.

    >>> set_scores(4, 3).tolist(), set_scores(4, 4).tolist(), set_scores(8, 3).tolist()
    ([6.0, 2.0, 1.0], [6.0, 2.0, 1.0, 1.0], [210.0, 30.0, 5.0])
    """
    last = min(size, columns - 1)
    return np.array([math.prod(columns - i for i in range(own, last + 1)) for own in range(1, size + 1)], np.float64)


def calibrated_scores(scores: NDArray[np.float64], match: float, uniques: int, columns: int) -> NDArray[np.float64]:
    """Return scores as chances: that a match with the record is right (Elliot and Manning 2003), 0 where there is none.

    `match` is that chance over all unique records, which is handed out by scores; `uniques` says how many there are.
    """
    scored = scores > 0
    found = np.zeros(scores.size)
    if scored.any() and match > 0:
        raised = scores[scored] ** (1 + (8 - columns) / 20)
        found[scored] = 1 / (1 + uniques * (1 / match - 1) / (raised * (1 / raised).sum()))
    return found


def largest_size(columns: int, distinct: int, wanted: int | None = None) -> int:
    """Return up to which size sets of columns can be walked within limits of time and room; at least 1.

    >>> largest_size(8, 30_000), largest_size(20, 30_000), largest_size(9, 1_000_000), largest_size(8, 30_000, 3)
    (8, 2, 3, 3)
    """
    most = min(MOST_SETS, max(MOST_VISITS // max(distinct, 1), columns))
    sets, size = 0, 0
    while size < (wanted or columns) and size < columns and (sets := sets + math.comb(columns, size + 1)) <= most:
        size += 1
    return max(size, 1) if columns else 0


def minimal_uniques(distinct: DistinctRows, size: int | None = None) -> MinimalUniques:
    """Return what singles distinct rows out: sets of up to `size` columns, or as many as can be looked at.

    >>> rows = np.arange(3, dtype=np.int32)
    >>> distinct = DistinctRows(np.array([[0, 0], [1, 0], [1, 1]], np.int32), np.ones(3, np.int64), rows)
    >>> minimal_uniques(distinct).number.tolist()  # by the first column; by both; by the second
    [[1, 0], [0, 1], [1, 0]]
    """
    n_distinct, columns = distinct.codes.shape
    walk = _Walk(distinct, largest_size(columns, n_distinct, size))
    rows = np.arange(n_distinct)
    walk.into((), columns, rows, np.zeros(n_distinct, dtype=np.int64), 1)
    crowd = walk.crowd if walk.size else np.full(n_distinct, int(distinct.weight.sum()))
    return MinimalUniques(columns, walk.size, walk.number, walk.by_column, crowd, walk.visits)


@dataclass(eq=False)
class _Walk:
    """All sets of columns, each after all its subsets: the largest column first, then smaller ones in order."""

    distinct: DistinctRows
    size: int
    visits: int = 0
    alone_with: dict[frozenset[int], NDArray[np.uint8]] = field(default_factory=dict)  # bits of distinct rows

    def __post_init__(self) -> None:
        n_distinct, columns = self.distinct.codes.shape
        self.number = np.zeros((n_distinct, self.size), dtype=np.int64)
        self.by_column = np.zeros((columns, self.size), dtype=np.int64)
        self.crowd = np.full(n_distinct, np.iinfo(np.int64).max)
        self.values = self.distinct.codes.max(axis=0, initial=0).astype(np.int64) + 1

    def into(self, inside: tuple[int, ...], below: int, rows: Integers, group_of: Integers, groups: int) -> None:
        """Walk the sets that add columns below one to a set, given the groups of rows that it does not tell apart."""
        for column in range(below):
            added = (*inside, column)
            self.visits += rows.size
            found, kinds = _numbered(
                group_of * self.values[column] + self.distinct.codes[rows, column], groups * int(self.values[column])
            )
            people = np.bincount(found, weights=self.distinct.weight[rows], minlength=kinds).astype(np.int64)
            members = np.bincount(found, minlength=kinds)
            around = people.take(found)
            self.crowd[rows] = np.minimum(self.crowd.take(rows), around)
            self._single_out(added, rows[around == 1])
            left = members.take(found) > 1
            if len(added) < self.size and left.any():
                self.into(added, column, rows[left], found[left], kinds)

    def _single_out(self, columns: tuple[int, ...], alone: Integers) -> None:
        """Count a set for the distinct rows that it singles out, and that no smaller set within it does."""
        chosen = frozenset(columns)
        fresh = alone
        for parent in _parents(columns):
            known = self.alone_with.get(parent)
            fresh = fresh[~_holds(known, fresh)] if known is not None else fresh[:0]  # not walked: all are alone there
        self.number[fresh, len(columns) - 1] += 1
        self.by_column[list(columns), len(columns) - 1] += fresh.size
        if len(columns) < self.size:
            bits = np.zeros(self.distinct.weight.size, dtype=np.bool_)
            bits[alone] = True
            packed = np.packbits(bits)
            before = self.alone_with.get(chosen - {columns[-1]})
            self.alone_with[chosen] = packed if before is None else packed | before


def _parents(columns: tuple[int, ...]) -> Iterator[frozenset[int]]:
    """Yield the sets with one column less, but for the one that this was made from: who is alone there has left."""
    return (frozenset(columns) - {column} for column in columns[:-1])


def _holds(bits: NDArray[np.uint8], rows: Integers) -> NDArray[np.bool_]:
    """Return whether distinct rows are among packed bits."""
    shifted: NDArray[np.uint8] = bits[rows >> 3] >> (7 - (rows & 7)).astype(np.uint8)
    return shifted & 1 > 0


def _numbered(keys: Integers, n_keys: int) -> tuple[Integers, int]:
    """Return keys as numbers with few gaps, and a bound on them."""
    if n_keys <= 4 * keys.size + 1024:
        return keys, n_keys
    encoded = pa.array(keys).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)
