"""Which of the values that occur in the original a published label stands for; `extent` has all of the domain.

m labels of a released column, v values that occur in the original column. A label covers the values that it may stand
for: itself, the numbers in `[20, 29]`, the members of `{a|b}`, the leaves below a hierarchy's label, all for `*`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, Codes, starts_of
from sfumato.data.dates import day_of
from sfumato.data.figures import Spans, span_of
from sfumato.data.hierarchy import ROOT, some
from sfumato.data.kinds import as_number, exact_number
from sfumato.data.labels import parse_set, range_ends
from sfumato.data.release import ReleasedColumn
from sfumato.data.schema import SECRET_ROLES, Kind
from sfumato.errors import DataError
from sfumato.metrics.spelling import codes_of

DIGITS = 15  # characters of a number up to which floats are exact enough
Piece = tuple[int, int]  # the codes from the first to the last, both included


@dataclass(frozen=True, eq=False, kw_only=True)
class Cover:
    """The codes behind each label: label j covers first[p]..last[p] for each p in start[j]:start[j + 1].

    Pieces of a label are ascending and leave gaps between them, so most labels have one.
    """

    start: NDArray[np.int64]  # (m + 1,)
    first: Codes  # (pieces,)
    last: Codes  # (pieces,)
    value_of: Codes  # (m,), the code whose value the label shows as it is, else -1
    outside: NDArray[np.bool_]  # (m,), labels that make sense for the column but fit none of its values
    n_codes: int

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return self.start.size - 1

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """How many values each label covers, shape (m,)."""
        return sum_runs(self.last.astype(np.int64) - self.first + 1, self.start)

    def sums(self, per_code: NDArray[Any]) -> NDArray[Any]:
        """Add up a quantity over the values that each label covers, (v, ...) -> (m, ...)."""
        dtype = np.int64 if per_code.dtype.kind in "biu" else np.float64
        up_to = np.zeros((self.n_codes + 1, *per_code.shape[1:]), dtype=dtype)
        np.cumsum(per_code, axis=0, out=up_to[1:])
        return sum_runs(up_to[self.last + 1] - up_to[self.first], self.start)

    def overlaps(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the covered codes in low..high - 1, for q such ranges: (q,), (q,) -> (m, q)."""
        width = np.minimum(self.last[:, None] + 1, high) - np.maximum(self.first[:, None], low)
        return sum_runs(np.maximum(width, 0), self.start)

    def spread(self, weight: NDArray[Any]) -> NDArray[np.float64]:
        """Share out each label's weight evenly among its values that occur, (m,) -> (v,)."""
        density = np.repeat(weight / np.maximum(self.size, 1), np.diff(self.start))
        return spread_evenly(density, self.first.astype(np.int64), self.last.astype(np.int64) + 1, self.n_codes)

    def members(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which values are covered by each of q labels, (q,) -> (v, q)."""
        chosen = self.take(labels)
        steps = np.zeros((self.n_codes + 1, labels.size), dtype=np.int8)
        label_of = np.repeat(np.arange(labels.size), np.diff(chosen.start))
        # Pieces leave gaps, so no two of a label begin, or end, at the same code.
        steps[chosen.first, label_of] += 1
        steps[chosen.last + 1, label_of] -= 1
        return np.cumsum(steps, axis=0, dtype=np.int8)[:-1].astype(np.bool_)

    def take(self, labels: NDArray[Any]) -> Cover:
        """Return the cover of some labels only, in the order asked for."""
        pieces = np.diff(self.start)[labels]
        start = starts_of(pieces)
        source = np.repeat(self.start[:-1][labels] - start[:-1], pieces) + np.arange(start[-1])
        return Cover(
            start=start,
            first=self.first[source],
            last=self.last[source],
            value_of=self.value_of[labels],
            outside=self.outside[labels],
            n_codes=self.n_codes,
        )

    def loss(self, column: CodedColumn) -> NDArray[np.float64]:
        """Return what publishing each label loses over the values that occur, shape (m,), each in 0..1.

        This is `CodedColumn.interval_loss`, which searches minimize; `Extent.loss` is the published measure.
        """
        if column.values is None or not self.n_codes:
            return np.maximum(self.size - 1, 0) / max(self.n_codes - 1, 1)
        return column.interval_loss(self.first[self.start[:-1]], self.last[self.start[1:] - 1])


def sum_runs(per_piece: NDArray[Any], start: NDArray[np.int64]) -> NDArray[Any]:
    """Add up the pieces of each label."""
    if per_piece.shape[0] == start.size - 1 and (np.diff(start) == 1).all():
        return per_piece
    total = np.zeros((start.size - 1, *per_piece.shape[1:]), dtype=per_piece.dtype)
    covering = np.diff(start) > 0  # reduceat would answer an empty run with its neighbour
    if covering.any():
        total[covering] = np.add.reduceat(per_piece, start[:-1][covering], axis=0)
    return total


def spread_evenly(
    density: NDArray[np.float64], low: NDArray[np.int64], high: NDArray[np.int64], n_codes: int
) -> NDArray[np.float64]:
    """Add up the densities of intervals of codes, low..high - 1, at each code, (v,).

    Sums of non-negative terms only: a value that some interval covers never comes out as zero by rounding.
    """
    # A tree over the codes: an interval is at most two nodes on each level, and a node hands its density down.
    leaves = 1 << max(n_codes - 1, 0).bit_length()
    tree = np.zeros(2 * leaves)
    low, high = low + leaves, high + leaves
    while low.size:
        odd_low, odd_high = (low & 1).astype(np.bool_), (high & 1).astype(np.bool_)
        np.add.at(tree, low[odd_low], density[odd_low])
        np.add.at(tree, high[odd_high] - 1, density[odd_high])
        low, high = (low + 1) >> 1, high >> 1
        active = low < high
        low, high, density = low[active], high[active], density[active]
    level = 1
    while level < leaves:
        tree[2 * level : 4 * level] += np.repeat(tree[level : 2 * level], 2)
        level *= 2
    return tree[leaves : leaves + n_codes]


def identity(column: CodedColumn) -> Cover:
    """Return the cover of a column by its own values."""
    codes = np.arange(len(column.labels), dtype=np.int32)
    return Cover(
        start=np.arange(codes.size + 1, dtype=np.int64),
        first=codes,
        last=codes,
        value_of=codes,
        outside=np.zeros(codes.size, dtype=np.bool_),
        n_codes=codes.size,
    )


def cover(
    released: ReleasedColumn,
    column: CodedColumn,
    *,
    domain: Sequence[str] = (),
    known: Sequence[str] = (),
    markers: Sequence[str] = ("",),
    spans: Spans | None = None,
    exact: bool = False,
) -> Cover:
    """Return which values of the original column each label of the released column covers.

    `domain` are the declared values, in order, occurring or not, `known` are values that make sense besides, `markers`
    stand for a missing value, and figures of classes for what `spans` says. A label may fit none of the values that
    occur: a number then stands for the nearest one, anything else tells nothing and stands for all; under `exact` for
    none.
    Raises when labels mean nothing for the column at all.

    >>> from sfumato.data.schema import Role
    >>> age = CodedColumn(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER,
    ...     codes=np.arange(3, dtype=np.int32), labels=("20", "25", "40"), values=np.array([20.0, 25.0, 40.0]))
    >>> shown = ReleasedColumn(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER,
    ...     codes=np.arange(4, dtype=np.int32), labels=("25", "[20, 29]", "*", "{20|40}"))
    >>> cover(shown, age).members(np.arange(4)).T.astype(int).tolist()
    [[0, 1, 0], [1, 1, 0], [1, 1, 1], [1, 0, 1]]
    """
    reader = _Reader(column, domain, known, markers)
    shown_by = np.bincount(released.codes, minlength=len(released.labels))
    value_of = codes_of(released, column)
    starred = [label == ROOT for label in released.labels]
    value_of[starred] = -1
    stands_for = [span_of(spans or {}, label) for label in released.labels]
    value_of[[meant != label for meant, label in zip(stands_for, released.labels, strict=True)]] = -1
    if released.missing >= 0:
        value_of[released.missing] = column.missing
    pieces: list[list[Piece]] = []
    outside = np.zeros(len(released.labels), dtype=np.bool_)
    unknown: list[int] = []
    # Labels that are values need no list of their own: their one piece is filled in at the end.
    others = np.flatnonzero(value_of < 0)
    for label in others:
        found = reader.everything if label == released.missing else reader.pieces(stands_for[label])
        if found is None:
            unknown += [int(label)] if shown_by[label] else []
            found = []
        elif not found:
            outside[label] = True
            found = [] if exact else reader.stand_in(stands_for[label])
        elif found[0][0] == found[-1][1] and reader.is_number(stands_for[label]):
            value_of[label] = found[0][0]  # the same number in other digits
        pieces.append(found)
    if unknown:
        _raise_unknown(released, unknown, int(shown_by[unknown].sum()))
    return _laid_out(value_of, others, pieces, outside, len(column.labels))


def _laid_out(
    value_of: Codes,
    others: NDArray[np.int64],
    pieces: Sequence[Sequence[Piece]],
    outside: NDArray[np.bool_],
    n_codes: int,
) -> Cover:
    """Return the cover of labels that are values, one piece each, and of the others with theirs."""
    n_labels = value_of.size
    n_pieces = np.ones(n_labels, dtype=np.int64)
    n_pieces[others] = [len(found) for found in pieces]
    start = starts_of(n_pieces)
    first, last = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.int32)
    of_values = np.ones(n_labels, dtype=np.bool_)
    of_values[others] = False
    first[start[:-1][of_values]] = last[start[:-1][of_values]] = value_of[of_values]
    of_others = np.repeat(~of_values, n_pieces)
    flat = np.array([piece for found in pieces for piece in found], dtype=np.int32).reshape(-1, 2)
    first[of_others], last[of_others] = flat[:, 0], flat[:, 1]
    return Cover(start=start, first=first, last=last, value_of=value_of, outside=outside, n_codes=n_codes)


class _Reader:
    """Reads labels against one column."""

    def __init__(
        self, column: CodedColumn, domain: Sequence[str], known: Sequence[str], markers: Sequence[str]
    ) -> None:
        self.column = column
        self.code_of = {label: code for code, label in enumerate(column.labels)}
        self.everything: list[Piece] = [(0, len(column.labels) - 1)] if column.labels else []
        self.inner: dict[str, Piece] = {}
        if column.tree is not None:
            tree = column.tree
            self.inner = {
                label: (int(low), int(high))
                for label, low, high in zip(tree.labels, tree.first, tree.last, strict=True)
            }
        self.hierarchy_labels = column.hierarchy.node_of if column.hierarchy is not None else {}
        self.same = column.hierarchy.same if column.hierarchy is not None else {}
        known = column.labels[: len(column.labels) - (column.missing >= 0)]
        # Plain lists: labels are looked up one by one. Floats tell numbers of few digits apart, and no others.
        exact = any(len(label) > DIGITS for label in known)
        self.read: Callable[[str], Any] = _decimal if exact else _number
        self.numbers: list[Any] | None = None
        if column.values is not None:
            self.numbers = list(map(exact_number, known)) if exact else column.values[: len(known)].tolist()
        self.days = [day for label in known if (day := day_of(label)) is not None] if column.dates else []
        self.known = {*domain, *known}
        self.markers = set(markers)
        self.closed = bool(domain) or column.hierarchy is not None or column.values is not None
        self.order = self._order(domain) if column.kind is Kind.ORDERED else {}

    def _order(self, domain: Sequence[str]) -> dict[str, Piece]:
        """For each label of an ordered column: the first occurring code not below it, the last one not above it."""
        known = [label for code, label in enumerate(self.column.labels) if code != self.column.missing]
        hierarchy = self.column.hierarchy
        line = hierarchy.leaves if hierarchy is not None else domain or known
        order: dict[str, Piece] = {}
        below = 0
        for label in line:
            occurs = self.code_of.get(label, -1) == below and below < len(known)
            order[label] = (below, below if occurs else below - 1)
            below += occurs
        return order

    def pieces(self, label: str) -> list[Piece] | None:
        """Return what a label covers; nothing when it fits no value that occurs; None when it means nothing."""
        if label == ROOT:
            return self.everything
        if label in self.code_of:
            return [(self.code_of[label],) * 2]
        if label in self.inner:
            return [self.inner[label]]
        if label in self.hierarchy_labels or label in self.known:
            return []
        if label in self.same:
            return self.pieces(self.same[label])
        if self.numbers is not None:
            bounds = self._bounds(label)
            if bounds is not None:
                low, high, closed = bounds
                first = bisect_left(self.numbers, low)
                last = (bisect_right if closed else bisect_left)(self.numbers, high) - 1
                return [(first, last)] if first <= last else []
        elif self.days and (of_days := self._days(label)) is not None:
            return of_days
        elif self.order and label.startswith("[") and label.endswith(("]", ")")):
            found = self._ordered_range(label)
            if found is not None:
                return found
        members = parse_set(label)
        if members is None:
            return None
        parts = [self._member(member) for member in members]
        known = [part for part in parts if part is not None]
        # Where nothing declares the values, a stranger beside a known value is a value that does not occur.
        if not known or (len(known) < len(parts) and self.closed):
            return None
        return _joined([piece for part in known for piece in part])

    def _member(self, label: str) -> list[Piece] | None:
        found = self.pieces(label)
        if found is None and label in self.markers:
            return [(self.column.missing,) * 2] if self.column.missing >= 0 else []
        return found

    def stand_in(self, label: str) -> list[Piece]:
        """Return what a label that fits no value stands for: the nearest number, else everything."""
        bounds = self._bounds(label) if self.numbers is not None else None
        if bounds is None or not self.numbers:
            return self.everything
        finite = [bound for bound in bounds[:2] if math.isfinite(bound)]
        if not finite:
            return self.everything
        middle = finite[0] + (finite[-1] - finite[0]) / 2
        above = bisect_left(self.numbers, middle)
        nearest = min(
            (code for code in (above - 1, above) if 0 <= code < len(self.numbers)),
            key=lambda code: abs(self.numbers[code] - middle),  # type: ignore[index]
        )
        return [(nearest, nearest)]

    def is_number(self, label: str) -> bool:
        """Whether the label is a plain number of a number column."""
        return self.numbers is not None and self.read(label) is not None

    def _bounds(self, label: str) -> tuple[Any, Any, bool] | None:
        """Return where a range, or a single number, begins and ends, and whether its end belongs to it."""
        ends = range_ends(label)
        if ends is None:
            number = self.read(label)
            return (number, number, True) if number is not None else None
        low, high = (float(end) if end in ("-inf", "inf") else self.read(end) for end in ends[:2])
        return (low, high, ends[2]) if low is not None and high is not None else None

    def _days(self, label: str) -> list[Piece] | None:
        """Read a range of days, or one day, whether or not it occurs; None when the label is neither."""
        low, high, closed = range_ends(label) or (label, label, True)
        first, last = day_of(low), day_of(high)
        if first is None or last is None:
            return None
        begin = bisect_left(self.days, first)
        end = (bisect_right if closed else bisect_left)(self.days, last) - 1
        return [(begin, end)] if begin <= end else []

    def _ordered_range(self, label: str) -> list[Piece] | None:
        """Read `[low, high]` of an ordered column, whose labels may have commas of their own."""
        parts = label[1:-1].split(",")
        for cut in range(1, len(parts)):
            low, high = ",".join(parts[:cut]).strip(), ",".join(parts[cut:]).strip()
            if low in self.order and high in self.order:
                first, last = self.order[low][0], self.order[high][1]
                if label.endswith(")"):
                    last = self.order[high][0] - 1
                return [(first, last)] if first <= last else []
        return None


def _number(label: str) -> float | None:
    number = as_number(label)
    return None if math.isnan(number) else number


def _decimal(label: str) -> Decimal | None:
    return None if _number(label) is None else exact_number(label)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Return the union of intervals, ascending, with gaps between them.

    >>> _joined([(4, 5), (0, 1), (2, 2), (5, 7)])
    [(0, 2), (4, 7)]
    """
    union: list[Piece] = []
    for first, last in sorted(pieces):
        if union and first <= union[-1][1] + 1:
            union[-1] = (union[-1][0], max(union[-1][1], last))
        else:
            union.append((first, last))
    return union


def _raise_unknown(released: ReleasedColumn, unknown: list[int], n_rows: int) -> None:
    shown = "" if released.role in SECRET_ROLES else f": {some(released.labels[label] for label in unknown)}"
    raise DataError(
        f"Column {released.name!r} of the release shows {len(unknown):,} label(s), in {n_rows:,} row(s), "
        f"that stand for no value of the original column{shown}.\n"
        "Measure a release against the table that it was made from, with the hierarchies that it was made with."
    )
