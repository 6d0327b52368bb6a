"""Vectors of levels: how many terms each record of a group keeps, and what the sizes of sets say about the excess.

A level of a record is one cost: a number of kept terms, unless terms differ in their worth. Its size is the most labels
that an option of this cost has.
Records with disjoint sets of these sizes have the least excess that their levels allow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.terms.options import AT, COST, SIZE

MOST = 96  # records of a group that is tried


class Levels(NamedTuple):
    """The options of records by what they cost; record i has levels start[i]:start[i + 1], cheapest first."""

    start: NDArray[np.int64]  # (d + 1,)
    cost: NDArray[np.int64]
    size: NDArray[np.int64]  # the most labels
    low: NDArray[np.int64]  # options low:high, most labels first
    high: NDArray[np.int64]


@kernel
def make_levels(low, high, n_labels, menu):
    """Return the levels of a group.

    All labels with shares that differ count as one more than there are: spread further than they are, never less.
    """
    table = menu.table
    d = low.size
    n = 0
    for i in range(d):
        n += high[i] - low[i]
    start = np.zeros(d + 1, dtype=np.int64)
    cost, size = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    first, last = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n = 0
    for i in range(d):
        for option in range(low[i], high[i]):
            if option > low[i] and table[option, COST] == table[option - 1, COST]:
                last[n - 1] = option + 1
            else:
                cost[n], size[n], first[n], last[n] = table[option, COST], table[option, SIZE], option, option + 1
                size[n] += size[n] == n_labels and table[option, AT] >= 0
                n += 1
        start[i + 1] = n
    return Levels(start, cost, size, first, last)


@kernel
def excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked):
    """Return the excess of n disjoint sets, sizes ascending, and `n_all` records with all labels; `linked` in all."""
    floor = n_all / n_labels
    largest = 1.0 / sizes[0] if n > 0 else 0.0
    left = l - 1
    top = 0.0
    for i in range(n):
        if left <= 0:
            break
        taken = min(left, sizes[i])
        top += taken / sizes[i]
        left -= taken
    top += min(l - 1, n_labels) * floor
    return largest + floor + c * top - c * linked


@kernel
def insert(sizes, n, size):
    """Put a size into n ascending ones; return how many there are now."""
    at = n
    while at > 0 and sizes[at - 1] > size:
        sizes[at] = sizes[at - 1]
        at -= 1
    sizes[at] = size
    return n + 1


@kernel
def _excess_of_levels(vector, levels, l, c, n_labels, sizes):
    n, n_all, linked = 0, 0, 0
    for i in range(vector.size):
        size = levels.size[vector[i]]
        if size > 0:
            linked += 1
            if size == n_labels:
                n_all += 1
            else:
                n = insert(sizes, n, size)
    return excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked)


@kernel
def greedy_levels(vector, levels, l, c, n_labels, sizes):
    """Lower levels by gain per cost until sizes allow it, then raise what is not needed; return success."""
    d = vector.size
    now = _excess_of_levels(vector, levels, l, c, n_labels, sizes)
    for _ in range(8 * d + 8):
        if now <= 0.0:
            break
        mover, move, rank, then = -1, np.int64(-1), 0.0, now
        for i in range(d):
            before = vector[i]
            for level in range(before + 1, levels.start[i + 1]):
                vector[i] = level
                left = _excess_of_levels(vector, levels, l, c, n_labels, sizes)
                worth = min(now - left, now) / (levels.cost[level] - levels.cost[before])
                if worth > rank * (1.0 + 1e-12):
                    mover, move, rank, then = i, level, worth, left
            vector[i] = before
        if mover < 0:
            return False
        vector[mover] = move
        now = then
    if now > 0.0:
        return False
    for _ in range(8 * d + 8):
        mover, move, saving = -1, np.int64(-1), np.int64(0)
        for i in range(d):
            before = vector[i]
            for level in range(levels.start[i], before):
                saved = levels.cost[before] - levels.cost[level]
                if saved <= saving:
                    break
                vector[i] = level
                if _excess_of_levels(vector, levels, l, c, n_labels, sizes) <= 0.0:
                    mover, move, saving = i, level, saved
                    break
            vector[i] = before
        if mover < 0:
            break
        vector[mover] = move
    return True


@kernel
def list_vectors(levels, budget, exact, most, requirement, n_labels, nodes, vectors, keys):
    """List vectors of levels that cost at most `budget` (just that when `exact`) and may have an excess below `most`.

    Returns how many, the nodes used, and whether the list is complete. keys[0] and keys[1]: cost and excess of each
    vector.
    """
    level_start, level_cost, level_size, _low, _high = levels
    l, c = requirement.l, requirement.c
    d = level_start.size - 1
    vector = np.empty(d, dtype=np.int64)
    for i in range(d):
        vector[i] = level_start[i] - 1
    chosen = np.empty((d + 1, d), dtype=np.int64)  # sizes so far, ascending
    number = np.zeros((d + 1, 3), dtype=np.int64)  # sizes, records with all labels, linked records
    cost = np.zeros(d + 1, dtype=np.int64)
    sizes = np.empty(d, dtype=np.int64)
    found, used, depth = 0, 0, 0
    while depth >= 0:
        vector[depth] += 1
        level = vector[depth]
        if level == level_start[depth + 1] or cost[depth] + level_cost[level] > budget:
            vector[depth] = level_start[depth] - 1
            depth -= 1
            continue
        used += 1
        if used > nodes:
            return found, used, False
        n, n_all, linked = number[depth, 0], number[depth, 1], number[depth, 2]
        for i in range(n):
            sizes[i] = chosen[depth, i]
        size = level_size[level]
        if size > 0:
            linked += 1
            if size == n_labels:
                n_all += 1
            else:
                n = insert(sizes, n, size)
        for i in range(n):
            chosen[depth + 1, i] = sizes[i]
        number[depth + 1, 0], number[depth + 1, 1], number[depth + 1, 2] = n, n_all, linked
        cost[depth + 1] = cost[depth] + level_cost[level]
        left = budget - cost[depth + 1]
        for i in range(depth + 1, d):  # whatever the rest could get, each alone with all that is left
            best, silent = np.int64(0), level_size[level_start[i]] == 0
            for other in range(level_start[i], level_start[i + 1]):
                if level_cost[other] > left:
                    break
                best = max(best, level_size[other])
            if best > 0:
                linked += 1
                if not silent:  # a record that may stay unlinked counts as spread without end
                    n = insert(sizes, n, best)
        if excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked) > most:
            continue
        if depth < d - 1:
            depth += 1
        elif not exact or left == 0:
            if found == keys.shape[1]:
                return found, used, False
            for i in range(d):
                vectors[found, i] = vector[i]
            keys[0, found] = cost[d]
            keys[1, found] = excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked)
            found += 1
    return found, used, True


@kernel
def bound_by_sizes(groups, start, low_at, high_at, cost, requirement, n_labels, menu, nodes, bound):
    """Raise the lower bound of the cost of some groups, by what sizes exclude at a part of the known cost."""
    vectors, keys = np.empty((1024, MOST), dtype=np.int32), np.empty((2, 1024))
    any_cost = np.bool_(False)  # a plain False would have the list compiled once more
    for index in range(groups.size):
        group = groups[index]
        begin, end = start[group], start[group + 1]
        if end - begin > MOST:
            continue
        levels = make_levels(low_at[begin:end], high_at[begin:end], n_labels, menu)
        for parts in range(15, 7, -1):
            budget = cost[group] // 16 * parts
            found, _used, whole = list_vectors(
                levels, budget, any_cost, 1e-9, requirement, n_labels, nodes, vectors, keys
            )
            if not whole:
                continue
            least = budget + 1
            for i in range(found):
                least = min(least, np.int64(keys[0, i]))
            bound[group] = max(bound[group], least)
            break


@kernel
def first_levels(groups, start, low_at, high_at, pick_at, requirement, n_labels, menu):
    """Pick for some groups the largest sets at levels that sizes alone allow; positions as in `first_closeness`."""
    for index in range(groups.size):
        group = groups[index]
        begin, end = start[group], start[group + 1]
        low, high, pick = low_at[begin:end], high_at[begin:end], pick_at[begin:end]
        levels = make_levels(low, high, n_labels, menu)
        vector, sizes = np.empty(end - begin, dtype=np.int64), np.empty(end - begin, dtype=np.int64)
        for i in range(end - begin):
            vector[i] = levels.start[i]
        if end - begin <= MOST:
            greedy_levels(vector, levels, requirement.l, requirement.c, n_labels, sizes)
        for i in range(end - begin):
            pick[i] = levels.low[vector[i]]
