"""The second half of local recoding: place what stayed open, then move units to where they cost less.

Joining costs, summed over rows and quasi-identifiers, what the class's rows lose by the wider label plus what the
unit's rows lose under it.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import inline_kernel, lean_kernel
from sfumato.kernels.classes.conditions import first_failing
from sfumato.kernels.classes.store import (
    BELOW,
    BESIDE,
    CLASSES,
    COPIES,
    FEWEST,
    FOLLOWING,
    LIVING,
    NEXT,
    ROWS,
    SHARE,
    STEP,
    TAKING,
    UNIT,
    VISITS,
    add,
    covering,
    narrow,
    remove,
    settle,
    unsettle,
    widen,
)
from sfumato.kernels.classes.units import HIGH, LOW

MANY = 1024  # copies of a unit that a class is asked whether it takes, at least


@lean_kernel
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
    bar = units.bar
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
            for i in range(units.bar_start[other], units.bar_start[other + 1]):
                scratch[bar[i, 0]] += store.share[place, COPIES] * bar[i, 1]
            place = store.share[place, FOLLOWING]
    passes = np.int64(0)  # so many copies pass
    fails = most + 1
    tried = most if most < 1 else np.int64(1)
    step = np.int64(1)
    there = np.int64(0)  # so many are in the histogram
    while True:
        for i in range(units.bar_start[unit], units.bar_start[unit + 1]):
            scratch[bar[i, 0]] += (tried - there) * bar[i, 1]
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


@lean_kernel
def cheapest(conditions, trees, units, store, unit, copies, limit, but, split):
    """Return the class that copies of a unit join most cheaply below `limit`, how many it takes, and the cost.

    No class takes any when there is none. `but` is left out. With split = 1 fewer copies may be taken, and the limit
    and the cost are per row.
    """
    trie = store.trie
    group = store.group
    loss = trees.loss
    path = store.path
    way = store.way
    q = store.label.shape[1]
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
    node = trie[0, BELOW]
    while True:
        while node < 0 and depth > 0:
            # All nodes below were seen; when none of them takes this kind, nor does the one above.
            node = path[depth, 0]
            if path[depth, 1] == 0:
                trie[node, TAKING] &= ~bit
            depth -= 1
            path[depth, 1] |= trie[node, TAKING] & bit
            node = trie[node, BESIDE]
        if node < 0:
            break
        if trie[node, LIVING] > 0 and (bit == 0 or trie[node, TAKING] & bit != 0):
            visited += 1
            label = trie[node, STEP]
            code = units.code[unit, depth]
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
                    node = trie[node, BELOW]
                    continue
                c = trie[node, BELOW]
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
                    trie[node, TAKING] &= ~bit
            path[depth, 1] |= trie[node, TAKING] & bit
        node = trie[node, BESIDE]
    store.counter[VISITS] += visited
    return best, taken, limit


@lean_kernel
def load(trees, units, store, first, last, share, class_start):
    """Put classes first to last - 1 into the store, under narrowest labels; shares as of `close_regions`."""
    store.counter[CLASSES] = last
    for c in range(first, last):
        for i in range(class_start[c - first], class_start[c - first + 1]):
            add(units, store, c, share[i, 0], share[i, 1])
        narrow(trees, units, store, c)


@lean_kernel
def move(conditions, trees, units, store, copies, order, budget):
    """Put open copies where they cost least per row, then empty dear classes into others, or move single units.

    What fits nowhere stays in `copies` (u,). `order` lists classes to look at, dearest first; the visits of nodes of
    the trie are counted, and no further class is looked at when they exceed the budget.
    """
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
        if store.group[c, ROWS] == 0 or store.loss[c] == 0.0:
            continue
        if not emptied(conditions, trees, units, store, c):
            move_some(conditions, trees, units, store, c)


@inline_kernel
def emptied(conditions, trees, units, store, c):
    """Move all members of a small class to others if that costs less; return whether the class is gone.

    Twice over all members: in the first round to see whether all have a better place, in the second to take them there
    one by one, or all back if that turns out dearer.
    """
    group, share, joined = store.group, store.share, store.joined
    q = store.label.shape[1]
    gone = False
    for really in range(2 if group[c, ROWS] <= 3 * conditions.k else 0):
        left = group[c, ROWS] * store.loss[c]
        moved = 0
        place = group[c, SHARE]
        while place >= 0 and left > 0:
            unit = share[place, UNIT]
            number = share[place, COPIES]
            to, taken, cost = cheapest(conditions, trees, units, store, unit, number, left, c, np.int64(0))
            left = left - cost if taken > 0 else -1.0
            if really == 1 and taken > 0:
                joined[moved, q] = to
                for j in range(q):
                    joined[moved, j] = store.label[to, j]
                moved += 1
                widen(trees, units, store, to, unit, taken)
            place = share[place, FOLLOWING]
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
    return gone


@inline_kernel
def move_some(conditions, trees, units, store, c):
    """Move single units of a class to where they cost less, if the class passes without them."""
    share = store.share
    changed = False
    before = np.int64(-1)
    place = store.group[c, SHARE]
    while place >= 0:
        following = share[place, FOLLOWING]
        unit = share[place, UNIT]
        number = share[place, COPIES]
        taken = np.int64(0)
        if room(conditions, units, store, c, unit, -number) != 0:
            stay = number * units.size[unit] * store.loss[c]
            to, taken, _ = cheapest(conditions, trees, units, store, unit, number, stay, c, np.int64(0))
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


@lean_kernel
def price_joining(trees, store, c, price):
    """Set what each class and class c would lose more as one class.  -> (c,) in place."""
    for other in range(c):
        joint = 0.0
        for j in range(store.label.shape[1]):
            node = store.label[other, j]
            joint += trees.loss[covering(trees.node, store.label[c, j], trees.node[node, LOW], trees.node[node, HIGH])]
        price[other] = store.group[other, ROWS] * (joint - store.loss[other]) + store.group[c, ROWS] * (
            joint - store.loss[c]
        )


@lean_kernel
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
            unit = store.share[place, UNIT]
            copies = store.share[place, COPIES]
            for i in range(units.bar_start[unit], units.bar_start[unit + 1]):
                histogram[units.bar[i, 0]] += copies * units.bar[i, 1]
            if other != c:
                remove(units, store, other, np.int64(-1), place)
                add(units, store, c, unit, copies)
                place = group[other, SHARE]
            else:
                place = store.share[place, FOLLOWING]
        rows = group[c, ROWS]
        if (
            rows >= conditions.k
            and first_failing(conditions, np.int64(0), conditions.table.shape[0], histogram, rows) < 0
        ):
            break
    narrow(trees, units, store, c)
