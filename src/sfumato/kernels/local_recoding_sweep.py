"""The first half of local recoding: walk the lattice of levels from cheap to dear and close what is safe.

A node of the lattice is one level per quasi-identifier. It sends every unit to a region, the vector of its labels;
regions are told apart by a 64-bit sum of random numbers, one per label. Should two regions ever collide, their units
end up in one class, whose labels are then taken from its members: dearer, never wrong.

Nodes are visited in the order of their mean loss over the rows that are still open. Children enter the queue with
their parent, so a lattice of millions of nodes is held only as far as it is visited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.conditions import EQUAL, FIRST, KIND, LAST, first_failing, holds, holds_one
from sfumato.kernels.jit import kernel
from sfumato.kernels.local_recoding_units import Trees, Units

LARGEST_GROUP = 4096  # codes of neighbouring columns are looked up together while their product stays below this
LARGEST_PROJECTION = 800  # lists of units that can still find partners are kept for at most this many part-nodes
STALE = 0.8  # such a list is renewed when the open units fall below this share of what they were
REPRICE = 0.9  # nodes are priced anew when the open rows fall below this share of what they were


class Keys(NamedTuple):
    """Random numbers of labels, added up in advance for groups of quasi-identifiers.

    The key of a unit at a node is the sum over groups g of table[start[g] + row * width[g] + part_of[unit, g]],
    where row numbers the node's levels within the group, and part_of the unit's codes within the group.
    """

    member: NDArray[np.int64]  # (q,) the quasi-identifiers, group by group
    group_start: NDArray[np.int64]  # (g + 1,) the group's slice of `member`
    width: NDArray[np.int64]  # (g,)
    start: NDArray[np.int64]  # (g,)
    table: NDArray[np.int64]  # sums wrap around
    part_of: NDArray[np.int32]  # (u, g)
    projected: int  # the first groups: those that lists of units are kept for
    lists: int  # how many lists there can be


def make_keys(units: Units, trees: Trees) -> Keys:
    """Return the keys of all labels, grouped."""
    member = sorted(range(trees.values.size), key=lambda j: -int(trees.values[j]))
    groups: list[list[int]] = []
    width = LARGEST_GROUP + 1
    for j in member:
        width *= int(trees.values[j])
        if width > LARGEST_GROUP or not groups:
            groups.append([])
            width = int(trees.values[j])
        groups[-1].append(j)
    rng = np.random.default_rng(0)  # fixed: the numbers only tell labels apart
    number = rng.integers(-(2**63), 2**63, size=trees.parent.size, dtype=np.int64)
    part_of = np.zeros((units.size.size, len(groups)), dtype=np.int32)
    starts, widths = [], []
    tables: list[NDArray[np.int64]] = []
    lists, projected = 1, 0
    for g, group in enumerate(groups):
        table = np.zeros((1, 1), dtype=np.int64)  # (rows of levels, parts)
        for j in group:
            v, levels, low = int(trees.values[j]), int(trees.levels[j]), int(trees.level_start[j])
            label = number[trees.at_level[low : low + v * levels]].reshape(levels, v)
            table = (table[:, None, :, None] + label[None, :, None, :]).reshape(table.shape[0] * levels, -1)
            part_of[:, g] *= v
            part_of[:, g] += units.code[:, j]
        starts.append(sum(part.size for part in tables))
        widths.append(table.shape[1])
        tables.append(table.ravel())
        if projected == g and lists * table.shape[0] <= LARGEST_PROJECTION:
            lists, projected = lists * table.shape[0], g + 1
    return Keys(
        member=np.array(member, dtype=np.int64),
        group_start=np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64),
        width=np.array(widths, dtype=np.int64),
        start=np.array(starts, dtype=np.int64),
        table=np.concatenate(tables),
        part_of=part_of,
        projected=projected,
        lists=lists,
    )


@kernel
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


@kernel
def sink(price, item, length, position):
    """Move an item down to its place."""
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


@kernel
def sweep(conditions, units, trees, keys, budget, copies, share_unit, share_copies, class_start):
    """Close regions from cheap to dear; return how many classes were made.

    Class c holds share_copies[i] copies of share_unit[i] for i in class_start[c] to class_start[c + 1].
    `copies` (u,) starts as all copies and keeps what stays open.
    """
    q = trees.values.size
    n_units = copies.size
    top = np.int64(1)
    while top < 4 * n_units:
        top *= 2
    seen = np.zeros(top, dtype=np.int32)
    slot_of = np.zeros(top, dtype=np.int32)
    key_of = np.empty(n_units, dtype=np.int64)
    next_of = np.empty(n_units, dtype=np.int32)
    head = np.empty(n_units, dtype=np.int32)
    rows_of = np.empty(n_units, dtype=np.int64)
    members = np.empty(n_units, dtype=np.int32)
    take = np.empty(n_units, dtype=np.int64)
    histogram = np.zeros(conditions.reference.size, dtype=np.int64)
    target = np.zeros(conditions.reference.size, dtype=np.int64)
    groups = keys.width.size
    base = np.zeros(groups, dtype=np.int64)

    # Lists of units that have partners as far as the projected groups tell; each list only shrinks.
    pool = np.empty(4 * n_units, dtype=np.int32)
    pooled = 0
    list_start = np.full(keys.lists, -1, dtype=np.int64)
    list_length = np.zeros(keys.lists, dtype=np.int64)
    list_units = np.zeros(keys.lists, dtype=np.int64)
    open_list = np.arange(n_units).astype(np.int32)
    listed = open_units = n_units

    open_at = np.zeros(trees.parent.size, dtype=np.int64)  # open rows per leaf
    open_rows = np.int64(0)
    for unit in range(n_units):
        rows = copies[unit] * units.size[unit]
        open_rows += rows
        for j in range(q):
            open_at[trees.leaf[j] + units.code[unit, j]] += rows
    mean = np.zeros((q, trees.levels.max() + 1))
    priced_rows = open_rows
    price_levels(trees, open_at, open_rows, mean)

    room = 1024
    level = np.zeros((room, q), dtype=np.int8)
    raised = np.zeros(room, dtype=np.int32)
    price = np.empty(room)
    item = np.empty(room, dtype=np.int32)
    nodes = 1
    queued = 1
    price[0] = 0.0
    item[0] = 0
    classes = 0
    shares = 0
    visits = np.int64(0)
    while open_rows >= conditions.k and open_rows > 0 and queued > 0 and visits < budget:
        if open_rows < REPRICE * priced_rows:
            priced_rows = open_rows
            price_levels(trees, open_at, open_rows, mean)
            for i in range(queued):
                total = 0.0
                for j in range(q):
                    total += mean[j, level[item[i], j]]
                price[i] = total
            for i in range(queued // 2, -1, -1):
                sink(price, item, queued, i)
        node = item[0]
        cost = price[0]
        queued -= 1
        price[0] = price[queued]
        item[0] = item[queued]
        if queued > 0:
            sink(price, item, queued, 0)
        if nodes + q > room:
            room *= 2
            level = grown_rows(level, room)
            raised = grown(raised, room)
            price = grown(price, room)
            item = grown(item, room)
        for position in range(raised[node], q):
            # Only columns from the last raised one on: every node has one parent and is reached once.
            j = keys.member[position]
            if level[node, j] + 1 < trees.levels[j]:
                level[nodes] = level[node]
                level[nodes, j] += 1
                raised[nodes] = position
                push(price, item, queued, cost - mean[j, level[node, j]] + mean[j, level[nodes, j]], nodes)
                nodes += 1
                queued += 1

        which = np.int64(0)
        for g in range(groups):
            row = np.int64(0)
            for position in range(keys.group_start[g], keys.group_start[g + 1]):
                j = keys.member[position]
                row = row * trees.levels[j] + level[node, j]
                if g < keys.projected:
                    which = which * trees.levels[j] + level[node, j]
            base[g] = keys.start[g] + row * keys.width[g]

        if list_start[which] < 0 or open_units < STALE * list_units[which]:
            # Who has k rows around in the projection; slots may be shared, which only keeps a few more.
            fresh = list_start[which] < 0
            source = open_list if fresh else pool[list_start[which] : list_start[which] + list_length[which]]
            size = listed if fresh else list_length[which]
            visits += size
            mask = np.int64(63)
            while mask < 2 * size:
                mask = mask * 2 + 1
            seen[: mask + 1] = 0
            kept = 0
            for i in range(size):
                unit = source[i]
                if copies[unit] > 0:
                    key = np.int64(0)
                    for g in range(keys.projected):
                        key += keys.table[base[g] + keys.part_of[unit, g]]
                    key_of[kept] = key
                    source[kept] = unit
                    seen[key & mask] += copies[unit] * units.size[unit]
                    kept += 1
            if fresh:
                listed = kept
                if pooled + kept > pool.size:
                    pool = grown(pool, 2 * pool.size + kept)
                list_start[which] = pooled
            length = 0
            for i in range(kept):
                if seen[key_of[i] & mask] >= conditions.k:
                    pool[list_start[which] + length] = source[i]
                    length += 1
            list_length[which] = length
            list_units[which] = open_units
            if fresh:
                pooled += length

        low = list_start[which]
        size = list_length[which]
        if size == 0:
            continue
        visits += size
        mask = np.int64(63)
        while mask < 2 * size:
            mask = mask * 2 + 1
        seen[: mask + 1] = 0
        alive = 0
        for i in range(low, low + size):
            unit = pool[i]
            if copies[unit] > 0:
                key = np.int64(0)
                for g in range(groups):
                    key += keys.table[base[g] + keys.part_of[unit, g]]
                pool[low + alive] = unit
                key_of[alive] = key
                seen[key & mask] += copies[unit] * units.size[unit]
                alive += 1
        list_length[which] = alive
        regions = 0
        for i in range(alive):
            key = key_of[i]
            if seen[key & mask] < conditions.k:
                continue
            if regions == 0:
                slot_of[: mask + 1] = -1
            slot = (key >> 20) & mask
            while slot_of[slot] >= 0 and key_of[head[slot_of[slot]]] != key:
                slot = (slot + 1) & mask
            region = slot_of[slot]
            if region < 0:
                region = regions
                slot_of[slot] = region
                head[region] = -1
                rows_of[region] = 0
                regions += 1
            next_of[i] = head[region]
            head[region] = i
            unit = pool[low + i]
            rows_of[region] += copies[unit] * units.size[unit]

        for region in range(regions):
            if rows_of[region] < conditions.k:
                continue
            found = 0
            i = head[region]
            while i >= 0:
                members[found] = pool[low + i]
                take[found] = copies[members[found]]
                found += 1
                i = next_of[i]
            if conditions.table.shape[0] > 0 and not trim(conditions, units, members, take, found, histogram, target):
                continue
            for i in range(found):
                if take[i] > 0:
                    unit = members[i]
                    share_unit[shares] = unit
                    share_copies[shares] = take[i]
                    shares += 1
                    copies[unit] -= take[i]
                    rows = take[i] * units.size[unit]
                    open_rows -= rows
                    if copies[unit] == 0:
                        open_units -= 1
                    for j in range(q):
                        open_at[trees.leaf[j] + units.code[unit, j]] -= rows
            classes += 1
            class_start[classes] = shares
    return classes, visits, nodes


@kernel
def price_levels(trees, open_at, open_rows, mean):
    """Set the mean loss of every level of every quasi-identifier over the open rows."""
    for j in range(trees.values.size):
        v = trees.values[j]
        for level in range(trees.levels[j]):
            total = 0.0
            for code in range(v):
                node = trees.at_level[trees.level_start[j] + level * v + code]
                total += open_at[trees.leaf[j] + code] * trees.loss[node]
            mean[j, level] = total / max(open_rows, 1)


@kernel
def grown(array, room):
    """Return a longer copy."""
    longer = np.empty(room, dtype=array.dtype)
    longer[: array.size] = array
    return longer


@kernel
def grown_rows(array, room):
    """Return a copy with more rows."""
    longer = np.empty((room, array.shape[1]), dtype=array.dtype)
    longer[: array.shape[0]] = array
    return longer


@kernel
def trim(conditions, units, members, take, found, histogram, target):
    """Reduce take[:found] until what is taken passes; return whether it does."""
    size = np.int64(0)
    histogram[:] = 0
    for i in range(found):
        unit = members[i]
        size += take[i] * units.size[unit]
        for c in range(units.cell_start[unit], units.cell_start[unit + 1]):
            histogram[units.cell[c]] += take[i] * units.cell_count[c]
    for _ in range(3):
        failing = first_failing(conditions, histogram, size)
        if failing < 0:
            return size >= conditions.k
        wanted = aim(conditions, failing, histogram, size, target)
        if wanted < conditions.k:
            return False
        first = conditions.table[failing, FIRST]
        last = conditions.table[failing, LAST]
        for i in range(found - 1, -1, -1):
            unit = members[i]
            # One copy too many is one that lies above the target with more rows than below it.
            drop = take[i]
            balance = np.int64(0)
            for c in range(units.cell_start[unit], units.cell_start[unit + 1]):
                cell = units.cell[c]
                if first <= cell < last:
                    over = max(histogram[cell] - target[cell], 0)
                    if units.cell_count[c] == 1:
                        drop = min(drop, over)
                    balance += 2 * min(over, units.cell_count[c]) - units.cell_count[c]
            if balance <= 0 or drop == 0:
                continue
            take[i] -= drop
            size -= drop * units.size[unit]
            for c in range(units.cell_start[unit], units.cell_start[unit + 1]):
                histogram[units.cell[c]] -= drop * units.cell_count[c]
        if size < conditions.k:
            return False
    return holds(conditions, histogram, size)


@kernel
def aim(conditions, i, histogram, size, target):
    """Set target to a large sub-histogram that passes condition i; return its rows, 0 when there is none."""
    kind = conditions.table[i, KIND]
    first = conditions.table[i, FIRST]
    last = conditions.table[i, LAST]
    low = np.int64(0)  # passes, or nothing at all
    if kind >= EQUAL:
        high = size
        while low + 1 < high:
            middle = (low + high) // 2
            reached = fill(conditions, i, histogram, middle, target)
            if reached > 0 and holds_one(conditions, i, target, reached):
                low = middle
            else:
                high = middle
        return fill(conditions, i, histogram, low, target)
    high = np.int64(0)
    for cell in range(first, last):
        high = max(high, histogram[cell])
    while low + 1 < high:
        middle = (low + high) // 2
        if holds_one(conditions, i, target, cap(histogram, first, last, middle, target)):
            low = middle
        else:
            high = middle
    if low == 0 and (high == 0 or not holds_one(conditions, i, target, cap(histogram, first, last, 1, target))):
        return np.int64(0)
    reached = cap(histogram, first, last, max(low, 1), target)
    tries = 0
    for cell in range(first, last):
        # Give back one row here and there: the cap went down for all values at once.
        if histogram[cell] > target[cell] and tries < 16:
            tries += 1
            target[cell] += 1
            if holds_one(conditions, i, target, reached + 1):
                reached += 1
            else:
                target[cell] -= 1
    return reached


@kernel
def cap(histogram, first, last, most, target):
    """Set target to the histogram with no count above `most`; return its sum over the column."""
    total = np.int64(0)
    for cell in range(first, last):
        target[cell] = min(histogram[cell], most)
        total += target[cell]
    return total


@kernel
def fill(conditions, i, histogram, size, target):
    """Set target to `size` rows taken from the histogram, shaped like the reference; return how many were found."""
    first = conditions.table[i, FIRST]
    last = conditions.table[i, LAST]
    reference = conditions.reference
    left = size
    for cell in range(first, last):
        target[cell] = min(histogram[cell], reference[cell] * size // conditions.rows)
        left -= target[cell]
    for cell in range(first, last):
        share = reference[cell] * size
        if left > 0 and target[cell] < histogram[cell] and target[cell] * conditions.rows < share:
            target[cell] += 1
            left -= 1
    if conditions.table[i, KIND] != EQUAL:
        # What is missing is made up by neighbours, first to the right, then to the left.
        for sweep_on in range(2):
            lacking = 0.0
            for position in range(last - first):
                cell = first + position if sweep_on == 0 else last - 1 - position
                lacking += reference[cell] * size / conditions.rows - target[cell]
                more = min(min(histogram[cell] - target[cell], left), np.int64(max(lacking, 0.0)))
                target[cell] += more
                left -= more
                lacking = max(lacking - more, 0.0)
    while left > 0:
        # Most of what is left over goes first, so that what stays open is less one-sided.
        most = np.int64(0)
        where = first
        for cell in range(first, last):
            if histogram[cell] - target[cell] > most:
                most = histogram[cell] - target[cell]
                where = cell
        if most == 0:
            break
        more = min(most, left)
        target[where] += more
        left -= more
    return size - left
