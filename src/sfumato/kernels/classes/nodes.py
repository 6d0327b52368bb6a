"""What is known of the nodes of a lattice of levels, and which of them is judged next: for full-domain generalization.

Sizes: q quasi-identifiers, N nodes, g groups of nodes. A node is a number: the sum of its levels times strides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import lean_kernel

FIRST, LAST = range(2)  # columns of Known.group
STEPS, TRIED, GROUP = range(3)  # places in Known.at


class Known(NamedTuple):
    """What each node loses at least, which are open, and in which order they come."""

    levels: NDArray[np.int64]  # (q,): how many there are
    stride: NDArray[np.int64]  # (q,)
    base: NDArray[np.float64]  # (N,)
    dropped: NDArray[np.float64]  # (N,): for rows that have to be dropped, besides
    open: NDArray[np.bool_]  # (N,)
    hopeless: NDArray[np.bool_]  # (N,): too much has to be dropped; judged for what that tells about others
    waiting: NDArray[np.int64]  # (N,): nodes, group by group
    group: NDArray[np.int64]  # (g, 2): waiting[FIRST:LAST] are those of the group that may still be better
    step: NDArray[np.int64]  # (q,): nodes that are tried before others
    at: NDArray[np.int64]  # (3,): how many of these there are, how many were tried, and the group whose turn it is


@lean_kernel
def next_node(known, below):
    """Return the node to be judged next, of those whose bound is below a loss: -1 if there is none.

    First the steps that are left, in their order; then the first group that has any, the highest bound first.
    """
    at = known.at
    while at[TRIED] < at[STEPS]:
        node = known.step[at[TRIED]]
        at[TRIED] += 1
        if known.open[node] and known.base[node] + known.dropped[node] < below:
            return node
    while at[GROUP] < known.group.shape[0]:
        first = known.group[at[GROUP], FIRST]
        last = first
        best = np.int64(-1)
        highest = -np.inf
        for i in range(first, known.group[at[GROUP], LAST]):
            node = known.waiting[i]
            bound = known.base[node] + known.dropped[node]
            if known.open[node] and bound < below:  # others never come back: losses fall, bounds rise
                known.waiting[last] = node
                last += 1
                if bound > highest:
                    highest = bound
                    best = node
        known.group[at[GROUP], LAST] = last
        if best >= 0:
            return best
        at[GROUP] += 1
    return np.int64(-1)


@lean_kernel
def list_steps(known, node):
    """Set the steps to all nodes that are finer in one column by one level, the lowest bound first.  (q,) in place."""
    found = 0
    for j in range(known.levels.size):
        if node // known.stride[j] % known.levels[j] == 0:
            continue
        step = node - known.stride[j]
        bound = known.base[step] + known.dropped[step]
        i = found
        while i > 0:
            other = known.step[i - 1]
            lowest = known.base[other] + known.dropped[other]
            if lowest < bound or (lowest == bound and other < step):
                break
            known.step[i] = other
            i -= 1
        known.step[i] = step
        found += 1
    known.at[STEPS] = found
    known.at[TRIED] = 0


@lean_kernel
def learn(known, node, closes, hopeless, dropped, base):
    """Keep what a judged node tells about others.

    Finer ones may be closed or hopeless, and lose so much for rows that they drop; coarser ones have such a base.
    """
    known.open[node] = False
    if closes or hopeless or dropped > 0:
        run = node // known.stride[-1] % known.levels[-1] + 1
        at = np.int64(0)
        while at >= 0:
            for other in range(at, at + run):
                if closes:
                    known.open[other] = False
                if hopeless:
                    known.hopeless[other] = True
                if known.dropped[other] < dropped:
                    known.dropped[other] = dropped
            at = _next_run(known, np.int64(0), node, at)
    if base > 0:
        top = np.int64(known.base.size - 1)
        run = top // known.stride[-1] % known.levels[-1] - node // known.stride[-1] % known.levels[-1] + 1
        at = node
        while at >= 0:
            for other in range(at, at + run):
                if known.base[other] < base:
                    known.base[other] = base
            at = _next_run(known, node, top, at)


@lean_kernel
def _next_run(known, low, high, at):
    """Return the node behind one of those between two others, all columns but the last one counted up; -1: none."""
    for i in range(known.levels.size - 1):
        j = known.levels.size - 2 - i
        stride = known.stride[j]
        level = at // stride % known.levels[j]
        if level < high // stride % known.levels[j]:
            return at + stride
        at -= (level - low // stride % known.levels[j]) * stride
    return np.int64(-1)
