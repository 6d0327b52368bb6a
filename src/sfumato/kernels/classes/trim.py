"""The part of a region that is safe, when the region is not: as many rows as possible, at least k.

What is left out stays open and is closed elsewhere. For k and distinct values there is nothing to gain: either all of a
region is safe or no part of it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.compiling import inline_kernel, lean_kernel
from sfumato.kernels.classes.conditions import (
    DISTINCT,
    EDGE_FIRST,
    ENTROPY,
    EQUAL,
    FIRST,
    FREQUENCY,
    HIGH,
    KIND,
    LAST,
    LIMITED,
    LOW,
    RECURSIVE,
    UNIT,
    WHOLE,
    first_failing,
)

GIVEN_BACK = 16  # rows that are tried one by one after a cap


@inline_kernel
def hopeless(conditions, units, example, present, target):
    """Return whether these kinds of units cannot pass in any number: `present` has a bit for each kind."""
    reference = conditions.reference
    for i in range(target.size):
        target[i] = 0
    for kind in range(example.size):
        if (present >> kind) & 1:
            for c in range(units.bar_start[example[kind]], units.bar_start[example[kind] + 1]):
                target[units.bar[c, 0]] = 1
    for i in range(conditions.table.shape[0]):
        distinct = 0
        absent = np.int64(0)
        for bar in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
            distinct += target[bar]
            absent += reference[bar] * (1 - target[bar])
        kind = conditions.table[i, KIND]
        a = conditions.bound[i, 0]
        b = conditions.bound[i, 1]
        if kind == LIMITED:
            room = 0.0
            limit = conditions.table[i, EDGE_FIRST]
            for bar in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
                if target[bar] == 0 and conditions.limits[limit, LOW] > 0.0:
                    return True
                room += target[bar] * conditions.limits[limit, HIGH] / conditions.limits[limit, UNIT]
                limit += 1
            if room < 0.999999:
                return True
        elif kind == EQUAL:
            if b * absent > a * conditions.rows * 1.000001:  # the least distance there can be
                return True
        elif kind in (DISTINCT, RECURSIVE):
            if distinct < conditions.table[i, WHOLE]:
                return True
        elif kind == ENTROPY:
            if distinct == 0 or math.log(distinct) < a - 0.000001:
                return True
        elif kind == FREQUENCY and b * distinct < a * 0.999999:
            return True
    return False


@inline_kernel
def trim(conditions, units, members, take, found, histogram, target):
    """Reduce take[:found] until what is taken passes; return whether it does."""
    bar_start = units.bar_start
    bar = units.bar
    rows = np.int64(0)
    for i in range(histogram.size):
        histogram[i] = 0
    for i in range(found):
        unit = members[i]
        rows += take[i] * units.size[unit]
        for c in range(bar_start[unit], bar_start[unit + 1]):
            histogram[bar[c, 0]] += take[i] * bar[c, 1]
    for _ in range(4):
        failing = first_failing(conditions, np.int64(0), conditions.table.shape[0], histogram, rows)
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
            for c in range(bar_start[unit], bar_start[unit + 1]):
                if first <= bar[c, 0] < last:
                    over = histogram[bar[c, 0]] - target[bar[c, 0]]
                    if over < 0:
                        over = np.int64(0)
                    if units.size[unit] == 1 and over < drop:
                        drop = over
                    balance += bar[c, 1] if over > bar[c, 1] else 2 * over - bar[c, 1]
            if balance > 0:
                take[i] -= drop
                rows -= drop * units.size[unit]
                for c in range(bar_start[unit], bar_start[unit + 1]):
                    histogram[bar[c, 0]] -= drop * bar[c, 1]
        if rows < conditions.k:
            return False
    return False


@inline_kernel
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
    if kind == LIMITED:
        return aim_within_limits(conditions, i, histogram, rows, target)
    if kind == EQUAL:
        # N rows in the shape of the reference lack D(N) = sum of max(p N - count, 0); they may lack t N. D is convex,
        # so that Newton's steps come down to the largest N, before rounding.
        t = conditions.bound[i, 0] / conditions.bound[i, 1]
        amount = float(rows)
        while amount >= conditions.k:
            share = -t
            there = 0.0
            for bar in range(first, last):
                if reference[bar] * amount > histogram[bar] * float(conditions.rows):
                    share += reference[bar] / conditions.rows
                    there += histogram[bar]
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
        for bar in range(first, last):
            if histogram[bar] > 0:
                distinct += 1
            if histogram[bar] > high:
                high = histogram[bar]
        # The smallest cap that leaves k rows comes first; it decides for most regions.
        size = conditions.k // distinct
        if size == 0:
            size += 1
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
        for bar in range(first, last):
            # Give back one row here and there: the cap went down for all values at once.
            if histogram[bar] > target[bar] and tries < GIVEN_BACK:
                tries += 1
                target[bar] += 1
                reached += 1
                if first_failing(conditions, i, i + 1, target, reached) >= 0:
                    target[bar] -= 1
                    reached -= 1
    return reached


@lean_kernel
def aim_within_limits(conditions, i, histogram, rows, target):
    """Do the same for limits of each value's share, with a cap of its own on each count."""
    first = conditions.table[i, FIRST]
    last = conditions.table[i, LAST]
    offset = conditions.table[i, EDGE_FIRST] - first
    limits = conditions.limits
    amount = float(rows)
    for bar in range(first, last):
        if limits[bar + offset, LOW] * amount > histogram[bar] * limits[bar + offset, UNIT]:
            amount = histogram[bar] * limits[bar + offset, UNIT] / limits[bar + offset, LOW]
    # What caps for N rows leave, the sum of min(count, high N), is concave in N, so that Newton's steps come down to
    # the largest N that they leave, before rounding.
    while amount >= conditions.k:
        share = 1.0
        there = 0.0
        for bar in range(first, last):
            high = limits[bar + offset, HIGH] / limits[bar + offset, UNIT]
            if histogram[bar] > high * amount:
                share -= high
            else:
                there += histogram[bar]
        if share * amount <= there * 1.0000001:
            break
        amount = there / share
    size = np.int64(amount)
    step = 1
    while size >= conditions.k:
        reached = shape(conditions, i, histogram, size, target)
        if reached >= conditions.k and first_failing(conditions, i, i + 1, target, reached) < 0:
            return reached
        size -= step
        step *= 2
    return np.int64(0)


@lean_kernel
def shape(conditions, i, histogram, amount, target):
    """Set target to the histogram capped at `amount`, or to `amount` rows of it; return its rows.  -> (v,) in place."""
    reference = conditions.reference
    first = conditions.table[i, FIRST]
    last = conditions.table[i, LAST]
    kind = conditions.table[i, KIND]
    reached = np.int64(0)
    for bar in range(first, last):
        most = amount
        if kind >= EQUAL:
            most = np.int64(reference[bar] * float(amount) / conditions.rows)
        elif kind == LIMITED:
            limit = conditions.table[i, EDGE_FIRST] + bar - first
            most = np.int64(conditions.limits[limit, HIGH] * float(amount) / conditions.limits[limit, UNIT])
        target[bar] = histogram[bar] if histogram[bar] < most else most
        reached += target[bar]
    if kind < EQUAL:
        return reached
    left = amount - reached
    for bar in range(first, last):
        # The fractions.
        if (
            left > 0
            and target[bar] < histogram[bar]
            and target[bar] * float(conditions.rows) < reference[bar] * float(amount)
        ):
            target[bar] += 1
            left -= 1
    if kind > EQUAL:
        # What is missing is made up by neighbours, first to the right, then to the left.
        for back in range(2):
            lacking = 0.0
            for position in range(last - first):
                bar = last - 1 - position if back == 1 else first + position
                lacking += reference[bar] * float(amount) / conditions.rows - target[bar]
                if lacking < 0.0:
                    lacking = 0.0
                more = np.int64(lacking)
                if more > left:
                    more = left
                if more > histogram[bar] - target[bar]:
                    more = histogram[bar] - target[bar]
                target[bar] += more
                left -= more
                lacking -= more
    while left > 0:
        # Most of what is left over goes first, so that what stays open is less one-sided.
        most = np.int64(0)
        where = first
        for bar in range(first, last):
            if histogram[bar] - target[bar] > most:
                most = histogram[bar] - target[bar]
                where = bar
        if most == 0:
            break
        if most > left:
            most = left
        target[where] += most
        left -= most
    return amount - left
