"""Columns that give one another away: sets of values published for one can be narrowed by those of the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROWS = 1 << 16  # records that are looked at
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
    for told in columns:
        if not told.randomized:
            continue
        for known in columns:
            if known is not told:
                found = strength(known, told)
                if found >= LIMIT:
                    yield Dependence(known.name, told.name, found)


def strength(known: Candidate, told: Candidate) -> float:
    """Return how much better one guesses a column from another than without it (Goodman and Kruskal's lambda).

    Each record is guessed from all others, so that a column of nearly as many values as records tells nothing by
    accident. 0 when there is no doubt to begin with.
    """
    n = told.codes.size
    most = int(np.bincount(told.codes, minlength=1).max(initial=0))
    if n == most:
        return 0.0
    key = np.sort(known.codes * told.n_values + told.codes)
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    count = np.diff(np.append(first, n))
    row = key[first] // told.n_values
    start = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
    largest = np.maximum.reduceat(count, start)
    # The second largest: with one of the largest taken out, the largest of what is left.
    rank = np.lexsort((count, row))
    end = np.append(start[1:], count.size) - 1
    second = np.where(end > start, count[rank[np.maximum(end - 1, start)]], 0)
    right = largest[(largest - 1 >= second) & (largest > 1)].sum()
    return float(max(right - most, 0) / (n - most))
