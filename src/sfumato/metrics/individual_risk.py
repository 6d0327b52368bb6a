"""The risk of each record to be found by somebody who does not know whether the person is in the sample.

After Benedetti and Franconi (1998), as Franconi and Polettini (2004) and Skinner's line of work have it: a class of f
rows stands for about F people; how many there are is negative binomial with success rate p = f / F, and whoever picks
one of them at random is right with the expectation of 1 / people.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MANY, _TERMS = 30, 100  # rows from which on, and terms up to which, a series is exact


def individual_risk(rows: NDArray[Any], people: NDArray[Any]) -> Floats:
    """Return the risk of a record of each class, given its rows and how many people these stand for, shape (c,).

    The expectation is exact: p times the integral of s ** (f - 1) / (p + (1 - p) s) from 0 to 1. Where rows stand for
    themselves alone, it is 1 / rows.

    >>> individual_risk(np.array([1, 2]), np.array([5.0, 110.0])).round(8).tolist()
    [0.40235948, 0.01714426]
    >>> individual_risk(np.array([4]), np.array([4.0])).tolist()
    [0.25]
    """
    size = rows.astype(np.float64)
    rate = np.minimum(size / np.maximum(people, size), 1.0)
    found = rate / size * _series(size, 1 - rate)
    step_by_step = (size < _MANY) & (rate < 0.5)
    if step_by_step.any():
        found[step_by_step] = rate[step_by_step] * _integral(size[step_by_step], rate[step_by_step])
    return np.asarray(np.minimum(found, 1 / size))


def _series(size: Floats, rest: Floats) -> Floats:
    """Return the sum of j! / ((f + 1) ... (f + j)) (1 - p) ** j, whose terms fall fast for many rows or small 1 - p."""
    total, term = np.ones(size.size), np.ones(size.size)
    for j in range(_TERMS):
        term = term * rest * (j + 1) / (size + 1 + j)
        total += term
    return total


def _integral(size: Floats, rate: Floats) -> Floats:
    """Return the integral for few rows, from one row to the next: errors shrink on the way as long as p < 1 / 2."""
    found, own = np.zeros(size.size), np.log(1 / rate) / (1 - rate)
    for rows in range(1, _MANY):
        found[size == rows] = own[size == rows]
        own = (1 / rows - rate * own) / (1 - rate)
    return found


def household_risk(risk: Floats, household_of: NDArray[np.int64]) -> Floats:
    """Return for each record the risk that somebody of its household is found: 1 less the chance that nobody is.

    >>> household_risk(np.array([0.5, 0.5, 0.1]), np.array([0, 0, 1])).round(9).tolist()
    [0.75, 0.75, 0.1]
    """
    with np.errstate(divide="ignore"):  # who is found for sure leaves no chance
        missed = np.bincount(household_of, weights=np.log1p(-risk))
    return np.asarray(-np.expm1(missed))[household_of]


def unique_match(uniques: int, pairs: int, fraction: float) -> float:
    """Return the chance that a match with a unique record is right (Skinner and Elliot 2002).

    `uniques` are classes of one row, `pairs` of two; `fraction` is the share of the population in the sample.

    >>> round(unique_match(4, 3, 0.01), 12)
    0.006688963211
    """
    right = uniques * fraction
    wrong = 2 * pairs * (1 - fraction)
    return right / (right + wrong) if right else 0.0
