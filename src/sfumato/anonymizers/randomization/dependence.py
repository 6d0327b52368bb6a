"""Columns that give one another away: sets of values published for one can be narrowed by those of the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

ROWS = 1 << 14  # records that are looked at
_CELLS = 1 << 20  # of a table of two columns up to which it is counted in full
LIMIT = 0.95  # share of the doubt about a column that another must remove to count as determining it


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column that is published: its codes for the records that are looked at, and whether it is randomized."""

    name: str
    codes: NDArray[np.int64]
    n_values: int
    randomized: bool


@dataclass(frozen=True)
class Dependence:
    """Knowing one column, how much of the doubt about another is gone, 0 to 1."""

    known: str
    told: str
    strength: float


def dependences(columns: Sequence[Candidate]) -> Iterator[Dependence]:
    """Yield the pairs in which one column all but determines a randomized one."""
    for one, other in combinations(columns, 2):
        if one.randomized or other.randomized:
            forward, backward = strengths(one, other)
            if other.randomized and forward >= LIMIT:
                yield Dependence(one.name, other.name, forward)
            if one.randomized and backward >= LIMIT:
                yield Dependence(other.name, one.name, backward)


def strengths(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Return how much better one guesses each column from the other than without it (Goodman and Kruskal's lambda).

    The first figure is about the second column, told by the first. Each record is guessed from all others, so that a
    column of nearly as many values as records tells nothing by accident. 0 when there is no doubt to begin with.

    >>> codes = np.arange(600) % 6
    >>> strengths(Candidate("a", codes, 6, True), Candidate("b", codes // 3, 2, True))[0]
    1.0
    """
    key = one.codes * other.n_values + other.codes
    if one.n_values * other.n_values <= _CELLS:
        counts = np.bincount(key, minlength=one.n_values * other.n_values)
        key = np.flatnonzero(counts)
        counts = counts[key]
    else:
        key, counts = _tallied(key)
    first, second = key // other.n_values, key % other.n_values
    back = np.argsort(second, kind="stable")
    return _lambda(first, counts, other), _lambda(second[back], counts[back], one)


def _tallied(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return distinct keys in rising order, and how often each occurs."""
    keys = np.sort(keys)
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.diff(np.append(first, keys.size))


def _lambda(known: NDArray[np.int64], count: NDArray[np.int64], told: Candidate) -> float:
    """Return the share of wrong guesses that knowing saves; one entry for each pair of values, those known rising."""
    n = told.codes.size
    most = int(np.bincount(told.codes, minlength=1).max(initial=0))
    if n == most:
        return 0.0
    start = np.flatnonzero(np.concatenate([[True], known[1:] != known[:-1]]))
    largest = np.maximum.reduceat(count, start)
    # The second largest: with one of the largest taken out, the largest of what is left.
    rank = np.lexsort((count, known))
    end = np.append(start[1:], count.size) - 1
    second = np.where(end > start, count[rank[np.maximum(end - 1, start)]], 0)
    right = largest[(largest - 1 >= second) & (largest > 1)].sum()
    return float(max(right - most, 0) / (n - most))
