"""Tables seen through randomization: a product of one small mixing for each column, never the whole matrix.

A column shows a value with probability g when it is true and h when another is: over an axis x becomes
(g - h) x + h (sum of x along the axis).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.estimators.base import Axis, Table


def mixed(table: Table, weights: Sequence[tuple[float, float]]) -> Table:
    """Return a table after mixing along each axis: `weights` holds what a value keeps and what it gives to each other.

    >>> mixed(np.array([3.0, 1.0]), [(0.9, 0.1)]).round(2).tolist()
    [2.8, 1.2]
    """
    for position, (own, other) in enumerate(weights):
        if other:
            table = (own - other) * table + other * table.sum(axis=position, keepdims=True)
        elif own != 1:
            table = own * table
    return table


def shown(axes: Sequence[Axis]) -> list[tuple[float, float]]:
    """Return the mixing that turns counts into how many records show each combination."""
    return [(axis.g, axis.h) for axis in axes]


def shown_squared(axes: Sequence[Axis]) -> list[tuple[float, float]]:
    """Return the same with squared probabilities: what is subtracted to get variances."""
    return [(axis.g**2, axis.h**2) for axis in axes]


def combinations_shown(axes: Sequence[Axis]) -> int:
    """Return how many combinations each record shows."""
    return math.prod(axis.eta for axis in axes)


def unmixed(seen: Table, axes: Sequence[Axis]) -> Table:
    """Return the counts that would be seen as `seen` on average: unbiased, sums to the records, may be negative."""
    for position, axis in enumerate(axes):
        if axis.randomized:
            total = seen.sum(axis=position, keepdims=True)
            seen = (seen - axis.h / axis.eta * total) / (axis.g - axis.h)
    return seen


def error_of(counts: Table, axes: Sequence[Axis]) -> Table:
    """Return the standard error of the unbiased estimate, cell by cell, given the counts.

    Each record adds the product over columns of (1[shown] - h) / (g - h); the mean square of that is known for a record
    of each true combination.
    """
    weights = []
    for axis in axes:
        scale = (axis.g - axis.h) ** 2
        own = ((1 - 2 * axis.h) * axis.g + axis.h**2) / scale
        weights.append((own, axis.h * (1 - axis.h) / scale))
    return np.sqrt(np.maximum(mixed(counts, weights) - counts, 0))


def expected_l2(axes: Sequence[Axis], n_rows: int) -> float:
    """Return the root mean square L2 error of the shares, of the unbiased estimate: known before any query is run."""
    if not n_rows:
        return math.inf
    product = 1.0
    for axis in axes:
        if axis.randomized:
            spread = (axis.g - axis.h) ** 2
            if not spread:
                return math.inf
            product *= axis.eta * (1 - axis.eta / axis.d) / spread + 1 / axis.d
    return math.sqrt(max(product - 1, 0) / n_rows)


def onto_simplex(table: Table, total: float) -> Table:
    """Return the nearest table without negative counts that sums to the total.

    >>> onto_simplex(np.array([3.0, -1.0]), 2.0).tolist()
    [2.0, 0.0]
    """
    falling = np.sort(table, axis=None)[::-1]
    excess = np.cumsum(falling) - total
    kept = int(np.flatnonzero(falling * np.arange(1, falling.size + 1) > excess)[-1]) if total > 0 else -1
    if kept < 0:
        return np.zeros_like(table)
    moved: Table = np.maximum(table - excess[kept] / (kept + 1), 0)
    return moved
