"""The classes of local recoding: members, labels, histograms, and a trie to find classes by their labels.

A class holds shares: copies of a unit. The trie has one step per quasi-identifier, so that the search for the class
that a unit joins most cheaply leaves out whole branches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import inline_kernel, lean_kernel
from sfumato.kernels.classes.units import HIGH, LEAF, LOW, PARENT

CLASSES, SHARES, FREE, NODES, VISITS = range(5)  # places in Store.counter
ROWS, SHARE, IN_LEAF, NEXT = range(4)  # columns of Store.group; no rows: the class is gone
UNIT, COPIES, FOLLOWING = range(3)  # columns of Store.share
# Columns of Store.trie: the label that leads to a node; its neighbours, where BELOW of a leaf is its first class; how
# many classes lie below; no class below has fewer rows; bit k is 0 when no class below takes a unit of kind k.
STEP, ABOVE, BELOW, BESIDE, LIVING, FEWEST, TAKING = range(7)


class Store(NamedTuple):
    """All classes. Sizes: c classes, q quasi-identifiers, s shares, w nodes of the trie, v bars of a histogram."""

    counter: NDArray[np.int64]
    label: NDArray[np.int64]  # (c, q) nodes of the trees
    group: NDArray[np.int64]  # (c, 4): rows, the first share, the leaf of the trie, the next class in the same leaf
    loss: NDArray[np.float64]  # (c,) of its label, summed over quasi-identifiers
    histogram: NDArray[np.int32]  # (c, v), or (0, v): counted from the shares when needed
    fits: NDArray[np.int32]  # (c, kinds of units), or (0, 0): how many more of the kind a class takes, -1: not known
    share: NDArray[np.int64]  # (s, 3)
    trie: NDArray[np.int64]  # (w, 7)
    rest: NDArray[np.float64]  # (w,) no class below loses less on the steps that follow
    path: NDArray[np.int64]  # (q + 1, 2) space for a walk: the nodes down, and whether any below takes the unit's kind
    way: NDArray[np.float64]  # (q + 1, 2) losses up to there, with the unit and without
    scratch: NDArray[np.int64]  # (v,) space for a histogram
    joined: NDArray[np.int64]  # (j, q + 1) space for classes that units have joined, and their labels before


def make_store(classes: int, shares: int, moving: int, bars: int, kinds: int, q: int) -> Store:
    """Return an empty store with room for so many classes and shares, `moving` shares more than there are copies."""
    nodes = 2 * (classes + 1) * q + 1024
    counter = np.zeros(5, dtype=np.int64)
    counter[FREE], counter[NODES] = -1, 1
    trie = np.full((nodes, 7), -1, dtype=np.int64)
    trie[0, LIVING] = 0
    return Store(
        counter=counter,
        label=np.zeros((classes, q), dtype=np.int64),
        group=np.tile(np.array([0, -1, -1, -1], dtype=np.int64), (classes, 1)),
        loss=np.zeros(classes),
        histogram=np.zeros((classes if classes * bars <= 2**28 else 0, bars), dtype=np.int32),
        fits=np.full((classes, kinds) if classes * kinds <= 2**26 else (0, 0), -1, dtype=np.int32),
        share=np.empty((shares + moving, 3), dtype=np.int64),
        trie=trie,
        rest=np.zeros(nodes),
        path=np.zeros((q + 1, 2), dtype=np.int64),
        way=np.zeros((q + 1, 2)),
        scratch=np.zeros(bars, dtype=np.int64),
        joined=np.zeros((moving, q + 1), dtype=np.int64),
    )


@inline_kernel
def covering(tree, node, low, high):
    """Return the lowest node above (or equal to) `node` that covers the codes low to high of the same column."""
    while low < tree[node, LOW] or high > tree[node, HIGH]:
        node = tree[node, PARENT]
    return node


@lean_kernel
def settle(trees, store, c):
    """Put a class into the trie under its label; when the trie is full, put all classes in anew."""
    trie = store.trie
    counter = store.counter
    q = store.label.shape[1]
    first = c
    last = c + 1
    if counter[NODES] + q >= trie.shape[0]:
        counter[NODES] = 1
        trie[0, BELOW] = -1
        trie[0, LIVING] = 0
        first = 0
        last = counter[CLASSES]
    for other in range(first, last):
        if other != c and store.group[other, IN_LEAF] < 0:
            continue
        rows = store.group[other, ROWS]
        total = 0.0
        for j in range(q):
            total += trees.loss[store.label[other, j]]
        store.loss[other] = total
        node = np.int64(0)
        trie[0, LIVING] += 1
        for depth in range(q):
            label = store.label[other, depth]
            child = trie[node, BELOW]
            while child >= 0 and trie[child, STEP] != label:
                child = trie[child, BESIDE]
            total -= trees.loss[label]
            if child < 0:
                child = counter[NODES]
                counter[NODES] += 1
                trie[child, STEP] = label
                trie[child, ABOVE] = node
                trie[child, BESIDE] = trie[node, BELOW]
                trie[child, BELOW] = -1
                trie[child, LIVING] = 0
                trie[node, BELOW] = child
            if trie[child, LIVING] == 0 or rows < trie[child, FEWEST]:
                trie[child, FEWEST] = rows
            if trie[child, LIVING] == 0 or total < store.rest[child]:
                store.rest[child] = total
            trie[child, LIVING] += 1
            trie[child, TAKING] = -1
            node = child
        store.group[other, IN_LEAF] = node
        store.group[other, NEXT] = trie[node, BELOW]
        trie[node, BELOW] = other


@lean_kernel
def unsettle(trie, group, c):
    """Take a class out of the trie."""
    node = group[c, IN_LEAF]
    if trie[node, BELOW] == c:
        trie[node, BELOW] = group[c, NEXT]
    else:
        other = trie[node, BELOW]
        while group[other, NEXT] != c:
            other = group[other, NEXT]
        group[other, NEXT] = group[c, NEXT]
    group[c, IN_LEAF] = -1
    while node > 0:
        trie[node, LIVING] -= 1
        node = trie[node, ABOVE]
    trie[0, LIVING] -= 1


@inline_kernel
def count(units, store, c, unit, copies):
    """Add copies of a unit to the class's rows and histogram, or take them away when negative."""
    store.group[c, ROWS] += copies * units.size[unit]
    if store.histogram.shape[0] > 0:
        for i in range(units.bar_start[unit], units.bar_start[unit + 1]):
            store.histogram[c, units.bar[i, 0]] += copies * units.bar[i, 1]
    # The class may now take other kinds of units than before, and may have the fewest rows of its branch.
    for kind in range(store.fits.shape[1]):
        store.fits[c, kind] = -1
    node = store.group[c, IN_LEAF]
    while node > 0:
        store.trie[node, TAKING] = -1
        if store.group[c, ROWS] < store.trie[node, FEWEST]:
            store.trie[node, FEWEST] = store.group[c, ROWS]
        node = store.trie[node, ABOVE]


@lean_kernel
def add(units, store, c, unit, copies):
    """Put copies of a unit first on the class's list."""
    counter = store.counter
    share = store.share
    place = counter[FREE]
    if place >= 0:
        counter[FREE] = share[place, FOLLOWING]
    else:
        place = counter[SHARES]
        counter[SHARES] += 1
    share[place, UNIT] = unit
    share[place, COPIES] = copies
    share[place, FOLLOWING] = store.group[c, SHARE]
    store.group[c, SHARE] = place
    count(units, store, c, unit, copies)


@lean_kernel
def remove(units, store, c, before, place):
    """Take a share off the class's list, where it follows the share `before` (-1: it is the first)."""
    share = store.share
    if before < 0:
        store.group[c, SHARE] = share[place, FOLLOWING]
    else:
        share[before, FOLLOWING] = share[place, FOLLOWING]
    share[place, FOLLOWING] = store.counter[FREE]
    store.counter[FREE] = place
    count(units, store, c, share[place, UNIT], -share[place, COPIES])


@lean_kernel
def narrow(trees, units, store, c):
    """Give a class that is not in the trie the smallest common label of its members, and put it in."""
    for j in range(store.label.shape[1]):
        place = store.group[c, SHARE]
        low = high = units.code[store.share[place, UNIT], j]
        while place >= 0:
            code = units.code[store.share[place, UNIT], j]
            if code < low:
                low = code
            if code > high:
                high = code
            place = store.share[place, FOLLOWING]
        store.label[c, j] = covering(trees.node, trees.column[j, LEAF] + low, low, high)
    settle(trees, store, c)


@lean_kernel
def widen(trees, units, store, c, unit, copies):
    """Add copies of a unit to a class, and widen its label."""
    wider = False
    for j in range(store.label.shape[1]):
        code = units.code[unit, j]
        label = covering(trees.node, store.label[c, j], code, code)
        if label != store.label[c, j]:
            if not wider:
                unsettle(store.trie, store.group, c)
                wider = True
            store.label[c, j] = label
    add(units, store, c, unit, copies)
    if wider:
        settle(trees, store, c)


@lean_kernel
def hand_out(store, units, unit_of, new_class, start, cursor, part, class_of):
    """Give each row a class: the rows of a unit go to its shares one after the other.  -> (n,) in place.

    start (u + 1,) and cursor (u,) are zero, part (s, 2) is space for the class and rows of each share, unit by unit.
    """
    share = store.share
    for filling in range(2):
        for c in range(store.counter[CLASSES]):
            place = store.group[c, SHARE]
            while place >= 0:
                unit = share[place, UNIT]
                if filling == 1:
                    part[start[unit] + cursor[unit], 0] = new_class[c]
                    part[start[unit] + cursor[unit], 1] = share[place, COPIES] * units.size[unit]
                cursor[unit] += 1
                place = share[place, FOLLOWING]
        for unit in range(cursor.size):
            start[unit + 1] = start[unit] + cursor[unit]
            cursor[unit] = 0
    for row in range(unit_of.size):
        unit = unit_of[row]
        while part[start[unit] + cursor[unit], 1] == 0:
            cursor[unit] += 1
        part[start[unit] + cursor[unit], 1] -= 1
        class_of[row] = part[start[unit] + cursor[unit], 0]
