"""The groups of one column of numbers with the least squared error of all, after Hansen and Mukherjee (2003)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.anonymizers.microaggregation.mdav import Floats, Groups, Integers


def best_groups(values: Floats, weight: Integers, k: int, advance: Callable[[float], None]) -> Groups:
    """Return groups of at least k rows each, given the distinct values and the rows that have each.

    Groups of the best solution are intervals, and none of them can be cut into two: so for each value, only the few
    groups that end there and cannot are compared.

    >>> best_groups(np.array([1.0, 2.0, 9.0, 10.0, 11.0]), np.ones(5, dtype=np.int64), 2, lambda steps: None).tolist()
    [0, 0, 1, 1, 1]
    """
    order = np.argsort(values, kind="stable")
    x, w = values[order] - float(np.average(values, weights=weight)), weight[order]
    rows, first, second = (np.concatenate([[0.0], np.cumsum(part)]) for part in (w, w * x, w * x * x))
    n_values = x.size
    cost, begin = np.full(n_values + 1, np.inf), np.zeros(n_values + 1, dtype=np.int64)
    cost[0] = 0.0
    for end in range(1, n_values + 1):
        last = int(np.searchsorted(rows, rows[end] - k, "right")) - 1  # the latest place where a group may begin
        advance(1)
        if last < 0:
            continue
        earliest = max(0, int(np.searchsorted(rows, rows[last] - k, "right")))  # before it, a group could be cut
        start = np.arange(min(earliest, last), last + 1)
        size, mass = rows[end] - rows[start], first[end] - first[start]
        error = cost[start] + second[end] - second[start] - mass * mass / size
        best = int(error.argmin())
        cost[end], begin[end] = error[best], start[best]
    group_of = np.zeros(n_values, dtype=np.int64)
    end, number = n_values, 0
    while end:
        group_of[begin[end] : end] = number
        end, number = int(begin[end]), number + 1
    found = np.empty(n_values, dtype=np.int64)
    found[order] = number - 1 - group_of
    return found
