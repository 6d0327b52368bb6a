"""The columns of a release as values: what each cell may stand for. m labels, n rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.base_rates import BaseRates
from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedSets, Codes, as_arrow
from sfumato.data.dates import days_of
from sfumato.data.figures import Spans, span_of, spans_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.kinds import as_number
from sfumato.data.labels import number_text, parse_range, parse_set
from sfumato.data.release import ReleasedColumn, members_of
from sfumato.data.schema import Kind

Floats = NDArray[np.float64]
_FIRST = datetime.date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False, repr=False)
class Ranges:
    """A column of numbers or days, each known up to a range. Missing cells are not-a-number, `*` has no ends.

    >>> import numpy as np
    >>> ages = Ranges("age", np.array([0, 1, 2], np.int32), ("[20, 29]", "34", "*"), {})
    >>> ages.lower.tolist(), ages.upper.tolist(), ages.midpoint.tolist()
    ([20.0, 34.0, -inf], [29.0, 34.0, inf], [24.5, 34.0, nan])
    """

    name: str
    codes: Codes  # (n,)
    labels: tuple[str, ...]  # (m,)
    spans: Spans = field(default_factory=dict)  # by label that is a figure of its class: what it stands for
    legend: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by label, as release.json has it
    missing: int = -1
    coarse: bool = False  # whether cells may be coarser than the truth
    days: bool = False  # numbers are then days since 1970-01-01
    shows: str | None = None  # which figure of a class stands in the place of its range, "mean" or "median"

    def __repr__(self) -> str:
        return f"<Ranges {self.name!r}: {self.codes.size:,} rows, {len(self.labels):,} labels>"

    @cached_property
    def ends(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Where each label begins and ends, and whether the end belongs to it, (m,) each."""
        low, high = np.full(len(self.labels), -np.inf), np.full(len(self.labels), np.inf)
        closed = np.ones(len(self.labels), dtype=np.bool_)
        for code, label in enumerate(self.labels):
            if code == self.missing:
                low[code] = high[code] = np.nan
            elif (found := self._read(span_of(self.spans, label))) is not None:
                low[code], high[code], closed[code] = found
        return low, high, closed

    def _read(self, label: str) -> tuple[float, float, bool] | None:
        """Return the ends of a label; of one that lists values, or has them below it, from the least to the largest."""
        told = self.legend.get(label, {}).get("members") or parse_set(label)
        if told:
            ends = [found for value in told if (found := self._read(str(value))) is not None]
            return (min(low for low, _, _ in ends), max(high for _, high, _ in ends), True) if ends else None
        if self.days:
            days = days_of(label)
            return (_day(days[0]), _day(days[1]), True) if days is not None else None
        if label != ROOT and label.rstrip("*").isdigit():  # a code that lost its last digits, or a whole number
            return float(label.replace("*", "0")), float(label.replace("*", "9")), True
        number = as_number(label)
        return parse_range(label) if np.isnan(number) else (number, number, True)

    @cached_property
    def middle(self) -> Floats:
        """The figure that a label shows, or the middle of its range; (m,)."""
        low, high, _ = self.ends
        with np.errstate(invalid="ignore"):
            middle = (low + high) / 2
        for code in np.flatnonzero(self.figures):
            middle[code] = as_number(self.labels[code])
        return middle

    @cached_property
    def figures(self) -> NDArray[np.bool_]:
        """The labels that are figures of their classes, (m,)."""
        return np.array([bool(spans_of(self.spans, label)) for label in self.labels], dtype=np.bool_)

    @property
    def lower(self) -> Floats:
        """The lower end of each row, -inf where it is open."""
        return self.ends[0][self.codes]

    @property
    def upper(self) -> Floats:
        """The upper end of each row, inf where it is open."""
        return self.ends[1][self.codes]

    @property
    def midpoint(self) -> Floats:
        """The figure that a row shows for its class, if any, else the middle of its range; not-a-number for `*`."""
        return self.middle[self.codes]

    @property
    def open_width(self) -> Floats:
        """How wide the range of each row is; nothing where the figure of its class says where values lie in it."""
        width = np.nan_to_num(self.ends[1] - self.ends[0], nan=0.0, posinf=0.0)
        return np.where(self.figures, 0.0, width)[self.codes]

    @property
    def exact(self) -> NDArray[np.bool_]:
        """The rows that show the value itself."""
        single: NDArray[np.bool_] = self.ends[0] == self.ends[1]
        return single[self.codes]

    def number(self, given: Any, *, last: bool = False) -> float:
        """Return a figure that somebody gives for this column: a number; of days, a date or the first day of a period.

        With `last` it is the last day of a period. What cannot be told is not-a-number.
        """
        if self.days and isinstance(given, str | datetime.date):
            days = days_of(str(given))
            return _day(days[last]) if days is not None else math.nan
        try:
            return float(given)
        except (TypeError, ValueError):
            return math.nan

    def text(self, value: float) -> str:
        """Return a figure of this column as text: a number, or a day."""
        return day_text(value) if self.days else number_text(value)

    def _numbers(self, per_label: Floats) -> pa.Array:
        """Return one value a row; null for what is missing, and for open ends of days."""
        of_row = per_label[self.codes]
        if not self.days:
            return as_arrow(of_row, np.isnan(of_row))
        absent = ~np.isfinite(of_row)
        return as_arrow(np.floor(np.where(absent, 0, of_row)).astype(np.int32), absent).cast(pa.date32())

    def arrow(self) -> pa.Array:
        """Return label, lower, upper and midpoint of each row, as one column of structures; else numbers or days."""
        low, high, _ = self.ends
        if not self.coarse:
            return self._numbers(low)
        parts = [_text(self.labels, self.codes, self.missing), *map(self._numbers, (low, high, self.middle))]
        return pa.StructArray.from_arrays(parts, names=["label", "lower", "upper", "midpoint"])

    def pandas(self) -> Any:
        """Return intervals as pandas knows them, with `.array.left`, `.right` and `.mid`; else numbers or days."""
        import pandas

        if not self.coarse:
            return self._numbers(self.ends[0]).to_pandas().rename(self.name)
        low, high, closed = self.ends
        proper = np.isfinite(low) & np.isfinite(high) & (low < high)
        side: Any = "left" if proper.any() and not closed[proper].any() else "both"
        left, right = low[self.codes], high[self.codes]
        if self.days:
            left, right = (np.where(np.isfinite(ends), ends, np.nan) for ends in (left, right))
            open_ended = np.isnan(left) | np.isnan(right)
            left, right = (pandas.to_datetime(np.where(open_ended, np.nan, ends), unit="D") for ends in (left, right))
        return pandas.Series(pandas.arrays.IntervalArray.from_arrays(left, right, closed=side), name=self.name)


def _day(day: datetime.date) -> float:
    return float(day.toordinal() - _FIRST)


def day_text(value: float) -> str:
    """Return days since 1970-01-01 as a date.

    >>> day_text(0.0), day_text(364.9)
    ('1970-01-01', '1970-12-31')
    """
    return datetime.date.fromordinal(_FIRST + math.floor(value)).isoformat() if math.isfinite(value) else str(value)


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """A column of values and groups of values: each label with its level and, where they are known, its members."""

    name: str
    codes: Codes  # (n,)
    labels: tuple[str, ...]  # (m,)
    legend: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by label, as release.json has it
    missing: int = -1
    coarse: bool = False  # whether cells may be coarser than the truth
    rates: BaseRates | None = None  # how common values are, where everybody knows it
    p: float | None = None  # of values drawn by chance: with which chance a cell kept its own,
    shares: Mapping[str, float] = field(default_factory=dict)  # and how likely each value was to be drawn otherwise

    def __repr__(self) -> str:
        return f"<Groups {self.name!r}: {self.codes.size:,} rows, {len(self.labels):,} labels>"

    @cached_property
    def level_of(self) -> NDArray[np.int32]:
        """How far above a value each label stands, (m,): 0 is a value; -1 for `*`, and for sets of values."""
        level = np.zeros(len(self.labels), dtype=np.int32)
        for code, label in enumerate(self.labels):
            if label == ROOT or (label not in self.legend and parse_set(label) is not None):
                level[code] = -1
            else:
                level[code] = int(self.legend.get(label, {}).get("level", 0))
        return level

    @property
    def level(self) -> NDArray[np.int32]:
        """The level of each row."""
        return self.level_of[self.codes]

    @cached_property
    def members(self) -> Mapping[str, tuple[str, ...] | None]:
        """By label, the values that it may stand for: itself, or those below it; None where that is not said."""
        return {label: self._members(code, label) for code, label in enumerate(self.labels) if code != self.missing}

    def _members(self, code: int, label: str) -> tuple[str, ...] | None:
        told = self.legend.get(label)
        if self.p is not None:
            return tuple(self.shares)
        if told is not None:
            return tuple(map(str, told["members"])) if "members" in told else None
        if label == ROOT:
            return self.domain
        return parse_set(label) or (label,)

    @cached_property
    def domain(self) -> tuple[str, ...] | None:
        """All values that the release speaks of: in base rates, below labels, as they are; None if labels hide some."""
        if self.rates is not None:
            return tuple(self.rates.weight)
        found: dict[str, None] = {}
        for code, label in enumerate(self.labels):
            if code == self.missing or label == ROOT:
                continue
            members = self._members(code, label)
            if members is None:
                return None
            found |= dict.fromkeys(members)
        return tuple(found) or None

    @property
    def chance(self) -> float | None:
        """The probability that a cell shows the true value; None where nothing was drawn."""
        if self.p is None:
            return None
        return self.p + (1 - self.p) * sum(share**2 for share in self.shares.values())

    def probabilities(self, rates: BaseRates | None = None) -> Mapping[str, Mapping[str, float]]:
        """By label, how likely each value is that it may stand for: by base rates, given or published, else evenly.

        Labels whose members are not known are left out. Values drawn by chance are about as common as they were drawn.
        """
        known = rates or self.rates
        shares: dict[str, dict[str, float]] = {}
        for label, members in self.members.items():
            if members is None:
                continue
            weights = [float(known.weight.get(value, 0)) if known is not None else 1.0 for value in members]
            if self.p is not None:
                weights = weights if known is not None else list(self.shares.values())
                drawn = (1 - self.p) * self.shares.get(label, 0.0)
                weights = [w * (drawn + self.p * (value == label)) for w, value in zip(weights, members, strict=True)]
            total = sum(weights)
            weights = weights if total else [1.0] * len(members)
            shares[label] = {
                value: weight / (total or len(members)) for value, weight in zip(members, weights, strict=True)
            }
        return shares

    def arrow(self) -> pa.Array:
        """Return label, level and members of each row, as one column of structures; else labels."""
        if not self.coarse:
            return _text(self.labels, self.codes, self.missing)
        levels = [None if level < 0 else level for level in self.level_of.tolist()]
        members = [None if code == self.missing else self.members[label] for code, label in enumerate(self.labels)]
        absent = self.codes == self.missing if self.missing >= 0 else None
        rows = as_arrow(np.where(absent, 0, self.codes).astype(np.int32) if absent is not None else self.codes, absent)
        parts = [
            _text(self.labels, self.codes, self.missing),
            pa.array(levels, pa.int32()).take(rows),
            pa.array(members, pa.list_(pa.string())).take(rows),
        ]
        return pa.StructArray.from_arrays(parts, names=["label", "level", "members"])

    def pandas(self) -> Any:
        """Return labels as a categorical; levels and members are attributes of this column."""
        import pandas

        known = [label for code, label in enumerate(self.labels) if code != self.missing]
        codes = self.codes.astype(np.int64)
        if self.missing >= 0:
            codes = np.where(codes == self.missing, -1, codes - (codes > self.missing))
        return pandas.Series(pandas.Categorical.from_codes(codes, known), name=self.name)


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """A column of sets: what is left of them, or values drawn by chance."""

    name: str
    column: CodedSets
    eta: int | None = None  # of a column drawn by chance: how many values a cell shows,
    p: float | None = None  # with which chance it was drawn around the true one,
    domain: tuple[str, ...] | None = None  # and from which values
    legend: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by label, as release.json has it

    def __repr__(self) -> str:
        return f"<Sets {self.name!r}: {len(self.column.labels):,} members>"

    @property
    def chance(self) -> float | None:
        """The probability that the true value is among those that a cell shows; None where nothing was drawn."""
        if self.eta is None or self.p is None or not self.domain:
            return None
        return self.p + (1 - self.p) * self.eta / len(self.domain)

    @property
    def members(self) -> Mapping[str, tuple[str, ...] | None]:
        """By label that a cell may hold, the items that it may stand for; None where that is not said."""
        told = {label: self.legend.get(label, {"members": [label]}).get("members") for label in self.column.labels}
        return {label: None if members is None else tuple(members) for label, members in told.items()}

    def arrow(self) -> pa.Array:
        """Return a list for each row."""
        n_rows = len(self.column.packed) if isinstance(self.column, BitSets) else self.column.start.size - 1
        start, items = members_of(self.column, 0, n_rows)
        values = pa.array(self.column.labels, pa.string()).take(as_arrow(items))
        return pa.LargeListArray.from_arrays(as_arrow(start), values)

    def pandas(self) -> Any:
        """Return a list for each row."""
        import pandas

        return pandas.Series(self.arrow().to_pylist(), name=self.name)


def _text(labels: tuple[str, ...], codes: Codes, missing: int) -> pa.Array:
    texts = [None if code == missing else label for code, label in enumerate(labels)]
    return pa.array(texts, pa.string()).take(as_arrow(codes))


def is_ranged(column: ReleasedColumn) -> bool:
    """Whether the cells of a column are numbers or days, or ranges of them."""
    return column.kind in (Kind.NUMBER, Kind.DATE)
