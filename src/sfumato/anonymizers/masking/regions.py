"""Classes of quasi-identifiers for masking: the table is cut into regions like glass.

A region is one label of each quasi-identifier; it stays whole, or is divided along one hierarchy into the children of
its label. Where all regions can be listed, the cheapest way to cut is found. Where there are too many, the table is cut
from the top, each time along the hierarchy that costs least, and pieces that were better off together are joined again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.masks.regions import Axes, Cells, Regions, cheapest_cuts, children_of, find_region, price_of
from sfumato.kernels.masks.state import Secrets, make_state

MOST_REGIONS = 1 << 24  # labels of all quasi-identifiers multiplied
MOST_CONTENT = 1 << 26  # cells times the labels above each


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


def greedy_classes(
    cells: Cells, axes: Axes, secrets: Secrets, k: int, advance: Callable[[float], None]
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return class of each cell and labels of each class, cut from the top; None when there is no way at all.

    `advance` is told how many cells have found their place, and may end the work.
    """
    pieces = _Pieces(cells, axes, secrets, k, advance)
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

    def __init__(self, cells: Cells, axes: Axes, secrets: Secrets, k: int, advance: Callable[[float], None]) -> None:
        self.cells, self.axes, self.secrets, self.k, self.advance = cells, axes, secrets, k, advance
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
        self.advance(0)
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
        if not done:
            self.advance(members.size)
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
