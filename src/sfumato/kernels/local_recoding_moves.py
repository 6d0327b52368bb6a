"""The second half of local recoding: place what stayed open, then move units to where they cost less.

Classes lie in a trie over their labels, one quasi-identifier a step, so that the search for the class that a unit
joins most cheaply leaves out whole branches. Joining costs, summed over rows and quasi-identifiers, what the class's
rows lose by the wider label plus what the unit's rows lose under it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.conditions import holds
from sfumato.kernels.jit import kernel

CLASSES, SHARES, FREE, NODES = range(4)  # places in Store.counter


class Store(NamedTuple):
    """All classes. Sizes: c classes, q quasi-identifiers, s shares, w nodes of the trie, v cells of a histogram."""

    counter: NDArray[np.int64]
    axis: NDArray[np.int64]  # (q,) the quasi-identifier of each step of the trie
    label: NDArray[np.int64]  # (c, q) nodes of the trees
    rows: NDArray[np.int64]  # (c,) 0: the class is gone
    loss: NDArray[np.float64]  # (c,) of its label, summed over quasi-identifiers
    histogram: NDArray[np.int32]  # (c, v), or (0, v): counted from the shares when needed
    share: NDArray[np.int32]  # (c,) the first of the class's shares
    share_unit: NDArray[np.int32]  # (s,)
    share_copies: NDArray[np.int64]  # (s,)
    share_next: NDArray[np.int32]  # (s,)
    leaf_of: NDArray[np.int32]  # (c,) the trie's leaf that holds the class
    class_next: NDArray[np.int32]  # (c,) the next class in the same leaf
    step: NDArray[np.int64]  # (w,) the label that leads here
    above: NDArray[np.int32]  # (w,)
    below: NDArray[np.int32]  # (w,) the first node below; in a leaf the first class
    beside: NDArray[np.int32]  # (w,) the next node below the same one
    living: NDArray[np.int32]  # (w,) classes below
    fewest: NDArray[np.int64]  # (w,) no class below has fewer rows
    rest: NDArray[np.float64]  # (w,) no class below loses less on the steps that follow


def make_store(classes: int, shares: int, cells: int, axis: NDArray[np.int64]) -> Store:
    """Return an empty store."""
    q = axis.size
    nodes = 2 * (classes + 1) * q + 1024
    dense = classes if classes * cells <= 2**28 else 0

    def whole(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    def short(*shape: int) -> NDArray[np.int32]:
        return np.full(shape, -1, dtype=np.int32)

    return Store(
        counter=np.array([0, 0, -1, 1], dtype=np.int64),
        axis=axis,
        label=whole(classes, q),
        rows=whole(classes),
        loss=np.zeros(classes),
        histogram=np.zeros((dense, cells), dtype=np.int32),
        share=short(classes),
        share_unit=np.empty(shares, dtype=np.int32),
        share_copies=np.empty(shares, dtype=np.int64),
        share_next=np.empty(shares, dtype=np.int32),
        leaf_of=short(classes),
        class_next=short(classes),
        step=whole(nodes),
        above=short(nodes),
        below=short(nodes),
        beside=short(nodes),
        living=np.zeros(nodes, dtype=np.int32),
        fewest=whole(nodes),
        rest=np.zeros(nodes),
    )


@kernel
def covering(trees, node, code):
    """Return the lowest node above (or equal to) `node` that covers a code of the same column."""
    while code < trees.first[node] or code > trees.last[node]:
        node = trees.parent[node]
    return node


@kernel
def covering_node(trees, node, other):
    """Return the lowest node that covers two nodes of the same column."""
    while trees.first[other] < trees.first[node] or trees.last[other] > trees.last[node]:
        node = trees.parent[node]
    return node


@kernel
def settle(trees, store, c):
    """Put a class with a label into the trie."""
    if store.counter[NODES] + store.axis.size >= store.step.size:
        store.counter[NODES] = 1
        store.below[0] = -1
        store.living[0] = 0
        for other in range(store.counter[CLASSES]):
            if other != c and store.leaf_of[other] >= 0:
                settle_one(trees, store, other)
    settle_one(trees, store, c)


@kernel
def settle_one(trees, store, c):
    """Walk down the class's label, making nodes where there are none."""
    total = 0.0
    for j in range(store.axis.size):
        total += trees.loss[store.label[c, j]]
    store.loss[c] = total
    node = 0
    store.living[0] += 1
    for depth in range(store.axis.size):
        label = store.label[c, store.axis[depth]]
        child = store.below[node]
        while child >= 0 and store.step[child] != label:
            child = store.beside[child]
        total -= trees.loss[label]
        if child < 0:
            child = store.counter[NODES]
            store.counter[NODES] += 1
            store.step[child] = label
            store.above[child] = node
            store.beside[child] = store.below[node]
            store.below[child] = -1
            store.below[node] = child
            store.living[child] = 0
        if store.living[child] == 0:
            store.fewest[child] = store.rows[c]
            store.rest[child] = total
        store.living[child] += 1
        store.fewest[child] = min(store.fewest[child], store.rows[c])
        store.rest[child] = min(store.rest[child], total)
        node = child
    store.leaf_of[c] = node
    store.class_next[c] = store.below[node]
    store.below[node] = c


@kernel
def unsettle(store, c):
    """Take a class out of the trie."""
    node = store.leaf_of[c]
    if store.below[node] == c:
        store.below[node] = store.class_next[c]
    else:
        other = store.below[node]
        while store.class_next[other] != c:
            other = store.class_next[other]
        store.class_next[other] = store.class_next[c]
    store.leaf_of[c] = -1
    while node >= 0:
        store.living[node] -= 1
        node = store.above[node] if node > 0 else -1


@kernel
def count_rows(units, store, c, unit, copies):
    """Add copies of a unit to the class's rows and histogram; take them away when `copies` is negative."""
    store.rows[c] += copies * units.size[unit]
    if store.histogram.shape[0] > 0:
        for i in range(units.cell_start[unit], units.cell_start[unit + 1]):
            store.histogram[c, units.cell[i]] += copies * units.cell_count[i]
    if copies < 0 and store.leaf_of[c] >= 0:
        node = store.leaf_of[c]
        while node > 0:
            store.fewest[node] = min(store.fewest[node], store.rows[c])
            node = store.above[node]


@kernel
def add_share(store, c, unit, copies):
    """Put copies of a unit first on the class's list."""
    share = store.counter[FREE]
    if share >= 0:
        store.counter[FREE] = store.share_next[share]
    else:
        share = store.counter[SHARES]
        store.counter[SHARES] += 1
    store.share_unit[share] = unit
    store.share_copies[share] = copies
    store.share_next[share] = store.share[c]
    store.share[c] = share


@kernel
def drop_share(store, c, before, share):
    """Take a share off the class's list; `before` is the share in front of it, -1 for none."""
    if before < 0:
        store.share[c] = store.share_next[share]
    else:
        store.share_next[before] = store.share_next[share]
    store.share_next[share] = store.counter[FREE]
    store.counter[FREE] = share


@kernel
def narrowest_label(trees, units, store, c, label):
    """Set label (q,) to the smallest common label of the class's members; return its loss."""
    total = 0.0
    for j in range(label.size):
        label[j] = -1
    share = store.share[c]
    while share >= 0:
        unit = store.share_unit[share]
        for j in range(label.size):
            code = units.code[unit, j]
            label[j] = covering(trees, label[j], code) if label[j] >= 0 else trees.leaf[j] + code
        share = store.share_next[share]
    for j in range(label.size):
        total += trees.loss[label[j]]
    return total


@kernel
def fits(conditions, units, store, c, unit, copies, scratch):
    """Return whether the class passes with so many further copies of a unit; negative: with fewer."""
    if store.rows[c] + copies * units.size[unit] < conditions.k:
        return False
    if conditions.table.shape[0] == 0:
        return True
    if store.histogram.shape[0] > 0:
        for cell in range(scratch.size):
            scratch[cell] = store.histogram[c, cell]
    else:
        scratch[:] = 0
        share = store.share[c]
        while share >= 0:
            member = store.share_unit[share]
            for i in range(units.cell_start[member], units.cell_start[member + 1]):
                scratch[units.cell[i]] += store.share_copies[share] * units.cell_count[i]
            share = store.share_next[share]
    for i in range(units.cell_start[unit], units.cell_start[unit + 1]):
        scratch[units.cell[i]] += copies * units.cell_count[i]
    return holds(conditions, scratch, store.rows[c] + copies * units.size[unit])


@kernel
def room_for(conditions, units, store, c, unit, copies, scratch):
    """Return how many of `copies` further copies of a unit the class can take: all up to some number."""
    if fits(conditions, units, store, c, unit, copies, scratch):
        return copies
    low = np.int64(0)
    high = copies
    step = np.int64(1)
    while low + 1 < high:
        middle = min(low + step, high - 1)
        if fits(conditions, units, store, c, unit, middle, scratch):
            low = middle
            step *= 2
        else:
            high = middle
            step = max((high - low) // 2, 1)
    return low


@kernel
def cheapest_class(conditions, trees, units, store, unit, copies, limit, but, split, path, new, old, scratch):
    """Return the class that `copies` of a unit join most cheaply below `limit`, how many it can take, and the cost.

    The class is -1 when there is none. `but` is left out. With `split` fewer copies may be taken, and the limit and
    the cost are per row. path, new and old (q + 1,) are scratch.
    """
    q = store.axis.size
    weight = copies * units.size[unit]
    scale = 1.0 / weight if split else 1.0
    best = -1
    taken = np.int64(0)
    visited = np.int64(0)
    depth = 0
    path[0] = 0
    new[0] = 0.0
    old[0] = 0.0
    node = store.below[0]
    while True:
        # `node` is the next node to look at, `depth` steps below the root; new and old are the losses on the way there.
        while node < 0 and depth > 0:
            node = store.beside[path[depth]]
            depth -= 1
        if node < 0:
            break
        if store.living[node] == 0:
            node = store.beside[node]
            continue
        visited += 1
        j = store.axis[depth]
        label = store.step[node]
        after = new[depth] + trees.loss[covering(trees, label, units.code[unit, j])]
        before = old[depth] + trees.loss[label]
        fewest = store.fewest[node]
        if ((fewest + weight) * after - fewest * before + weight * store.rest[node]) * scale >= limit:
            node = store.beside[node]
            continue
        if depth + 1 < q:
            depth += 1
            path[depth] = node
            new[depth] = after
            old[depth] = before
            node = store.below[node]
            continue
        c = store.below[node]
        while c >= 0:
            cost = ((store.rows[c] + weight) * after - store.rows[c] * before) * scale
            if c != but and cost < limit:
                if not split:
                    if fits(conditions, units, store, c, unit, copies, scratch):
                        best = c
                        taken = copies
                        limit = cost
                else:
                    room = room_for(conditions, units, store, c, unit, copies, scratch)
                    if room > 0:
                        cost = store.rows[c] * (after - before) / (room * units.size[unit]) + after
                        if cost < limit:
                            best = c
                            taken = room
                            limit = cost
            c = store.class_next[c]
        node = store.beside[node]
    return best, taken, limit, visited


@kernel
def join_class(trees, units, store, c, unit, copies):
    """Add copies of a unit to a class and widen its label."""
    wider = False
    for j in range(store.axis.size):
        label = covering(trees, store.label[c, j], units.code[unit, j])
        if label != store.label[c, j]:
            if not wider:
                unsettle(store, c)
                wider = True
            store.label[c, j] = label
    count_rows(units, store, c, unit, copies)
    add_share(store, c, unit, copies)
    if wider:
        settle(trees, store, c)


@kernel
def load(trees, units, store, classes, share_unit, share_copies, class_start):
    """Fill the store with the classes of the sweep, under their narrowest labels."""
    label = np.empty(store.axis.size, dtype=np.int64)
    store.counter[CLASSES] = classes
    for c in range(classes):
        for i in range(class_start[c], class_start[c + 1]):
            count_rows(units, store, c, share_unit[i], share_copies[i])
            add_share(store, c, share_unit[i], share_copies[i])
        narrowest_label(trees, units, store, c, label)
        store.label[c] = label
        settle(trees, store, c)


@kernel
def place(conditions, trees, units, store, copies):
    """Put open copies into the classes where they cost least per row; what fits nowhere stays in `copies`."""
    q = store.axis.size
    path = np.empty(q + 1, dtype=np.int64)
    new = np.empty(q + 1)
    old = np.empty(q + 1)
    scratch = np.zeros(conditions.reference.size, dtype=np.int64)
    visits = np.int64(0)
    for unit in range(copies.size):
        while copies[unit] > 0:
            c, taken, _, visited = cheapest_class(
                conditions, trees, units, store, unit, copies[unit], np.inf, -1, True, path, new, old, scratch
            )
            visits += visited
            if c < 0:
                break
            join_class(trees, units, store, c, unit, taken)
            copies[unit] -= taken
    return visits


@kernel
def dissolve(conditions, trees, units, store, order, floor, budget):
    """Empty dear classes into others, or move single units out of them, while that costs less.

    `order` lists the classes to try, dearest first; those that lose `floor` or less are left alone.
    """
    q = store.axis.size
    path = np.empty(q + 1, dtype=np.int64)
    new = np.empty(q + 1)
    old = np.empty(q + 1)
    scratch = np.zeros(conditions.reference.size, dtype=np.int64)
    label = np.empty(q, dtype=np.int64)
    most = min(3 * conditions.k, units.size.size) + 1
    joined = np.empty(most, dtype=np.int64)
    former = np.empty((most, q), dtype=np.int64)
    visits = np.int64(0)
    for position in range(order.size):
        c = order[position]
        if visits >= budget:
            break
        if store.rows[c] == 0 or store.loss[c] <= floor:
            continue
        if store.rows[c] <= 3 * conditions.k:
            left = store.rows[c] * store.loss[c]
            share = store.share[c]
            while share >= 0 and left > 0:
                _, taken, cost, visited = cheapest_class(
                    conditions, trees, units, store, store.share_unit[share], store.share_copies[share],
                    left, c, False, path, new, old, scratch,
                )  # fmt: skip
                visits += visited
                left = left - cost if taken > 0 else -1.0
                share = store.share_next[share]
            if left > 0:
                # Every member has a better place; take them there one by one, or all back if that turns out dearer.
                left = store.rows[c] * store.loss[c]
                moved = 0
                share = store.share[c]
                while share >= 0 and left > 0:
                    unit = store.share_unit[share]
                    to, taken, cost, visited = cheapest_class(
                        conditions, trees, units, store, unit, store.share_copies[share],
                        left, c, False, path, new, old, scratch,
                    )  # fmt: skip
                    visits += visited
                    if taken == 0:
                        left = -1.0
                        break
                    left -= cost
                    joined[moved] = to
                    former[moved] = store.label[to]
                    moved += 1
                    join_class(trees, units, store, to, unit, store.share_copies[share])
                    share = store.share_next[share]
                if left > 0:
                    unsettle(store, c)
                    store.rows[c] = 0
                    while store.share[c] >= 0:
                        drop_share(store, c, -1, store.share[c])
                    continue
                while moved > 0:
                    moved -= 1
                    to = joined[moved]
                    unsettle(store, to)
                    share = store.share[to]
                    count_rows(units, store, to, store.share_unit[share], -store.share_copies[share])
                    drop_share(store, to, -1, share)
                    store.label[to] = former[moved]
                    settle(trees, store, to)
        changed = False
        before = -1
        share = store.share[c]
        while share >= 0:
            following = store.share_next[share]
            unit = store.share_unit[share]
            copies = store.share_copies[share]
            stays = True
            if fits(conditions, units, store, c, unit, -copies, scratch):
                to, taken, cost, visited = cheapest_class(
                    conditions, trees, units, store, unit, copies,
                    copies * units.size[unit] * store.loss[c], c, False, path, new, old, scratch,
                )  # fmt: skip
                visits += visited
                if taken > 0:
                    count_rows(units, store, c, unit, -copies)
                    drop_share(store, c, before, share)
                    join_class(trees, units, store, to, unit, copies)
                    changed = True
                    stays = False
            if stays:
                before = share
            share = following
        if changed:
            narrowest_label(trees, units, store, c, label)
            unsettle(store, c)
            store.label[c] = label
            settle(trees, store, c)
    return visits


@kernel
def gather(conditions, trees, units, store, copies, price):
    """Put all open copies into one class, and join others to it, nearest first, until it passes.

    Passing classes may always be joined; at worst everything ends in one class. price (c,) is scratch.
    """
    q = store.axis.size
    label = np.empty(q, dtype=np.int64)
    histogram = np.zeros(conditions.reference.size, dtype=np.int64)
    c = store.counter[CLASSES]
    store.counter[CLASSES] += 1
    for unit in range(copies.size):
        if copies[unit] > 0:
            count_rows(units, store, c, unit, copies[unit])
            add_share(store, c, unit, copies[unit])
            for i in range(units.cell_start[unit], units.cell_start[unit + 1]):
                histogram[units.cell[i]] += copies[unit] * units.cell_count[i]
            copies[unit] = 0
    loss = narrowest_label(trees, units, store, c, label)
    for other in range(c):
        joint = 0.0
        for j in range(q):
            joint += trees.loss[covering_node(trees, label[j], store.label[other, j])]
        price[other] = store.rows[other] * (joint - store.loss[other]) + store.rows[c] * (joint - loss)
    order = np.argsort(price[:c], kind="mergesort")
    for position in range(c):
        other = order[position]
        if store.rows[other] == 0:
            continue
        if holds(conditions, histogram, store.rows[c]):
            break
        unsettle(store, other)
        while store.share[other] >= 0:
            share = store.share[other]
            unit = store.share_unit[share]
            number = store.share_copies[share]
            drop_share(store, other, -1, share)
            add_share(store, c, unit, number)
            count_rows(units, store, c, unit, number)
            for i in range(units.cell_start[unit], units.cell_start[unit + 1]):
                histogram[units.cell[i]] += number * units.cell_count[i]
        store.rows[other] = 0
    narrowest_label(trees, units, store, c, label)
    store.label[c] = label
    settle(trees, store, c)
