"""Weighted cells at the nodes of the lattice of levels: rolled up from finer nodes, and judged class by class.

Sizes: n rows, q quasi-identifiers, u cells, c classes, v values of a column. A node is a level for each column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.population import Crowd
from sfumato.anonymizers.local_recoding.units import LARGEST_KEY, combine
from sfumato.data.dataset import CodedColumn, counted
from sfumato.data.hierarchy import ROOT, Tree
from sfumato.kernels.classes.conditions import LIMITED, Conditions
from sfumato.kernels.classes.lattice import FAILS, FAILS_BELOW, PASSES, judge_classes, make_classes, merge_cells

Node: TypeAlias = tuple[int, ...]

KEPT_CELLS = 20_000_000  # of all rolled-up tables together
KEPT_TABLES = 200
PLACES_A_CELL = 4  # combinations of labels that are counted in places of their own; more are told apart by hashing


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of a column: of each, the node of every value, its first value, and what the node loses."""

    node: NDArray[np.int32]  # (levels, v)
    first: NDArray[np.int32]  # (levels, v): stands for the node among the codes
    loss: NDArray[np.float64]  # (levels, v)
    text: Sequence[Sequence[str]]  # (levels, v): what is published

    @cached_property
    def number(self) -> NDArray[np.int32]:
        """The label of every value at each level, by its number there, shape (levels, v)."""
        return np.array([np.unique(first, return_inverse=True)[1] for first in self.first], dtype=np.int32)

    def labels(self, level: int, of_nodes: Sequence[str]) -> tuple[str, ...]:
        """Return the labels of all nodes, given those of the tree, as they are published at a level."""
        labels = list(of_nodes)
        for node, text in zip(self.node[level].tolist(), self.text[level], strict=True):
            labels[node] = text
        return tuple(labels)


def ladder_of(column: CodedColumn, weight: float, *, every_level: bool) -> Ladder:
    """Return the levels of a column's hierarchy that change anything, and what they lose times the column's weight.

    `every_level` keeps the others as well: they change which people of a population a label covers.
    """
    tree = column.tree
    assert tree is not None
    node = np.arange(len(column.labels), dtype=np.int32)
    nodes, texts = [node], [column.labels]
    # A group of one value has gone into that value. Where its level is published, its label is.
    groups: dict[str, list[str]] = {}
    for label, only in reversed(list(column.hierarchy.same.items() if column.hierarchy is not None else ())):
        groups.setdefault(only, []).append(label)  # the lowest first
    for height in range(1, int(tree.level.max()) + 1):
        above = tree.parent[node]
        while np.any(climbs := (above >= 0) & (tree.level[above] <= height)):
            node = np.where(climbs, above, node).astype(np.int32)
            above = tree.parent[node]
        below = nodes[-1]
        if every_level or np.any((tree.first[node] != tree.first[below]) | (tree.last[node] != tree.last[below])):
            nodes.append(node)
            texts.append(tuple(_text(tree, each, height, groups) for each in node.tolist()))
    at_level = np.array(nodes, dtype=np.int32)
    return Ladder(at_level, tree.first[at_level].astype(np.int32), weight * column.node_loss()[at_level], texts)


def _text(tree: Tree, node: int, height: int, groups: Mapping[str, Sequence[str]]) -> str:
    """Return the label of a node where values are published at a level."""
    label = tree.labels[node]
    gone = groups.get(label, ()) if label != ROOT else ()
    above = min(height - int(tree.level[node]), len(gone))
    return gone[above - 1] if above > 0 else label


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows, told apart by sensitive values."""

    code: NDArray[np.int32]  # (q, u): the first value of each label
    kind: NDArray[np.int32]  # (u,): which combination of sensitive values
    weight: NDArray[np.int64]  # (u,)


@dataclass(frozen=True, eq=False)
class Judged:
    """The classes of a node, and which of them may be published."""

    node: Node
    size: NDArray[np.int64]  # (c,)
    kept: NDArray[np.bool_]  # (c,)
    fails_below: NDArray[np.bool_]  # (c,): so do all rows of it at finer nodes
    shown: NDArray[np.int32]  # (q, c): a value of each label
    ladders: Sequence[Ladder] = field(repr=False)
    allowed: bool = True  # False: whatever is dropped, it cannot be published, nor can finer nodes

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """What a row of each class loses, over all columns, shape (c,)."""
        loss = np.zeros(self.size.size)
        for ladder, level, own in zip(self.ladders, self.node, self.shown, strict=True):
            loss += ladder.loss[level][own]
        return loss

    @property
    def dropped(self) -> int:
        """How many rows are in classes that are not kept."""
        return int(self.size[~self.kept].sum())


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges nodes of the lattice. Tables of some nodes are kept, and coarser ones made from them."""

    ladders: Sequence[Ladder]
    table: Table  # at the bottom
    histogram_of: NDArray[np.int32]  # (kinds, s): the places of a kind in a histogram
    conditions: Conditions
    again: Callable[[NDArray[np.int64], int], Conditions]  # what is asked when these rows are left
    limit: int  # rows that may be dropped
    crowd: Crowd | None = None  # whom classes could be about, where that is asked for
    _tables: dict[Node, Table] = field(default_factory=dict)

    @cached_property
    def shape(self) -> Node:
        """How many levels each column has."""
        return tuple(len(ladder.node) for ladder in self.ladders)

    def __call__(self, node: Node) -> Judged:
        """Return the classes of a node."""
        table = self._finer(node)
        some_cell, class_of, size = self._classes(node, table)
        verdict = self._verdicts(self.conditions, table, class_of, size)
        shown = table.code[:, some_cell]
        allowed = True
        if self.crowd is not None:
            label = [ladder.first[level][own] for ladder, level, own in zip(self.ladders, node, shown, strict=True)]
            people, elsewhere = self.crowd.people(node, label)
            too_few, wrong = self.crowd.fails(size, people)
            verdict[wrong & (verdict == PASSES)] = FAILS
            verdict[too_few] = FAILS_BELOW
            allowed = not (self.crowd.low and elsewhere)
        kept = verdict == PASSES
        # Where nothing may be dropped, one class that fails is enough: parts that all pass make a whole that passes.
        lasting = verdict == FAILS_BELOW if self.limit else ~kept
        self._judge_again(table, class_of, size, kept)
        return Judged(node, size, kept, lasting, shown, self.ladders, allowed)

    def _classes(self, node: Node, table: Table) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """Return a cell of each class of a node, in ascending order of labels, the class of each cell, and sizes."""
        labels, at = self._labels_at(node)
        places = math.prod(labels.tolist())
        if places > max(PLACES_A_CELL * table.weight.size, 1):
            key, some_cell, number_of, size = self._merged(node, table, kinds=1)
            order = np.argsort(key)
            rank = np.empty(order.size, dtype=np.int32)
            rank[order] = np.arange(order.size, dtype=np.int32)
            return some_cell[order], rank[number_of], size[order]
        number_of = np.full(places, -1, dtype=np.int32)
        class_of, some_cell = np.empty(table.weight.size, dtype=np.int32), np.empty(places, dtype=np.int64)
        size = np.empty(places, dtype=np.int64)
        found = make_classes(table.code, self._numbers, at, labels, table.weight, number_of, class_of, some_cell, size)
        return some_cell[:found], class_of, size[:found]

    def _merged(
        self, node: Node, table: Table, kinds: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """Return keys of the cells that differ at a node, one cell of each, which of them each cell is, and weights."""
        labels, at = self._labels_at(node)
        cells = table.weight.size
        if math.prod(labels.tolist()) * kinds >= LARGEST_KEY:
            shown = zip(self.ladders, node, table.code, strict=True)
            columns = [ladder.first[level][own] for ladder, level, own in shown]
            columns, values = ([*columns, table.kind], [*self._values, kinds]) if kinds > 1 else (columns, self._values)
            some_cell, number_of = combine(columns, values, cells)
            key = np.arange(some_cell.size, dtype=np.int64)
            return key, some_cell, number_of, counted(number_of, some_cell.size, table.weight)
        key, some_cell, size = np.empty((3, cells), dtype=np.int64)
        number_of = np.empty(cells, dtype=np.int32)
        slot_of = np.full(1 << max((2 * cells).bit_length(), 4), -1, dtype=np.int32)
        found = merge_cells(
            *(table.code, self._numbers, at, labels, table.kind, kinds, table.weight),
            *(slot_of, key, number_of, some_cell, size),
        )
        return key[:found], some_cell[:found], number_of, size[:found]

    def _judge_again(
        self, table: Table, class_of: NDArray[np.int32], size: NDArray[np.int64], kept: NDArray[np.bool_]
    ) -> None:
        """Drop classes until all others pass, compared with one another: the whole is what is published."""
        compares = bool((self.conditions.table[:, 0] >= LIMITED).any())
        while compares and 0 < (dropped := int(size[~kept].sum())) <= self.limit:
            left = kept[class_of]
            reference = np.zeros(self.conditions.cells, dtype=np.int64)
            for place in self.histogram_of.T:
                np.add.at(reference, place[table.kind[left]], table.weight[left])
            conditions = self.again(reference, self.conditions.rows - dropped)
            fails = kept & (self._verdicts(conditions, table, class_of, size) != PASSES)
            if not fails.any():
                return
            kept[fails] = False

    def _verdicts(
        self, conditions: Conditions, table: Table, class_of: NDArray[np.int32], size: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        if conditions.size_only:
            return np.where(size >= conditions.k, PASSES, FAILS_BELOW).astype(np.int8)
        verdict = np.empty(size.size, dtype=np.int8)
        order = np.empty(class_of.size, dtype=np.int64)
        histogram = np.empty(conditions.cells, dtype=np.int64)
        judge_classes(
            conditions, class_of, table.kind, table.weight, self.histogram_of, size, order, histogram, verdict
        )
        return verdict

    @cached_property
    def _values(self) -> list[int]:
        return [ladder.node.shape[1] for ladder in self.ladders]

    @cached_property
    def _numbers(self) -> NDArray[np.int32]:
        """The numbers of labels: of all columns, of all levels of each, of all values."""
        return np.concatenate([np.zeros(0, dtype=np.int32), *(ladder.number.ravel() for ladder in self.ladders)])

    def _labels_at(self, node: Node) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many labels each column has at a node, and where their numbers begin."""
        found = self._labels[np.arange(len(node)), list(node)]
        return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])

    @cached_property
    def _labels(self) -> NDArray[np.int64]:
        """How many labels each column has at each level, and where their numbers begin, shape (q, levels, 2)."""
        found = np.zeros((len(self.ladders), max(self.shape, default=0), 2), dtype=np.int64)
        begin = 0
        for column, ladder in enumerate(self.ladders):
            for level, number in enumerate(ladder.number):
                found[column, level] = number.max(initial=-1) + 1, begin
                begin += number.size
        return found

    @cached_property
    def _rolled(self) -> list[int]:
        """The columns of most values, as many as tables can be kept for."""
        most = min(KEPT_TABLES, KEPT_CELLS // max(self.table.weight.size, 1))
        found, tables = [], 1
        for column in sorted(range(len(self.shape)), key=lambda column: (-self._values[column], column)):
            tables *= self.shape[column]
            if tables > most:
                break
            found.append(column)
        return found

    def _finer(self, node: Node) -> Table:
        """Return the table of a finer node: the one with the same levels in the columns of most values."""
        table, reached = self.table, [0] * len(node)
        for column in self._rolled:
            if not node[column]:
                continue
            reached[column] = node[column]
            key = tuple(reached)
            if key not in self._tables:
                self._tables[key] = self._rolled_up(table, column, node[column])
            table = self._tables[key]
        return table

    def _rolled_up(self, table: Table, column: int, level: int) -> Table:
        node = tuple(level if at == column else 0 for at in range(len(self.ladders)))
        _, some_cell, _, weight = self._merged(node, table, kinds=max(len(self.histogram_of), 1))
        code = np.ascontiguousarray(table.code[:, some_cell])
        code[column] = self.ladders[column].first[level][code[column]]
        return Table(code, table.kind[some_cell], weight)


def table_of(
    codes: Sequence[NDArray[np.int32]],
    values: Sequence[int],
    cell_of: NDArray[np.int32],
    weights: NDArray[np.int64] | None = None,
) -> tuple[Table, NDArray[np.int32]]:
    """Return the table of some rows as they are, and the places in a histogram of each kind.

    `cell_of` (s, n) are the rows' places in a histogram, one for each sensitive column; `weights` (n,) says how many
    rows each row stands for.
    """
    rows = cell_of.shape[1]
    limits = [int(places.max(initial=0)) + 1 for places in cell_of]
    some_row, kind_of = combine(list(cell_of), limits, rows)
    histogram_of = np.ascontiguousarray(cell_of[:, some_row].T)
    some_cell, number_of = combine([*codes, kind_of], [*values, max(some_row.size, 1)], rows)
    weight = counted(number_of, some_cell.size, weights)
    code = np.empty((len(codes), some_cell.size), dtype=np.int32)
    for own, column in zip(code, codes, strict=True):
        own[:] = column[some_cell]
    return Table(code, kind_of[some_cell], weight), histogram_of
