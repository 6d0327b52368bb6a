"""Lower bounds for t-closeness: squared distances as sums over records, and the best sums that a budget can buy.

The squared distance is |prior|^2 plus a sum over records plus a sum over pairs of records that share labels. Two sums
over records alone bound it from below; both stand in `Menu.value`:

    0   pairs left out, for they only add
    1   labels that several records of a known solution share: the tangent of the square at that solution; others as
    in 0

For either, `front` holds the Pareto frontier of (cost, value) of all records from some position on. When a frontier
grows too long, neighbours are merged into (cheaper cost, better value), which keeps it a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.terms.measures import N_ALL, N_TOUCHED, REMAINDER, TOUCHED, clear, put
from sfumato.kernels.terms.options import AT, COST, PLAIN, PRIOR, SIZE, TANGENT, own_value

LONGEST = 512  # points of a frontier
NEVER = np.int64(1) << 62  # a cost that nothing has


class Frontiers(NamedTuple):
    """Pareto frontiers of records from each position on, costs ascending and values descending. d records."""

    cost: NDArray[np.int64]  # (2, d + 1, LONGEST)
    value: NDArray[np.float64]  # (2, d + 1, LONGEST)
    length: NDArray[np.int64]  # (2, d + 1)


@kernel
def make_frontiers(d):
    """Return room for the frontiers of d records."""
    return Frontiers(
        np.empty((2, d + 1, LONGEST), dtype=np.int64),
        np.empty((2, d + 1, LONGEST)),
        np.zeros((2, d + 1), dtype=np.int64),
    )


@kernel
def values_without_pairs(m, low, high, menu):
    """Write the first value of every option of a group: its own part of the squared distance."""
    for i in range(low.size):
        for option in range(low[i], high[i]):
            menu.value[option, PLAIN] = own_value(option, m, menu)


@kernel
def _weighed_tangent(option, m, slope, square, menu, tally):
    """Return the second value of an option whose labels are weighed; slope and square are those of all labels."""
    mass, _sorted, note = tally
    table, value, labels = menu
    size, first = table[option, SIZE], table[option, AT]
    floor = note[mass.size, N_ALL] / mass.size
    if first >= 0:
        slope, square = 0.0, 0.0
        for at in range(first, first + size):
            label, share = labels.label[at], labels.share[at]
            if note[label, REMAINDER] > 1:
                slope += 2.0 * share * (mass[label] + floor) / m
            else:
                square += share * share
    return (slope - 2.0 * value[option, PRIOR]) / m + square / (m * m)


@kernel
def values_by_tangent(m, low, high, pick, menu, tally):
    """Write the second value of every option, from the tangent at `pick`; return the constant of the bound."""
    table, value, labels = menu
    mass, _sorted, note = tally
    n_labels = mass.size
    clear(tally)
    for i in range(pick.size):
        size, at = table[pick[i], SIZE], table[pick[i], AT]
        put(size, at, labels, 1.0, tally)
        if at >= 0:
            for j in range(at, at + size):
                note[labels.label[j], REMAINDER] += 1
    floor = note[n_labels, N_ALL] / n_labels
    constant, shared, slope_of_all = 0.0, 0, 0.0
    for i in range(note[n_labels, N_TOUCHED]):
        label = note[i, TOUCHED]
        if note[label, REMAINDER] > 1:
            belief = (mass[label] + floor) / m
            constant -= belief * belief
            slope_of_all += 2.0 * belief
            shared += 1
    for i in range(low.size):
        for option in range(low[i], high[i]):
            size, at = table[option, SIZE], table[option, AT]
            value[option, TANGENT] = 0.0
            if size == 0:
                continue
            slope, own = slope_of_all, size - shared
            if labels.share.size > 0:
                value[option, TANGENT] = _weighed_tangent(option, m, slope / size, own / (size * size), menu, tally)
                continue
            if at >= 0:
                slope, own = 0.0, size
                for j in range(at, at + size):
                    label = labels.label[j]
                    if note[label, REMAINDER] > 1:
                        slope += 2.0 * (mass[label] + floor) / m
                        own -= 1
            value[option, TANGENT] = (slope - 2.0 * value[option, PRIOR]) / (m * size) + own / (m * m * size * size)
    for i in range(note[n_labels, N_TOUCHED]):
        note[note[i, TOUCHED], REMAINDER] = 0
    return constant


@kernel
def _points(which, low, high, menu, cost, worth):
    """List the Pareto points of one record's options, which stand by ascending cost; return how many."""
    table, value, _labels = menu
    n = 0
    best = np.inf
    for option in range(low, high):
        here = value[option, PLAIN + which]
        if here < best - 1e-15:
            best = here
            if n > 0 and cost[n - 1] == table[option, COST]:
                n -= 1
            cost[n], worth[n] = table[option, COST], here
            n += 1
    return n


@kernel
def _halve(cost, value, n):
    """Merge neighbours on a frontier of n points; return how many are left."""
    left = 0
    for i in range(0, n, 2):
        cost[left] = cost[i]
        value[left] = value[min(i + 1, n - 1)]
        left += 1
    return left


@kernel
def build_frontiers(which, order, low, high, menu, fronts):
    """Fill the frontiers of one kind of value for records in the given order."""
    d = order.size
    costs, values, length = fronts
    length[which, d] = 1
    costs[which, d, 0], values[which, d, 0] = 0, 0.0
    room = np.int64(0)
    for i in range(d):
        room = max(room, high[i] - low[i])
    own_cost, own_value = np.empty(room, dtype=np.int64), np.empty(room)
    head = np.empty(room, dtype=np.int64)
    for position in range(d - 1, -1, -1):
        i = order[position]
        n_own = _points(which, low[i], high[i], menu, own_cost, own_value)
        rest_cost, rest_value = costs[which, position + 1], values[which, position + 1]
        n_rest = length[which, position + 1]
        cost, value = costs[which, position], values[which, position]
        for own in range(n_own):
            head[own] = 0
        n = np.int64(0)
        best = np.inf
        while True:
            chosen, least, worth = -1, NEVER, np.inf
            for own in range(n_own):
                at = head[own]
                if at < n_rest:
                    next_cost, next_value = own_cost[own] + rest_cost[at], own_value[own] + rest_value[at]
                    if next_cost < least or (next_cost == least and next_value < worth):
                        chosen, least, worth = own, next_cost, next_value
            if chosen < 0:
                break
            head[chosen] += 1
            if worth < best - 1e-15:
                best = worth
                if n == LONGEST:
                    n = _halve(cost, value, n)
                cost[n], value[n] = least, worth
                n += 1
        length[which, position] = n


@kernel
def least_cost(which, position, most, fronts):
    """Return the least cost for which records from a position on can have a value of at most `most`."""
    value = fronts.value[which, position]
    low, high = 0, fronts.length[which, position]
    while low < high:
        middle = (low + high) >> 1
        if value[middle] <= most:
            high = middle
        else:
            low = middle + 1
    return fronts.cost[which, position, low] if low < fronts.length[which, position] else NEVER


@kernel
def least_value(which, position, budget, fronts):
    """Return the least value that records from a position on can have for a budget."""
    cost = fronts.cost[which, position]
    low, high = 0, fronts.length[which, position]
    while low < high:
        middle = (low + high) >> 1
        if cost[middle] <= budget:
            low = middle + 1
        else:
            high = middle
    return fronts.value[which, position, low - 1] if low > 0 else np.inf
