"""Making ready: distinct rows as units, hierarchies in one numbering, and as many levels as the lattice can bear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.joining import climbed
from sfumato.data.dataset import counted, starts_of
from sfumato.data.hierarchy import Tree
from sfumato.kernels.classes.units import AT, AXIS, LEVELS, VALUES, Trees, Units, number_keys

LARGEST_KEY = 2**62


def levels_of(tree: Tree, *, every_level: bool = False) -> tuple[list[int], NDArray[np.int64]]:
    """Return the levels of a tree that change anything, or every one, and the node of each code there, (levels, v)."""
    node = np.arange(int(tree.last[-1]) + 1)
    heights, nodes = [0], [node]
    for height in range(1, int(tree.level.max()) + 1):
        node, below = climbed(tree, node, height), node
        if every_level or np.any((tree.first[node] != tree.first[below]) | (tree.last[node] != tree.last[below])):
            heights.append(height)
            nodes.append(node)
    return heights, np.array(nodes)


def make_trees(trees: Sequence[Tree], losses: Sequence[NDArray[np.float64]]) -> Trees:
    """Return the trees in one numbering, with the node of every code at every level that changes anything."""
    start = starts_of([tree.parent.size for tree in trees])
    node = np.empty((int(start[-1]), 3), dtype=np.int64)
    for first, last, tree in zip(start[:-1], start[1:], trees, strict=True):
        node[first:last] = np.stack([np.where(tree.parent >= 0, tree.parent + first, -1), tree.first, tree.last], 1)
    bare = Trees(
        column=np.stack([start[:-1]] + [np.zeros_like(start[:-1])] * 4, axis=1),
        node=node,
        loss=np.concatenate([np.zeros(0), *losses]),
        at_level=np.zeros(0, dtype=np.int64),
    )
    ladders = [levels_of(tree)[1] + first for first, tree in zip(start[:-1], trees, strict=True)]
    return _with_ladders(bare, ladders, list(range(len(trees))))


def _with_ladders(trees: Trees, ladders: list[NDArray[np.int64]], axis_of: list[int]) -> Trees:
    """Return the trees with other levels: row l of ladders[j] is the node of each code at level l."""
    column = trees.column.copy()
    column[:, VALUES] = [ladder.shape[1] for ladder in ladders]
    column[:, LEVELS] = [ladder.shape[0] for ladder in ladders]
    column[:, AT] = np.cumsum([0] + [ladder.size for ladder in ladders])[:-1]
    column[:, AXIS] = axis_of
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *(ladder.ravel() for ladder in ladders)])
    return trees._replace(column=column, at_level=flat)


def thinned(trees: Trees, units: Units, copies: NDArray[np.int64], nodes: int) -> Trees:
    """Return the trees with fewer levels, so that the lattice of levels has at most so many nodes.

    The level between two others that makes the smallest difference to the mean loss goes first. When all columns are
    down to their codes and their root, the ones with the fewest values are taken to the root together.
    """
    weight = copies * units.size
    ladders, means = [], []
    for j, (_, v, levels, at, _) in enumerate(trees.column.tolist()):
        ladder = trees.at_level[at : at + v * levels].reshape(levels, v)
        share = np.bincount(units.code[:, j], weights=weight, minlength=v) / max(weight.sum(), 1)
        ladders.append(ladder)
        means.append((trees.loss[ladder] @ share).tolist())
    while np.prod([float(len(mean)) for mean in means]) > nodes:
        gaps = [
            (mean[level + 1] - mean[level - 1], j, level)
            for j, mean in enumerate(means)
            for level in range(1, len(mean) - 1)
        ]
        if not gaps:
            break
        _, j, level = min(gaps)
        ladders[j] = np.delete(ladders[j], level, axis=0)
        del means[j][level]
    fewest_last = sorted(range(len(ladders)), key=lambda j: (-ladders[j].shape[1], j))
    many = [j for j in fewest_last if ladders[j].shape[0] > 1]
    single = max(int(nodes).bit_length() - 2, 0)  # so many columns of two levels leave room for one more of the others
    axis_of = list(range(len(ladders)))
    if np.prod([float(len(mean)) for mean in means]) > nodes:
        for j in many[single:]:
            axis_of[j] = many[single]
    return _with_ladders(trees, ladders, np.unique(axis_of, return_inverse=True)[1].tolist())


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


def shares_of(
    unit_of: NDArray[np.integer], units: int, bar_of: NDArray[np.int32], weights: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bars of a histogram in which each unit has rows, and how many, (s, 2), after where each unit's begin.

    `bar_of` (s, n) are the rows' bars, one for each sensitive column; `weights` (n,) says how many rows each row
    stands for.
    """
    bars = int(bar_of.max(initial=-1)) + 1
    pairs = [unit_of.astype(np.int64) * bars + column for column in bar_of]
    distinct, number_of = distinct_keys(np.concatenate([np.zeros(0, dtype=np.int64), *pairs]))
    count = counted(number_of, distinct.size, None if weights is None else np.tile(weights, len(pairs)))
    start = np.searchsorted(distinct, np.arange(units + 1, dtype=np.int64) * bars).astype(np.int64)
    return start, np.stack([distinct % max(bars, 1), count], axis=1)


def make_units(
    codes: Sequence[NDArray[np.int32]],
    values: Sequence[int],
    bar_of: NDArray[np.int32],
    weights: NDArray[np.int64] | None = None,
    *,
    together: bool,
) -> tuple[Units, NDArray[np.int64], NDArray[np.int32]]:
    """Return the units of a table, the copies of each, and the unit of each row.

    `bar_of` and `weights` are as in `shares_of`.
    """
    rows = bar_of.shape[1]
    columns = list(codes) if together else [*codes, *bar_of]
    limits = list(values) if together else [*values, *(int(bars.max(initial=0)) + 1 for bars in bar_of)]
    some_row, unit_of = combine(columns, limits, rows)
    weight = counted(unit_of, some_row.size, weights)
    code = np.empty((some_row.size, len(codes)), dtype=np.int32)
    for j, column in enumerate(codes):
        code[:, j] = column[some_row]
    one = np.ones(some_row.size, dtype=np.int64)
    if not together:
        start = np.arange(some_row.size + 1, dtype=np.int64) * bar_of.shape[0]
        bar = np.ones((int(start[-1]), 2), dtype=np.int64)
        bar[:, 0] = bar_of[:, some_row].T.ravel()
        _, kind = combine(list(bar_of[:, some_row]), limits[len(codes) :], some_row.size)
        return Units(code, one, start, bar, kind), weight, unit_of
    start, bar = shares_of(unit_of, some_row.size, bar_of, weights)
    return Units(code, weight, start, bar, np.full(some_row.size, -1, dtype=np.int32)), one, unit_of
