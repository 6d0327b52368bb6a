"""What masking costs in regions of quasi-identifiers, and the cheapest way to cut the table into them.

A region is one label of each quasi-identifier. Given what masking costs in each region, the cheapest way to cut is
found by going through all regions once, children first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.masks.raising import settle
from sfumato.kernels.masks.state import OVERFLOW, add_rows, clear, entry_of


class Distinct(NamedTuple):
    """The table, identical rows counted once: c distinct rows, t different sensitive tuples."""

    codes: NDArray[np.int32]  # (c, quasi-identifiers)
    tuple_of: NDArray[np.int32]  # (c,)
    rows: NDArray[np.int64]  # (c,)
    leaf_of: NDArray[np.int64]  # (t, m): the leaves of each sensitive tuple


class Hierarchies(NamedTuple):
    """The hierarchies of the quasi-identifiers side by side, v labels at most."""

    up: NDArray[np.int64]  # (axes, v)
    loss: NDArray[np.float64]  # (axes, v): of one row
    child_from: NDArray[np.int64]  # (axes, v + 1): from where on the children of a label stand in `child`
    child: NDArray[np.int64]  # (axes, v)


class Axes(NamedTuple):
    """The hierarchies of the quasi-identifiers: leaves are their codes, parents come after children."""

    up: Sequence[NDArray[np.int32]]
    loss: Sequence[NDArray[np.float64]]  # of one row

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many labels each has."""
        return np.array([parents.size for parents in self.up], dtype=np.int64)

    def side_by_side(self) -> Hierarchies:
        """Return the hierarchies as tables."""
        width = max((parents.size for parents in self.up), default=1)
        up = np.full((len(self.up), width), -1, dtype=np.int64)
        loss = np.zeros((len(self.up), width))
        child_from = np.zeros((len(self.up), width + 1), dtype=np.int64)
        child = np.zeros((len(self.up), width), dtype=np.int64)
        for axis, (parents, of_label) in enumerate(zip(self.up, self.loss, strict=True)):
            up[axis, : parents.size], loss[axis, : parents.size] = parents, of_label
            order = np.argsort(parents, kind="stable")  # the root, whose parent is -1, comes first
            child[axis, : parents.size - 1] = order[1:]
            child_from[axis] = np.searchsorted(parents[order[1:]], np.arange(width + 1))
        return Hierarchies(up, loss, child_from, child)


class Regions(NamedTuple):
    """What lies in each region that holds rows: r regions, ascending, so that children come first."""

    key: NDArray[np.int64]  # (r,): labels of the quasi-identifiers as one number
    start: NDArray[np.int64]  # (r + 1,)
    tuple_of: NDArray[np.int32]  # sensitive tuples of region i: start[i]:start[i + 1]
    rows: NDArray[np.int64]  # how often each occurs there


@kernel
def cheapest_cuts(regions, secrets, leaf_of, state, region_at, sizes, strides, hierarchies, k, opt, cut):
    """Fill opt (cost of each region at its best) and cut (-1: stays whole; else the axis that it is cut along).

    region_at: number of each key, -1 where no rows are. Returns how many regions were masked, -1 without room.
    """
    axes = sizes.size
    tried = 0
    no_log = np.empty((0, 3), dtype=np.int64)
    loss, child_from, child = hierarchies.loss, hierarchies.child_from, hierarchies.child
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
    """Follow the cuts from the table to the region that each distinct row ends in.  (c, axes) -> (c,) in place."""
    for row in range(codes.shape[0]):
        r = region_key.size - 1
        while cut[r] >= 0:
            axis = cut[r]
            node = region_key[r] // strides[axis] % sizes[axis]
            below = np.int64(codes[row, axis])
            while up[axis, below] != node:
                below = up[axis, below]
            r = region_at[region_key[r] + (below - node) * strides[axis]]
        region_of[row] = r
