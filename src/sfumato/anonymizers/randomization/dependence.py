"""Columns that give one another away: sets of values published for one can be narrowed by those of the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

ROWS = 1 << 14  # records that are looked at
_CELLS = 1 << 20  # of a table of two columns up to which it is counted in full
LIMIT = 0.95  # share of the doubt about a column that another must remove to count as determining it
LARGEST = 3  # columns that are taken together
SETS = 1_500  # sets of several columns that are looked at; a set is looked at for one randomized column
RECORDS = 4  # with the same values, on average: of rarer combinations nothing can be guessed from the others
KEPT = 8  # sets of each size that are tried with one column more, those that tell most


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column that is published: its codes for the records that are looked at, and whether it is randomized."""

    name: str
    codes: NDArray[np.int64]
    n_values: int
    randomized: bool


@dataclass(frozen=True)
class Dependence:
    """Knowing some columns, how much of the doubt about another is gone, 0 to 1."""

    known: tuple[str, ...]
    told: str
    strength: float

    def __str__(self) -> str:
        together = len(self.known) > 1
        names = " and ".join(map(repr, self.known))
        return f"{names} {'together give' if together else 'gives'} away {self.told!r} ({self.strength:.0%})"


@dataclass
class Search:
    """What was found, and how far was looked: sets of columns by their size, of all that there are."""

    found: list[Dependence] = field(default_factory=list)
    looked_at: dict[int, int] = field(default_factory=dict)
    of_all: dict[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        looked = [
            f"{self.looked_at.get(size, 0):,} of {there:,} sets of {size}"
            for size, there in self.of_all.items()
            if there
        ]
        return f"columns that tell of a randomized one, in up to {ROWS:,} records: {', '.join(looked)}"

    def told_by(self, names: tuple[str, ...], told: str) -> bool:
        """Whether some of these columns are known to tell of a column already."""
        return any(one.told == told and set(one.known) <= set(names) for one in self.found)


def dependences(columns: Sequence[Candidate]) -> Search:
    """Return which columns, alone or a few together, all but determine a randomized one.

    Single columns are all looked at. Sets grow from there, pairs with the fewest combinations first, then those that
    tell most with one column more, until nothing tells more or enough sets were looked at.
    """
    search = Search()
    alone: dict[tuple[str, str], float] = {}
    for one, other in combinations(columns, 2):
        if one.randomized or other.randomized:
            forward, backward = strengths(one, other)
            alone |= {(one.name, other.name): forward, (other.name, one.name): backward}
    randomized = [column for column in columns if column.randomized]
    for told in randomized:
        for known in columns:
            if known is not told and alone[known.name, told.name] >= LIMIT:
                search.found.append(Dependence((known.name,), told.name, alone[known.name, told.name]))
    for size in range(1, LARGEST + 1):
        search.of_all[size] = len(randomized) * math.comb(len(columns) - 1, size)
    search.looked_at[1] = search.of_all[1]
    share = SETS // max(len(randomized), 1)  # for each randomized column
    for told in randomized:
        _together(search, [column for column in columns if column is not told], told, share)
    return search


def _together(search: Search, others: Sequence[Candidate], told: Candidate, most: int) -> None:
    """Look at sets of several columns, for one that is told."""
    pairs = sorted(combinations(others, 2), key=lambda pair: pair[0].n_values * pair[1].n_values)
    sets: list[tuple[Candidate, ...]] = list(pairs)
    for size in range(2, LARGEST + 1):
        room = most * size // (2 * LARGEST - 1)  # the larger the sets, the more of them there are
        strength: dict[tuple[Candidate, ...], float] = {}
        for members in sets:
            names = tuple(member.name for member in members)
            if len(strength) == room or search.told_by(names, told.name):
                continue
            joined = _joined(members)
            if joined is None:
                continue
            strength[members] = strengths(joined, told)[0]
            if strength[members] >= LIMIT:
                search.found.append(Dependence(names, told.name, strength[members]))
        search.looked_at[size] = search.looked_at.get(size, 0) + len(strength)
        best = sorted(strength, key=lambda members: -strength[members])[:KEPT]
        sets = list(_one_more(best, others))


def _one_more(best: Sequence[tuple[Candidate, ...]], others: Sequence[Candidate]) -> Iterator[tuple[Candidate, ...]]:
    """Yield each set with one column more, each once."""
    seen = set()
    for members in best:
        for other in others:
            names = frozenset((*(member.name for member in members), other.name))
            if other not in members and names not in seen:
                seen.add(names)
                yield tuple(column for column in others if column.name in names)


def _joined(members: Sequence[Candidate]) -> Candidate | None:
    """Return columns as one, or None when their combinations are too rare to tell anything."""
    key, n_values = members[0].codes, members[0].n_values
    for member in members[1:]:
        key, n_values = key * member.n_values + member.codes, n_values * member.n_values
        if n_values > _CELLS:
            return None
    counts = np.bincount(key, minlength=n_values)
    number = np.cumsum(counts > 0) - 1
    n_found = int(number[-1]) + 1 if number.size else 0
    if key.size < RECORDS * n_found:
        return None
    return Candidate(" and ".join(member.name for member in members), number[key], n_found, False)


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
        key, counts = np.unique(key, return_counts=True)
    first, second = key // other.n_values, key % other.n_values
    back = np.argsort(second, kind="stable")
    return _lambda(first, counts, other), _lambda(second[back], counts[back], one)


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
