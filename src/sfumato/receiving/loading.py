"""A release as values, for whoever analyses it: `sf.load`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import pyarrow as pa

from sfumato.data.base_rates import BaseRates
from sfumato.data.dataset import TEXT, CodedSets
from sfumato.data.distinct import text_codes
from sfumato.data.kinds import infer_kind, is_list
from sfumato.data.release import Release
from sfumato.data.schema import Kind, Role
from sfumato.errors import DataError, did_you_mean
from sfumato.receiving.dictionary import Dictionary, masked_columns
from sfumato.receiving.values import Groups, Ranges, Sets, is_ranged

Column: TypeAlias = Ranges | Groups | Sets


@dataclass(frozen=True, eq=False)
class Loaded:
    """The columns of a release, each cell with what it may stand for."""

    release: Release
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, release: Release) -> Loaded:
        """Read the labels of a release by what release.json says of them."""
        masked = masked_columns(release.description)
        return cls(release, {name: _column(release, name, masked) for name in release.order})

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.release.n_rows

    @property
    def dictionary(self) -> Dictionary:
        """What each column means, in words."""
        return Dictionary.of_release(self.release)

    def __getitem__(self, name: str) -> Column:
        """Return a column by name."""
        if name not in self.columns:
            raise DataError(
                f"Column {name!r} was asked for, but the release does not have it.{did_you_mean(name, self.columns)}"
            )
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self.columns)

    def __repr__(self) -> str:
        return f"<Loaded: {self.n_rows:,} rows; {', '.join(self.columns)}>"

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


def _column(release: Release, name: str, masked: frozenset[str]) -> Column:
    column, about = release.columns.get(name), release.description.get("columns", {}).get(name, {})
    if column is None:
        return _carried(release, name)
    if isinstance(column, CodedSets):
        return Sets(name, column, **_drawn(about))
    legend = about.get("legend", {})
    coarse = column.role is Role.QUASI_IDENTIFIER or name in masked
    if is_ranged(column):
        spans = {str(label): str(span) for label, span in about.get("spans", {}).items()}
        days = column.kind is Kind.DATE
        return Ranges(name, column.codes, column.labels, spans, legend, column.missing, coarse, days)
    rates = BaseRates.from_dict(about["base_rates"]) if "base_rates" in about else None
    return Groups(name, column.codes, column.labels, legend, column.missing, coarse, rates)


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


def _drawn(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the sets of a column were drawn, where release.json says it."""
    try:
        p = float(Fraction(str(about["p"])))
        return {"eta": int(about["eta"]), "p": p, "domain": tuple(map(str, about["domain"]))}
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return {}
