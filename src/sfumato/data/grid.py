"""Bounds of published ranges: round numbers and first days of periods, never a figure that only few people have.

A range from the smallest to the largest value of a class prints two people's own figures. So a column without a
hierarchy is cut into bands first, and ranges reach from the beginning of one band to the end of another. A bound lies
where nobody is, or on a value that at least as many people share as a band has, also where the outermost bands end.
Where people stand so close that there is no such place (300 ages), it is a multiple of five all the same.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.data.builders import decimal_text
from sfumato.data.dataset import CodedColumn, Codes
from sfumato.data.dates import day_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.kinds import exact_number
from sfumato.data.schema import Kind

FINEST = 20  # marks on the narrower side of an edge, at most: bounds are rounder than what lies between them
AROUND = 7  # whole numbers, or days: bands are taken to be at least so wide when their bounds are rounded
ROUND = 5  # whole numbers, or days, between marks that may be an edge although few people are there, if all are taken
TRIES = 16  # marks of one kind that are tried on either side of the middle


@dataclass(frozen=True)
class Marks:
    """Marks of one kind, so far apart: the i-th begins at `start(i)`, and a place lies behind the `place`-th."""

    apart: int
    place: Callable[[int], int]
    start: Callable[[int], int]

    def within(self, after: int, until: int, near: int) -> Iterator[int]:
        """Yield marks above `after` up to `until`, those near a place first, not all when there are many."""
        middle = self.place(near)
        for step in range(TRIES):
            for place in (middle - step, middle + 1 + step):
                mark = self.start(place)
                if after < mark <= until:
                    yield mark


def multiples(step: int) -> Marks:
    """Return the multiples of a number as marks."""
    return Marks(step, lambda at: at // step, lambda place: place * step)


def _round_numbers(width: int) -> list[Marks]:
    """Return multiples of 1, 2, 5, 10, 20, ... up to the first that is no less than a width; the coarsest first."""
    found, power = [multiples(1)], 1
    while found[-1].apart < width:
        found += [multiples(digit * power) for digit in (2, 5, 10)]
        power *= 10
    return found[::-1]


def _first_of_month(months: int) -> Marks:
    """Return the first days of periods of so many months; the calendar of Python ends with the year 9999."""

    def place(at: int) -> int:
        day = _day(at)
        return (12 * day.year + day.month - 1) // months

    def start(place: int) -> int:
        year, month = divmod(place * months, 12)
        return datetime.date(year, month + 1, 1).toordinal() if 1 <= year <= 9999 else 366 * year

    return Marks(30 * months, place, start)


# Decades, years, quarters, months, weeks from Monday on, days.
_CALENDAR = [*map(_first_of_month, (120, 12, 3, 1)), Marks(7, lambda at: (at - 1) // 7, lambda place: 7 * place + 1)]
_CALENDAR.append(multiples(1))


@dataclass(frozen=True, eq=False)
class Grid:
    """Bands of a column in rising order, c of them over v codes; a missing value is a band of its own, the last.

    >>> pay = CodedColumn(name="pay", role=None, kind=Kind.NUMBER, codes=np.arange(6, dtype=np.int32),
    ...     labels=("1013", "1178", "1311", "1612", "1644", "1871"), values=np.empty(6))
    >>> grid = Grid.of(pay, np.ones(6, dtype=np.int64), 2)
    >>> [grid.label(pay, band, band) for band in range(grid.size)], grid.label(pay, 0, 1)
    (['[1000, 1399]', '[1600, 1999]'], '[1000, 1999]')
    """

    band_of: Codes  # (v,)
    first: Codes  # (c,): the lowest code in each band
    last: Codes  # (c,): the highest one
    lower: tuple[str, ...]  # (c,)
    upper: tuple[str, ...]  # (c,)
    closed: bool  # whether upper bounds belong to their bands

    @property
    def size(self) -> int:
        """How many bands there are."""
        return self.first.size

    @classmethod
    def suits(cls, column: CodedColumn) -> bool:
        """Whether a column has figures: numbers or dates."""
        return column.kind is Kind.NUMBER or column.dates

    @classmethod
    def of(cls, column: CodedColumn, counts: NDArray[np.int64], least: int) -> Grid:
        """Return bands of at least so many people each (as far as there are so many), given those who have each value.

        The coarsest mark that leaves enough people on both sides is the first to be cut at, nearest to the middle.
        Values that nobody has, where rows were dropped, widen no band.
        """
        n_known = len(column.labels) - (column.missing >= 0)
        if column.dates:
            at_of_code, scale = [_ordinal(label) for label in column.labels[:n_known]], 1
        else:
            at_of_code, scale = _scaled(column.labels[:n_known])
        had = np.flatnonzero(counts[:n_known]) if counts[:n_known].any() else np.arange(n_known)
        places, people = [at_of_code[code] for code in had], counts[:n_known][had].tolist()
        line = _Line.of(places, people, least, dates=column.dates, closed=scale == 1)
        ends = _ends(column, at_of_code, scale)
        edges = line.edges()
        band_of_code = [bisect_right(edges, at) for at in at_of_code]

        def text(at: int) -> str:
            return _day(at).isoformat() if column.dates else decimal_text(Fraction(at, scale))

        bounds = [(int(max(low, ends[0])), int(min(high, ends[1]))) for low, high in line.bounds(edges)]
        lower, upper = [text(low) for low, _ in bounds], [text(high) for _, high in bounds]
        if column.missing >= 0:
            band_of_code.append(len(lower))
            lower.append("")
            upper.append("")
            had = np.append(had, column.missing)
        band_of = np.array(band_of_code, dtype=np.int32)
        first = had[np.searchsorted(band_of[had], np.arange(len(lower)))].astype(np.int32)
        last = had[np.searchsorted(band_of[had], np.arange(len(lower)), side="right") - 1].astype(np.int32)
        return cls(band_of, first, last, tuple(lower), tuple(upper), line.closed)

    def label(self, column: CodedColumn, low: int, high: int) -> str:
        """Return what is published for the bands from one to another; a value that all people in it share is itself."""
        first, last = int(self.first[low]), int(self.last[high])
        if first == last:
            return column.labels[first]
        if last == column.missing:
            return ROOT
        if self.lower[low] == self.upper[high]:
            return self.lower[low]  # times of one day
        return f"[{self.lower[low]}, {self.upper[high]}{']' if self.closed else ')'}"


@dataclass(frozen=True)
class _Line:
    """Where people stand, u places in rising order."""

    at: list[int]  # (u,)
    up_to: list[int]  # (u + 1,): people before each place
    few: frozenset[int]  # places of too few people to be shown
    least: int
    dates: bool
    closed: bool

    @classmethod
    def of(cls, places: Sequence[int], counts: Sequence[int], least: int, *, dates: bool, closed: bool) -> _Line:
        people: dict[int, int] = {}
        for at, count in zip(places, counts, strict=True):
            people[at] = people.get(at, 0) + count
        up_to = [0]
        for count in people.values():
            up_to.append(up_to[-1] + count)
        few = frozenset(at for at, count in people.items() if 0 < count < least)
        return cls(list(people), up_to, few, least, dates, closed)

    def edges(self) -> list[int]:
        """Return where bands are divided, in rising order: an edge belongs to the band above it."""
        found: list[int] = []
        parts = [(0, len(self.at))]
        while parts:
            first, last = parts.pop()
            if (edge := self._edge(first, last)) is not None:
                middle = bisect_left(self.at, edge)
                found.append(edge)
                parts += [(first, middle), (middle, last)]
        return sorted(found)

    def _edge(self, first: int, last: int) -> int | None:
        """Return where the places first..last - 1 are divided, if they can be."""
        up_to, least = self.up_to, self.least
        if up_to[last] - up_to[first] < 2 * least:
            return None
        low = bisect_left(up_to, up_to[first] + least)  # places before it are enough for the lower side
        high = bisect_right(up_to, up_to[last] - least) - 1  # and those from here on for the upper one
        if low > high:
            return None
        middle = bisect_left(up_to, (up_to[first] + up_to[last]) // 2)
        near = self.at[min(max(middle, low), high)]
        kinds = self._marks(self.at[high] - self.at[low - 1])
        tests: tuple[Callable[[Marks, int], bool], ...] = (  # what is wanted of an edge, the best first
            lambda marks, edge: self._is_round(marks, edge, first, last) and not self._shows_few(edge),
            lambda marks, edge: not self._shows_few(edge),
            lambda marks, edge: marks.apart >= ROUND,
        )
        for may_be in tests:
            for marks in kinds:
                for edge in marks.within(self.at[low - 1], self.at[high], near):
                    if may_be(marks, edge):
                        return edge
        return None

    def _is_round(self, marks: Marks, edge: int, first: int, last: int) -> bool:
        """Whether an edge is round for what it divides."""
        above = bisect_left(self.at, edge)
        narrow = min(self.at[above - 1] - self.at[first], self.at[last - 1] - self.at[above])
        return marks.apart * FINEST >= narrow

    def _shows_few(self, edge: int) -> bool:
        """Whether an edge prints a figure of too few people: itself, or the one below it that ends the lower band."""
        return edge in self.few or (self.closed and edge - 1 in self.few)

    def _marks(self, width: int) -> list[Marks]:
        return _CALENDAR if self.dates else _round_numbers(width)

    def bounds(self, edges: Sequence[int]) -> list[tuple[int, int]]:
        """Return the bounds of each band: at marks around its people, and within its edges."""
        if not self.at:
            return []
        found = []
        starts = [0, *(bisect_left(self.at, edge) for edge in edges), len(self.at)]
        for band, (first, last) in enumerate(pairwise(starts)):
            low, high = self.at[first], self.at[last - 1]
            marks = self._outer(high - low)
            if low in self.few:
                low = marks.start(marks.place(low - 1))
            if high in self.few or not self.closed:
                high = marks.start(marks.place(high + self.closed) + 1) - self.closed
            low = max([low, *edges[band - 1 : band]]) if band else low
            high = min([high, *(edge - self.closed for edge in edges[band : band + 1])])
            found.append((low, high))
        return found

    def _outer(self, width: int) -> Marks:
        """Return the coarsest marks that may bound a band of a width: how far they are from its people stays open."""
        return next(marks for marks in self._marks(max(width, AROUND)) if marks.apart <= max(width, AROUND))


def _ends(column: CodedColumn, at_of_code: Sequence[int], scale: int) -> tuple[float, float]:
    """Return where bounds end: at the ends of the declared domain, else at zero where no number is below."""
    if column.ends is None:
        return 0 if not column.dates and min(at_of_code, default=-1) >= 0 else -math.inf, math.inf
    if column.dates:
        low, high = map(_ordinal, column.ends)
        return low, high
    lowest, highest = (Fraction(exact_number(end)) * scale for end in column.ends)
    return math.ceil(lowest), math.floor(highest) if scale == 1 else math.inf  # other upper bounds lie outside


def _scaled(labels: Sequence[str]) -> tuple[list[int], int]:
    """Return numbers as whole numbers of 1/scale, and the scale, which is a power of ten.

    >>> _scaled(["2.50", "3"]), _scaled(["3.0", "9007199254740993"])
    (([25, 30], 10), ([3, 9007199254740993], 1))
    """
    ratios = [exact_number(label).as_integer_ratio() for label in labels]
    scale = 1
    for _, denominator in ratios:
        while scale % denominator:
            scale *= 10
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


def _ordinal(label: str) -> int:
    day = day_of(label)
    assert day is not None, "a column of dates holds nothing else"
    return day.toordinal()


def _day(at: int) -> datetime.date:
    return datetime.date.fromordinal(min(max(at, 1), datetime.date.max.toordinal()))
