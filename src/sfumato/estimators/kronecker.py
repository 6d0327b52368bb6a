"""Tables seen through randomization: a product of one small mixing for each column, never the whole matrix.

A column shows a value with probability g when it is true and h when another is: over an axis x becomes
(g - h) x + h (sum of x along the axis). g and h may differ from value to value, their difference does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.estimators.base import Axis, Table

# What each axis keeps and what it gets, (d,) each, or (1,) where no value differs from another.
Weights: TypeAlias = Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]


def mixed(table: Table, weights: Weights) -> Table:
    """Return a table after mixing along each axis: what a value keeps of itself, and what it gets of each other.

    >>> mixed(np.array([3.0, 1.0]), [(np.full(2, 0.9), np.full(2, 0.1))]).round(2).tolist()
    [2.8, 1.2]
    """
    for position, (own, other) in enumerate(weights):
        if other.any():
            kept, given = (along(each, position, table.ndim) for each in (own - other, other))
            table = kept * table + given * table.sum(axis=position, keepdims=True)
        elif (own != 1).any():
            table = along(own, position, table.ndim) * table
    return table


def gathered(table: Table, weights: Weights) -> Table:
    """Return for each true combination the mean of a table over what it may be shown as: the other way round."""
    for position, (own, other) in enumerate(weights):
        if other.any():
            kept, given = (along(each, position, table.ndim) for each in (own - other, other))
            table = kept * table + (given * table).sum(axis=position, keepdims=True)
        elif (own != 1).any():
            table = along(own, position, table.ndim) * table
    return table


def along(values: NDArray[Any], position: int, n_axes: int) -> NDArray[Any]:
    """Return values of one axis in the shape of a table."""
    return values.reshape([-1 if axis == position else 1 for axis in range(n_axes)])


def shown(axes: Sequence[Axis]) -> Weights:
    """Return the mixing that turns counts into how many records show each combination."""
    alike = [1 if axis.shares is None else axis.d for axis in axes]
    return [(axis.g[:d], axis.h[:d]) for axis, d in zip(axes, alike, strict=True)]


def shown_squared(axes: Sequence[Axis]) -> Weights:
    """Return the same with squared probabilities: what is subtracted to get variances."""
    return [(own**2, other**2) for own, other in shown(axes)]


def combinations_shown(axes: Sequence[Axis]) -> int:
    """Return how many combinations each record shows."""
    return math.prod(axis.eta for axis in axes)


def unmixed(seen: Table, axes: Sequence[Axis]) -> Table:
    """Return the counts that would be seen as `seen` on average: unbiased, sums to the records, may be negative."""
    for position, axis in enumerate(axes):
        if axis.randomized:
            total = seen.sum(axis=position, keepdims=True)
            seen = (seen - along(axis.h, position, seen.ndim) / axis.eta * total) / axis.gap
    return seen


def error_of(counts: Table, axes: Sequence[Axis]) -> Table:
    """Return the standard error of the unbiased estimate, cell by cell, given the counts.

    Each record adds the product over columns of (1[shown] - h) / (g - h); the mean square of that is known for a record
    of each true combination.
    """
    weights = []
    for axis in axes:
        scale = axis.gap**2
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
            spread = axis.gap**2
            if not spread:
                return math.inf
            if axis.shares is None:
                product *= axis.eta * (1 - axis.eta / axis.d) / spread + 1 / axis.d
                continue
            # Of a record of each value; values are taken for as common as they are drawn.
            share, g, h = np.array(axis.shares), axis.g, axis.h
            other = h * (1 - h)
            own = g * (1 - h) ** 2 + (1 - g) * h**2
            product *= float((share * (other.sum() - other + own)).sum()) / spread
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
