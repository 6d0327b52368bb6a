"""How many rows a class that fails has to lose at least before what is left of it can pass.

Conditions are convex (conditions.py): parts of a class that pass make a whole that passes. So however a class is cut
into parts, those that pass have lost as many rows to the others as the class has to lose by itself.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.compiling import lean_kernel
from sfumato.kernels.classes.conditions import (
    DISTINCT,
    EDGE_FIRST,
    EDGE_LAST,
    ENTROPY,
    EQUAL,
    FIRST,
    FREQUENCY,
    HIGH,
    KIND,
    LAST,
    LIMITED,
    LOW,
    ORDERED,
    RECURSIVE,
    SCALE,
    UNIT,
    WHOLE,
)

ROUNDING = 1e-6  # of a row


@lean_kernel
def rows_to_lose(conditions, furthest, histogram, size):
    """Return a number of rows, from 1 to the size of a class that fails; furthest (q,) is set by `find_furthest`."""
    most = 1.0
    for i in range(conditions.table.shape[0]):
        kind = conditions.table[i, KIND]
        bound = conditions.bound[i, 0] / conditions.bound[i, 1]
        lost = 0.0
        if kind == LIMITED:
            lost = _beyond_limits(conditions, i, histogram, size)
        elif kind >= EQUAL:
            # The distance of a whole is at most the mean of those of its parts, and of what is lost none is further.
            if furthest[i] > bound:
                lost = size * (_distance(conditions, i, histogram, size) - bound) / (furthest[i] - bound)
        elif _has_too_few(conditions, i, histogram):
            lost = size
        elif kind == ENTROPY:
            entropy = math.log(size)
            for bar in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
                if histogram[bar] > 1:
                    entropy -= histogram[bar] * math.log(histogram[bar]) / size
            if bound > 0.0:
                lost = size * (1.0 - entropy / bound)  # that of a whole is at least the mean of those of its parts
        elif kind != DISTINCT:
            lost = _too_frequent(conditions, i, histogram, size, bound)
        most = max(most, math.ceil(lost - ROUNDING))
    return min(most, float(size))


@lean_kernel
def least_values(conditions, i):
    """Return how many different values a class must have for a condition on these, and so rows; 1 for others."""
    kind = conditions.table[i, KIND]
    if kind in (DISTINCT, RECURSIVE):
        return conditions.table[i, WHOLE]
    if kind == FREQUENCY:
        return np.int64(math.ceil(conditions.bound[i, 0] / conditions.bound[i, 1] - ROUNDING))
    if kind == ENTROPY:
        return np.int64(math.ceil(math.exp(conditions.bound[i, 0]) - ROUNDING))
    return np.int64(1)


@lean_kernel
def _has_too_few(conditions, i, histogram):
    """Whether a class has too few different values, which no loss of rows can mend."""
    values = 0
    for bar in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
        if histogram[bar] > 0:
            values += 1
    return values < least_values(conditions, i)


@lean_kernel
def _beyond_limits(conditions, i, histogram, size):
    """Return what has to go so that no share of a value is above its highest or below its lowest."""
    most = 0.0
    limit = conditions.table[i, EDGE_FIRST]
    for bar in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
        low = conditions.limits[limit, LOW] / conditions.limits[limit, UNIT]
        high = conditions.limits[limit, HIGH] / conditions.limits[limit, UNIT]
        if high < 1.0:
            most = max(most, (histogram[bar] - high * size) / (1.0 - high))
        if low > 0.0:
            most = max(most, size - histogram[bar] / low)
        limit += 1
    return most


@lean_kernel
def _too_frequent(conditions, i, histogram, size, bound):
    """Return what has to go of the most frequent value: of others, rows would be lost in vain."""
    first = conditions.table[i, FIRST]
    last = conditions.table[i, LAST]
    largest = np.int64(0)
    for bar in range(first, last):
        largest = max(largest, histogram[bar])
    if conditions.table[i, KIND] == FREQUENCY:
        return (bound * largest - size) / (bound - 1.0) if bound > 1.0 else 0.0
    tail = size
    skip = conditions.table[i, WHOLE] - 1
    count = largest
    while skip > 0 and count > 0:  # as in first_failing
        ties = 0
        below = np.int64(0)
        for bar in range(first, last):
            if histogram[bar] == count:
                ties += 1
            elif below < histogram[bar] < count:
                below = histogram[bar]
        tail -= count * min(ties, skip)
        skip -= ties
        count = below
    return largest - bound * tail


@lean_kernel
def _distance(conditions, i, histogram, size):
    """Return how far a class is from the whole table."""
    keep = 1.0 if conditions.table[i, KIND] == ORDERED else 0.0
    distance = 0.0
    mass = 0.0
    rows = max(conditions.rows, 1)
    for edge in range(conditions.table[i, EDGE_FIRST], conditions.table[i, EDGE_LAST]):
        mass *= keep
        for bar in range(conditions.edges[edge, 0], conditions.edges[edge, 1]):
            mass += histogram[bar] / size - conditions.reference[bar] / rows
        distance += conditions.edges[edge, 2] * abs(mass)
    return distance / conditions.table[i, SCALE]


@lean_kernel
def find_furthest(conditions, histogram, furthest):
    """Set for each condition on a distance how far a row of one value is at most.  (v,) zeros as scratch -> (q,)."""
    for i in range(conditions.table.shape[0]):
        furthest[i] = 0.0
        if conditions.table[i, KIND] >= EQUAL:
            for bar in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
                histogram[bar] = 1
                furthest[i] = max(furthest[i], _distance(conditions, i, histogram, 1))
                histogram[bar] = 0
