"""Where a table is cut into regions when its distinct rows are too many for one machine: decided on a sample of them.

A region is a box of quasi-identifiers. Every class that a cut goes through is lost, so there are as few cuts as memory
allows, and each goes where the fewest people of the sample's classes are divided. Sizes: s sampled rows, q columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, DistinctRows, distinct_codes, starts_of

SAMPLED = 50_000  # distinct rows
TRIED = 4  # cuts of each column that are looked at more closely
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ALL = 2.0**64


def mixed(codes: Codes) -> NDArray[np.uint64]:
    """Return a number for each row of codes, (s, q), that is the same for equal rows and looks like chance; (s,)."""
    number = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        number = (number ^ column.astype(np.uint64)) * _ODD
        number ^= number >> np.uint64(29)
    number = (number + _ODD) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(number ^ (number >> np.uint64(32)))


def distinct_among(codes: Codes, sizes: Sequence[int], weight: NDArray[np.int64] | None = None) -> DistinctRows:
    """Return the distinct ones among rows of codes, (n, q), given how many values each column has."""
    columns = [(np.ascontiguousarray(column), size) for column, size in zip(codes.T, sizes, strict=True)]
    return distinct_codes(columns, len(codes), weight)


@dataclass(frozen=True, eq=False)
class Sample:
    """Those distinct rows whose mixed codes are smallest, each with all its weight: whatever parts they came from."""

    codes: Codes  # (s, q)
    weight: NDArray[np.int64]  # (s,)
    most: int = SAMPLED

    @classmethod
    def of(cls, codes: Codes, weight: NDArray[np.int64], most: int = SAMPLED) -> Sample:
        """Return a sample of distinct rows."""
        order = np.argsort(mixed(codes), kind="stable")[:most]
        return cls(codes[order], weight[order], most)

    def with_more(self, other: Sample, sizes: Sequence[int]) -> Sample:
        """Return the sample of two parts together, given how many values each column has."""
        codes, weight = np.concatenate([self.codes, other.codes]), np.concatenate([self.weight, other.weight])
        distinct = distinct_among(codes, sizes, weight)
        return Sample.of(distinct.codes, distinct.weight, self.most)

    @property
    def each(self) -> float:
        """How many distinct rows of the table each of these stands for, by estimate."""
        size = self.weight.size
        if size < self.most:
            return 1.0
        share = float(mixed(self.codes).max()) / _ALL
        return max((size - 1) / (size * share), 1.0)

    @property
    def distinct(self) -> int:
        """How many distinct rows the table has: by estimate, unless it has fewer than a sample may have."""
        return round(self.weight.size * self.each)


@dataclass(frozen=True)
class Cut:
    """Rows whose code in a column is below a bound, and the others."""

    column: int
    bound: int
    crossing: int = 0  # people of the sample in classes that it divides


@dataclass(frozen=True)
class Regions:
    """A tree of cuts. Node 0 is the whole table; `below` holds what each node was cut by, and its two nodes below."""

    below: tuple[tuple[Cut, int, int] | None, ...] = (None,)

    @property
    def leaves(self) -> tuple[int, ...]:
        """The nodes that are regions, in order."""
        return tuple(node for node in self._reached() if self.below[node] is None)

    def _reached(self) -> list[int]:
        """Return nodes from the top on: what was joined again lies below none."""
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop(0)
            found.append(node)
            if (cut := self.below[node]) is not None:
                waiting += cut[1:]
        return found

    def cut(self, node: int, by: Cut) -> Regions:
        """Return the tree with a region cut in two."""
        grown = [*self.below, None, None]
        grown[node] = (by, len(self.below), len(self.below) + 1)
        return Regions(tuple(grown))

    def joined(self, node: int) -> Regions:
        """Return the tree without the cut that made a region: it is one with all that lay beyond."""
        above = next(at for at in self._reached() if (cut := self.below[at]) is not None and node in cut[1:])
        return Regions(tuple(None if at == above else cut for at, cut in enumerate(self.below)))

    def of(self, codes: Codes) -> NDArray[np.int64]:
        """Return the node that each row is in, (s,), given its codes, (s, q)."""
        node_of = np.zeros(len(codes), dtype=np.int64)
        for node in self._reached():
            if (cut := self.below[node]) is None:
                continue
            rows = np.flatnonzero(node_of == node)
            low = codes[rows, cut[0].column] < cut[0].bound
            node_of[rows] = np.where(low, cut[1], cut[2])
        return node_of

    def numbers(self, codes: Codes) -> NDArray[np.int64]:
        """Return the number of the region that each row is in: 0, 1, ... in the order of `leaves`."""
        number_of = np.full(len(self.below), -1, dtype=np.int64)
        number_of[list(self.leaves)] = np.arange(len(self.leaves))
        return number_of[self.of(codes)]


@dataclass(frozen=True, eq=False)
class SampledClasses:
    """The classes that a sample was put into: p pieces of its rows."""

    class_of: NDArray[np.int64]  # (p,)
    row_of: NDArray[np.int64]  # (p,): rows of the sample
    count: NDArray[np.int64]  # (p,): people


# Whether both sides of each cut of a region can be met alone, in the whole table: for all regions to cut at once.
Meets = Callable[[Regions, dict[int, list[Cut]]], dict[int, list[bool]]]


def cut_up(sample: Sample, classes: SampledClasses, columns: Sequence[int], limit: int, meets: Meets) -> Regions:
    """Return as few regions as it takes for each to have so many distinct rows at most; where no cut can be met, more.

    columns: the places of the quasi-identifiers among those of the sample.
    """
    regions, stuck = Regions(), set[int]()
    while True:
        node_of = regions.of(sample.codes)
        large = [
            node
            for node in regions.leaves
            if node not in stuck and np.count_nonzero(node_of == node) * sample.each > limit
        ]
        if not large:
            return regions
        found = {node: best_cuts(sample, classes, columns, node_of == node, limit / sample.each) for node in large}
        met = meets(regions, found)
        for node, cuts in found.items():
            chosen = next((cut for cut, hold in zip(cuts, met[node], strict=True) if hold), None)
            if chosen is None:
                stuck.add(node)
            else:
                regions = regions.cut(node, chosen)


def best_cuts(
    sample: Sample, classes: SampledClasses, columns: Sequence[int], inside: NDArray[np.bool_], limit: float
) -> list[Cut]:
    """Return cuts of a region, (s,) rows inside, the one that divides the fewest people first.

    Each side keeps half of what a region may have, so that there are few regions; less where no cut leaves so much.
    """
    pieces = np.flatnonzero(inside[classes.row_of])
    _, class_of = np.unique(classes.class_of[pieces], return_inverse=True)
    people = np.bincount(class_of, weights=classes.count[pieces]).astype(np.int64)
    cuts: list[tuple[int, float, Cut]] = []
    least = limit / 2
    while not cuts and least >= 0.5:
        for column in columns:
            cuts += _cuts_of(sample.codes[inside, column], sample.codes[classes.row_of[pieces], column], class_of,
                             people, column, least)  # fmt: skip
        least /= 2
    return [cut for _, _, cut in sorted(cuts, key=lambda each: each[:2])]


def _cuts_of(
    codes: Codes, of_piece: Codes, class_of: NDArray[np.intp], people: NDArray[np.int64], column: int, least: float
) -> list[tuple[int, float, Cut]]:
    """Return the best cuts of one column, each with the people that it divides and how uneven its sides are."""
    low = np.full(people.size, np.iinfo(np.int32).max, dtype=np.int64)
    high = np.full(people.size, -1, dtype=np.int64)
    np.minimum.at(low, class_of, of_piece)
    np.maximum.at(high, class_of, of_piece)
    size = int(codes.max(initial=0)) + 1
    change = np.zeros(size + 1, dtype=np.int64)  # a class from low to high is divided by the bounds low + 1 to high
    np.add.at(change, low + 1, people)
    np.add.at(change, high + 1, -people)
    crossing = np.cumsum(change)[:size]
    before = starts_of(np.bincount(codes, minlength=size))[:size]
    bounds = np.flatnonzero((before >= max(least, 1)) & (codes.size - before >= max(least, 1)))
    uneven = np.abs(2 * before[bounds] - codes.size) / max(codes.size, 1)
    order = np.lexsort((uneven, crossing[bounds]))[:TRIED]
    return [
        (int(crossing[bound]), float(off), Cut(column, int(bound), int(crossing[bound])))
        for bound, off in zip(bounds[order], uneven[order], strict=True)
    ]


def joined_failing(regions: Regions, failed: Sequence[int]) -> Regions:
    """Return the tree with each failed region, by its number, joined with what it was cut from."""
    for node in [regions.leaves[number] for number in failed]:
        if node in regions.leaves and node != 0:
            regions = regions.joined(node)
    return regions
