"""Tables and means from a generalized release: an estimate, its standard error, and bounds that hold for sure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, as_arrow, distinct_codes
from sfumato.data.figures import MOST_OFF
from sfumato.data.hierarchy import ROOT
from sfumato.errors import DataError
from sfumato.receiving.rows import Rows
from sfumato.receiving.spreading import Rates, spread, weights_in
from sfumato.receiving.values import Floats, Groups, Ranges, day_text

MOST_CELLS = 1_000_000
CROWDED = 1 / 4  # of its width: how far the mean of a range may lie from its middle; twice that is an end of it
_AT_ONCE = 1 << 22  # numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class SpreadTable:
    """Estimated counts of all combinations of values, with bounds between which the true counts lie for sure."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]  # of each column
    counts: Floats  # one axis for each column
    std_error: Floats  # of rows drawn from what their labels allow, and half of the way to the farther bound
    lower: Floats  # rows that can be nowhere else
    upper: Floats  # rows that may be there, with those that were dropped
    open_rows: int  # that show nothing in one of the columns: nobody knows in which cells they are
    dropped: int  # rows of the original that are in no cell

    def table(self) -> pa.Table:
        """Return one row for each combination: its values, `count`, `std_error`, `lower` and `upper`."""
        places = np.indices(self.counts.shape).reshape(len(self.columns), -1)
        found = {
            name: pa.array(self.values[axis], pa.string()).take(as_arrow(places[axis].astype(np.int32)))
            for axis, name in enumerate(self.columns)
        }
        figures = {"count": self.counts, "std_error": self.std_error, "lower": self.lower, "upper": self.upper}
        return pa.table({**found, **{name: as_arrow(part.ravel()) for name, part in figures.items()}})

    def as_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        hidden = {"open_rows": self.open_rows, "dropped": self.dropped}
        return {"columns": list(self.columns), **hidden, "table": self.table().to_pylist()}

    def __str__(self) -> str:
        shown = (
            f"{' x '.join(self.columns)}: {self.counts.size:,} cells, {self.counts.sum():,.0f} rows spread over them"
        )
        hidden = f"; {self.open_rows:,} rows show nothing, and may be in any cell" if self.open_rows else ""
        return f"{shown}{hidden}{f'; {self.dropped:,} rows were dropped, and are in none' if self.dropped else ''}"


@dataclass(frozen=True, kw_only=True)
class Mean:
    """An estimated mean. That of the original rows lies between `lower` and `upper`, however values spread.

    The standard error is that of a sample, of people from a population and of values from their ranges, and what
    changes where values crowd on one side of their ranges: incomes do, and more rows do not help. Rows that show
    nothing may hold anything: without limits, or base rates, the error has no limit either.
    """

    column: str
    group: Mapping[str, str]  # the labels of the rows that it is about; all rows, also dropped ones, when empty
    value: float  # where the error has no limit, of the rows that show something
    std_error: float  # of both errors together
    spread_error: float  # how much changes where values crowd on one side of their ranges
    lower: float
    upper: float
    rows: int  # that it is about: a missing cell is in none
    open_rows: int  # of them, those that show nothing, or were dropped
    days: bool = False  # figures are days since 1970-01-01, and shown as dates

    def as_dict(self) -> dict[str, Any]:
        """Return the mean as plain data, days as dates; what is unknown or has no end becomes None."""
        figures = {"value": self.value, "lower": self.lower, "upper": self.upper}
        errors = {"std_error": self.std_error, "spread_error": self.spread_error}
        finite = {name: figure if math.isfinite(figure) else None for name, figure in (figures | errors).items()}
        dates = {name: day_text(figures[name]) for name in figures if self.days and finite[name] is not None}
        about = {"column": self.column, "group": dict(self.group)}
        return {**about, **finite, **dates, "rows": self.rows, "open_rows": self.open_rows}

    def __str__(self) -> str:
        where = ", ".join(f"{name} {label}" for name, label in self.group.items())
        title = f"mean of {self.column}{f' ({where})' if where else ''}"
        hidden = f"{self.open_rows:,} of {self.rows:,} rows show nothing"
        if math.isinf(self.std_error):
            known = "not known" if math.isnan(self.value) else f"{self._figure(self.value)} where it is shown"
            return f"{title}: {known}, error without limit: {hidden}; give limits that no value exceeds"
        error = f"{shown(self.std_error)}{' days' if self.days else ''}"
        bounds = f"surely from {self._figure(self.lower)} to {self._figure(self.upper)}"
        rows = hidden if self.open_rows else f"{self.rows:,} rows"
        return f"{title}: {self._figure(self.value)} ± {error}, {bounds} ({rows})"

    def _figure(self, value: float) -> str:
        return day_text(value) if self.days else shown(value)


def shown(value: float) -> str:
    """Return a figure for people.

    >>> shown(26337.019), shown(0.70153)
    ('26,337', '0.7015')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < math.inf else f"{value:.4g}"


def table_of(
    columns: Sequence[Ranges | Groups],
    *,
    bins: Mapping[str, Sequence[Any]],
    values: Mapping[str, Sequence[str]],
    rates: Mapping[str, Rates],
    rows: Rows,
    dropped: int = 0,
) -> SpreadTable:
    """Return the table of some columns, with the rows behind each label spread over what it may stand for.

    `dropped` rows of the original may have been in any cell.
    """
    axes = [
        spread(column, bins=bins.get(column.name), values=values.get(column.name), rates=rates.get(column.name))
        for column in columns
    ]
    shape = tuple(len(axis.values) for axis in axes)
    if math.prod(shape) > MOST_CELLS:
        raise DataError(
            f"A table of {math.prod(shape):,} cells was asked for; the most is {MOST_CELLS:,}.\nAsk for fewer columns."
        )
    n_rows = columns[0].codes.size
    kinds = distinct_codes([(column.codes, len(column.labels)) for column in columns], n_rows)
    total = np.bincount(kinds.distinct_of, rows.both, minlength=len(kinds.weight))
    squared = rows.squares_in(kinds.distinct_of, len(kinds.weight))
    counts, variance, lower, upper = (np.zeros(shape) for _ in range(4))
    step = max(1, _AT_ONCE // math.prod(shape))
    for first in range(0, total.size, step):
        part = slice(first, first + step)
        share = _joint([axis.share[kinds.codes[part, place]] for place, axis in enumerate(axes)])
        possible = _joint([axis.possible[kinds.codes[part, place]] for place, axis in enumerate(axes)])
        sure = possible & (possible.reshape(len(possible), -1).sum(axis=1) == 1).reshape(-1, *[1] * len(axes))
        counts += np.tensordot(total[part], share, 1)
        variance += np.tensordot(squared[part], share * (1 - share), 1)
        lower += np.tensordot(total[part], sure.astype(np.float64), 1)
        upper += np.tensordot(total[part], possible.astype(np.float64), 1)
    upper += rows.with_dropped(dropped).both[-1]
    aside = 2 * CROWDED * np.maximum(counts - lower, upper - counts)
    shows_nothing = [np.array([label == ROOT for label in column.labels])[column.codes] for column in columns]
    return SpreadTable(
        columns=tuple(axis.name for axis in axes),
        values=tuple(axis.values for axis in axes),
        counts=counts,
        std_error=np.sqrt(variance + aside**2),
        lower=lower,
        upper=upper,
        open_rows=rows.only(np.any(shows_nothing, axis=0)).total,
        dropped=dropped,
    )


def _joint(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the outer product of each row's vectors, shape (rows, d1, d2, ...)."""
    joint = parts[0]
    for part in parts[1:]:
        joint = joint[..., None] * part.reshape(len(part), *[1] * (joint.ndim - 1), -1)
    return joint


@dataclass(frozen=True, eq=False)
class _Labels:
    """What each label of a column says of the values behind it, (m,)."""

    low: Floats
    high: Floats
    middle: Floats  # what is expected
    variance: Floats  # around it
    no_ends: NDArray[np.bool_]  # labels without an end of their own

    @property
    def crowded(self) -> Floats:
        """How far off a mean is where values crowd on one side."""
        return 2 * CROWDED * np.maximum(self.middle - self.low, self.high - self.middle)


def means_of(
    column: Ranges,
    groups: Sequence[Ranges | Groups],
    *,
    limits: Sequence[Any] | None,
    rates: Rates | None,
    rows: Rows,
    classwise: bool,
    dropped: int = 0,
) -> tuple[Mean, ...]:
    """Return the mean of a column in all rows, or by published labels of others.

    `classwise`: rows are put together by whole classes, so that a class's published mean is that of its rows.
    `dropped` rows of the original show nothing at all, and no label of a group.
    """
    labels, codes = column.labels, column.codes
    if dropped and not groups:
        labels, codes = (*labels, ROOT), np.append(codes, np.int32(len(labels)))
        rows = rows.with_dropped(dropped)
    known = _known(replace(column, codes=codes, labels=labels), limits, rates, classwise=classwise)
    kinds = distinct_codes([(group.codes, len(group.labels)) for group in groups], codes.size)
    found = []
    for number in range(len(kinds.weight)):
        chosen = (kinds.distinct_of == number) & ~np.isnan(known.low[codes])
        group = {group.name: group.labels[code] for group, code in zip(groups, kinds.codes[number], strict=True)}
        found.append(_mean(column, group, known, codes[chosen], rows.only(chosen)))
    return tuple(found)


def _mean(column: Ranges, group: Mapping[str, str], known: _Labels, codes: Codes, rows: Rows) -> Mean:
    """Return the mean of some rows, none of them missing."""
    both, shows = rows.both, np.isfinite(known.middle[codes])
    whole, total, middle = float(both.sum()), float(both[shows].sum()), known.middle[codes][shows]
    value = float(both[shows] @ middle) / total if total else math.nan
    off = np.stack([middle - value, np.sqrt(known.variance[codes][shows])], axis=1)  # of the mean, of the middle
    alone = replace(rows, person=None)  # the rows of a single person are at least as far off as those of several
    squared = max(float(each.only(shows).squares(off).sum()) for each in (rows, alone))
    sampled = math.sqrt(squared) / total if total else math.nan
    aside = known.crowded[codes]

    def overall(of_row: Floats) -> float:
        counting = both > 0  # what counts nothing has no part, be it without end
        return float(both[counting] @ of_row[counting]) / whole if whole else math.nan

    spread_error = overall(np.where(shows, aside, np.inf))
    return Mean(
        column=column.name,
        group=group,
        value=value,
        std_error=math.hypot(sampled, spread_error),
        spread_error=spread_error,
        lower=overall(known.low[codes]),
        upper=overall(known.high[codes]),
        rows=rows.total,
        open_rows=rows.only(known.no_ends[codes]).total,
        days=column.days,
    )


def _known(column: Ranges, limits: Sequence[Any] | None, rates: Rates | None, *, classwise: bool) -> _Labels:
    """Return what labels say, within limits or what has a base rate where they have no ends."""
    low, high, closed = column.ends
    middle, no_ends = column.middle, np.isinf(low) | np.isinf(high)
    if classwise and column.shows == "mean":
        margin = np.where(column.figures, MOST_OFF * (high - low), np.inf)
        low, high = np.fmax(low, middle - margin), np.fmin(high, middle + margin)
    points, common = _points(column, rates)
    if points.size:
        low, high = np.where(np.isinf(low), points[0], low), np.where(np.isinf(high), points[-1], high)
    if limits is not None:
        least, most = _limits(column, limits)
        low, high = np.maximum(low, least), np.minimum(high, most)
        if (beyond := (low > high)[column.codes]).any():
            raise DataError(
                f"The mean of {column.name!r} was asked for within limits, but {int(beyond.sum()):,} row(s) lie "
                "outside of them.\nGive limits that no value exceeds."
            )
    with np.errstate(invalid="ignore"):
        middle = np.where(column.figures, np.clip(middle, low, high), (low + high) / 2)
        variance = (high - low) ** 2 / 12
    for label in np.flatnonzero(~column.figures) if points.size else ():
        inside = (points >= low[label]) & (points <= high[label] if closed[label] else points < high[label])
        if weight := common[inside].sum():
            middle[label] = common[inside] @ points[inside] / weight
            variance[label] = common[inside] @ (points[inside] - middle[label]) ** 2 / weight
    return _Labels(low, high, np.where(np.isfinite(middle), middle, np.nan), variance, no_ends)


def _points(column: Ranges, rates: Rates | None) -> tuple[Floats, Floats]:
    """Return the values that have a base rate, rising, and how common they are."""
    if rates is not None and column.days:
        raise DataError(f"Base rates were given for {column.name!r}, which holds days.\nLeave them out.")
    pairs = sorted((float(value), float(weight)) for value, weight in weights_in(rates or {}).items() if weight > 0)
    points, common = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return points, common


def _limits(column: Ranges, given: Sequence[Any]) -> tuple[float, float]:
    ends = (column.number(given[0]), column.number(given[1], last=True)) if len(given) == 2 else (math.nan, math.nan)
    if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] <= ends[1]):
        such = "1920-01-01, 2020-12-31" if column.days else "0, 120"
        raise DataError(
            f"Limits of {column.name!r} were given that are not two {'days' if column.days else 'numbers'}, rising.\n"
            f"Give what no value falls below and what none exceeds, such as {such}."
        )
    return ends
