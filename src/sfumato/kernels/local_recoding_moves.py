"""The second half of local recoding: place what stayed open, then move units to where they cost less.

Classes lie in a trie over their labels, one quasi-identifier a step, so that the search for the class that a unit
joins most cheaply leaves out whole branches. Joining costs, summed over rows and quasi-identifiers, what the class's
rows lose by the wider label plus what the unit's rows lose under it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.conditions import first_failing
from sfumato.kernels.jit import kernel
from sfumato.kernels.local_recoding_units import HIGH, LEAF, LOW, PARENT

MANY = 1024

CLASSES, SHARES, FREE, NODES, VISITS = range(5)  # places in Store.counter
ROWS, SHARE, IN_LEAF, NEXT = range(
    4
)  # columns of Store.group: rows (0: the class is gone), first share, leaf, next class
UNIT, COPIES, FOLLOWING = range(3)  # columns of Store.share
STEP, ABOVE, BELOW, BESIDE, LIVING, FEWEST = range(6)  # columns of Store.trie; BELOW of a leaf is its first class


class Store(NamedTuple):
    """All classes. Sizes: c classes, q quasi-identifiers, s shares, w nodes of the trie, v cells of a histogram."""

    counter: NDArray[np.int64]
    axis: NDArray[np.int64]  # (q,) the quasi-identifier of each step of the trie
    label: NDArray[np.int64]  # (c, q) nodes of the trees
    group: NDArray[np.int64]  # (c, 4)
    loss: NDArray[np.float64]  # (c,) of its label, summed over quasi-identifiers
    histogram: NDArray[np.int32]  # (c, v), or (0, v): counted from the shares when needed
    fits: NDArray[np.int32]  # (c, kinds of units), or (0, 0): how many more of the kind a class takes, -1: not known
    share: NDArray[np.int32]  # (s, 3)
    trie: NDArray[np.int32]  # (w, 6): the label that leads here, neighbours, classes below, fewest rows of any of them
    rest: NDArray[np.float64]  # (w,) no class below loses less on the steps that follow
    taking: NDArray[np.int64]  # (w,) bit k is 0 when no class below takes a unit of kind k
    path: NDArray[np.int64]  # (q + 1, 2) space for a walk: the nodes down, and whether any below takes the unit's kind
    way: NDArray[np.float64]  # (q + 1, 2) losses up to there, with the unit and without
    scratch: NDArray[np.int64]  # (v,) space for a histogram
    joined: NDArray[np.int64]  # (j, q + 1) space for classes that units have joined, and their labels before


def make_store(classes: int, shares: int, moving: int, cells: int, kinds: int, axis: NDArray[np.int64]) -> Store:
    """Return an empty store with room for so many classes and shares, `moving` shares more than there are copies."""
    q = axis.size
    nodes = 2 * (classes + 1) * q + 1024
    counter = np.zeros(5, dtype=np.int64)
    counter[FREE], counter[NODES] = -1, 1
    trie = np.full((nodes, 6), -1, dtype=np.int32)
    trie[0, LIVING] = 0
    return Store(
        counter=counter,
        axis=axis,
        label=np.zeros((classes, q), dtype=np.int64),
        group=np.tile(np.array([0, -1, -1, -1], dtype=np.int64), (classes, 1)),
        loss=np.zeros(classes),
        histogram=np.zeros((classes if classes * cells <= 2**28 else 0, cells), dtype=np.int32),
        fits=np.full((classes, kinds) if classes * kinds <= 2**26 else (0, 0), -1, dtype=np.int32),
        share=np.empty((shares + moving, 3), dtype=np.int32),
        trie=trie,
        rest=np.zeros(nodes),
        taking=np.full(nodes, -1, dtype=np.int64),
        path=np.zeros((q + 1, 2), dtype=np.int64),
        way=np.zeros((q + 1, 2)),
        scratch=np.zeros(cells, dtype=np.int64),
        joined=np.zeros((moving, q + 1), dtype=np.int64),
    )


@kernel
def covering(tree, node, low, high):
    """Return the lowest node above (or equal to) `node` that covers the codes low to high of the same column."""
    while low < tree[node, LOW] or high > tree[node, HIGH]:
        node = tree[node, PARENT]
    return node


@kernel
def settle(trees, store, c):
    """Put a class into the trie under its label; when the trie is full, put all classes in anew."""
    trie = store.trie
    counter = store.counter
    axis = store.axis
    first = c
    last = c + 1
    if counter[NODES] + axis.size >= trie.shape[0]:
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
        for j in range(axis.size):
            total += trees.loss[store.label[other, j]]
        store.loss[other] = total
        node = np.int64(0)
        trie[0, LIVING] += 1
        for depth in range(axis.size):
            label = store.label[other, axis[depth]]
            child = np.int64(trie[node, BELOW])
            while child >= 0 and trie[child, STEP] != label:
                child = np.int64(trie[child, BESIDE])
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
            store.taking[child] = -1
            node = child
        store.group[other, IN_LEAF] = node
        store.group[other, NEXT] = trie[node, BELOW]
        trie[node, BELOW] = other


@kernel
def unsettle(trie, group, c):
    """Take a class out of the trie."""
    node = group[c, IN_LEAF]
    if trie[node, BELOW] == c:
        trie[node, BELOW] = group[c, NEXT]
    else:
        other = np.int64(trie[node, BELOW])
        while group[other, NEXT] != c:
            other = group[other, NEXT]
        group[other, NEXT] = group[c, NEXT]
    group[c, IN_LEAF] = -1
    while node > 0:
        trie[node, LIVING] -= 1
        node = np.int64(trie[node, ABOVE])
    trie[0, LIVING] -= 1


@kernel
def count(units, store, c, unit, copies):
    """Add copies of a unit to the class's rows and histogram, or take them away when negative."""
    store.group[c, ROWS] += copies * units.size[unit]
    if store.histogram.shape[0] > 0:
        for i in range(units.cell_start[unit], units.cell_start[unit + 1]):
            store.histogram[c, units.cell[i, 0]] += copies * units.cell[i, 1]
    # The class may now take other kinds of units than before, and may have the fewest rows of its branch.
    for kind in range(store.fits.shape[1]):
        store.fits[c, kind] = -1
    node = store.group[c, IN_LEAF]
    while node > 0:
        store.taking[node] = -1
        if store.group[c, ROWS] < store.trie[node, FEWEST]:
            store.trie[node, FEWEST] = store.group[c, ROWS]
        node = np.int64(store.trie[node, ABOVE])


@kernel
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


@kernel
def remove(units, store, c, before, place):
    """Take a share off the class's list, where it follows the share `before` (-1: it is the first)."""
    share = store.share
    if before < 0:
        store.group[c, SHARE] = share[place, FOLLOWING]
    else:
        share[before, FOLLOWING] = share[place, FOLLOWING]
    share[place, FOLLOWING] = store.counter[FREE]
    store.counter[FREE] = place
    count(units, store, c, np.int64(share[place, UNIT]), -np.int64(share[place, COPIES]))


@kernel
def narrow(trees, units, store, c):
    """Give a class that is not in the trie the smallest common label of its members, and put it in."""
    for j in range(store.axis.size):
        place = store.group[c, SHARE]
        low = high = units.code[store.share[place, UNIT], j]
        while place >= 0:
            code = units.code[store.share[place, UNIT], j]
            if code < low:
                low = code
            if code > high:
                high = code
            place = np.int64(store.share[place, FOLLOWING])
        store.label[c, j] = covering(trees.node, trees.column[j, LEAF] + low, low, high)
    settle(trees, store, c)


@kernel
def widen(trees, units, store, c, unit, copies):
    """Add copies of a unit to a class, and widen its label."""
    wider = False
    for j in range(store.axis.size):
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


@kernel
def room(conditions, units, store, c, unit, copies):
    """Return how many further copies of a unit a class can take, up to `copies`.

    Copies may be negative: then 0 unless the class passes without them.
    """
    size = units.size[unit]
    rows = store.group[c, ROWS]
    if rows + copies * size < conditions.k:
        return np.int64(0)
    if conditions.table.shape[0] == 0:
        return copies
    kind = units.kind[unit]
    known = kind >= 0 and copies > 0 and store.fits.shape[0] > 0
    most = copies
    if known:
        # Looked up for as long as the class does not change; what is more than MANY may be more than was asked.
        there = np.int64(store.fits[c, kind])
        if there >= copies or 0 <= there < MANY:
            return there if there < copies else copies
        if most < MANY:
            most = np.int64(MANY)
    cell = units.cell
    scratch = store.scratch
    if store.histogram.shape[0] > 0:
        for i in range(scratch.size):
            scratch[i] = store.histogram[c, i]
    else:
        for i in range(scratch.size):
            scratch[i] = 0
        place = store.group[c, SHARE]
        while place >= 0:
            other = store.share[place, UNIT]
            for i in range(units.cell_start[other], units.cell_start[other + 1]):
                scratch[cell[i, 0]] += store.share[place, COPIES] * cell[i, 1]
            place = np.int64(store.share[place, FOLLOWING])
    passes = np.int64(0)  # so many copies pass
    fails = most + 1
    tried = most if most < 1 else np.int64(1)
    step = np.int64(1)
    there = np.int64(0)  # so many are in the histogram
    while True:
        for i in range(units.cell_start[unit], units.cell_start[unit + 1]):
            scratch[cell[i, 0]] += (tried - there) * cell[i, 1]
        there = tried
        if first_failing(conditions, np.int64(0), conditions.table.shape[0], scratch, rows + there * size) < 0:
            passes = tried
            step *= 2
        else:
            fails = tried
            step = step // 4 if step > 4 else np.int64(1)
        if passes == most or passes + 1 >= fails:
            break
        tried = passes + step
        if tried >= fails:
            tried = fails - 1
    if known:
        store.fits[c, kind] = passes
    return copies if 0 < copies < passes else passes


@kernel
def cheapest(conditions, trees, units, store, unit, copies, limit, but, split):
    """Return the class that copies of a unit join most cheaply below `limit`, how many it takes, and the cost.

    No class takes any when there is none. `but` is left out. With split = 1 fewer copies may be taken, and the limit
    and the cost are per row.
    """
    trie = store.trie
    group = store.group
    axis = store.axis
    loss = trees.loss
    path = store.path
    way = store.way
    q = axis.size
    weight = copies * units.size[unit]
    scale = 1.0 / weight if split == 1 else 1.0
    kind = units.kind[unit]
    bit = np.int64(1) << kind if 0 <= kind < 63 and store.fits.shape[0] > 0 else np.int64(0)
    best = np.int64(-1)
    taken = np.int64(0)
    visited = 0
    depth = 0
    way[0, 0] = 0.0
    way[0, 1] = 0.0
    node = np.int64(trie[0, BELOW])
    while True:
        while node < 0 and depth > 0:
            # All nodes below were seen; when none of them takes this kind, nor does the one above.
            node = path[depth, 0]
            if path[depth, 1] == 0:
                store.taking[node] &= ~bit
            depth -= 1
            path[depth, 1] |= store.taking[node] & bit
            node = np.int64(trie[node, BESIDE])
        if node < 0:
            break
        if trie[node, LIVING] > 0 and (bit == 0 or store.taking[node] & bit != 0):
            visited += 1
            label = np.int64(trie[node, STEP])
            code = units.code[unit, axis[depth]]
            after = way[depth, 0] + loss[covering(trees.node, label, code, code)]
            before = way[depth, 1] + loss[label]
            fewest = trie[node, FEWEST]
            if ((fewest + weight) * after - fewest * before + weight * store.rest[node]) * scale < limit:
                if depth + 1 < q:
                    depth += 1
                    path[depth, 0] = node
                    path[depth, 1] = 0 if bit != 0 else 1
                    way[depth, 0] = after
                    way[depth, 1] = before
                    node = np.int64(trie[node, BELOW])
                    continue
                c = np.int64(trie[node, BELOW])
                takes = bit == 0
                while c >= 0:
                    rows = group[c, ROWS]
                    if c != but and ((rows + weight) * after - rows * before) * scale < limit:
                        fits = room(conditions, units, store, c, unit, copies)
                        if fits == copies or (fits > 0 and split == 1):
                            cost = (rows + weight) * after - rows * before
                            if split == 1:
                                cost = rows * (after - before) / (fits * units.size[unit]) + after
                            if cost < limit:
                                best = c
                                taken = fits
                                limit = cost
                    takes = takes or store.fits[c, kind] != 0
                    c = group[c, NEXT]
                if not takes:
                    store.taking[node] &= ~bit
            path[depth, 1] |= store.taking[node] & bit
        node = np.int64(trie[node, BESIDE])
    store.counter[VISITS] += visited
    return best, taken, limit


@kernel
def load(trees, units, store, first, last, share, class_start):
    """Put classes first to last - 1 into the store, under their narrowest labels; their shares as in the sweep."""
    store.counter[CLASSES] = last
    for c in range(first, last):
        for i in range(class_start[c - first], class_start[c - first + 1]):
            add(units, store, c, np.int64(share[i, 0]), np.int64(share[i, 1]))
        narrow(trees, units, store, c)


@kernel
def move(conditions, trees, units, store, copies, order, budget):
    """Put open copies where they cost least per row, then empty dear classes into others, or move single units.

    What fits nowhere stays in `copies` (u,). `order` lists classes to look at, dearest first; the visits of nodes of
    the trie are counted, and no further class is looked at when they exceed the budget.
    """
    k = conditions.k
    group = store.group
    share = store.share
    q = store.axis.size
    joined = store.joined
    for unit in range(copies.size):
        while copies[unit] > 0:
            c, taken, _ = cheapest(
                conditions, trees, units, store, unit, copies[unit], 1e300, np.int64(-1), np.int64(1)
            )
            if taken == 0:
                break
            widen(trees, units, store, c, unit, taken)
            copies[unit] -= taken
    for position in range(order.size):
        c = order[position]
        if store.counter[VISITS] >= budget:
            break
        if group[c, ROWS] == 0 or store.loss[c] == 0.0:
            continue
        gone = False
        # Twice over all members of a small class: in the first round to see whether all have a better place, in the
        # second to take them there one by one, or all back if that turns out dearer.
        for really in range(2 if group[c, ROWS] <= 3 * k else 0):
            left = group[c, ROWS] * store.loss[c]
            moved = 0
            place = group[c, SHARE]
            while place >= 0 and left > 0:
                unit = np.int64(share[place, UNIT])
                number = np.int64(share[place, COPIES])
                to, taken, cost = cheapest(conditions, trees, units, store, unit, number, left, c, np.int64(0))
                left = left - cost if taken > 0 else -1.0
                if really == 1 and taken > 0:
                    joined[moved, q] = to
                    for j in range(q):
                        joined[moved, j] = store.label[to, j]
                    moved += 1
                    widen(trees, units, store, to, unit, taken)
                place = np.int64(share[place, FOLLOWING])
            if left <= 0:
                while moved > 0:
                    moved -= 1
                    to = joined[moved, q]
                    unsettle(store.trie, store.group, to)
                    remove(units, store, to, np.int64(-1), group[to, SHARE])
                    for j in range(q):
                        store.label[to, j] = joined[moved, j]
                    settle(trees, store, to)
                break
            if really == 1:
                gone = True
                unsettle(store.trie, store.group, c)
                while group[c, SHARE] >= 0:
                    remove(units, store, c, np.int64(-1), group[c, SHARE])
        if gone:
            continue
        changed = False
        before = np.int64(-1)
        place = group[c, SHARE]
        while place >= 0:
            following = np.int64(share[place, FOLLOWING])
            unit = np.int64(share[place, UNIT])
            number = np.int64(share[place, COPIES])
            taken = np.int64(0)
            if room(conditions, units, store, c, unit, -number) != 0:
                stay = number * units.size[unit] * store.loss[c]
                to, taken, cost = cheapest(conditions, trees, units, store, unit, number, stay, c, np.int64(0))
                if taken > 0:
                    changed = True
                    remove(units, store, c, before, place)
                    widen(trees, units, store, to, unit, number)
            if taken == 0:
                before = place
            place = following
        if changed:
            unsettle(store.trie, store.group, c)
            narrow(trees, units, store, c)


@kernel
def price_joining(trees, store, c, price):
    """Set what each class and class c would lose more as one class.  -> (c,) in place."""
    for other in range(c):
        joint = 0.0
        for j in range(store.axis.size):
            node = store.label[other, j]
            joint += trees.loss[covering(trees.node, store.label[c, j], trees.node[node, LOW], trees.node[node, HIGH])]
        price[other] = store.group[other, ROWS] * (joint - store.loss[other]) + store.group[c, ROWS] * (
            joint - store.loss[c]
        )


@kernel
def gather(conditions, trees, units, store, c, order):
    """Join other classes to class c, in this order, until it passes.

    Passing classes may always be joined; at worst everything ends in one class.
    """
    group = store.group
    histogram = store.scratch
    for i in range(histogram.size):
        histogram[i] = 0
    unsettle(store.trie, store.group, c)
    position = -1  # class c itself comes first
    while position < order.size:
        other = order[position] if position >= 0 else c
        position += 1
        if other != c and group[other, ROWS] > 0:
            unsettle(store.trie, store.group, other)
        place = group[other, SHARE]
        while place >= 0:
            unit = np.int64(store.share[place, UNIT])
            copies = np.int64(store.share[place, COPIES])
            for i in range(units.cell_start[unit], units.cell_start[unit + 1]):
                histogram[units.cell[i, 0]] += copies * units.cell[i, 1]
            if other != c:
                remove(units, store, other, np.int64(-1), place)
                add(units, store, c, unit, copies)
                place = group[other, SHARE]
            else:
                place = np.int64(store.share[place, FOLLOWING])
        rows = group[c, ROWS]
        if (
            rows >= conditions.k
            and first_failing(conditions, np.int64(0), conditions.table.shape[0], histogram, rows) < 0
        ):
            break
    narrow(trees, units, store, c)
