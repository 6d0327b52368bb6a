"""The first half of local recoding: walk the lattice of levels from cheap to dear and close what is safe.

A node of the lattice is one level per quasi-identifier. It sends every unit to a region, the vector of its labels;
regions are told apart by a 64-bit sum of random numbers, one per label. Should two regions ever collide, their units
end up in one class, whose labels are then taken from its members: dearer, never wrong.

A node is visited when the price that regions may cost has risen to a share of its mean loss over the rows still open
(`early`); regions of the node that cost more than `reach` times the price wait until the price has risen to them. So
regions are closed nearly in the order of what they cost. Children enter the queue with their parent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.conditions import (
    DISTINCT,
    ENTROPY,
    EQUAL,
    FIRST,
    FREQUENCY,
    KIND,
    LAST,
    RECURSIVE,
    WHOLE,
    first_failing,
)
from sfumato.kernels.jit import kernel
from sfumato.kernels.local_recoding_units import AT, AXIS, LEAF, LEVELS, VALUES, Trees, Units

WIDEST_GROUP = 4096  # codes of neighbouring columns are looked up together while their product stays below this
MOST_LISTS = 800  # lists of units that can still find partners are kept for at most this many part-nodes
LARGEST_POOL = 2**26  # units in all these lists together
STALE = 0.8  # such a list is renewed when the open units fall below this share of what they were
REPRICE = 0.9  # nodes are priced anew when the open rows fall below this share of what they were
GIVEN_BACK = 16  # rows that are tried one by one after a cap

FROM, TO, WIDTH, TABLE = range(4)  # columns of Keys.group


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


@kernel
def price_levels(trees, open_at, open_rows, mean):
    """Set the mean loss of every level of every quasi-identifier over the open rows.  -> (q, levels) in place."""
    for j in range(trees.column.shape[0]):
        v = trees.column[j, VALUES]
        for level in range(trees.column[j, LEVELS]):
            total = 0.0
            for code in range(v):
                node = trees.at_level[trees.column[j, AT] + level * v + code]
                total += open_at[trees.column[j, LEAF] + code] * trees.loss[node]
            mean[j, level] = total / max(open_rows, 1)


@kernel
def sweep(conditions, units, trees, keys, axis_levels, nodes, early, reach, copies, share, class_start):
    """Close regions from cheap to dear; return how many classes were made.

    Class c holds share[i, 1] copies of unit share[i, 0] for i from class_start[c] to class_start[c + 1].
    `copies` (u,) starts as all copies and keeps what stays open. axis_levels (a,) are the levels of each axis,
    `nodes` their product.
    """
    k = conditions.k
    asked = conditions.table.shape[0] > 0
    column = trees.column
    code = units.code
    size = units.size
    member = keys.member
    group = keys.group
    table = keys.table
    part = keys.part
    q = column.shape[0]
    axes = axis_levels.size
    groups = group.shape[0]
    n_units = copies.size

    # Open rows, in all and per leaf.
    open_at = np.zeros(trees.loss.size, dtype=np.int64)
    open_rows = np.int64(0)
    for unit in range(n_units):
        rows = copies[unit] * size[unit]
        open_rows += rows
        for j in range(q):
            open_at[column[j, LEAF] + code[unit, j]] += rows
    most_levels = np.int64(1)
    for axis in range(axes):
        most_levels = max(most_levels, axis_levels[axis])
    mean = np.zeros((q, most_levels))
    price_levels(trees, open_at, open_rows, mean)
    priced_rows = open_rows

    # Lists of units that have partners as far as the projected groups tell; each list only shrinks.
    pool_room = min(keys.lists * n_units, LARGEST_POOL)
    pool = np.empty(pool_room + n_units, dtype=np.int32)
    pooled = np.int64(0)
    list_start = np.empty(keys.lists, dtype=np.int64)
    list_length = np.zeros(keys.lists, dtype=np.int64)
    list_units = np.zeros(keys.lists, dtype=np.int64)
    for which in range(keys.lists):
        list_start[which] = -1
    open_list = np.empty(n_units, dtype=np.int32)
    for unit in range(n_units):
        open_list[unit] = unit
    listed = open_units = n_units

    # The queue of nodes.
    level = np.zeros((nodes, axes), dtype=np.int8)
    raised = np.zeros(
        nodes, dtype=np.int32
    )  # the last axis that was raised, or `axes` when children are queued already
    least = np.zeros(nodes)  # the price that the node waits for
    tried = (
        np.zeros(nodes) - 1.0
    )  # regions that cost no more were tried: what is open shrinks, so they would fail again
    price = np.zeros(nodes)
    item = np.zeros(nodes, dtype=np.int32)
    made = queued = 1

    # Space for the units of one node.
    mask = np.int64(63)
    while mask < 2 * n_units:
        mask = mask * 2 + 1
    seen = np.zeros(mask + 1, dtype=np.int32)
    slot_of = np.zeros(mask + 1, dtype=np.int32)
    key_of = np.empty(n_units, dtype=np.int64)
    next_of = np.empty(n_units, dtype=np.int32)
    head = np.empty(n_units, dtype=np.int32)
    rows_of = np.empty(n_units, dtype=np.int64)
    members = np.empty(n_units, dtype=np.int32)
    take = np.empty(n_units, dtype=np.int64)
    base = np.zeros(groups, dtype=np.int64)
    histogram = np.zeros(conditions.reference.size, dtype=np.int64)
    target = np.zeros(conditions.reference.size, dtype=np.int64)
    classes = 0
    shares = 0

    # Which kinds of units a region has, as bits, and one unit of each kind.
    kinds = 0
    for unit in range(n_units if asked else 0):
        kinds = max(kinds, units.kind[unit] + 1)
    with_kinds = 0 < kinds < 63
    present = np.zeros(n_units if with_kinds else 0, dtype=np.int64)
    example = np.zeros(kinds, dtype=np.int64)
    for unit in range(n_units if with_kinds else 0):
        example[units.kind[unit]] = unit

    while open_rows >= k and open_rows > 0 and queued > 0:
        if open_rows < REPRICE * priced_rows:
            priced_rows = open_rows
            price_levels(trees, open_at, open_rows, mean)
            for i in range(queued):
                total = 0.0
                for j in range(q):
                    total += mean[j, level[item[i], column[j, AXIS]]]
                price[i] = max(total * early, least[item[i]])
            for i in range(queued // 2, -1, -1):
                sink(price, item, queued, i)
        node = item[0]
        cost = price[0]
        queued -= 1
        price[0] = price[queued]
        item[0] = item[queued]
        if queued > 0:
            sink(price, item, queued, 0)
        for axis in range(raised[node], axes):
            # Only axes from the last raised one on: every node has one parent and is queued once.
            if level[node, axis] + 1 < axis_levels[axis]:
                for other in range(axes):
                    level[made, other] = level[node, other]
                level[made, axis] += 1
                raised[made] = axis
                total = 0.0
                for j in range(q):
                    total += mean[j, level[made, column[j, AXIS]]]
                push(price, item, queued, total * early, made)
                made += 1
                queued += 1
        raised[node] = axes

        which = np.int64(0)
        for g in range(groups):
            row = np.int64(0)
            for position in range(group[g, FROM], group[g, TO]):
                j = member[position]
                row = row * column[j, LEVELS] + level[node, column[j, AXIS]]
                if g < keys.projected:
                    which = which * column[j, LEVELS] + level[node, column[j, AXIS]]
            base[g] = group[g, TABLE] + row * group[g, WIDTH]

        # Two rounds over a list: in the first, which may be left out, the list is made or renewed from the projected
        # groups alone; in the second, all groups are looked at. A round counts rows by key, in slots that keys may
        # share, which only keeps a few units more.
        low = list_start[which]
        length = list_length[which]
        for round_of in range(0 if low < 0 or open_units < STALE * list_units[which] else 1, 2):
            fresh = low < 0
            if fresh:
                low = pooled if pooled + listed <= pool_room else pool_room
                length = listed
            used = groups if round_of == 1 else keys.projected
            mask = np.int64(63)
            while mask < 2 * length:
                mask = mask * 2 + 1
            for slot in range(mask + 1):
                seen[slot] = 0
            alive = 0
            for i in range(length):
                unit = open_list[i] if fresh else pool[low + i]
                if copies[unit] > 0:
                    key = np.int64(0)
                    for g in range(used):
                        key += table[base[g] + part[unit, g]]
                    key_of[alive] = key
                    pool[low + alive] = unit
                    if fresh:
                        open_list[alive] = unit
                    seen[key & mask] += copies[unit] * size[unit]
                    alive += 1
            if fresh:
                listed = alive
            length = alive
            if round_of == 0:
                length = 0
                for i in range(alive):
                    if seen[key_of[i] & mask] >= k:
                        pool[low + length] = pool[low + i]
                        length += 1
                if fresh and low < pool_room:
                    list_start[which] = low
                    pooled += length
                list_units[which] = open_units
            list_length[which] = length

        # Chain the units of each region that may have k rows.
        regions = 0
        for i in range(length):
            key = key_of[i]
            if seen[key & mask] < k:
                continue
            if regions == 0:
                for slot in range(mask + 1):
                    slot_of[slot] = -1
            slot = (key >> 20) & mask
            while slot_of[slot] >= 0 and key_of[head[slot_of[slot]]] != key:
                slot = (slot + 1) & mask
            region = slot_of[slot]
            if region < 0:
                region = regions
                slot_of[slot] = region
                head[region] = -1
                rows_of[region] = 0
                if with_kinds:
                    present[region] = 0
                regions += 1
            next_of[i] = head[region]
            head[region] = i
            unit = pool[low + i]
            rows_of[region] += copies[unit] * size[unit]
            if with_kinds:
                present[region] |= 1 << units.kind[unit]

        cheapest_left = np.inf
        for region in range(regions):
            if rows_of[region] < k:
                continue
            loss = 0.0
            unit = pool[low + head[region]]
            for j in range(q):
                at = column[j, AT] + level[node, column[j, AXIS]] * column[j, VALUES]
                loss += trees.loss[trees.at_level[at + code[unit, j]]]
            if loss <= tried[node]:
                continue
            if loss > cost * reach + 1e-9:
                cheapest_left = min(cheapest_left, loss)
                continue
            if with_kinds and hopeless(conditions, units, example, present[region], target):
                continue
            found = 0
            i = head[region]
            while i >= 0:
                members[found] = pool[low + i]
                take[found] = copies[members[found]]
                found += 1
                i = next_of[i]
            if asked and not trim(conditions, units, members, take, found, histogram, target):
                continue
            for i in range(found):
                if take[i] > 0:
                    unit = members[i]
                    share[shares, 0] = unit
                    share[shares, 1] = take[i]
                    shares += 1
                    copies[unit] -= take[i]
                    rows = take[i] * size[unit]
                    open_rows -= rows
                    if copies[unit] == 0:
                        open_units -= 1
                    for j in range(q):
                        open_at[column[j, LEAF] + code[unit, j]] -= rows
            classes += 1
            class_start[classes] = shares
        tried[node] = cost * reach + 1e-9
        if cheapest_left < np.inf:
            least[node] = cheapest_left / reach
            push(price, item, queued, least[node], node)
            queued += 1
    return classes


@kernel
def hopeless(conditions, units, example, present, target):
    """Return whether these kinds of units cannot pass in any number: `present` has a bit for each kind."""
    reference = conditions.reference
    for i in range(target.size):
        target[i] = 0
    for kind in range(example.size):
        if (present >> kind) & 1:
            for c in range(units.cell_start[example[kind]], units.cell_start[example[kind] + 1]):
                target[units.cell[c, 0]] = 1
    for i in range(conditions.table.shape[0]):
        distinct = 0
        absent = np.int64(0)
        for cell in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
            distinct += target[cell]
            absent += reference[cell] * (1 - target[cell])
        kind = conditions.table[i, KIND]
        a = conditions.bound[i, 0]
        b = conditions.bound[i, 1]
        if kind == EQUAL:
            if b * absent > a * conditions.rows * 1.000001:  # the least distance there can be
                return True
        elif kind in (DISTINCT, RECURSIVE):
            if distinct < conditions.table[i, WHOLE]:
                return True
        elif kind == ENTROPY:
            if math.log(max(distinct, 1)) < a - 0.000001:
                return True
        elif kind == FREQUENCY and b * distinct < a * 0.999999:
            return True
    return False


@kernel
def tally(units, members, take, found, histogram):
    """Set the histogram of take[:found] copies of the members; return their rows.  -> (v,) in place."""
    rows = np.int64(0)
    for i in range(histogram.size):
        histogram[i] = 0
    for i in range(found):
        unit = members[i]
        rows += take[i] * units.size[unit]
        for c in range(units.cell_start[unit], units.cell_start[unit + 1]):
            histogram[units.cell[c, 0]] += take[i] * units.cell[c, 1]
    return rows


@kernel
def trim(conditions, units, members, take, found, histogram, target):
    """Reduce take[:found] until what is taken passes; return whether it does."""
    cell_start = units.cell_start
    cell = units.cell
    rows = tally(units, members, take, found, histogram)
    for _ in range(4):
        failing = first_failing(conditions, 0, conditions.table.shape[0], histogram, rows)
        if failing < 0:
            return rows >= conditions.k
        if aim(conditions, failing, histogram, rows, target) < conditions.k:
            return False
        first = conditions.table[failing, FIRST]
        last = conditions.table[failing, LAST]
        for i in range(found - 1, -1, -1):
            # A copy goes when more of it lies above the target than below; single rows go as many as lie above.
            unit = members[i]
            drop = take[i]
            balance = np.int64(0)
            for c in range(cell_start[unit], cell_start[unit + 1]):
                if first <= cell[c, 0] < last:
                    over = max(histogram[cell[c, 0]] - target[cell[c, 0]], 0)
                    if units.size[unit] == 1:
                        drop = min(drop, over)
                    balance += 2 * min(over, cell[c, 1]) - cell[c, 1]
            if balance > 0:
                take[i] -= drop
                rows -= drop * units.size[unit]
                for c in range(cell_start[unit], cell_start[unit + 1]):
                    histogram[cell[c, 0]] -= drop * cell[c, 1]
        if rows < conditions.k:
            return False
    return False


@kernel
def aim(conditions, i, histogram, rows, target):
    """Set target to a large sub-histogram that passes condition i; return its rows, 0 when k rows are out of reach.

    It is made by a cap on all counts or, for distances, by filling up to a size in the shape of the reference. Either
    is the worse for the condition the larger it is, so that halving finds the largest one.
    """
    reference = conditions.reference
    first = conditions.table[i, FIRST]
    last = conditions.table[i, LAST]
    kind = conditions.table[i, KIND]
    low = np.int64(0)  # passes, or nothing at all
    high = np.int64(0)  # fails: everything
    if kind == EQUAL:
        # N rows in the shape of the reference lack D(N) = sum of max(p N - count, 0); they may lack t N. D is convex,
        # so that Newton's steps come down to the largest N, before rounding.
        t = conditions.bound[i, 0] / conditions.bound[i, 1]
        amount = float(rows)
        while amount >= conditions.k:
            share = -t
            there = 0.0
            for cell in range(first, last):
                if reference[cell] * amount > histogram[cell] * float(conditions.rows):
                    share += reference[cell] / conditions.rows
                    there += histogram[cell]
            if share * amount <= there * 1.0000001:
                break
            amount = there / share
        size = np.int64(amount)
        step = 1
        while size >= conditions.k:
            shape(conditions, i, histogram, size, target)
            if first_failing(conditions, i, i + 1, target, size) < 0:
                return size
            size -= step
            step *= 2
        return np.int64(0)
    if kind > EQUAL:
        high = rows
        size = rows // 2
    else:
        distinct = 0
        for cell in range(first, last):
            high = max(high, histogram[cell])
            if histogram[cell] > 0:
                distinct += 1
        # The smallest cap that leaves k rows comes first; it decides for most regions.
        size = max(conditions.k // max(distinct, 1), 1)
        while size < high and shape(conditions, i, histogram, size, target) < conditions.k:
            size += 1
    while low < size < high and (kind < EQUAL or high > conditions.k):
        reached = shape(conditions, i, histogram, size, target)
        if first_failing(conditions, i, i + 1, target, reached) < 0:
            low = size
        elif kind < EQUAL and low == 0:
            return np.int64(0)
        else:
            high = size
        size = (low + high) // 2
    reached = shape(conditions, i, histogram, low, target)
    if kind < EQUAL and low > 0:
        tries = 0
        for cell in range(first, last):
            # Give back one row here and there: the cap went down for all values at once.
            if histogram[cell] > target[cell] and tries < GIVEN_BACK:
                tries += 1
                target[cell] += 1
                reached += 1
                if first_failing(conditions, i, i + 1, target, reached) >= 0:
                    target[cell] -= 1
                    reached -= 1
    return reached


@kernel
def shape(conditions, i, histogram, amount, target):
    """Set target to the histogram capped at `amount`, or to `amount` rows of it; return its rows.  -> (v,) in place."""
    reference = conditions.reference
    first = conditions.table[i, FIRST]
    last = conditions.table[i, LAST]
    kind = conditions.table[i, KIND]
    reached = np.int64(0)
    for cell in range(first, last):
        most = amount
        if kind >= EQUAL:
            most = np.int64(reference[cell] * float(amount) / conditions.rows)
        target[cell] = min(histogram[cell], most)
        reached += target[cell]
    if kind < EQUAL:
        return reached
    left = amount - reached
    for cell in range(first, last):
        # The fractions.
        if (
            left > 0
            and target[cell] < histogram[cell]
            and target[cell] * float(conditions.rows) < reference[cell] * float(amount)
        ):
            target[cell] += 1
            left -= 1
    if kind > EQUAL:
        # What is missing is made up by neighbours, first to the right, then to the left.
        for back in range(2):
            lacking = 0.0
            for position in range(last - first):
                cell = last - 1 - position if back == 1 else first + position
                lacking += reference[cell] * float(amount) / conditions.rows - target[cell]
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
        target[where] += min(most, left)
        left -= min(most, left)
    return amount - left
