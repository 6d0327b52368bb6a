"""Levels of columns, and distinct rows from which the classes of all choices of levels are made.

Sizes: n rows, q quasi-identifiers, u distinct rows, v values of a column, w words of a key. A node is a level for each
column, numbered as in an array of that shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.local_recoding.units import combine, levels_of
from sfumato.data.dataset import CodedColumn
from sfumato.data.hierarchy import ROOT, Tree
from sfumato.kernels.classes.lattice import LATER_BITS, N_DISTINCT, Groups, Layout, Pool, group_distinct, pack_rows

KEPT_ROWS = 3_000_000  # of all tables of a pool together, besides those of the finest node
KEPT_TABLES = 4_000
KEPT_ON_THE_WAY = 60  # of these, made for the sake of coarser ones
FIRST_BITS = 62  # of the first word of a key


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of a column: of each, the node of every value, its first value, and what the node loses."""

    node: NDArray[np.int32]  # (levels, v)
    first: NDArray[np.int32]  # (levels, v): stands for the node among the codes
    loss: NDArray[np.float64]  # (levels, v)
    height: Sequence[int]  # (levels,): in the hierarchy
    column: CodedColumn

    def text(self, level: int) -> Sequence[str]:
        """Return what is published of every value at a level."""
        tree, hierarchy = self.column.tree, self.column.hierarchy
        assert tree is not None
        if not level:
            return self.column.labels
        # A group of one value has gone into that value. Where its level is published, its label is.
        groups: dict[str, list[str]] = {}
        for label, only in reversed(list(hierarchy.same.items() if hierarchy is not None else ())):
            groups.setdefault(only, []).append(label)  # the lowest first
        return tuple(_text(tree, each, self.height[level], groups) for each in self.node[level].tolist())

    def labels(self, level: int) -> tuple[str, ...]:
        """Return the labels of all nodes of the tree as they are published at a level."""
        assert self.column.tree is not None
        labels = list(self.column.tree.labels)
        for node, text in zip(self.node[level].tolist(), self.text(level), strict=True):
            labels[node] = text
        return tuple(labels)


def ladder_of(column: CodedColumn, weight: float, *, every_level: bool) -> Ladder:
    """Return the levels of a column's hierarchy that change anything, and what they lose times the column's weight.

    `every_level` keeps the others as well: they change which people of a population a label covers.
    """
    tree = column.tree
    assert tree is not None
    heights, nodes = levels_of(tree, every_level=every_level)
    loss = weight * column.node_loss()[nodes]
    return Ladder(nodes.astype(np.int32), tree.first[nodes].astype(np.int32), loss, heights, column)


def _text(tree: Tree, node: int, height: int, groups: Mapping[str, Sequence[str]]) -> str:
    """Return the label of a node where values are published at a level."""
    label = tree.labels[node]
    gone = groups.get(label, ()) if label != ROOT else ()
    above = min(height - int(tree.level[node]), len(gone))
    return gone[above - 1] if above > 0 else label


@dataclass(frozen=True, eq=False)
class Lattice:
    """Distinct rows, told apart by sensitive values, with the levels that they can be shown at."""

    ladders: Sequence[Ladder]
    layout: Layout
    key: NDArray[np.int64]  # (w, u)
    weight: NDArray[np.int64]  # (u,)
    distinct_of: NDArray[np.int32]  # (n,)
    histogram_of: NDArray[np.int32]  # (kinds, s): the places of a kind in a histogram

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(len(ladder.node) for ladder in self.ladders)

    def levels(self, node: int) -> tuple[int, ...]:
        """Return the level of each column at a node."""
        return tuple(int(level) for level in np.unravel_index(node, self.shape)) if self.shape else ()

    def codes(self, key: NDArray[np.int64]) -> list[NDArray[np.int32]]:
        """Return the first value of each column's label in some keys."""
        places = self.layout.column[:, :3].tolist()
        return [(key[word] >> shift & mask).astype(np.int32) for word, shift, mask in places]


def lattice_of(
    ladders: Sequence[Ladder],
    codes: Sequence[NDArray[np.int32]],
    bar_of: NDArray[np.int32],
    weights: NDArray[np.int64] | None = None,
) -> Lattice:
    """Return the distinct rows of some rows, with the levels that they can be shown at.

    `bar_of` (s, n) are the rows' places in a histogram, one for each sensitive column; `weights` (n,) says how many
    rows each row stands for.
    """
    rows = bar_of.shape[1]
    kind_of, histogram_of = _kinds(bar_of)
    layout, words = _layout_of(ladders, max(len(histogram_of), 1))
    together = np.empty((len(codes) + 1, rows), dtype=np.int32)
    for own, column in zip(together, [*codes, kind_of], strict=True):
        own[:] = column
    key_of_row = np.zeros((words, rows), dtype=np.int64)
    pack_rows(together, layout.column, layout.kind, key_of_row)
    ones = np.ones(rows, dtype=np.int64)
    every = _pool(len(ladders), 1, key_of_row, ones if weights is None else weights, rows)
    apart = layout._replace(kind=np.zeros_like(layout.kind))  # rows of different kinds are not the same
    found, _ = group_distinct(apart, every, 0, 0, groups := groups_of(key_of_row))
    return Lattice(ladders, layout, groups.key[:, :found], groups.size[:found], groups.class_of, histogram_of)


def _kinds(bar_of: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return each row's combination of sensitive values, and the places of each of these in a histogram."""
    if not len(bar_of):
        return np.zeros(bar_of.shape[1], dtype=np.int32), np.zeros((1, 0), dtype=np.int32)
    limits = [int(places.max(initial=0)) + 1 for places in bar_of]
    if len(bar_of) == 1:
        return bar_of[0], np.arange(limits[0], dtype=np.int32)[:, np.newaxis]
    some_row, kind_of = combine(list(bar_of), limits, bar_of.shape[1])
    return kind_of, np.ascontiguousarray(bar_of[:, some_row].T)


def _layout_of(ladders: Sequence[Ladder], kinds: int) -> tuple[Layout, int]:
    """Return where columns and kinds are in a key, the first column in the highest bits, and how many words it has."""
    values = [*(ladder.node.shape[1] for ladder in ladders), kinds]
    shape = [len(ladder.node) for ladder in ladders]
    column = np.zeros((len(values), 6), dtype=np.int64)
    begin, labels = np.zeros((2, len(shape), max(shape, default=1)), dtype=np.int64)
    word, free, place, guard, looked_up = 0, FIRST_BITS, 0, 0, 0
    fields, kept = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for j, v in enumerate(values):
        bits = max(v - 1, 0).bit_length()
        word, free = (word, free - bits) if bits <= free else (word + 1, LATER_BITS - bits)
        column[j, :3] = word, free, (1 << bits) - 1
        if j == len(shape):
            break
        column[j, 3:] = shape[j], math.prod(shape[j + 1 :]), place
        if shape[j] > 1:
            place += (shape[j] - 1).bit_length() + 1
            guard |= 1 << (place - 1)
        begin[j, : shape[j]] = looked_up + np.arange(shape[j]) * v
        looked_up += shape[j] * v
        labels[j, : shape[j]] = 1 + np.count_nonzero(np.diff(ladders[j].first), axis=1)  # ascending
        fields.append(ladders[j].first.ravel().astype(np.int64) << free)
        kept.append(1 - ladders[j].loss.ravel())
    chain = np.array(_chain(shape, values), dtype=np.int64)
    field, detail = np.concatenate(fields), np.concatenate(kept)
    return Layout(
        column[:-1],
        begin,
        labels,
        field,
        detail,
        chain,
        column[-1, :3].copy(),
        guard,
        np.empty(len(shape), dtype=np.int64),
    ), word + 1


def _chain(shape: Sequence[int], values: Sequence[int]) -> list[int]:
    """Return the columns of most values, as many as tables can be kept for."""
    found, tables = [], 1
    for column in sorted(range(len(shape)), key=lambda column: (-values[column], column)):
        tables *= shape[column]
        if tables > min(KEPT_ON_THE_WAY, KEPT_TABLES):
            break
        found.append(column)
    return found


def pool_of(lattice: Lattice, key: NDArray[np.int64], weight: NDArray[np.int64]) -> Pool:
    """Return a pool whose finest table has these keys (w, u) and weights."""
    words, u = key.shape
    room = 2 * u + KEPT_ROWS + 1
    keys, weights = np.empty((words, room), dtype=np.int64), np.empty(room, dtype=np.int64)
    keys[:, :u], weights[:u] = key, weight
    return _pool(len(lattice.shape), math.prod(lattice.shape), keys, weights, u)


def _pool(columns: int, nodes: int, key: NDArray[np.int64], weight: NDArray[np.int64], u: int) -> Pool:
    table = np.zeros((KEPT_TABLES + 2, 4), dtype=np.int64)
    table[0, N_DISTINCT] = u
    table_of = np.full(nodes, -1, dtype=np.int32)
    table_of[0] = 0
    return Pool(
        key,
        weight,
        table,
        table_of,
        used=np.array([1, u]),
        slot_of=np.empty(1 << max((2 * u).bit_length(), 4), dtype=np.int32),
        number_of=np.empty(u, dtype=np.int32),
        change=np.empty((max(columns, 1), 4), dtype=np.int64),
    )


def groups_of(key: NDArray[np.int64]) -> Groups:
    """Return room for the classes that distinct rows with these keys (w, u) may have."""
    words, u = key.shape
    return Groups(
        np.empty((words, u + 1), dtype=np.int64),
        np.empty(u + 1, dtype=np.int64),
        np.empty(u + 1, dtype=np.int8),
        np.empty(u + 2, dtype=np.int64),
        np.empty(u, dtype=np.int32),
        np.empty(u, dtype=np.int32),
    )
