"""The first half of local recoding: walk the lattice of levels from cheap to dear and close what is safe.

A node of the lattice is one level per quasi-identifier. It sends every unit to a region, the vector of its labels;
regions are told apart by a 64-bit sum of random numbers, one per label. Should two regions ever collide, their units
end up in one class, whose labels are then taken from its members: dearer, never wrong.

A node is visited when the price that regions may cost has risen to a share of its mean loss over the rows still open
(`early`); regions of the node that cost more than `reach` times the price wait until the price has risen to them. So
regions are closed nearly in the order of what they cost. Children enter the queue with their parent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import inline_kernel, lean_kernel, thorough_kernel
from sfumato.kernels.classes.conditions import Conditions
from sfumato.kernels.classes.trim import hopeless, trim
from sfumato.kernels.classes.units import AT, AXIS, LEAF, LEVELS, VALUES, Trees, Units

WIDEST_GROUP = 4096  # codes of neighbouring columns are looked up together while their product stays below this
MOST_LISTS = 800  # lists of units that can still find partners are kept for at most this many part-nodes
LARGEST_POOL = 2**26  # units in all these lists together
STALE = 0.8  # such a list is renewed when the open units fall below this share of what they were
REPRICE = 0.9  # nodes are priced anew when the open rows fall below this share of what they were

FROM, TO, WIDTH, TABLE = range(4)  # columns of Keys.group
START, LENGTH, OPEN = range(3)  # columns of Agenda.lists
REGION_ROWS, KINDS = range(2)  # columns of Agenda.region
# Places in Agenda.counter: rows and units that are open, and rows when nodes were priced; units in `open_list`, in the
# pool; nodes that exist and that are queued; classes made, and their shares.
OPEN_ROWS, OPEN_UNITS, PRICED_ROWS, LISTED, POOLED, NODES, QUEUED, CLASSES, SHARES = range(9)
NOTHING = 1e300  # dearer than any region


class Keys(NamedTuple):
    """Random numbers of labels, added up in advance for groups of quasi-identifiers.

    The key of a unit at a node is the sum of table[group[g, TABLE] + row * group[g, WIDTH] + part[unit, g]] over the
    groups g, where row numbers the node's levels within the group, and part the unit's codes within the group.
    """

    member: NDArray[np.int64]  # (q,) the quasi-identifiers, group by group
    group: NDArray[np.int64]  # (g, 4): members FROM to TO, WIDTH, and where its part of the TABLE starts
    table: NDArray[np.int64]  # sums wrap around
    part: NDArray[np.int32]  # (u, g)
    projected: int  # the first groups: those that lists of units are kept for
    lists: int  # how many lists there can be


def make_keys(units: Units, trees: Trees) -> Keys:
    """Return the keys of all labels, grouped."""
    member = sorted(range(trees.column.shape[0]), key=lambda j: -int(trees.column[j, VALUES]))
    groups: list[list[int]] = []
    width = WIDEST_GROUP + 1
    for j in member:
        width *= int(trees.column[j, VALUES])
        if width > WIDEST_GROUP:
            groups.append([])
            width = int(trees.column[j, VALUES])
        groups[-1].append(j)
    rng = np.random.default_rng(0)  # fixed: the numbers only tell labels apart
    number = rng.integers(-(2**63), 2**63, size=trees.loss.size, dtype=np.int64)
    part = np.zeros((units.size.size, len(groups)), dtype=np.int32)
    group = np.zeros((len(groups), 4), dtype=np.int64)
    tables: list[NDArray[np.int64]] = []
    lists, projected, first, at = 1, 0, 0, 0
    for g, columns in enumerate(groups):
        table = np.zeros((1, 1), dtype=np.int64)  # (rows of levels, parts)
        for j in columns:
            _, v, levels, low, _ = trees.column[j].tolist()
            label = number[trees.at_level[low : low + v * levels]].reshape(levels, v)
            table = (table[:, None, :, None] + label[None, :, None, :]).reshape(table.shape[0] * levels, -1)
            part[:, g] *= v
            part[:, g] += units.code[:, j]
        group[g] = first, first + len(columns), table.shape[1], at
        first, at = first + len(columns), at + table.size
        tables.append(table.ravel())
        if projected == g and lists * table.shape[0] <= MOST_LISTS:
            lists, projected = lists * table.shape[0], g + 1
    return Keys(np.array(member, dtype=np.int64), group, np.concatenate(tables), part, projected, lists)


class Agenda(NamedTuple):
    """What is open, and which node is next. Sizes: u units, q quasi-identifiers, a axes, v bars of a histogram."""

    counter: NDArray[np.int64]  # (9,)
    axis_levels: NDArray[np.int64]  # (a,) levels of each axis of the lattice; the sizes below are for nodes of it
    level: NDArray[np.int8]  # (nodes, a)
    raised: NDArray[np.int32]  # (nodes,) the last axis that was raised, or a when the node's children are queued
    least: NDArray[np.float64]  # (nodes,) the price that a node waits for
    tried: NDArray[np.float64]  # (nodes,) regions that cost no more were tried: what is open shrinks, they fail again
    price: NDArray[np.float64]  # (nodes,) the queue, a heap
    item: NDArray[np.int32]  # (nodes,)
    mean: NDArray[np.float64]  # (q, levels) mean loss over the open rows
    open_at: NDArray[np.int64]  # (m,) open rows per leaf of the trees
    lists: NDArray[np.int64]  # (lists, 3): where a list starts in the pool (-1: not yet), its length, open units then
    pool: NDArray[np.int32]
    open_list: NDArray[np.int32]  # (u,)
    key: NDArray[np.int64]  # (u,) the rest for the units of one node: keys, slots of keys, chains of regions
    seen: NDArray[np.int32]  # (slots,)
    slot: NDArray[np.int32]  # (slots,)
    next: NDArray[np.int32]  # (u,)
    head: NDArray[np.int32]  # (u,)
    region: NDArray[np.int64]  # (u, 2): rows of a region, and the kinds of units in it as bits
    members: NDArray[np.int32]  # (u,)
    take: NDArray[np.int64]  # (u,)
    base: NDArray[np.int64]  # (groups,)
    histogram: NDArray[np.int64]  # (v,)
    target: NDArray[np.int64]  # (v,)
    example: NDArray[np.int64]  # (kinds,) one unit of each kind; empty when there are too many kinds for bits


def make_agenda(conditions: Conditions, units: Units, trees: Trees, keys: Keys, copies: NDArray[np.int64]) -> Agenda:
    """Return space to work in, with everything open."""
    u = units.size.size
    axes, first = np.unique(trees.column[:, AXIS], return_index=True)
    levels = trees.column[first, LEVELS]
    nodes = int(np.prod(levels))
    slots = 64
    while slots <= 2 * u:
        slots *= 2
    lists = np.zeros((keys.lists, 3), dtype=np.int64)
    lists[:, START] = -1
    counter = np.zeros(9, dtype=np.int64)
    rows = int(copies @ units.size)
    counter[[OPEN_ROWS, PRICED_ROWS]] = rows, 2 * rows
    counter[[OPEN_UNITS, LISTED]] = u
    counter[[NODES, QUEUED]] = 1  # the node where nothing is generalized
    open_at = np.zeros(trees.loss.size, dtype=np.int64)
    for j in range(trees.column.shape[0]):
        leaf, v = trees.column[j, LEAF], trees.column[j, VALUES]
        open_at[leaf : leaf + v] = np.bincount(units.code[:, j], weights=copies * units.size, minlength=v)
    kinds = int(units.kind.max(initial=-1)) + 1 if conditions.table.size else 0
    example = np.zeros(kinds if kinds < 63 else 0, dtype=np.int64)
    if example.size:
        example[units.kind] = np.arange(u)

    def space(n: int, kind: type = np.int32) -> NDArray[Any]:
        return np.empty(n, dtype=kind)

    return Agenda(
        counter=counter,
        axis_levels=levels,
        level=np.zeros((nodes, axes.size), dtype=np.int8),
        raised=np.zeros(nodes, dtype=np.int32),
        least=np.zeros(nodes),
        tried=np.full(nodes, -1.0),
        price=np.zeros(nodes),
        item=np.zeros(nodes, dtype=np.int32),
        mean=np.zeros((trees.column.shape[0], int(levels.max()))),
        open_at=open_at,
        lists=lists,
        pool=space(min(keys.lists * u, LARGEST_POOL) + u),
        open_list=np.arange(u, dtype=np.int32),
        key=space(u, np.int64),
        seen=space(slots),
        slot=space(slots),
        next=space(u),
        head=space(u),
        region=np.empty((u, 2), dtype=np.int64),
        members=space(u),
        take=space(u, np.int64),
        base=space(len(keys.group), np.int64),
        histogram=space(conditions.bars, np.int64),
        target=space(conditions.bars, np.int64),
        example=example,
    )


@lean_kernel
def push(price, item, length, new_price, new_item):
    """Add to a heap that has the cheapest item first; equal prices in order of items."""
    child = length
    while child > 0:
        above = (child - 1) // 2
        if price[above] < new_price or (price[above] == new_price and item[above] < new_item):
            break
        price[child] = price[above]
        item[child] = item[above]
        child = above
    price[child] = new_price
    item[child] = new_item


@lean_kernel
def sink(price, item, length, position):
    """Move an item of a heap down to its place."""
    moved_price = price[position]
    moved_item = item[position]
    while True:
        child = 2 * position + 1
        if child >= length:
            break
        right = child + 1
        if right < length and (
            price[right] < price[child] or (price[right] == price[child] and item[right] < item[child])
        ):
            child = right
        if moved_price < price[child] or (moved_price == price[child] and moved_item < item[child]):
            break
        price[position] = price[child]
        item[position] = item[child]
        position = child
    price[position] = moved_price
    item[position] = moved_item


@thorough_kernel
def close_regions(conditions, units, trees, keys, agenda, early, reach, copies, share, class_start):
    """Close regions from cheap to dear; return how many classes were made.

    Class c holds share[i, 1] copies of unit share[i, 0] for i from class_start[c] to class_start[c + 1].
    `copies` (u,) starts as all copies and keeps what stays open.
    """
    counter = agenda.counter
    while counter[OPEN_ROWS] >= conditions.k and counter[OPEN_ROWS] > 0 and counter[QUEUED] > 0:
        if counter[OPEN_ROWS] < REPRICE * counter[PRICED_ROWS]:
            price_nodes(trees, agenda, early)
        cost = agenda.price[0]
        node = take_first(agenda)
        queue_children(trees, agenda, node, early)
        which = look_up(trees, keys, agenda, node)
        low, length, last_slot = list_units(conditions.k, units, keys, agenda, which, copies)
        regions = chain_regions(conditions.k, units, agenda, low, length, last_slot, copies)
        most = cost * reach + 1e-9
        waiting = close_cheap(conditions, units, trees, agenda, node, most, regions, low, copies, share, class_start)
        agenda.tried[node] = most
        if waiting < NOTHING:
            agenda.least[node] = waiting / reach
            push(agenda.price, agenda.item, counter[QUEUED], agenda.least[node], node)
            counter[QUEUED] += 1
    return counter[CLASSES]


@inline_kernel
def price_nodes(trees, agenda, early):
    """Price all queued nodes by the mean loss of the rows that are open now, and put the queue in order."""
    column, counter, mean = trees.column, agenda.counter, agenda.mean
    price, item = agenda.price, agenda.item
    counter[PRICED_ROWS] = counter[OPEN_ROWS]
    for j in range(column.shape[0]):
        v = column[j, VALUES]
        for height in range(column[j, LEVELS]):
            total = 0.0
            for at in range(v):
                label = trees.at_level[column[j, AT] + height * v + at]
                total += agenda.open_at[column[j, LEAF] + at] * trees.loss[label]
            mean[j, height] = total / counter[OPEN_ROWS]
    for i in range(counter[QUEUED]):
        total = 0.0
        for j in range(column.shape[0]):
            total += mean[j, agenda.level[item[i], column[j, AXIS]]]
        price[i] = max(total * early, agenda.least[item[i]])
    for i in range(counter[QUEUED] // 2, -1, -1):
        sink(price, item, counter[QUEUED], i)


@inline_kernel
def take_first(agenda):
    """Take the cheapest node off the queue and return it."""
    node = np.int64(agenda.item[0])
    agenda.counter[QUEUED] -= 1
    last = agenda.counter[QUEUED]
    agenda.price[0] = agenda.price[last]
    agenda.item[0] = agenda.item[last]
    if last > 0:
        sink(agenda.price, agenda.item, last, np.int64(0))  # a plain 0 would be a type of its own to the compiler
    return node


@inline_kernel
def queue_children(trees, agenda, node, early):
    """Queue the nodes one level above a node that is visited for the first time."""
    counter, level = agenda.counter, agenda.level
    axes = agenda.axis_levels.size
    for axis in range(agenda.raised[node], axes):
        # Only axes from the last raised one on: every node has one parent and is queued once.
        if level[node, axis] + 1 < agenda.axis_levels[axis]:
            child = counter[NODES]
            for other in range(axes):
                level[child, other] = level[node, other]
            level[child, axis] += 1
            agenda.raised[child] = axis
            total = 0.0
            for j in range(trees.column.shape[0]):
                total += agenda.mean[j, level[child, trees.column[j, AXIS]]]
            push(agenda.price, agenda.item, counter[QUEUED], total * early, child)
            counter[NODES] += 1
            counter[QUEUED] += 1
    agenda.raised[node] = axes


@inline_kernel
def look_up(trees, keys, agenda, node):
    """Set where the keys of a node stand, group by group, and return which list of units is the node's."""
    column, group = trees.column, keys.group
    which = np.int64(0)
    for g in range(group.shape[0]):
        row = np.int64(0)
        for position in range(group[g, FROM], group[g, TO]):
            j = keys.member[position]
            height = agenda.level[node, column[j, AXIS]]
            row = row * column[j, LEVELS] + height
            if g < keys.projected:
                which = which * column[j, LEVELS] + height
        agenda.base[g] = group[g, TABLE] + row * group[g, WIDTH]
    return which


@inline_kernel
def list_units(k, units, keys, agenda, which, copies):
    """List the open units that may find partners at a node; return where the list stands, its length, and slots - 1.

    Two rounds over a list: in the first, which may be left out, the list is made or renewed from the projected groups
    alone; in the second, all groups are looked at. A round counts rows by key, in slots that keys may share, which only
    keeps a few units more.
    """
    counter, lists, pool, key_of, seen = agenda.counter, agenda.lists, agenda.pool, agenda.key, agenda.seen
    room = pool.size - copies.size  # the end is for lists that are not kept
    low = lists[which, START]
    length = lists[which, LENGTH]
    last_slot = np.int64(0)
    for round_of in range(0 if low < 0 or counter[OPEN_UNITS] < STALE * lists[which, OPEN] else 1, 2):
        fresh = low < 0
        if fresh:
            low = counter[POOLED] if counter[POOLED] + counter[LISTED] <= room else room
            length = counter[LISTED]
        used = keys.group.shape[0] if round_of == 1 else keys.projected
        last_slot = np.int64(63)
        while last_slot < 2 * length:
            last_slot = last_slot * 2 + 1
        for slot in range(last_slot + 1):
            seen[slot] = 0
        alive = 0
        for i in range(length):
            unit = agenda.open_list[i] if fresh else pool[low + i]
            if copies[unit] > 0:
                key = np.int64(0)
                for g in range(used):
                    key += keys.table[agenda.base[g] + keys.part[unit, g]]
                key_of[alive] = key
                pool[low + alive] = unit
                if fresh:
                    agenda.open_list[alive] = unit
                seen[key & last_slot] += copies[unit] * units.size[unit]
                alive += 1
        if fresh:
            counter[LISTED] = alive
        length = alive
        if round_of == 0:
            length = 0
            for i in range(alive):
                if seen[key_of[i] & last_slot] >= k:
                    pool[low + length] = pool[low + i]
                    length += 1
            if fresh and low < room:
                lists[which, START] = low
                counter[POOLED] += length
            lists[which, OPEN] = counter[OPEN_UNITS]
        lists[which, LENGTH] = length
    return low, length, last_slot


@inline_kernel
def chain_regions(k, units, agenda, low, length, last_slot, copies):
    """Chain the listed units of each region that may have k rows; return how many regions there are."""
    key_of, slot_of, next_of, head, region_of = agenda.key, agenda.slot, agenda.next, agenda.head, agenda.region
    regions = 0
    for i in range(length):
        key = key_of[i]
        if agenda.seen[key & last_slot] < k:
            continue
        if regions == 0:
            for slot in range(last_slot + 1):
                slot_of[slot] = -1
        slot = (key >> 20) & last_slot
        while slot_of[slot] >= 0 and key_of[head[slot_of[slot]]] != key:
            slot = (slot + 1) & last_slot
        region = slot_of[slot]
        if region < 0:
            region = regions
            slot_of[slot] = region
            head[region] = -1
            region_of[region, REGION_ROWS] = 0
            region_of[region, KINDS] = 0
            regions += 1
        next_of[i] = head[region]
        head[region] = i
        unit = agenda.pool[low + i]
        region_of[region, REGION_ROWS] += copies[unit] * units.size[unit]
        if agenda.example.size > 0:
            region_of[region, KINDS] |= 1 << units.kind[unit]
    return regions


@inline_kernel
def close_cheap(conditions, units, trees, agenda, node, most, regions, low, copies, share, class_start):
    """Make classes of the regions that pass and cost at most `most`; return what the cheapest of the others costs."""
    column, counter = trees.column, agenda.counter
    members, take = agenda.members, agenda.take
    waiting = NOTHING
    for region in range(regions):
        if agenda.region[region, REGION_ROWS] < conditions.k:
            continue
        loss = 0.0
        unit = agenda.pool[low + agenda.head[region]]
        for j in range(column.shape[0]):
            at = column[j, AT] + agenda.level[node, column[j, AXIS]] * column[j, VALUES]
            loss += trees.loss[trees.at_level[at + units.code[unit, j]]]
        if loss <= agenda.tried[node]:
            continue
        if loss > most:
            waiting = min(waiting, loss)
            continue
        if agenda.example.size > 0 and hopeless(
            conditions, units, agenda.example, agenda.region[region, KINDS], agenda.target
        ):
            continue
        found = 0
        i = agenda.head[region]
        while i >= 0:
            members[found] = agenda.pool[low + i]
            take[found] = copies[members[found]]
            found += 1
            i = agenda.next[i]
        if conditions.table.shape[0] > 0 and not trim(
            conditions, units, members, take, found, agenda.histogram, agenda.target
        ):
            continue
        for i in range(found):
            if take[i] > 0:
                unit = members[i]
                share[counter[SHARES], 0] = unit
                share[counter[SHARES], 1] = take[i]
                counter[SHARES] += 1
                copies[unit] -= take[i]
                rows = take[i] * units.size[unit]
                counter[OPEN_ROWS] -= rows
                if copies[unit] == 0:
                    counter[OPEN_UNITS] -= 1
                for j in range(column.shape[0]):
                    agenda.open_at[column[j, LEAF] + units.code[unit, j]] -= rows
        counter[CLASSES] += 1
        class_start[counter[CLASSES]] = counter[SHARES]
    return waiting
