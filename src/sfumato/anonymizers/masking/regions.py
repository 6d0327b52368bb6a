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

from sfumato.kernels.masks.pieces import (
    JOINED,
    LABELS,
    LOOKED,
    MADE,
    NO_PIECES,
    NO_STATE,
    WHOLE_COST,
    Pieces,
    Starts,
    class_of_distinct,
    cut_further,
    join_again,
)
from sfumato.kernels.masks.regions import Axes, Distinct, Regions, cheapest_cuts, find_region
from sfumato.kernels.masks.state import LAST, Secrets, make_state

MOST_REGIONS = 1 << 24  # labels of all quasi-identifiers multiplied
MOST_CONTENT = 1 << 26  # distinct rows times the labels above each
SAMPLE = 128  # distinct rows by which larger pieces are priced while cuts are compared
WORK = 1 << 16  # distinct rows of pieces that are looked at between two checkpoints
MANY_VALUES = 256  # leaves of a column that is masked as a whole sooner than value by value


def best_classes(
    distinct: Distinct, axes: Axes, secrets: Secrets, k: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return class of each distinct row, labels of each class at the least cost; None: too many regions, or no way."""
    sizes = axes.sizes
    if sizes.astype(float).prod() * len(distinct.leaf_of) >= 2.0**62 or sizes.prod() > MOST_REGIONS:
        return None
    heights = [_heights(parents) for parents in axes.up]
    content = np.ones(distinct.tuple_of.size)
    for axis, height in enumerate(heights):
        content *= height[distinct.codes[:, axis]]
    if content.sum() > MOST_CONTENT:
        return None
    regions = _roll_up(distinct, axes.up)
    strides = np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]]).astype(np.int64)
    region_at = np.full(int(sizes.prod()), -1, dtype=np.int32)
    region_at[regions.key] = np.arange(regions.key.size)
    hierarchies = axes.side_by_side()
    opt, cut = np.empty(regions.key.size), np.empty(regions.key.size, dtype=np.int32)
    entries = int(np.diff(regions.start).max())
    tried = -1
    while tried < 0:
        state = make_state(secrets, entries := 8 * entries + 256)
        tried = cheapest_cuts(
            regions, secrets, distinct.leaf_of, state, region_at, sizes, strides, hierarchies, float(k), opt, cut
        )
    if not np.isfinite(opt[-1]):
        return None
    region_of = np.empty(distinct.tuple_of.size, dtype=np.int64)
    find_region(distinct.codes, regions.key, region_at, sizes, strides, hierarchies.up, cut, region_of)
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


def _roll_up(distinct: Distinct, up: Sequence[NDArray[np.int32]]) -> Regions:
    """Return what lies in every region that holds rows."""
    n_tuples = len(distinct.leaf_of)
    key = np.zeros(distinct.tuple_of.size, dtype=np.int64)
    for axis, parents in enumerate(up):
        key = key * parents.size + distinct.codes[:, axis]
    key, rows = merged(key * n_tuples + distinct.tuple_of, distinct.rows)
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
        key, rows = merged(*(np.concatenate(layer) for layer in zip(*layers, strict=True)))
        stride *= parents.size
    region, tuples = np.divmod(key, n_tuples)
    start = np.flatnonzero(np.concatenate([[True], region[1:] != region[:-1], [True]]))
    return Regions(region[start[:-1]], start.astype(np.int64), tuples.astype(np.int32), rows)


def merged(key: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys, ascending, and the rows of each together."""
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[first], np.add.reduceat(rows[order], first)


def greedy_classes(
    distinct: Distinct, axes: Axes, secrets: Secrets, k: int, advance: Callable[[float], None]
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return class of each distinct row and labels of each class, cut from the top; None when there is no way at all.

    `advance` is told how many distinct rows have found their place, and may end the work.
    """
    hierarchies, starts = axes.side_by_side(), starts_of(distinct, secrets)
    pieces = _one_piece(distinct, axes, hierarchies.up.shape[1])
    state = make_state(secrets, entries := 256)
    while pieces.number[LOOKED] < pieces.number[MADE] or pieces.number[JOINED] < pieces.number[MADE]:
        if pieces.number[LOOKED] < pieces.number[MADE]:
            done = cut_further(pieces, distinct, hierarchies, starts, k, SAMPLE, state, secrets, WORK)
        else:
            done = join_again(pieces, distinct, hierarchies, starts, k, SAMPLE, state, secrets)
        advance(max(done, 0))
        if done == NO_STATE:
            state = make_state(secrets, entries := 4 * entries)
        elif done == NO_PIECES:
            more = 2 * len(pieces.piece) + hierarchies.up.shape[1]
            pieces = pieces._replace(
                piece=np.resize(pieces.piece, (more, pieces.piece.shape[1])), cost=np.resize(pieces.cost, (more, 2))
            )
    if not np.isfinite(pieces.cost[0, WHOLE_COST]):
        return None
    class_of = np.empty(distinct.tuple_of.size, dtype=np.int32)
    labels = np.empty((distinct.tuple_of.size, len(axes.up)), dtype=np.int32)
    found = class_of_distinct(pieces, class_of, labels)
    return class_of, labels[:found].copy()


def _one_piece(distinct: Distinct, axes: Axes, width: int) -> Pieces:
    """Return the whole table as a piece."""
    room = 1024 + width
    piece = np.empty((room, LABELS + len(axes.up)), dtype=np.int64)
    piece[0] = (0, distinct.tuple_of.size, -1, -1, *(parents.size - 1 for parents in axes.up))
    cost = np.zeros((room, 2))
    cost[0, WHOLE_COST] = -1
    order = np.argsort(distinct.tuple_of, kind="stable")  # equal tuples side by side, in every piece
    return Pieces(
        order=order,
        spare=np.empty_like(order),
        piece=piece,
        cost=cost,
        bins=np.zeros((4, width), dtype=np.int64),
        part_cost=np.zeros((2, width)),
        number=np.array([1, 0, 0]),
    )


def starts_of(distinct: Distinct, secrets: Secrets) -> Starts:
    """Return the labels of the table and, where columns have very many values, the same with these columns masked."""
    many = np.flatnonzero(secrets.leaves > MANY_VALUES)
    if not many.size or many.size == secrets.leaves.size:
        return Starts(distinct.leaf_of[None], np.zeros(1))
    hidden = distinct.leaf_of.copy()
    roots = [int(np.flatnonzero(secrets.label[i, :, LAST] >= 0)[-1]) for i in many]
    hidden[:, many] = roots
    return Starts(np.stack([distinct.leaf_of, hidden]), np.array([0.0, secrets.loss[many, roots].sum()]))
