"""Learning a number to within a small range: different values of a class may all be near each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import WIDTH, Asked, AttackOfColumn, Finding, checked_width
from sfumato.data.dataset import starts_of
from sfumato.data.dates import day_of
from sfumato.data.kinds import as_number
from sfumato.data.labels import range_ends
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind, Role
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import at_most, checked_codes, classes_of, sensitive_column
from sfumato.models.judging.weights import row_weights, tally

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Proximity(AttackOfColumn):
    """Find a person's class and the interval of numbers, of a given width, that holds most of the class.

    The width is a share of the range of all numbers that the table shows. Dates are read as days. A range label counts
    where the interval holds all of it, any other text nowhere. A person is exposed when an interval holds more than the
    threshold of the class, and a larger share of the class than of the whole table (Li, Tao and Xiao 2008).

    >>> table = {"age": ["20-29"] * 4 + ["30-39"] * 2, "salary": [30_000, 30_100, 30_200, 30_300, 10_000, 60_000]}
    >>> release = Release.of(table, age="quasi-identifier", salary="sensitive")
    >>> print(Proximity(column="salary").on(release))
    4 of 6 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "proximity"
    answered_by: ClassVar[tuple[str, ...]] = ("t-closeness", "beta-likeness", "delta-disclosure")

    width: float = WIDTH  # of the interval, as a share of the range of all numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_width(self.width)

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Learning {self.column!r} to within {100 * self.width:.3g} % of its range"

    @property
    def intruder(self) -> str:
        """What the attacker knows."""
        return (
            "Knows that a person is in the table and all their quasi-identifiers, finds the class, and believes that "
            f"{self.column!r} lies in the interval, of {100 * self.width:.3g} % of the range, that holds most of it."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for each sensitive column of numbers or dates, one for each person."""
        for column in release.columns.values() if release.quasi_identifiers else ():
            if column.role is not Role.SENSITIVE or not isinstance(column, ReleasedColumn) or column.several:
                continue
            if column.kind in (Kind.NUMBER, Kind.DATE):
                yield cls(column=column.name, threshold=asked.threshold, width=asked.width)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        column, classes = sensitive_column(table, self.column, cast(PrivacyModel, self)), classes_of(table)
        codes, low, high, width, everywhere = self._read(table, column)
        size, of_row, fits = classes.size, classes.class_of, (high - low <= width)[codes]
        rows_of = np.bincount(of_row, minlength=size.size)
        # A class of a single row needs no search, and most of the others cannot expose a person.
        own = everywhere[codes]
        people, alone = int(size.sum()), rows_of[of_row] == 1
        exposes, worst = np.zeros(size.size, dtype=np.bool_), float((alone & fits).any())
        exposes[of_row[alone & fits & (own < people)]] = True
        weight = np.ones(codes.size, dtype=np.int64) if classes.weights is None else classes.weights
        points = (high == low)[codes]
        searched = self._searched(of_row, low[codes], fits, points, weight, size, width)
        rows = np.flatnonzero(fits & ~alone & searched[of_row])
        inside = _held(of_row[rows].astype(np.int64), low[codes[rows]], high[codes[rows]], weight[rows], width)
        whole = size[of_row[rows]]
        above = ~at_most(inside, whole, Fraction(str(self.threshold))) & (inside * people > own[rows] * whole)
        exposes[of_row[rows[above]]] = True
        worst = max(worst, float((inside / whole).max(initial=0.0)))
        exposed = int(size[exposes].sum())
        return Finding(people=people, exposed=exposed, worst=worst, facts={"width": float(width)})

    def guess(self, table: Release) -> Finding | None:
        """Believe in the interval that holds most of the whole table, for everybody: that exposes no person."""
        column = sensitive_column(table, self.column, cast(PrivacyModel, self))
        share = int(self._read(table, column)[-1].max(initial=0)) / max(table.total, 1)
        return Finding(people=table.total, exposed=0, worst=share)

    def _read(
        self, table: Release, column: ReleasedColumn
    ) -> tuple[NDArray[np.int32], Floats, Floats, float, NDArray[np.int64]]:
        """Return the code of each row; for each code, where it begins and ends, and how many rows of the whole table
        the interval holds that begins there; and the width of the interval in units of the column.
        """
        codes = checked_codes(column, table.n_rows)
        low, high = _ends(column)
        total = tally(codes, low.size, row_weights(table))
        known = ~np.isnan(low) & (total > 0)
        width = self.width * float(high[known].max() - low[known].min()) if known.any() else 0.0
        everywhere = np.zeros(low.size, dtype=np.int64)
        fitting = np.flatnonzero(known & (high - low <= width))
        everywhere[fitting] = _held(np.zeros_like(fitting), low[fitting], high[fitting], total[fitting], width)
        return codes, low, high, width, everywhere

    def _searched(
        self,
        of_row: NDArray[np.int32],
        low: Floats,
        fits: NDArray[np.bool_],
        points: NDArray[np.bool_],
        weight: NDArray[np.int64],
        size: NDArray[np.int64],
        width: float,
    ) -> NDArray[np.bool_]:
        """Return the classes that an interval may hold more of than the threshold, or as much of as of any class, (c,).

        What an interval holds begins in two neighbouring bins of its width.
        """
        least = float(low[fits].min(initial=np.inf))
        bin_width = width * (1 + 1e-9) or 1.0
        place = np.floor((low[fits] - least) / bin_width).astype(np.int64)
        n_bins = int(place.max(initial=0)) + 2
        if n_bins * size.size > 4 * of_row.size + 1000:
            return np.ones(size.size, dtype=np.bool_)
        keys, counted = of_row[fits].astype(np.int64) * n_bins + place, weight[fits]
        held = tally(keys, size.size * n_bins, counted).reshape(-1, n_bins)
        most = (held[:, 1:] + held[:, :-1]).max(axis=1, initial=0)
        if not points[fits].all():  # a range may end beyond its bin
            here = points[fits]
            held = tally(keys[here], size.size * n_bins, counted[here]).reshape(-1, n_bins)
        reached = float((held.max(axis=1, initial=0) / size).max(initial=0.0))
        return np.asarray(~at_most(most, size, Fraction(str(self.threshold))) | (most / size >= reached))


def _ends(column: ReleasedColumn) -> tuple[Floats, Floats]:
    """Return the lowest and the highest number that each label may be, both (v,); not-a-number where that is open."""

    def day(text: str) -> float:
        found = day_of(text)
        return float(found.toordinal()) if found is not None else np.nan

    read = day if column.kind is Kind.DATE else as_number
    numbers = [read(label) if code != column.missing else np.nan for code, label in enumerate(column.labels)]
    low = np.array(numbers, dtype=np.float64)
    high = low.copy()
    for code in np.flatnonzero(np.isnan(low)).tolist():
        if code != column.missing and (ends := range_ends(column.labels[code])) is not None:
            low[code], high[code] = read(ends[0]), read(ends[1])
    open_end = np.isnan(low + high)
    low[open_end], high[open_end] = np.nan, np.nan
    return low, high


def _held(
    of_class: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    count: NDArray[np.int64],
    width: float,
) -> NDArray[np.int64]:
    """Return how many rows of its class the interval holds that begins at each pair, (p,).

    Each pair of a class and a label stands for `count` rows that lie in `low`..`high`, which is no wider than the
    interval. So the interval from s to e holds the rows with `high` <= e, but for those with `low` < s.
    """
    if not low.size:
        return np.zeros(0, dtype=np.int64)
    ends = np.unique(np.concatenate([low, high]))
    stride = ends.size + 1
    starts = of_class * stride + np.searchsorted(ends, low)
    order = np.argsort(starts)  # sorted keys are searched several times as fast
    sorted_starts, upto = starts[order], starts_of(count[order])
    sorted_stops, until_stop = sorted_starts, upto
    if (high > low).any():
        stops = of_class * stride + np.searchsorted(ends, high)
        by_stop = np.argsort(stops)
        sorted_stops, until_stop = stops[by_stop], starts_of(count[by_stop])
    last = np.searchsorted(ends, ends + width, side="right") - 1  # the last end that an interval from each one holds
    in_class, place = np.divmod(sorted_starts, stride)
    first = np.append(True, sorted_starts[1:] != sorted_starts[:-1])
    first_of = np.cumsum(first) - 1
    distinct = np.flatnonzero(first)
    until = (in_class * stride)[distinct] + last[place[distinct]]
    found = until_stop[np.searchsorted(sorted_stops, until, side="right")] - upto[distinct]
    inside = np.empty(low.size, dtype=np.int64)
    inside[order] = found[first_of]
    return inside
