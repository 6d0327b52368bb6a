"""Learning a number to within a small range: different values of a class may all be near each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import WIDTH, Asked, AttackOfColumn, Finding, checked_width
from sfumato.data.dates import day_of
from sfumato.data.kinds import as_number
from sfumato.data.labels import range_ends
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind, Role
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import at_most, checked_codes, classes_of, sensitive_column, values_of
from sfumato.models.judging.weights import row_weights, tally, tally_keys


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
        values = values_of(column, table.n_rows)
        counts = classes.counts(column, values.value_of)
        low, high = _ends(values.labels + [[""]] * values.has_missing, column.kind)
        width = self._width(low, high)
        total = np.bincount(counts.value, weights=counts.count, minlength=low.size).astype(np.int64)
        fits = high - low <= width
        pairs = np.flatnonzero(fits[counts.value])
        value, of_class = counts.value[pairs], counts.class_of[pairs]
        inside = _held(of_class, low[value], high[value], counts.count[pairs], width)
        everywhere = np.zeros(low.size, dtype=np.int64)
        known = np.flatnonzero(fits)
        everywhere[known] = _held(np.zeros_like(known), low[known], high[known], total[known], width)
        size, people = counts.size[of_class], int(counts.size.sum())
        above = ~at_most(inside, size, Fraction(str(self.threshold)))
        above &= inside * people > everywhere[value] * size
        sure, exposed = np.zeros(counts.size.size), np.zeros(counts.size.size, dtype=np.bool_)
        np.maximum.at(sure, of_class, inside / size)
        exposed[of_class[above]] = True
        return Finding.of(sure, exposed, counts.size, width=float(width))

    def guess(self, table: Release) -> Finding | None:
        """Believe in the interval that holds most of the whole table, for everybody: that exposes no person."""
        column = sensitive_column(table, self.column, cast(PrivacyModel, self))
        values = values_of(column, table.n_rows)
        low, high = _ends(values.labels + [[""]] * values.has_missing, column.kind)
        width = self._width(low, high)
        total = tally(values.value_of[checked_codes(column, table.n_rows)], low.size, row_weights(table))
        known = np.flatnonzero(high - low <= width)
        inside = _held(np.zeros_like(known), low[known], high[known], total[known], width)
        share = int(inside.max(initial=0)) / max(table.total, 1)
        return Finding(people=table.total, exposed=0, worst=share, mean=share)

    def _width(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
        """Return the width in units of the column; 0 where no label is a number."""
        known = ~np.isnan(low)
        return self.width * float(high[known].max() - low[known].min()) if known.any() else 0.0


def _ends(labels: list[list[str]], kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest number that each value may be, both (v,); not-a-number where that is open."""
    ends = [range_ends(shown[0]) or (shown[0], shown[0]) for shown in labels]

    def read(text: str) -> float:
        if kind is not Kind.DATE:
            return as_number(text)
        day = day_of(text)
        return float(day.toordinal()) if day is not None else np.nan

    found = np.array([(read(each[0]), read(each[1])) for each in ends], dtype=np.float64).reshape(-1, 2)
    found[np.isnan(found).any(axis=1)] = np.nan
    return found[:, 0], found[:, 1]


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
    ends = np.unique(np.concatenate([low, high]))
    stride = ends.size + 1
    starts = of_class * stride + np.searchsorted(ends, low)
    stops = of_class * stride + np.searchsorted(ends, high)
    until = of_class * stride + np.searchsorted(ends, low + width, side="right") - 1
    start_keys, starting = tally_keys(starts, count)
    stop_keys, stopping = tally_keys(stops, count)
    below = np.concatenate([[0], np.cumsum(starting)])[np.searchsorted(start_keys, starts)]
    return np.asarray(
        np.concatenate([[0], np.cumsum(stopping)])[np.searchsorted(stop_keys, until, side="right")] - below
    )
