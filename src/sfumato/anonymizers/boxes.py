"""Groups of rows that are boxes, from the tree of cuts that made them: what is published, and what that loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Codes, Dataset, counted, weights_of
from sfumato.data.grid import Grid
from sfumato.data.hierarchy import ROOT, Tree
from sfumato.data.labels import range_label, set_label
from sfumato.data.recoding import Labelled, SplitTree
from sfumato.data.schema import Kind, Role
from sfumato.errors import DataError
from sfumato.kernels.classes.cuts import RANGE, SET, TREE

Integers: TypeAlias = NDArray[np.int64]


def quasi_identifiers(dataset: Dataset) -> tuple[CodedColumn, ...]:
    """Return the quasi-identifiers, or raise when one of them cannot be cut."""
    sets = [column.name for column in dataset.with_role(Role.QUASI_IDENTIFIER) if isinstance(column, CodedSets)]
    if sets:
        raise DataError(
            f"Mondrian cuts columns of single values; these quasi-identifiers hold sets: {', '.join(sets)}.\n"
            "Give them another role, or publish one column for each member."
        )
    return dataset.quasi_identifiers


def measure_of(column: CodedColumn, *, value_sets: bool, exact: bool) -> int:
    """Return what is published of a column; members of a set of numbers would be people's own figures."""
    if column.kind is Kind.NUMBER:
        return RANGE if column.tree is None or exact else TREE
    if column.tree is None:
        return RANGE if column.kind is Kind.ORDERED else SET
    return SET if value_sets else TREE


def grids_of(
    columns: Sequence[CodedColumn], least: int, weights: Integers | None = None, *, apart: bool = False
) -> dict[str, Grid]:
    """Return the grid of each column of figures that has no hierarchy, with so many people in a band.

    Where these rows are a region apart from others, people of the whole table count.
    """
    return {
        column.name: Grid.of(
            column, column.occurrences if apart else counted(column.codes, len(column.labels), weights), least
        )
        for column in columns
        if column.tree is None and Grid.suits(column)
    }


def label_boxes(dataset: Dataset, groups: SplitTree) -> tuple[dict[str, Labelled], Codes]:
    """Return the published quasi-identifiers and each row's class; rows that take no part have class -1."""
    columns: dict[str, Labelled] = {}
    class_of = np.zeros(groups.n_groups, dtype=np.int64)  # of each group
    for column in quasi_identifiers(dataset):
        label_of, labels = _label_groups(column, groups)
        columns[column.name] = Labelled(_to_rows(label_of, groups, 0), labels)
        class_of = np.unique(class_of * len(labels) + label_of, return_inverse=True)[1]
    return columns, _to_rows(class_of, groups, -1)


def groups_of(group_of: Codes) -> SplitTree:
    """Return groups of rows, (n,), that no cut made; -1 where a row takes no part."""
    order = np.argsort(group_of, kind="stable")
    order = order[np.searchsorted(group_of[order], 0) :]
    nodes = np.arange(int(group_of.max(initial=-1)) + 1)
    start = np.searchsorted(group_of[order], np.arange(nodes.size + 1))
    return SplitTree(group_of, order, start, nodes, np.full(nodes.size, -1), 0)


def of_all_rows(of_some: NDArray[np.integer], rows: Integers | None, n_rows: int, otherwise: int = -1) -> Codes:
    """Return what some rows have, None: all, as what all have; `otherwise` where a row takes no part."""
    if rows is None:
        return of_some.astype(np.int32, copy=False)
    found = np.full(n_rows, otherwise, dtype=np.int32)
    found[rows] = of_some
    return found


def _to_rows(of_group: Integers, groups: SplitTree, otherwise: int) -> Codes:
    """Return what each row's group has; `otherwise` where a row takes no part."""
    return np.append(of_group, otherwise).astype(np.int32)[groups.group_of]  # group -1 is the last entry


def _label_groups(column: CodedColumn, groups: SplitTree) -> tuple[Integers, tuple[str, ...]]:
    """Return the label of each group, as a number, and the labels."""
    codes, grid = column.codes[groups.some_row], groups.grids.get(column.name)
    if grid is not None:
        codes = grid.band_of[codes]
    low, high = (
        extreme.reduceat(codes, groups.start[:-1]).astype(np.int64) if codes.size else np.empty(0, dtype=np.int64)
        for extreme in (np.minimum, np.maximum)
    )
    n_values = len(column.labels)
    extent = low * n_values + high
    sets: list[tuple[int, ...]] = []
    measure = measure_of(column, value_sets=groups.value_sets, exact=groups.exact)
    if measure == SET:
        several = np.flatnonzero(low < high)
        number: dict[tuple[int, ...], int] = {}
        extent[several] = [
            n_values**2 + number.setdefault(values, len(number))
            for values in _values_in(several, codes, groups.start, n_values)
        ]
        sets = list(number)
    found, extent_of = np.unique(extent, return_inverse=True)
    texts = [
        _set_text(column, sets[key - n_values**2])
        if key >= n_values**2
        else _text(column, measure, grid, key // n_values, key % n_values)
        for key in found.tolist()
    ]
    code_of = {text: code for code, text in enumerate(dict.fromkeys(texts))}  # whoever reads a label sees one class
    return np.array([code_of[text] for text in texts], dtype=np.int64)[extent_of], tuple(code_of)


def node_losses(dataset: Dataset, groups: SplitTree) -> NDArray[np.float64]:
    """Return what is lost when a node of the tree is one group, as a share of all that could be lost, shape (t,)."""
    parent, columns = groups.parent, quasi_identifiers(dataset)
    depth = np.zeros(parent.size, dtype=np.int64)
    for node in range(1, parent.size):  # a node comes after the one that it was cut from
        depth[node] = depth[parent[node]] + 1
    levels = [np.flatnonzero(depth == level) for level in range(int(depth.max(initial=0)), 0, -1)]  # the deepest first
    rows = np.zeros(parent.size)
    np.add.at(rows, np.append(groups.node_of, 0)[groups.group_of], groups.group_of >= 0)
    for nodes in levels:
        np.add.at(rows, parent[nodes], rows[nodes])
    node_of = np.repeat(groups.node_of, np.diff(groups.start))  # of each combination of values
    lost = np.zeros(parent.size)
    for column, weight in zip(columns, weights_of(columns), strict=True):
        codes = column.codes[groups.some_row].astype(np.int64)
        lost += weight * rows * _losses(column, codes, node_of, levels, groups)
    return lost / max(len(columns) * float(rows[0]) if rows.size else 1.0, 1.0)


def _losses(
    column: CodedColumn, codes: Integers, node_of: Integers, levels: list[Integers], groups: SplitTree
) -> NDArray[np.float64]:
    """Return the loss of one column in each node, 0..1, given codes that occur in some nodes; shape (t,)."""
    parent, n_values = groups.parent, len(column.labels)
    measure = measure_of(column, value_sets=groups.value_sets, exact=groups.exact)
    if measure == SET:
        count = np.zeros(parent.size)
        pairs = np.unique(node_of * n_values + codes)
        for nodes in [*levels, np.zeros(1, dtype=np.int64)]:
            here = np.isin(pairs // n_values, nodes)
            np.add.at(count, pairs[here] // n_values, 1)
            above = np.maximum(parent[pairs[here] // n_values], 0) * n_values + pairs[here] % n_values
            pairs = np.unique(np.concatenate([pairs[~here], above]))
        return np.asarray(np.maximum(count - 1, 0) / max(n_values - 1, 1))
    low, high = np.full(parent.size, n_values), np.full(parent.size, -1)
    np.minimum.at(low, node_of, codes)
    np.maximum.at(high, node_of, codes)
    for nodes in levels:
        np.minimum.at(low, parent[nodes], low[nodes])
        np.maximum.at(high, parent[nodes], high[nodes])
    return extent_losses(column, measure, groups.grids.get(column.name), low, high)


def extent_losses(
    column: CodedColumn, measure: int, grid: Grid | None, low: Integers, high: Integers
) -> NDArray[np.float64]:
    """Return what a column loses where it is published from one code to another."""
    if grid is not None:
        low, high = grid.first[grid.band_of[low]].astype(np.int64), grid.last[grid.band_of[high]].astype(np.int64)
    if measure == RANGE or column.tree is None:
        return column.interval_loss(low.astype(np.int32), high.astype(np.int32))
    node = low.copy()
    while (beyond := column.tree.last[node] < high).any():
        node[beyond] = column.tree.parent[node[beyond]]
    return np.asarray(column.node_loss()[node])


def _values_in(chosen: Integers, codes: Codes, start: Integers, n_values: int) -> list[tuple[int, ...]]:
    """Return the codes that occur in each of some groups, in order; a group is an interval of `codes`."""
    first, last = start[chosen], start[chosen + 1]
    pairs = np.unique(np.repeat(np.arange(chosen.size), last - first) * n_values + codes[ranges(first, last)])
    values = (pairs % n_values).tolist()
    end = np.searchsorted(pairs, (np.arange(chosen.size) + 1) * n_values).tolist()
    return [tuple(values[low:high]) for low, high in zip([0, *end], end, strict=False)]


def _text(column: CodedColumn, measure: int, grid: Grid | None, low: int, high: int) -> str:
    """Return the label of all values from one code to another, or from one band of a grid to another."""
    if grid is not None:
        return grid.label(column, low, high)
    if low == high:
        return column.labels[low]
    if column.tree is not None and measure != RANGE:
        return column.tree.labels[_lowest_node(column.tree, low, high)]
    return ROOT if high == column.missing else range_label(column.labels[low], column.labels[high])


def _set_text(column: CodedColumn, codes: tuple[int, ...]) -> str:
    """Return the label of some values: a node's if it covers nothing else, not even values that do not occur."""
    if column.tree is not None:
        node = _lowest_node(column.tree, codes[0], codes[-1])
        if column.tree.leaves[node] == len(codes):
            return column.tree.labels[node]
    return set_label([column.labels[code] for code in codes], len(column.labels))


def _lowest_node(tree: Tree, low: int, high: int) -> int:
    node = low
    while tree.last[node] < high:
        node = int(tree.parent[node])
    return node


def ranges(first: Integers, last: Integers) -> Integers:
    """Return first[0], ..., last[0] - 1, first[1], ..., last[1] - 1, and so on."""
    size = last - first
    return np.repeat(first - (np.cumsum(size) - size), size) + np.arange(size.sum())
