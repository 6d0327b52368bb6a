"""The contract of estimators: the cells of a release in, a table of counts with errors out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from sfumato.data.dataset import as_arrow
from sfumato.disk import atomic_file
from sfumato.errors import OutputError

Table: TypeAlias = NDArray[np.float64]  # one axis for each column, in their order

HOPELESS = 1.0  # an expected error of shares that exceeds every distance there can be
DOUBTFUL = 0.2
NEVER = 1e-12  # in place of the share of a value that is never drawn
DOUBTFUL_CELL = 0.5  # an expected error of a cell, in counts of an average cell


@dataclass(frozen=True)
class Axis:
    """A column of a table, and how it was randomized; a column that was not has eta 1 and p 1.

    With `grouped`, cells show groups of values that nobody drew, of eta values at most. With `shares`, a cell shows one
    value: the true one with probability p, otherwise any, each value with its share.
    """

    name: str
    labels: tuple[str, ...]
    eta: int = 1
    p: float = 1.0
    grouped: bool = False
    shares: tuple[float, ...] | None = None
    grid: tuple[int, ...] | None = None

    @property
    def d(self) -> int:
        """How many values it has."""
        return len(self.labels)

    @property
    def randomized(self) -> bool:
        """Whether cells show anything but the true value."""
        return self.eta > 1 or self.p < 1

    @property
    def g(self) -> NDArray[np.float64]:
        """The probability that a cell shows each value when it is the true one, (d,)."""
        if self.shares is not None:
            return self.p + self.h
        return np.full(self.d, self.p + (1 - self.p) * self.eta / self.d)

    @property
    def h(self) -> NDArray[np.float64]:
        """The probability that a cell shows each value when another is the true one, (d,)."""
        if self.shares is not None:
            return (1 - self.p) * np.array(self.shares)
        if self.d == 1:
            return np.ones(1)
        return np.full(self.d, self.p * (self.eta - 1) / (self.d - 1) + (1 - self.p) * self.eta / self.d)

    @property
    def shown_truly(self) -> float:
        """The probability that a cell shows the true value; of drawn values as common as they are drawn."""
        return float(self.g.mean() if self.shares is None else np.array(self.shares) @ self.g)

    @property
    def gap(self) -> float:
        """How much likelier a cell shows a value because it is the true one."""
        return float(self.g[0] - self.h[0])

    @property
    def ratio(self) -> NDArray[np.float64]:
        """How much likelier a cell that shows a value is for that than for one outside, minus one, (d,); p is below 1.

        A value that is never drawn, and so is shown only by those who have it, gets a very large number.
        """
        drawn = np.array(self.shares) if self.shares is not None else np.full(self.d, self.eta / self.d)
        ratio: NDArray[np.float64] = self.p / ((1 - self.p) * np.maximum(drawn, NEVER))
        return ratio


@dataclass(frozen=True)
class Expectation:
    """What is known of a query before it is run."""

    columns: tuple[str, ...]
    rows: int
    cells: int
    l2: float  # root mean square L2 error of the shares, of the unbiased estimate; the largest there can be of groups
    randomized: bool = True  # whether any of the columns is
    grouped: bool = False  # whether cells of any of them show groups of values
    margins: tuple[tuple[str, ...], ...] = ()  # the largest tables of fewer columns that are good

    @property
    def cell_error(self) -> float:
        """The root mean square error of a cell, in counts of an average cell."""
        return self.l2 * math.sqrt(self.cells)

    @property
    def outlook(self) -> str:
        """What an analyst should make of it: exact, good, doubtful or hopeless."""
        if not self.randomized:
            return "exact"
        if self.l2 >= HOPELESS:
            return "hopeless"
        return "doubtful" if self.l2 >= DOUBTFUL or self.cell_error >= DOUBTFUL_CELL else "good"

    def as_dict(self) -> dict[str, Any]:
        """Return the expectation as plain data."""
        l2, cell_error = (error if math.isfinite(error) else None for error in (self.l2, self.cell_error))
        shown = {"columns": list(self.columns), "rows": self.rows, "cells": self.cells}
        margins = [list(margin) for margin in self.margins]
        return {
            **shown,
            "expected_l2": l2,
            "expected_cell_error": cell_error,
            "outlook": self.outlook,
            "usable_margins": margins,
        }

    def __str__(self) -> str:
        table = f"{' x '.join(self.columns)}: {self.cells:,} cells from {self.rows:,} records; "
        if not self.randomized:
            return f"{table}none of these columns was randomized, so their labels are counted as published (exact)"
        size = "largest possible" if self.grouped else "expected"
        error = f"{size} L2 error of the shares {self.l2:.3g}, of a cell {self.cell_error:.2g} average counts"
        return f"{table}{error} ({self.outlook}){'' if self.outlook == 'good' else self.advice}"

    @property
    def advice(self) -> str:
        """Which tables of fewer columns are good, as the end of a sentence; nothing where there are none to have."""
        usable = "; ".join(" x ".join(margin) for margin in self.margins)
        return f". Tables of fewer columns that are good: {usable or 'none'}" if len(self.columns) > 1 else ""


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossTable:
    """Estimated counts of all combinations of values of some columns. Shows itself in a notebook."""

    axes: tuple[Axis, ...]
    counts: Table
    std_error: Table
    method: str
    iterations: int
    expected: Expectation
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that span the table."""
        return tuple(axis.name for axis in self.axes)

    @property
    def uncertain(self) -> NDArray[np.bool_]:
        """The cells whose standard error exceeds their count: they tell nothing by themselves."""
        return self.std_error > self.counts

    @property
    def outlook(self) -> str:
        """What an analyst should make of it: no table is good with mostly uncertain cells or an unknown association."""
        unsure = self.uncertain.mean() > 1 / 2 or "untold" in self.facts
        return "doubtful" if self.expected.outlook == "good" and unsure else self.expected.outlook

    def interval(self, errors: float = 1.96) -> tuple[Table, Table]:
        """Return lower and upper ends of intervals of this many standard errors: 1.96 for 95 % intervals."""
        return np.maximum(self.counts - errors * self.std_error, 0), self.counts + errors * self.std_error

    def table(self) -> pa.Table:
        """Return one row for each combination: its values, `count` and `std_error`."""
        arrays = []
        for position, axis in enumerate(self.axes):
            shape = [1] * len(self.axes)
            shape[position] = axis.d
            codes = np.broadcast_to(np.arange(axis.d, dtype=np.int32).reshape(shape), self.counts.shape)
            indices = as_arrow(np.ascontiguousarray(codes).ravel())
            arrays.append(pa.DictionaryArray.from_arrays(indices, pa.array(axis.labels, pa.string())))
        arrays += [as_arrow(self.counts.ravel()), as_arrow(self.std_error.ravel())]
        return pa.Table.from_arrays(arrays, names=[*self.columns, "count", "std_error"])

    def write(self, path: Path, *, overwrite: bool = False) -> None:
        """Write the table as CSV or Parquet, by the ending of the name, as a whole or not at all."""
        if path.suffix not in (".csv", ".parquet"):
            raise OutputError(f"The table was to be written to {path.name!r}.\nEnd the name in .csv or .parquet.")
        plain = self.table()
        for position, name in enumerate(self.columns):
            plain = plain.set_column(position, name, plain.column(name).cast(pa.string()))
        with atomic_file(path, overwrite=overwrite) as temporary:
            if path.suffix == ".csv":
                pa_csv.write_csv(plain, temporary, pa_csv.WriteOptions(quoting_style="needed"))
            else:
                pa_parquet.write_table(plain, temporary)

    def as_dict(self) -> dict[str, Any]:
        """Return what is known of the estimate, without the table itself."""
        return {
            "method": self.method,
            "iterations": self.iterations,
            **self.expected.as_dict(),
            "columns": list(self.columns),
            "cells": int(self.counts.size),
            "outlook": self.outlook,
            "uncertain_cells": int(self.uncertain.sum()),
            **dict(self.facts),
        }

    def __str__(self) -> str:
        by = f"by {self.method} ({self.iterations} iterations)" if self.expected.randomized else "as published"
        uncertain = int(self.uncertain.sum())
        doubt = f". The standard error exceeds the count in {uncertain:,} of them" if uncertain else ""
        advice = self.expected.advice if self.outlook in ("doubtful", "hopeless") else ""
        pairs = "; ".join(" and ".join(pair) for pair in self.facts.get("untold", ()))
        untold = f". The noise hides any association of {pairs}: the table treats them as independent" if pairs else ""
        return f"{' x '.join(self.columns)}: {self.counts.size:,} cells {by} ({self.outlook}){doubt}{untold}{advice}"

    def _repr_html_(self) -> str:
        rows = zip(self.table().slice(0, 50).to_pylist(), self.uncertain.ravel()[:50].tolist(), strict=True)
        head = "".join(f"<th>{escape(name)}</th>" for name in (*self.columns, "count", "± std. error", ""))
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(str(row[name]))}</td>" for name in self.columns)
            + f"<td>{row['count']:,.1f}</td><td>{row['std_error']:,.1f}</td><td>{'?' if uncertain else ''}</td></tr>"
            for row, uncertain in rows
        )
        return f"<p>{escape(str(self))}</p><table><tr>{head}</tr>{body}</table>"


@dataclass(frozen=True, eq=False)
class Solution:
    """What an estimator found: counts that are not negative and sum to the records."""

    counts: Table
    iterations: int = 0
    # By how much the estimate is drawn to one side, where that is known to matter; None: not at all to speak of.
    drawn: Table | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Estimator(Protocol):
    """How counts are found. Members are frozen dataclasses; their fields are options."""

    name: ClassVar[str]

    def estimate(self, records: Any, budget: float) -> Solution:
        """Return the counts of all combinations of values of the records' columns, within a budget of work."""
