"""Weighted cells at the nodes of the lattice of levels: rolled up from finer nodes, and judged class by class.

Sizes: n rows, q quasi-identifiers, u cells, c classes, v values of a column. A node is a level for each column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.population import Crowd
from sfumato.anonymizers.local_recoding.units import combine
from sfumato.data.dataset import CodedColumn, counted
from sfumato.data.hierarchy import ROOT, Tree
from sfumato.kernels.classes.conditions import LIMITED, Conditions
from sfumato.kernels.classes.lattice import FAILS, FAILS_BELOW, PASSES, judge_classes

Node: TypeAlias = tuple[int, ...]

KEPT_CELLS = 20_000_000  # of all rolled-up tables together
KEPT_TABLES = 200


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of a column: of each, the node of every value, its first value, and what the node loses."""

    node: NDArray[np.int32]  # (levels, v)
    first: NDArray[np.int32]  # (levels, v): stands for the node among the codes
    loss: NDArray[np.float64]  # (levels, v)
    text: Sequence[Sequence[str]]  # (levels, v): what is published

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

    code: tuple[NDArray[np.int32], ...]  # q times (u,): the first value of each label
    kind: NDArray[np.int32]  # (u,): which combination of sensitive values
    weight: NDArray[np.int64]  # (u,)


@dataclass(frozen=True, eq=False)
class Judged:
    """The classes of a node, and which of them may be published."""

    node: Node
    size: NDArray[np.int64]  # (c,)
    kept: NDArray[np.bool_]  # (c,)
    fails_below: NDArray[np.bool_]  # (c,): so do all rows of it at finer nodes
    loss: NDArray[np.float64]  # (c,): what a row of the class loses, over all columns
    allowed: bool = True  # False: whatever is dropped, it cannot be published, nor can finer nodes

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

    @property
    def shape(self) -> Node:
        """How many levels each column has."""
        return tuple(len(ladder.node) for ladder in self.ladders)

    def __call__(self, node: Node) -> Judged:
        """Return the classes of a node."""
        table = self._finer(node)
        label = [ladder.first[level][code] for ladder, level, code in zip(self.ladders, node, table.code, strict=True)]
        some_cell, class_of = combine(label, self._values, table.weight.size)
        size = np.bincount(class_of, weights=table.weight, minlength=some_cell.size).astype(np.int64)
        verdict = self._verdicts(self.conditions, table, class_of, size)
        allowed = True
        if self.crowd is not None:
            people, elsewhere = self.crowd.people(node, [codes[some_cell] for codes in label])
            too_few, wrong = self.crowd.fails(size, people)
            verdict[wrong & (verdict == PASSES)] = FAILS
            verdict[too_few] = FAILS_BELOW
            allowed = not (self.crowd.low and elsewhere)
        loss = np.zeros(some_cell.size)
        for ladder, level, codes in zip(self.ladders, node, label, strict=True):
            loss += ladder.loss[level][codes[some_cell]]
        kept = verdict == PASSES
        # Where nothing may be dropped, one class that fails is enough: parts that all pass make a whole that passes.
        lasting = verdict == FAILS_BELOW if self.limit else ~kept
        self._judge_again(table, class_of, size, kept)
        return Judged(node, size, kept, lasting, loss, allowed)

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

    @property
    def _values(self) -> list[int]:
        return [ladder.node.shape[1] for ladder in self.ladders]

    def _finer(self, node: Node) -> Table:
        """Return the table of a finer node: the one with the same levels in the columns of most values."""
        columns = sorted(range(len(node)), key=lambda column: (-self._values[column], column))
        most = min(KEPT_TABLES, KEPT_CELLS // max(self.table.weight.size, 1))
        table, reached, tables = self.table, [0] * len(node), 1
        for column in columns:
            tables *= self.shape[column]
            if tables > most:
                break
            if not node[column]:
                continue
            reached[column] = node[column]
            key = tuple(reached)
            if key not in self._tables:
                self._tables[key] = self._rolled_up(table, column, node[column])
            table = self._tables[key]
        return table

    def _rolled_up(self, table: Table, column: int, level: int) -> Table:
        code = list(table.code)
        code[column] = self.ladders[column].first[level][code[column]]
        some_cell, cell_of = combine(
            [*code, table.kind], [*self._values, max(len(self.histogram_of), 1)], table.weight.size
        )
        weight = np.bincount(cell_of, weights=table.weight, minlength=some_cell.size).astype(np.int64)
        return Table(tuple(each[some_cell] for each in code), table.kind[some_cell], weight)


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
    return Table(tuple(code[some_cell] for code in codes), kind_of[some_cell], weight), histogram_of
