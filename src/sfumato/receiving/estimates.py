"""Tables and means from a generalized release: an estimate, its standard error, and bounds that hold for sure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import as_arrow, distinct_codes
from sfumato.data.figures import MOST_OFF
from sfumato.errors import DataError
from sfumato.receiving.spreading import Rates, spread
from sfumato.receiving.values import Floats, Groups, Ranges

MOST_CELLS = 1_000_000
CROWDED = 1 / 4  # of its width: how far the mean of a range may lie from its middle
_AT_ONCE = 1 << 22  # numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class SpreadTable:
    """Estimated counts of all combinations of values, with bounds between which the true counts lie for sure."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]  # of each column
    counts: Floats  # one axis for each column
    std_error: Floats  # as if each row were drawn by itself from what its labels allow
    lower: Floats  # rows that can be nowhere else
    upper: Floats  # rows that may be there

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
        return {"columns": list(self.columns), "table": self.table().to_pylist()}

    def __str__(self) -> str:
        return f"{' x '.join(self.columns)}: {self.counts.size:,} cells, {self.counts.sum():,.0f} rows spread over them"


@dataclass(frozen=True, kw_only=True)
class Mean:
    """An estimated mean. The mean of the original rows lies between `lower` and `upper`, however values spread.

    The standard error is that of a sample, of people from a population and of values from their ranges, and what
    changes where values crowd on one side of their ranges: incomes do, and more rows do not help.
    """

    column: str
    group: Mapping[str, str]  # the labels of the rows that it is about; all rows when empty
    value: float
    std_error: float  # of both errors together
    spread_error: float  # how much changes where values crowd on one side of their ranges
    lower: float
    upper: float
    rows: int  # that it is about: a missing cell is in none
    open_rows: int  # of them, those without ends, of which nothing is known

    def as_dict(self) -> dict[str, Any]:
        """Return the mean as plain data; what is unknown or has no end becomes None."""
        shown = {"column": self.column, "group": dict(self.group)}
        errors = {"std_error": self.std_error, "spread_error": self.spread_error}
        figures = {"value": self.value, **errors, "lower": self.lower, "upper": self.upper}
        finite = {name: figure if math.isfinite(figure) else None for name, figure in figures.items()}
        return {**shown, **finite, "rows": self.rows, "open_rows": self.open_rows}

    def __str__(self) -> str:
        where = ", ".join(f"{name} {label}" for name, label in self.group.items())
        title = f"mean of {self.column}{f' ({where})' if where else ''}"
        bounds = f"surely from {shown(self.lower)} to {shown(self.upper)}"
        unknown = f"; {self.open_rows:,} of them show nothing" if self.open_rows else ""
        return f"{title}: {shown(self.value)} ± {shown(self.std_error)}, {bounds} ({self.rows:,} rows{unknown})"


def shown(value: float) -> str:
    """Return a figure for people.

    >>> shown(26337.019), shown(0.70153)
    ('26,337', '0.7015')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < math.inf else f"{value:.4g}"


def table_of(
    columns: Sequence[Ranges | Groups],
    *,
    bins: Mapping[str, Sequence[float]],
    values: Mapping[str, Sequence[str]],
    rates: Mapping[str, Rates],
    weight: Floats,
    count: Floats,
) -> SpreadTable:
    """Return the table of some columns, with the rows behind each label spread over what it may stand for.

    Each row counts by its `weight`, and stands for `count` such rows; both (n,).
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
    total = np.bincount(kinds.cell_of, count * weight, minlength=len(kinds.weight))
    squared = np.bincount(kinds.cell_of, count * weight**2, minlength=len(kinds.weight))
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
    return SpreadTable(
        columns=tuple(axis.name for axis in axes),
        values=tuple(axis.values for axis in axes),
        counts=counts,
        std_error=np.sqrt(variance),
        lower=lower,
        upper=upper,
    )


def _joint(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the outer product of each row's vectors, shape (rows, d1, d2, ...)."""
    joint = parts[0]
    for part in parts[1:]:
        joint = joint[..., None] * part.reshape(len(part), *[1] * (joint.ndim - 1), -1)
    return joint


def means_of(
    column: Ranges,
    groups: Sequence[Ranges | Groups],
    *,
    limits: tuple[float, float] | None,
    weight: Floats,
    count: Floats,
    classwise: bool,
) -> tuple[Mean, ...]:
    """Return the mean of a column in all rows, or by published labels of others.

    Each row counts by its `weight`, and stands for `count` such rows; both (n,).
    `classwise`: rows are put together by whole classes, so that a class's published mean is that of its rows.
    """
    kinds = distinct_codes([(group.codes, len(group.labels)) for group in groups], column.codes.size)
    low, high = column.lower, column.upper
    figure, error = column.midpoint, (high - low) / math.sqrt(12)
    if classwise and column.shows == "mean":
        margin = np.where(column.figures[column.codes], MOST_OFF * (high - low), np.inf)
        low, high = np.maximum(low, figure - margin), np.minimum(high, figure + margin)
    if limits is not None:
        low, high = np.maximum(low, limits[0]), np.minimum(high, limits[1])
    rows = count * weight
    crowded = CROWDED * np.nan_to_num(high - low, posinf=0.0)
    found = []
    for number in range(len(kinds.weight)):
        chosen = (kinds.cell_of == number) & ~np.isnan(low)
        known = chosen & np.isfinite(figure)
        total = rows[known].sum()
        value = float((rows[known] * figure[known]).sum() / total) if total else math.nan
        spread_of = (figure[known] - value) ** 2 + np.nan_to_num(error[known], posinf=0.0) ** 2
        off = math.sqrt(float((rows[known] * weight[known] * spread_of).sum()))
        aside = float((rows[known] * crowded[known]).sum() / total) if total else math.nan
        whole = rows[chosen].sum()
        found.append(
            Mean(
                column=column.name,
                group={group.name: group.labels[code] for group, code in zip(groups, kinds.codes[number], strict=True)},
                value=value,
                std_error=math.hypot(off / float(total), aside) if total else math.nan,
                spread_error=aside,
                lower=float((rows[chosen] * low[chosen]).sum() / whole) if whole else math.nan,
                upper=float((rows[chosen] * high[chosen]).sum() / whole) if whole else math.nan,
                rows=int(count[chosen].sum()),
                open_rows=int(count[chosen & ~known].sum()),
            )
        )
    return tuple(found)
