"""How much of a column's domain each published label leaves open.

The domain holds all values that a recipient knows of: the leaves of the hierarchy, the declared values, and the values
that occur. Of numbers and dates it is the range from the smallest to the largest of these, in steps of the precision
that the column has. The domain is laid out as a line, one unit a value, a missing value behind all others. A label
covers spans of the line: m labels of a released column, v values that occur in the original column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, starts_of
from sfumato.data.dates import day_of, days_of
from sfumato.data.figures import Spans, span_of
from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.kinds import as_number
from sfumato.data.labels import parse_range, parse_set
from sfumato.data.release import ReleasedColumn
from sfumato.data.schema import Kind
from sfumato.metrics.cover import Cover, spread_evenly, sum_runs

Span = tuple[float, float]  # from the first place up to, but not including, the second
_MOST_STEPS = 2.0**30  # of a range of numbers; finer differences play no part
_MOST_DECIMALS = 6
_NEAR = 1e-6  # of a step: what rounding may move an end


@dataclass(frozen=True, eq=False, kw_only=True)
class Extent:
    """The spans of each label: begin[s]..end[s] for s in start[j]:start[j + 1], ascending, one unit a value."""

    start: NDArray[np.int64]  # (m + 1,)
    begin: NDArray[np.float64]  # (spans,)
    end: NDArray[np.float64]  # (spans,)
    at: NDArray[np.float64]  # (v,): where the place of each occurring value begins
    width: NDArray[np.float64]  # (v,): 1, or less where several values share one place
    domain: float  # how many values there are, a missing one included
    by_range: bool  # whether a label loses the range from its first to its last number
    missing: int = -1  # the code of the missing value

    @classmethod
    def of(
        cls,
        released: ReleasedColumn,
        column: CodedColumn,
        covered: Cover,
        *,
        domain: Sequence[str] = (),
        hierarchy: Hierarchy | None = None,
        markers: Sequence[str] = ("",),
        spans: Spans | None = None,
    ) -> Extent:
        """Return the spans of labels whose meaning `covered` has found already.

        `domain` are the declared values, in order, `hierarchy` is the column's, over all values that are known.
        """
        line = _Line(column, domain, hierarchy, markers)
        found: list[list[Span]] = []
        others = np.flatnonzero(covered.value_of < 0)
        for label in others.tolist():
            shown = span_of(spans or {}, released.labels[label])
            if (
                column.values is not None
                and covered.outside[label]
                and line.at.size
                and not math.isnan(as_number(shown))
            ):
                code = int(covered.first[covered.start[label]])  # the nearest number stands in for one that is strange
                found.append([(line.at[code], line.at[code] + line.width[code])])
            else:
                found.append([(0.0, math.inf)] if label == released.missing else line.spans(shown))
        n_spans = np.ones(covered.n_labels, dtype=np.int64)
        n_spans[others] = [len(each) for each in found]
        start = starts_of(n_spans)
        begin, end = np.empty(start[-1]), np.empty(start[-1])
        is_value = covered.value_of >= 0
        codes = covered.value_of[is_value]
        begin[start[:-1][is_value]], end[start[:-1][is_value]] = line.at[codes], line.at[codes] + line.width[codes]
        of_others = np.repeat(~is_value, n_spans)
        flat = np.array([span for each in found for span in each], dtype=np.float64).reshape(-1, 2)
        begin[of_others], end[of_others] = flat[:, 0], np.minimum(flat[:, 1], line.size)
        return cls(
            start=start,
            begin=begin,
            end=end,
            at=line.at,
            width=line.width,
            domain=line.size,
            by_range=column.values is not None,
            missing=column.missing,
        )

    @property
    def whole(self) -> Extent:
        """The same column under one label for all values."""
        return replace(self, start=np.array([0, 1]), begin=np.zeros(1), end=np.array([self.domain]))

    @cached_property
    def size(self) -> NDArray[np.float64]:
        """How many values of the domain each label stands for, (m,)."""
        size = sum_runs(self.end - self.begin, self.start)
        return np.where(size > 0, size, 1.0)  # without any value in the domain there is nothing to share

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """The normalized certainty penalty of each label, (m,), each in 0..1.

        Numbers: the width of the label over the width of the domain. Others: (values - 1) / (values of the domain - 1).
        A number that may also be missing loses everything.
        """
        if not self.by_range:
            return np.clip((self.size - 1) / max(self.domain - 1, 1.0), 0.0, 1.0)
        numbers = self.domain - (self.missing >= 0)
        first, last = self.begin[self.start[:-1]], self.end[self.start[1:] - 1]
        loss = np.clip((last - first - 1) / max(numbers - 1, 1.0), 0.0, 1.0)
        return np.where((last > numbers) & (first < numbers), 1.0, loss)

    def overlaps(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much of each label lies from code low to code high - 1, ends included: (q,), (q,) -> (m, q)."""
        if not self.at.size:
            return np.zeros((self.start.size - 1, low.size))
        begin, end = self.at[low], self.at[high - 1] + self.width[high - 1]
        inside = np.minimum(self.end[:, None], end) - np.maximum(self.begin[:, None], begin)
        return sum_runs(np.maximum(inside, 0.0), self.start)

    def sums(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how much of each label the chosen codes make up, (v, q) -> (m, q)."""
        up_to = np.zeros((self.at.size + 1, *chosen.shape[1:]))
        np.cumsum(chosen[self._order] * self.width[self._order, None], axis=0, out=up_to[1:])
        first, end = self._codes
        return sum_runs(up_to[end] - up_to[first], self.start)

    def spread(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share out each label's weight evenly over its part of the domain; return what occurring values get, (v,)."""
        density = np.repeat(weight / self.size, np.diff(self.start))
        first, end = self._codes
        some = first < end
        shared = np.empty(self.at.size)
        shared[self._order] = spread_evenly(density[some], first[some], end[some], self.at.size)
        return shared * self.width

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The codes by their places."""
        return np.argsort(self.at, kind="stable")

    @cached_property
    def _codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The occurring values in each span: the first and the one behind the last, in the order of places."""
        middle = (self.at + self.width / 2)[self._order]
        return np.searchsorted(middle, self.begin), np.searchsorted(middle, self.end)


class _Line:
    """The domain of one column, and where labels lie on it."""

    def __init__(
        self, column: CodedColumn, domain: Sequence[str], hierarchy: Hierarchy | None, markers: Sequence[str]
    ) -> None:
        self.hierarchy = hierarchy
        known = column.labels[: len(column.labels) - (column.missing >= 0)]
        leaves = hierarchy.leaves if hierarchy is not None else ()
        self.by_range = column.values is not None or column.dates
        self.read: Callable[[str], Span | None] = self._of_words
        self.place: dict[str, int] = {}
        self.ordered = column.kind is Kind.ORDERED
        if column.values is not None:
            self.read = self._of_numbers
            numbers = column.values[: len(known)]
            more = [number for label in (*domain, *leaves) if not math.isnan(number := as_number(label))]
            self.low, self.step, size = _steps(numbers, more)
            place = np.rint((numbers - self.low) / self.step)
        elif column.dates:
            self.read = self._of_days
            days = [day.toordinal() for label in (*known, *domain, *leaves) if (day := day_of(label)) is not None]
            self.low, size = min(days, default=0), max(days, default=0) - min(days, default=0) + 1
            place = np.array(days[: len(known)], dtype=np.float64) - self.low
        else:
            first: Sequence[str] = () if self.ordered or hierarchy is not None else known
            both = (*domain, *leaves) if self.ordered else (*leaves, *domain)
            self.place = {label: at for at, label in enumerate(dict.fromkeys((*first, *both, *known)))}
            place, size = np.array([self.place[label] for label in known], dtype=np.float64), len(self.place)
        self.size = float(size)
        self.at, self.width = _shared_places(place)
        self.known = max(self.size, 1.0)  # without the missing value
        self.missing: list[Span] = []
        if column.missing >= 0:
            self.missing = [(self.size, self.size + 1)]
            self.at, self.width = np.append(self.at, self.size), np.append(self.width, 1.0)
            self.size += 1
        self.markers = set(markers)
        self.code_of = {label: code for code, label in enumerate(known)}

    def spans(self, label: str) -> list[Span]:
        """Return the spans of a label; the whole line where it tells nothing."""
        return self._spans(label) or [(0.0, math.inf)]

    def _spans(self, label: str) -> list[Span]:
        if label == ROOT:
            return [(0.0, math.inf)]
        if (code := self.code_of.get(label)) is not None:
            return [(float(self.at[code]), float(self.at[code] + self.width[code]))]
        if (span := self.read(label)) is not None or (span := self._below(label)) is not None:
            return [span]
        if self.hierarchy is not None and label in self.hierarchy.same:
            return self._spans(self.hierarchy.same[label])
        return self._members(parse_set(label) or ())

    def _members(self, members: Sequence[str]) -> list[Span]:
        """Return the union of the spans of a set's members; one that nothing declares is one more value."""
        found: list[Span] = []
        for member in members:
            spans = self._spans(member)
            if not spans and member in self.markers:
                spans = self.missing
            elif not spans and not self.by_range:
                self.place[member] = int(self.size)
                self.size += 1
                spans = [(self.size - 1, self.size)]
            found += spans
        return _joined(found)

    def _below(self, label: str) -> Span | None:
        """Return the span from the first to the last leaf below a label of the hierarchy."""
        node = self.hierarchy.node_of.get(label) if self.hierarchy is not None else None
        if self.hierarchy is None or node is None or node < self.hierarchy.n_leaves:
            return None
        below = self.hierarchy.below[node]
        ends = [self.read(self.hierarchy.leaves[leaf]) for leaf in (below[0], below[-1])]
        return (ends[0][0], ends[1][1]) if ends[0] is not None and ends[1] is not None else None

    def _of_numbers(self, label: str) -> Span | None:
        number = as_number(label)
        if not math.isnan(number):
            place = round((number - self.low) / self.step)
            return self._clipped(place, place + 1)
        if (ends := parse_range(label)) is None:
            return None
        low, high = ((end - self.low) / self.step for end in ends[:2])
        begin = math.ceil(low - _NEAR) if math.isfinite(low) else 0
        if not math.isfinite(high):
            return self._clipped(begin, math.inf)
        return self._clipped(begin, math.floor(high + _NEAR) + 1 if ends[2] else math.ceil(high - _NEAR))

    def _of_days(self, label: str) -> Span | None:
        days = days_of(label)
        return None if days is None else self._clipped(*(day.toordinal() - self.low + n for n, day in enumerate(days)))

    def _clipped(self, begin: float, end: float) -> Span:
        """Return a span within the known values; at least one of them."""
        begin = min(max(begin, 0.0), self.known - 1)
        return begin, max(min(end, self.known), begin + 1)

    def _of_words(self, label: str) -> Span | None:
        """Return the place of a value, or of `[low, high]` of an ordered column, whose labels may have commas."""
        if label in self.place:
            return self.place[label], self.place[label] + 1
        parts = label[1:-1].split(",") if self.ordered and label[:1] == "[" and label[-1:] in ("]", ")") else []
        for cut in range(1, len(parts)):
            low, high = ",".join(parts[:cut]).strip(), ",".join(parts[cut:]).strip()
            if low in self.place and high in self.place:
                begin = self.place[low]
                return begin, max(self.place[high] + (label[-1] == "]"), begin + 1)
        return None


def _steps(numbers: NDArray[np.float64], more: Sequence[float]) -> tuple[float, float, float]:
    """Return the smallest of all numbers, their common step, and how many numbers that makes up to the largest one.

    >>> _steps(np.array([20.0, 25.5, 40.0]), [0.0])
    (0.0, 0.1, 401.0)
    """
    everything = np.concatenate([numbers, more])
    if not everything.size:
        return 0.0, 1.0, 0.0
    low, high = float(everything.min()), float(everything.max())
    step = 0.0
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = everything * 10**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 2.0**-50 * np.maximum(np.abs(scaled), 1.0)).all():
            step = 10.0**-decimals
            break
    step = max(step, (high - low) / _MOST_STEPS) or 1.0
    return low, step, float(np.rint((high - low) / step)) + 1


def _shared_places(place: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where each value begins and how wide it is: values in one place, in order, share it evenly.

    >>> [part.tolist() for part in _shared_places(np.array([0.0, 3.0, 3.0]))]
    [[0.0, 3.0, 3.5], [1.0, 0.5, 0.5]]
    """
    _, first, number, count = np.unique(place, return_index=True, return_inverse=True, return_counts=True)
    width = 1.0 / count[number]
    return place + (np.arange(place.size) - first[number]) * width, width


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the union of spans, ascending, with gaps between them.

    >>> _joined([(4, 6), (0, 1), (5, 7)])
    [(0, 1), (4, 7)]
    """
    union: list[Span] = []
    for begin, end in sorted(spans):
        if union and begin <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((begin, end))
    return union
