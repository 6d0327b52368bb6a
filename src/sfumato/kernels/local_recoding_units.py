"""What local recoding works on: distinct rows with weights, and all hierarchies in one numbering.

Sizes: n rows, q quasi-identifiers, u units, m nodes of all trees together.

A unit is a pattern of rows that share their quasi-identifiers, present in some number of copies; copies are what is
moved. When rows may be told apart by their sensitive values, a pattern is one row with its sensitive values. When rows
with equal quasi-identifiers must stay together, a pattern is all of them at once, in one copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import kernel

LARGEST_KEY = 2**62


class Units(NamedTuple):
    """Distinct rows, in ascending order of their codes."""

    code: NDArray[np.int32]  # (u, q)
    size: NDArray[np.int64]  # (u,) rows in one copy
    copies: NDArray[np.int64]  # (u,)
    cell_start: NDArray[np.int64]  # (u + 1,) a copy adds to cells cell[cell_start[u]:cell_start[u + 1]] of a histogram
    cell: NDArray[np.int32]
    cell_count: NDArray[np.int64]  # how much one copy adds


class Trees(NamedTuple):
    """The trees of all quasi-identifiers; the node of code c of quasi-identifier j is leaf[j] + c."""

    leaf: NDArray[np.int64]  # (q + 1,)
    values: NDArray[np.int64]  # (q,)
    parent: NDArray[np.int64]  # (m,) -1 for roots
    first: NDArray[np.int64]  # (m,) codes below a node: first to last
    last: NDArray[np.int64]  # (m,)
    loss: NDArray[np.float64]  # (m,)
    levels: NDArray[np.int64]  # (q,) levels that differ; level 0 is the codes themselves
    level_start: NDArray[np.int64]  # (q,) the node of code c at level l is at_level[level_start[j] + l * values[j] + c]
    at_level: NDArray[np.int64]


def make_trees(
    parents: Sequence[NDArray[np.int32]],
    levels: Sequence[NDArray[np.int32]],
    firsts: Sequence[NDArray[np.int32]],
    lasts: Sequence[NDArray[np.int32]],
    losses: Sequence[NDArray[np.float64]],
) -> Trees:
    """Return the trees in one numbering, with the node of every code at every level that changes anything."""
    sizes = [parent.size for parent in parents]
    leaf = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values, n_levels, level_start = [], [], []
    at_level: list[NDArray[np.int64]] = []
    for j, (parent, level, first, last) in enumerate(zip(parents, levels, firsts, lasts, strict=True)):
        v = int(last[-1]) + 1
        node = np.arange(v)
        rows = [node]
        for height in range(1, int(level.max()) + 1):
            above = parent[node]
            while np.any(climbs := (above >= 0) & (level[above] <= height)):
                node = np.where(climbs, above, node)
                above = parent[node]
            if np.any((first[node] != first[rows[-1]]) | (last[node] != last[rows[-1]])):
                rows.append(node)
        level_start.append(sum(nodes.size for nodes in at_level))
        at_level.append(np.concatenate(rows) + leaf[j])
        values.append(v)
        n_levels.append(len(rows))
    return Trees(
        leaf=leaf,
        values=np.array(values, dtype=np.int64),
        parent=np.concatenate([np.where(p >= 0, p + leaf[j], -1) for j, p in enumerate(parents)]).astype(np.int64),
        first=np.concatenate(firsts).astype(np.int64),
        last=np.concatenate(lasts).astype(np.int64),
        loss=np.concatenate(losses).astype(np.float64),
        levels=np.array(n_levels, dtype=np.int64),
        level_start=np.array(level_start, dtype=np.int64),
        at_level=np.concatenate(at_level).astype(np.int64),
    )


@kernel
def number_keys(keys, slot_of, number_of, distinct):
    """Number keys by first appearance; return how many differ.  (n,) -> (n,), (n,) in place.

    slot_of is scratch: -1 everywhere, its length a power of two and larger than the number of different keys.
    """
    mask = np.uint64(slot_of.size - 1)
    found = 0
    for row in range(keys.size):
        key = keys[row]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = (mixed ^ (mixed >> np.uint64(32))) & mask
        while slot_of[slot] >= 0 and distinct[slot_of[slot]] != key:
            slot = (slot + np.uint64(1)) & mask
        if slot_of[slot] < 0:
            slot_of[slot] = found
            distinct[found] = key
            found += 1
        number_of[row] = slot_of[slot]
    return found


def distinct_keys(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the different keys in ascending order, and which of them each row has."""
    number_of = np.empty(keys.size, dtype=np.int32)
    distinct = np.empty(keys.size, dtype=np.int64)
    slots = 1 << max(int(2 * keys.size).bit_length(), 4)
    found = number_keys(keys, np.full(slots, -1, dtype=np.int32), number_of, distinct)
    distinct = distinct[:found]
    order = np.argsort(distinct, kind="stable")
    rank = np.empty(found, dtype=np.int32)
    rank[order] = np.arange(found, dtype=np.int32)
    return distinct[order], rank[number_of]


def combine(
    codes: Sequence[NDArray[np.int32]], values: Sequence[int], rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return one row of each different combination of codes, in ascending order, and the combination of each row."""
    keys = np.zeros(rows, dtype=np.int64)
    bound = 1
    for column, v in zip(codes, values, strict=True):
        if bound * v >= LARGEST_KEY:  # number what there is so far: at most one number per row
            distinct, number_of = distinct_keys(keys)
            keys, bound = number_of.astype(np.int64), distinct.size
        keys *= v
        keys += column
        bound *= v
    distinct, number_of = distinct_keys(keys)
    some_row = np.zeros(distinct.size, dtype=np.int64)
    some_row[number_of] = np.arange(rows)
    return some_row, number_of


def make_units(
    codes: Sequence[NDArray[np.int32]],
    values: Sequence[int],
    cell_of: NDArray[np.int32],
    *,
    together: bool,
) -> tuple[Units, NDArray[np.int32]]:
    """Return the units of a table and the unit of each row; `cell_of` (s, n) are the rows' cells in a histogram."""
    rows = cell_of.shape[1]
    columns = list(codes) if together else [*codes, *cell_of]
    limits = list(values) if together else [*values, *(int(cells.max(initial=0)) + 1 for cells in cell_of)]
    some_row, unit_of = combine(columns, limits, rows)
    weight = np.bincount(unit_of, minlength=some_row.size)
    code = np.empty((some_row.size, len(codes)), dtype=np.int32)
    for j, column in enumerate(codes):
        code[:, j] = column[some_row]
    one = np.ones(some_row.size, dtype=np.int64)
    if not together:
        start = np.arange(some_row.size + 1, dtype=np.int64) * cell_of.shape[0]
        cell = np.ascontiguousarray(cell_of[:, some_row].T).ravel()
        return Units(code, one, weight, start, cell, np.ones(cell.size, dtype=np.int64)), unit_of
    cells = int(cell_of.max(initial=-1)) + 1
    pairs = [unit_of.astype(np.int64) * cells + column for column in cell_of]
    distinct, number_of = distinct_keys(np.concatenate(pairs)) if pairs else distinct_keys(np.zeros(0, dtype=np.int64))
    count = np.bincount(number_of, minlength=distinct.size)
    start = np.searchsorted(distinct, np.arange(some_row.size + 1, dtype=np.int64) * cells).astype(np.int64)
    cell = (distinct % max(cells, 1)).astype(np.int32)
    return Units(code, weight, one, start, cell, count.astype(np.int64)), unit_of
