"""Regions of quasi-identifiers, and the cheapest way to cut the table into them.

A region is one label of each quasi-identifier. The table is cut like glass: a region stays whole, or is divided along
one hierarchy into the children of its label. Given what masking costs in each region, the cheapest way to cut is found
by going through all regions once, children first. Where there are too many regions, the table is cut from the top, each
time along the hierarchy that costs least, and pieces that were better off together are joined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.masks.raising import settle
from sfumato.kernels.masks.state import OVERFLOW, Secrets, add_rows, clear, entry_of, make_state

MOST_REGIONS = 1 << 24  # labels of all quasi-identifiers multiplied
MOST_CONTENT = 1 << 26  # cells times the labels above each


class Cells(NamedTuple):
    """The table, identical rows counted once: c cells, t different sensitive tuples."""

    codes: NDArray[np.int32]  # (c, quasi-identifiers)
    tuple_of: NDArray[np.int32]  # (c,)
    rows: NDArray[np.int64]  # (c,)
    leaf_of: NDArray[np.int64]  # (t, m): the leaves of each sensitive tuple


class Axes(NamedTuple):
    """The hierarchies of the quasi-identifiers: leaves are their codes, parents come after children."""

    up: Sequence[NDArray[np.int32]]
    loss: Sequence[NDArray[np.float64]]  # of one row

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many labels each has."""
        return np.array([parents.size for parents in self.up], dtype=np.int64)

    def side_by_side(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return parents and losses as two tables, (axes, labels)."""
        width = max((parents.size for parents in self.up), default=1)
        up = np.full((len(self.up), width), -1, dtype=np.int64)
        loss = np.zeros((len(self.up), width))
        for axis, (parents, of_label) in enumerate(zip(self.up, self.loss, strict=True)):
            up[axis, : parents.size], loss[axis, : parents.size] = parents, of_label
        return up, loss


class Regions(NamedTuple):
    """What lies in each region that holds rows: r regions, ascending, so that children come first."""

    key: NDArray[np.int64]  # (r,): labels of the quasi-identifiers as one number
    start: NDArray[np.int64]  # (r + 1,)
    tuple_of: NDArray[np.int32]  # sensitive tuples of region i: start[i]:start[i + 1]
    rows: NDArray[np.int64]  # how often each occurs there


def best_classes(
    cells: Cells, axes: Axes, secrets: Secrets, k: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return class of each cell and labels of each class at the least cost; None: too many regions, or no way."""
    sizes = axes.sizes
    if sizes.astype(float).prod() * len(cells.leaf_of) >= 2.0**62 or sizes.prod() > MOST_REGIONS:
        return None
    heights = [_heights(parents) for parents in axes.up]
    content = np.ones(cells.tuple_of.size)
    for axis, height in enumerate(heights):
        content *= height[cells.codes[:, axis]]
    if content.sum() > MOST_CONTENT:
        return None
    regions = _roll_up(cells, axes.up)
    strides = np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]]).astype(np.int64)
    region_at = np.full(int(sizes.prod()), -1, dtype=np.int32)
    region_at[regions.key] = np.arange(regions.key.size)
    up, loss = axes.side_by_side()
    opt, cut = np.empty(regions.key.size), np.empty(regions.key.size, dtype=np.int32)
    entries = int(np.diff(regions.start).max())
    tried = -1
    while tried < 0:
        state = make_state(secrets.loss.shape[0], secrets.loss.shape[1], entries := 8 * entries + 256)
        tried = cheapest_cuts(
            regions, secrets, cells.leaf_of, state, region_at, sizes, strides, up, loss, float(k), opt, cut
        )
    if not np.isfinite(opt[-1]):
        return None
    region_of = np.empty(cells.tuple_of.size, dtype=np.int64)
    find_region(cells.codes, regions.key, region_at, sizes, strides, up, cut, region_of)
    chosen, class_of = np.unique(region_of, return_inverse=True)
    nodes = regions.key[chosen][:, None] // strides % sizes
    return class_of.astype(np.int32), nodes.astype(np.int32)


def _heights(parents: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each node how many there are from it up to the root."""
    height = np.ones(parents.size, dtype=np.int64)
    for node in range(parents.size - 2, -1, -1):
        if parents[node] >= 0:
            height[node] = height[parents[node]] + 1
    return height


def _roll_up(cells: Cells, up: Sequence[NDArray[np.int32]]) -> Regions:
    """Return what lies in every region that holds rows."""
    n_tuples = len(cells.leaf_of)
    key = np.zeros(cells.tuple_of.size, dtype=np.int64)
    for axis, parents in enumerate(up):
        key = key * parents.size + cells.codes[:, axis]
    key, rows = _merged(key * n_tuples + cells.tuple_of, cells.rows)
    stride = n_tuples
    for parents in reversed(up):
        layers = [(key, rows)]
        own, weight = key, rows
        node: NDArray[Any] = key // stride % parents.size
        while True:
            above = parents[node]
            keep = above >= 0
            if not keep.any():
                break
            own = own[keep] + (above[keep].astype(np.int64) - node[keep]) * stride
            weight, node = weight[keep], above[keep]
            layers.append((own, weight))
        key, rows = _merged(*(np.concatenate(layer) for layer in zip(*layers, strict=True)))
        stride *= parents.size
    region, tuples = np.divmod(key, n_tuples)
    start = np.flatnonzero(np.concatenate([[True], region[1:] != region[:-1], [True]]))
    return Regions(region[start[:-1]], start.astype(np.int64), tuples.astype(np.int32), rows)


def _merged(key: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[first], np.add.reduceat(rows[order], first)


@kernel
def cheapest_cuts(regions, secrets, leaf_of, state, region_at, sizes, strides, up, loss, k, opt, cut):
    """Fill opt (cost of each region at its best) and cut (-1: stays whole; else the axis that it is cut along).

    region_at: number of each key, -1 where no rows are. Returns how many regions were masked, -1 without room.
    """
    axes = sizes.size
    tried = 0
    no_log = np.empty((0, 3), dtype=np.int64)
    child_from = np.zeros((axes, up.shape[1] + 1), dtype=np.int64)
    child = np.empty((axes, up.shape[1]), dtype=np.int64)
    filled = np.zeros((axes, up.shape[1]), dtype=np.int64)
    for axis in range(axes):
        for node in range(sizes[axis]):
            if up[axis, node] >= 0:
                child_from[axis, up[axis, node] + 1] += 1
        for node in range(sizes[axis]):
            child_from[axis, node + 1] += child_from[axis, node]
        for node in range(sizes[axis]):
            if up[axis, node] >= 0:
                child[axis, child_from[axis, up[axis, node]] + filled[axis, up[axis, node]]] = node
                filled[axis, up[axis, node]] += 1
    for r in range(regions.key.size):
        first, last = regions.start[r], regions.start[r + 1]
        key = regions.key[r]
        n = np.int64(0)
        for at in range(first, last):
            n += regions.rows[at]
        cut[r] = -1
        opt[r] = np.inf
        if n < k:
            continue
        own, best = 0.0, np.inf
        only = -1
        for axis in range(axes):
            node = key // strides[axis] % sizes[axis]
            own += n * loss[axis, node]
            total, present = 0.0, 0
            for place in range(child_from[axis, node], child_from[axis, node + 1]):
                c = region_at[key + (child[axis, place] - node) * strides[axis]]
                if c >= 0:
                    present += 1
                    only = c
                    total += opt[c]
            if present == 1:
                # All rows lie below one child, which says more and costs nothing.
                cut[r] = axis
                opt[r] = opt[only]
                break
            only = -1
            if present > 1 and total < best:
                best = total
                cut[r] = axis
        if only >= 0:
            continue
        opt[r] = best
        if own >= best:
            continue
        tried += 1
        clear(state)
        for at in range(first, last):
            e = entry_of(state, leaf_of[regions.tuple_of[at]])
            if e < 0:
                return -1
            add_rows(state, e, regions.rows[at])
        cost = own + settle(state, secrets, no_log, best - own)
        if state.number[OVERFLOW]:
            return -1
        if cost <= best:
            opt[r] = cost
            cut[r] = -1
    return tried


@kernel
def find_region(codes, region_key, region_at, sizes, strides, up, cut, region_of):
    """Follow the cuts from the whole table to the region that each cell ends in.  (c, axes) -> (c,) in place."""
    for cell in range(codes.shape[0]):
        r = region_key.size - 1
        while cut[r] >= 0:
            axis = cut[r]
            node = region_key[r] // strides[axis] % sizes[axis]
            below = np.int64(codes[cell, axis])
            while up[axis, below] != node:
                below = up[axis, below]
            r = region_at[region_key[r] + (below - node) * strides[axis]]
        region_of[cell] = r


def greedy_classes(
    cells: Cells, axes: Axes, secrets: Secrets, k: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return class of each cell and labels of each class, cut from the top; None when there is no way at all."""
    pieces = _Pieces(cells, axes, secrets, k)
    whole = np.argsort(cells.tuple_of, kind="stable")  # equal tuples side by side, in every piece
    roots = tuple(parents.size - 1 for parents in axes.up)
    _, chosen = pieces.split(whole, roots, pieces.cost(whole, roots, float("inf")))
    if not chosen:
        return None
    class_of = np.empty(cells.tuple_of.size, dtype=np.int32)
    for number, (members, _) in enumerate(chosen):
        class_of[members] = number
    return class_of, np.array([nodes for _, nodes in chosen], dtype=np.int32).reshape(len(chosen), -1)


Piece = tuple[NDArray[np.int64], tuple[int, ...]]  # cells, and the label of each quasi-identifier


class _Pieces:
    """Cuts the table from the top."""

    def __init__(self, cells: Cells, axes: Axes, secrets: Secrets, k: int) -> None:
        self.cells, self.axes, self.secrets, self.k = cells, axes, secrets, k
        self.up, _ = axes.side_by_side()
        self.entries = 256
        self.state = make_state(secrets.loss.shape[0], secrets.loss.shape[1], self.entries)

    def cost(self, members: NDArray[np.int64], nodes: tuple[int, ...], budget: float) -> float:
        """Return what a piece costs when it stays whole; infinite when that is more than the budget."""
        rows = float(self.cells.rows[members].sum())
        if rows < self.k:
            return float("inf")
        own = sum(float(loss[node]) for loss, node in zip(self.axes.loss, nodes, strict=True)) * rows
        if own > budget:
            return float("inf")
        while True:
            cells = self.cells
            price = price_of(members, cells.tuple_of, cells.rows, cells.leaf_of, self.state, self.secrets, budget - own)
            if price >= 0:
                return own + float(price)
            self.entries *= 4
            self.state = make_state(self.secrets.loss.shape[0], self.secrets.loss.shape[1], self.entries)

    def split(self, members: NDArray[np.int64], nodes: tuple[int, ...], cost: float) -> tuple[float, list[Piece]]:
        """Return what a piece costs at its best, and the pieces that it falls into; none when there is no way."""
        best: tuple[float, list[tuple[NDArray[np.int64], tuple[int, ...], float]]] = (float("inf"), [])
        for axis in range(len(nodes)):
            inside = self._below(members, axis, nodes[axis])
            if inside is None:
                continue
            total, parts = 0.0, []
            for child, own in inside:
                lower = (*nodes[:axis], child, *nodes[axis + 1 :])
                parts.append((own, lower, self.cost(own, lower, best[0] - total)))
                total += parts[-1][2]
                if total >= best[0]:
                    break
            if len(inside) == 1:  # the same rows with a lower label
                best = (total, parts)
                break
            if total < best[0]:
                best = (total, parts)
        done = [self.split(*part) for part in best[1]] if np.isfinite(best[0]) else []
        total = sum(part[0] for part in done)
        if done and total < cost:
            return total, [piece for part in done for piece in part[1]]
        return cost, [(members, nodes)] if np.isfinite(cost) else []

    def _below(self, members: NDArray[np.int64], axis: int, node: int) -> list[tuple[int, NDArray[np.int64]]] | None:
        """Return the cells below each child of a label; None at a leaf, and where a child has too few rows."""
        below = np.empty(members.size, dtype=np.int64)
        rows = np.zeros(self.up.shape[1], dtype=np.int64)
        if not children_of(members, self.cells.codes[:, axis], self.cells.rows, self.up[axis], node, below, rows):
            return None
        children = np.flatnonzero(rows)
        if rows[children].min() < self.k:
            return None
        order = np.argsort(below, kind="stable")
        ends = np.searchsorted(below[order], children, side="right")
        return [(int(child), part) for child, part in zip(children, np.split(members[order], ends[:-1]), strict=True)]


@kernel
def price_of(members, tuple_of, rows, leaf_of, state, secrets, budget):
    """Return what masking some cells as one class costs, inf beyond the budget, -1 without room."""
    no_log = np.empty((0, 3), dtype=np.int64)
    clear(state)
    for cell in members:
        e = entry_of(state, leaf_of[tuple_of[cell]])
        if e < 0:
            return -1.0
        add_rows(state, e, rows[cell])
    price = settle(state, secrets, no_log, budget)
    return -1.0 if state.number[OVERFLOW] else price


@kernel
def children_of(members, code_of, rows_of, up, node, below, rows):
    """Fill the child of a label that each cell lies below, and the rows of each child; False at a leaf."""
    for at in range(members.size):
        label = np.int64(code_of[members[at]])
        if label == node:
            return False
        while up[label] != node:
            label = up[label]
        below[at] = label
        rows[label] += rows_of[members[at]]
    return True
