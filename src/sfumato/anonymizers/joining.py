"""Joining classes whose labels come from hierarchies: which go together first, and what is published of a union.

For steps that find classes which no cut made, so that there is no cut to undo. Sizes: n rows, c classes, t nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.boxes import Integers, label_boxes
from sfumato.data.dataset import CodedColumn, Codes, Dataset, weights_of
from sfumato.data.hierarchy import Tree
from sfumato.data.recoding import Labelled, Recoding


@dataclass(frozen=True, eq=False)
class LabelledClasses:
    """Classes that show one label of each quasi-identifier's hierarchy."""

    class_of: Codes  # (n,): -1 where a row takes no part
    columns: tuple[CodedColumn, ...]
    label_of: tuple[Codes, ...]  # of each column, (c,): the node that a class shows

    @classmethod
    def of(cls, dataset: Dataset, made: Recoding) -> LabelledClasses | None:
        """Return the classes that earlier steps made; None when they show something else than labels."""
        columns, shown = dataset.quasi_identifiers, made.columns
        if (
            made.class_of is None
            or not columns
            or not all(
                isinstance(label := shown.get(column.name), Labelled) and _names_nodes(label, column)
                for column in columns
            )
        ):
            return None
        some_row = np.zeros(int(made.class_of.max(initial=-1)) + 1, dtype=np.int64)
        rows = np.flatnonzero(made.class_of >= 0)
        some_row[made.class_of[rows]] = rows
        label_of = tuple(
            label.codes[some_row] for column in columns if isinstance(label := shown[column.name], Labelled)
        )
        return cls(made.class_of, columns, label_of)

    def parents(self) -> Integers:
        """Return a tree of unions over the classes 0..c-1: the node above each node, -1 for all in one; shape (t,).

        Labels climb, the cheapest column first. Classes that look alike then are joined two by two, neighbours first.
        """
        trees = [_tree(column) for column in self.columns]
        weights = weights_of(self.columns)
        losses = [weight * column.node_loss() for weight, column in zip(weights, self.columns, strict=True)]
        top = np.arange(self.label_of[0].size)
        node_at, parent = [label.astype(np.int64) for label in self.label_of], np.full(top.size, -1)
        height = [0] * len(trees)
        while top.size > 1:
            higher = {
                axis: climbed(tree, node_at[axis], height[axis] + 1)
                for axis, tree in enumerate(trees)
                if height[axis] < tree.height
            }
            axis = min(
                higher, key=lambda axis: float((losses[axis][higher[axis]] - losses[axis][node_at[axis]]).mean())
            )
            neighbours = np.lexsort([trees[each].first[node] for each, node in enumerate(node_at)])
            height[axis] += 1
            node_at[axis] = higher[axis]
            top, node_at = top[neighbours], [node[neighbours] for node in node_at]
            alike = np.unique(np.stack(node_at), axis=1, return_inverse=True)[1].ravel()
            top, parent, first = _paired(top, alike, parent)
            node_at = [node[first] for node in node_at]
        return parent

    def joined(self, node_of: Integers) -> tuple[dict[str, Labelled], Codes]:
        """Return the labels of unions and each row's class, given the node that each row shall end in; shape (n,).

        Unions that show the same labels are one class.
        """
        rows = np.flatnonzero(self.class_of >= 0)
        node_of_class = np.zeros(self.label_of[0].size, dtype=np.int64)
        node_of_class[self.class_of[rows]] = node_of[rows]
        union_of = np.unique(node_of_class, return_inverse=True)[1]
        shown = [
            _covering(_tree(column), label, union_of) for column, label in zip(self.columns, self.label_of, strict=True)
        ]
        new_class = np.unique(np.stack(shown), axis=1, return_inverse=True)[1].ravel()
        columns = {
            column.name: Labelled(np.append(nodes, 0).astype(np.int32)[self.class_of], _tree(column).labels)
            for column, nodes in zip(self.columns, shown, strict=True)
        }
        return columns, np.append(new_class, -1).astype(np.int32)[self.class_of]


def coarser(dataset: Dataset, made: Recoding) -> Iterator[Recoding]:
    """Yield a decision with its classes joined more and more, along the cuts or the labels that made them, to one."""
    labelled = LabelledClasses.of(dataset, made) if made.tree is None else None
    if made.tree is not None:
        parent, node_of = made.tree.parent, made.tree.node_of_row.copy()
    elif labelled is not None:
        parent, node_of = labelled.parents(), labelled.class_of.astype(np.int64)
    else:
        return
    depth = np.zeros(parent.size, dtype=np.int64)
    above = parent.copy()
    while (below := above >= 0).any():
        depth[below] += 1
        above[below] = parent[above[below]]
    for most in range(int(depth.max(initial=0)) - 1, -1, -1):
        while (deep := (node_of >= 0) & (depth[node_of] > most)).any():
            node_of[deep] = parent[node_of[deep]]
        if labelled is not None:
            columns, class_of = labelled.joined(node_of)
            yield made.with_columns(columns, class_of=class_of)
        elif made.tree is not None:
            tree = made.tree.merged(node_of)
            columns, class_of = label_boxes(dataset, tree)
            yield made.with_columns(columns, class_of=class_of, tree=tree)


def _names_nodes(label: Labelled, column: CodedColumn) -> bool:
    """Return whether codes are nodes of a column's tree, by its labels or those of groups that hold one value only."""
    if column.tree is None or column.hierarchy is None or len(label.labels) != len(column.tree.labels):
        return False
    same = column.hierarchy.same
    return all(own == name or same.get(name) == own for own, name in zip(column.tree.labels, label.labels, strict=True))


def _tree(column: CodedColumn) -> Tree:
    assert column.tree is not None
    return column.tree


def climbed(tree: Tree, node: Integers, height: int) -> Integers:
    """Return the highest nodes above some that are no higher than a level, or themselves."""
    node = node.copy()
    while (climbs := (tree.parent[node] >= 0) & (tree.level[tree.parent[node]] <= height)).any():
        node[climbs] = tree.parent[node[climbs]]
    return node


def _paired(top: Integers, alike: NDArray[np.int64], parent: Integers) -> tuple[Integers, Integers, Integers]:
    """Join what is alike two by two until one of each is left; return those, the grown tree, and a place of each."""
    first = np.arange(top.size)
    while True:
        order = np.argsort(alike, kind="stable")
        top, alike, first = top[order], alike[order], first[order]
        start = np.flatnonzero(np.append(True, alike[1:] != alike[:-1]))
        if start.size == top.size:
            return top, parent, first
        rank = np.arange(top.size) - np.repeat(start, np.diff(np.append(start, top.size)))
        left = np.flatnonzero((rank % 2 == 0) & np.append(alike[1:] == alike[:-1], False))
        union = parent.size + np.arange(left.size)
        parent[top[left]] = parent[top[left + 1]] = union
        parent = np.append(parent, np.full(left.size, -1))
        top[left] = union
        stays = np.ones(top.size, dtype=np.bool_)
        stays[left + 1] = False
        top, alike, first = top[stays], alike[stays], first[stays]


def _covering(tree: Tree, label: Codes, union_of: Integers) -> Integers:
    """Return for each class the lowest node that covers the labels of all classes in its union; shape (c,)."""
    low, high = np.full(union_of.max() + 1, tree.first.size), np.full(union_of.max() + 1, -1)
    np.minimum.at(low, union_of, tree.first[label])
    np.maximum.at(high, union_of, tree.last[label])
    some_class = np.unique(union_of, return_index=True)[1]
    node = label[some_class][union_of].astype(np.int64)
    while (beyond := (tree.first[node] > low[union_of]) | (tree.last[node] < high[union_of])).any():
        node[beyond] = tree.parent[node[beyond]]
    return node
