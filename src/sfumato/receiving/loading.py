"""A release as values, for whoever analyses it: `sf.load`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.data.base_rates import BaseRates
from sfumato.data.dataset import TEXT, CodedSets
from sfumato.data.distinct import text_codes
from sfumato.data.kinds import infer_kind, is_list
from sfumato.data.names import listed
from sfumato.data.release import Release
from sfumato.data.schema import Kind, Role
from sfumato.errors import DataError, did_you_mean
from sfumato.receiving.dictionary import Dictionary, masked_columns
from sfumato.receiving.estimates import Mean, SpreadTable, means_of, table_of
from sfumato.receiving.regression import Regression, regression_of
from sfumato.receiving.rows import Rows
from sfumato.receiving.spreading import Rates
from sfumato.receiving.values import Floats, Groups, Ranges, Sets, is_ranged

Column: TypeAlias = Ranges | Groups | Sets


@dataclass(frozen=True, eq=False)
class Loaded:
    """The columns of a release, each cell with what it may stand for."""

    release: Release
    _read: dict[str, Column] = field(default_factory=dict, init=False, repr=False)  # columns that were asked for

    @property
    def columns(self) -> Mapping[str, Column]:
        """All columns by name, in order."""
        return {name: self[name] for name in self}

    @property
    def n_rows(self) -> int:
        """How many rows there are, equal ones counted as often as they occur."""
        return self.release.total

    @property
    def n_dropped(self) -> int:
        """How many rows of the original were dropped, as release.json says it."""
        return int(self.release.description.get("rows_dropped", 0))

    @property
    def dictionary(self) -> Dictionary:
        """What each column means, in words."""
        return Dictionary.of_release(self.release)

    def __getitem__(self, name: str) -> Column:
        """Return a column by name."""
        if name not in self.release.order:
            near = did_you_mean(name, self.release.order)
            raise DataError(f"Column {name!r} was asked for, but the release does not have it.{near}")
        if name not in self._read:
            self._read[name] = _column(self.release, name, masked_columns(self.release.description))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self.release.order)

    def __repr__(self) -> str:
        return f"<Loaded: {self.n_rows:,} rows; {', '.join(self)}>"

    def to_arrow(self) -> pa.Table:
        """Return what was made coarser as structures, anything else as it is, sets as lists.

        Ranges have the fields label, lower, upper and midpoint, groups label, level and members.
        """
        return pa.table({name: column.arrow() for name, column in self.columns.items()})

    def to_polars(self) -> Any:
        """Return the same as a polars frame: `pl.col("age").struct.field("lower")`."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def to_pandas(self) -> Any:
        """Return ranges as intervals of pandas, groups and other words as categoricals, sets as lists."""
        import pandas

        return pandas.DataFrame({name: column.pandas() for name, column in self.columns.items()})

    # Estimates that respect what was made coarser. Rows count by `weight`, a column: without one, by that which the
    # holder named for it, if any; `weight=""` counts them all alike.

    def table(
        self,
        columns: Sequence[str],
        *,
        bins: Mapping[str, Sequence[Any]] | None = None,
        values: Mapping[str, Sequence[str]] | None = None,
        rates: Mapping[str, Rates] | None = None,
        weight: str | None = None,
    ) -> SpreadTable:
        """Return counts of all combinations of values: an estimate, its standard error, and bounds that hold for sure.

        The rows behind a label spread evenly over what it may stand for, or by `rates`: how common each value is.
        Numbers need the edges of `bins`, and so do days; `values` are those of a column whose labels do not say what is
        behind them. `*` may stand for values that no row shows, unless `values` or `rates` list all.
        """
        names = listed(columns)
        if not names:
            raise DataError("A table was asked for, but of no columns.\nName at least one.")
        if len(set(names)) < len(names):
            raise DataError("A table was asked for with columns named twice.\nName each once.")
        return table_of(
            [self._single(name) for name in names],
            bins=bins or {},
            values=values or {},
            rates=rates or {},
            rows=self._rows(weight),
            dropped=self.n_dropped,
        )

    def mean(
        self,
        column: str,
        *,
        by: Sequence[str] = (),
        limits: Sequence[Any] | None = None,
        rates: Rates | None = None,
        weight: str | None = None,
    ) -> tuple[Mean, ...]:
        """Return the mean of a column, one for each combination of published labels of `by`: of all rows without any.

        `limits` are what no value exceeds, numbers or dates, and `rates` how common each value is. Where cells show
        nothing, one of them is needed to say how far off the mean can be.
        """
        numbers = self.numbers(column)
        quasi_identifiers = {shown.name for shown in self.release.quasi_identifiers}
        return means_of(
            numbers,
            [self._single(name) for name in listed(by)],
            limits=limits,
            rates=rates,
            rows=self._rows(weight),
            dropped=self.n_dropped,
            classwise=weight in (None, self.weight or "") and set(listed(by)) <= quasi_identifiers,
        )

    def regression(
        self,
        outcome: str,
        on: Sequence[str],
        *,
        value: str | None = None,
        rates: Mapping[str, Rates] | None = None,
        weight: str | None = None,
    ) -> Regression:
        """Return the linear regression of numbers, or of the share of one `value`, on some columns."""
        names = listed(on)
        if not names or outcome in names:
            raise DataError(f"A regression of {outcome!r} was asked for on {names}.\nName other columns.")
        covariates = [self._single(name) for name in names]
        return regression_of(
            self._single(outcome),
            covariates,
            value=value,
            rates=rates or {},
            rows=self._rows(weight),
        )

    def row_counts(self) -> Floats:
        """Return how many published rows each row stands for: one, unless equal ones are held once."""
        weights = self.release.weights
        return np.ones(self.release.n_rows) if weights is None else weights.astype(np.float64)

    def _rows(self, weight: str | None) -> Rows:
        """Return how much each row counts, and whose it is."""
        name = self.release.description.get("person")
        person = self[name] if name in self.release.order else None
        whose = None if person is None or isinstance(person, Sets) else person.codes
        return Rows(self.row_weights(weight), self.row_counts(), whose)

    @property
    def weight(self) -> str | None:
        """The column of survey weights, where the holder named one: what is estimated counts with it."""
        found = self.release.description.get("weight")
        return None if found is None else str(found)

    def numbers(self, name: str) -> Ranges:
        """Return a column of numbers or days."""
        column = self._single(name)
        if not isinstance(column, Ranges):
            raise DataError(f"Numbers of {name!r} were asked for, but it holds words.\nAsk for a table of it.")
        return column

    def _single(self, name: str) -> Ranges | Groups:
        column = self[name]
        if isinstance(column, Sets):
            how = "drawn by chance: reconstruct tables of it" if column.chance is not None else "cut: ask for others"
            raise DataError(f"Column {name!r} was asked for, but it holds sets.\nThey were {how}.")
        if _shares(self.release.description.get("columns", {}).get(name, {})):
            raise DataError(
                f"Column {name!r} was asked for, but its cells show values that may have been drawn by chance.\n"
                "Reconstruct tables of it: `sfumato reconstruct`, `sf.reconstruct`."
            )
        return column

    def row_weights(self, name: str | None = None) -> Floats:
        """Return the weight of each row: by a column, else as the holder says; all alike for the empty name."""
        name = self.weight if name is None else name
        if not name:
            return np.ones(self.release.n_rows)
        column = self._single(name)
        weights = column.lower if isinstance(column, Ranges) and column.exact.all() else np.array([np.nan])
        if not np.isfinite(weights).all() or weights.min(initial=0) < 0 or not weights.any():
            raise DataError(
                f"Rows were to be weighted by {name!r}, but it does not hold a number, 0 or more, in every row.\n"
                "Name a column that was published as it is."
            )
        return weights


def _column(release: Release, name: str, masked: frozenset[str]) -> Column:
    column, about = release.columns.get(name), release.description.get("columns", {}).get(name, {})
    if column is None:
        return _carried(release, name)
    legend = about.get("legend", {})
    if isinstance(column, CodedSets):
        return Sets(name, column, legend=legend, **_drawn(about))
    coarse = column.role is Role.QUASI_IDENTIFIER or name in masked
    if is_ranged(column):
        spans = {str(label): dict(stands_for) for label, stands_for in about.get("spans", {}).items()}
        days = column.kind is Kind.DATE
        shows = about.get("shows")
        return Ranges(name, column.codes, column.labels, spans, legend, column.missing, coarse, days, shows)
    rates = BaseRates.from_dict(about["base_rates"]) if "base_rates" in about else None
    return Groups(name, column.codes, column.labels, legend, column.missing, coarse, rates, **_shares(about))


def _carried(release: Release, name: str) -> Column:
    """Return a column that was carried along: numbers and days as such, anything else as it is."""
    assert release.carried is not None
    array = release.carried.column(name)
    if is_list(array.type):
        array = array.cast(pa.list_(pa.string())).combine_chunks()
        array = pa.array([None if cell is None else "|".join(cell) for cell in array.to_pylist()], pa.string())
        array = pa.chunked_array([array])
    marker = str(release.description.get("missing", ""))
    codes, labels, has_missing = text_codes(array, (marker,))
    kind, missing = infer_kind(labels, TEXT), len(labels) if has_missing else -1
    shown = (*labels, marker) if has_missing else tuple(labels)
    if kind in (Kind.NUMBER, Kind.DATE):
        return Ranges(name, codes, shown, missing=missing, days=kind is Kind.DATE)
    return Groups(name, codes, shown, missing=missing)


def _shares(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return how single values of a column were drawn, where release.json says it."""
    if not {"domain", "shares", "p"} <= set(about) or about["p"] is None:
        return {}
    return {"p": float(about["p"]), "shares": dict(zip(map(str, about["domain"]), about["shares"], strict=True))}


def _drawn(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the sets of a column were drawn, where release.json says it."""
    try:
        p = float(Fraction(str(about["p"])))
        return {"eta": int(about["eta"]), "p": p, "domain": tuple(map(str, about["domain"]))}
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return {}
