from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedColumn, CodedSets, visible_labels
from sfumato.data.dates import DATE_LEVELS, day_of, period
from sfumato.data.labels import number_text
from sfumato.data.release import ReleasedColumn
from sfumato.data.schema import Kind
from sfumato.errors import PolicyError
from sfumato.metrics.base import Measurement, Metric, amount, mean_of, plain
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.cover import cover

MISSING = "(missing)"


@dataclass(frozen=True)
class Bins:
    """How the values of a column are put together for a picture."""

    labels: list[str]
    bin_of: NDArray[np.int64]  # (v,)
    edges: list[float] | None = None  # (bins + 1,), of numbers in bins, the missing one aside
    others: int = 0  # how many values share the last bin


@dataclass(frozen=True, kw_only=True)
class ColumnDistributions(Metric):
    """Counts of every column before and after, for pictures; the headline is the mean share of mass that moved.

    Labels are spread evenly over the occurring values that they cover, and so are published sets of a column that had
    single values. This is for the holder's eyes: it shows counts of the original. The share that moved is the total
    variation distance between the two pictures, 0..1.
    Limit: a randomized column is shown as published; the estimators read more out of it.

    >>> before, after = {"sex": ["f", "f", "f", "m"]}, {"sex": ["*", "*", "f", "m"]}
    >>> measured = ColumnDistributions().of(Comparison.of_tables(before, after, sex="quasi-identifier"))
    >>> column = measured.facts["columns"][0]
    >>> column["bins"], column["before"], column["after"], column["moved"]
    (['f', 'm'], [3, 1], [2.0, 2.0], 0.25)
    """

    name: ClassVar[str] = "column-distributions"
    speaks_of_sets: ClassVar[bool] = True

    most_bins: int = 30

    def __post_init__(self) -> None:
        if self.most_bins < 3:  # below zero, from zero on, missing
            raise PolicyError(f"Distributions were asked for in {self.most_bins} bin(s).\nGive most_bins >= 3.")

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        columns = []
        for column in comparison.dataset.columns.values():
            if isinstance(column, CodedSets):
                columns.append(self._items(column, comparison))
            elif isinstance(comparison.release.columns.get(column.name), CodedSets):
                columns.append(self._randomized(column, comparison))
            else:
                pair = comparison.pair(column.name)
                columns.append(self._facts(column, pair.before, pair.cover.spread(pair.shown_by)))
        value = mean_of(columns, "moved")
        return Measurement.of_share(
            title="Mass moved in single columns",
            value=value,
            explanation=f"On average {amount(value, 'share')} of a column's {comparison.those} would have to change "
            "their value to turn one distribution into the other.",
            facts={"columns": columns} | comparison.weighted_by,
        )

    def _facts(
        self, column: CodedColumn, before: NDArray[Any], after: NDArray[np.float64], *, as_sets: bool = False
    ) -> dict[str, Any]:
        bins = _bins(column, before, self.most_bins)
        return _described(column, bins, before, after) | {"published_as_sets": as_sets}

    def _items(self, column: CodedSets, comparison: Comparison) -> dict[str, Any]:
        """How often each item occurs; items that the original does not have are left out."""
        before = comparison.occurrences(column, len(column.labels), before=True)
        published = comparison.release.columns.get(column.name)
        after = np.zeros(len(column.labels))
        if isinstance(published, CodedSets):
            code_of = {label: code for code, label in enumerate(column.labels)}
            counts = comparison.occurrences(published, len(published.labels), before=False)
            for label, count in zip(published.labels, counts, strict=True):
                if label in code_of:
                    after[code_of[label]] = count
        bins = _most_frequent(column.labels, before, self.most_bins, by_size=True)
        return _described(column, bins, before, after) | {"published_as_sets": True}

    def _randomized(self, column: CodedColumn, comparison: Comparison) -> dict[str, Any]:
        """A column of single values that is published as sets: each member of a set gets its part of the record."""
        published = comparison.release.columns[column.name]
        assert isinstance(published, CodedSets)
        weight = _parts(published, comparison.of_records(before=False))
        markers = comparison.dataset.schema.missing
        marker = visible_labels(column, markers)[column.missing] if column.missing >= 0 else None
        labels = tuple(column.labels[column.missing] if label == marker else label for label in published.labels)
        each = np.arange(len(labels), dtype=np.int32)
        terms = ReleasedColumn(name=column.name, role=column.role, kind=column.kind, codes=each, labels=labels)
        covered = cover(terms, column, domain=comparison.domain(column.name), exact=True, markers=markers)
        before = np.bincount(column.codes, comparison.of_records(before=True), minlength=len(column.labels))
        facts = self._facts(column, before, covered.spread(weight), as_sets=True)
        never = float(weight[covered.outside].sum())
        if never:  # declared values that do not occur in the original
            facts["bins"].append(f"({int(covered.outside.sum())} values that did not occur)")
            facts["before"].append(0)
            facts["after"].append(never)
            facts["moved"] = _moved(np.array(facts["before"]), np.array(facts["after"]))
        return facts


def _parts(sets: CodedSets, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return how many records each label stands for when the members of a set share its record, shape (labels,)."""
    if isinstance(sets, BitSets) and weights is None:
        return sets.parts()
    size = np.diff(sets.start)
    share = np.repeat((1 if weights is None else weights) / np.maximum(size, 1), size)
    parts: NDArray[np.float64] = np.bincount(sets.items, share, minlength=len(sets.labels)).astype(np.float64)
    return parts


def _described(
    column: CodedColumn | CodedSets, bins: Bins, before: NDArray[Any], after: NDArray[np.float64]
) -> dict[str, Any]:
    n_bins = len(bins.labels)
    counts_before = np.bincount(bins.bin_of, before, minlength=n_bins)
    counts_after = np.bincount(bins.bin_of, after, minlength=n_bins)
    return {
        "name": column.name,
        "role": column.role.value,
        "kind": column.kind.value,
        "bins": bins.labels,
        "edges": bins.edges,
        "others": bins.others,
        "before": [plain(count) for count in counts_before.tolist()],
        "after": [round(float(count), 6) for count in counts_after],
        "moved": _moved(counts_before, counts_after),
    }


def _moved(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return the total variation distance between two sets of counts."""
    if not before.sum() or not after.sum():
        return float(bool(before.sum()) != bool(after.sum()))
    return float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)


def _bins(column: CodedColumn, counts: NDArray[Any], most: int) -> Bins:
    n_codes = len(column.labels)
    names = [MISSING if code == column.missing else label for code, label in enumerate(column.labels)]
    if n_codes <= most:
        return Bins(names, np.arange(n_codes))
    if column.values is not None and _apart(column.values):
        return _number_bins(column.values, most)
    if column.dates:
        return _date_bins(names, most)
    return _most_frequent(names, counts, most, by_size=column.kind not in (Kind.ORDERED, Kind.NUMBER))


def _most_frequent(names: Any, counts: NDArray[Any], most: int, *, by_size: bool) -> Bins:
    """Give the most frequent values a bin each, largest first or in their own order, and one bin to all others."""
    by_count = np.lexsort((np.arange(counts.size), -counts))
    n_own = counts.size if counts.size <= most else most - 1
    own = by_count[:n_own] if by_size else np.sort(by_count[:n_own])
    bin_of = np.full(counts.size, n_own)
    bin_of[own] = np.arange(n_own)
    others = counts.size - n_own
    labels = [names[code] for code in own] + ([f"({others:,} others)"] if others else [])
    return Bins(labels, bin_of, others=others)


def _date_bins(names: list[str], most: int) -> Bins:
    """Put dates together by the finest period that leaves few enough bins, a missing one last.

    >>> _date_bins(["2024-01-03", "2024-01-30", "2024-02-01", "2024-03-01", "(missing)"], 4).labels
    ['2024-01', '2024-02', '2024-03', '(missing)']
    """
    labels, days = names, [day_of(name) for name in names]
    for level in DATE_LEVELS[2:]:  # weeks and months do not nest
        labels = [period(day, level) if day is not None else name for day, name in zip(days, names, strict=True)]
        if len(set(labels)) <= most:
            break
    number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return Bins(list(number), np.array([number[label] for label in labels]))


def _apart(values: NDArray[np.float64]) -> bool:
    """Whether bins of round width can be told apart: not those of numbers that differ in their last digits only."""
    return float(np.nanmax(values) - np.nanmin(values)) > 1e-9 * float(np.nanmax(np.abs(values)))


def _number_bins(values: NDArray[np.float64], most: int) -> Bins:
    """Cut numbers into bins of equal, round width.

    >>> _number_bins(np.arange(17.0, 91.0), 10).labels[:2]
    ['[10, 20)', '[20, 30)']
    """
    known = values[~np.isnan(values)]
    has_missing = known.size < values.size
    low, high = float(known.min()), float(known.max())
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (1, 2, 5, 10, 20, 50, 100):
        width = step * power
        start = math.floor(low / width) * width
        n_bins = math.floor((high - start) / width) + 1
        if n_bins <= most - has_missing:
            break
    bin_of = np.full(values.size, n_bins)
    edges = [float(f"{start + at * width:.12g}") for at in range(n_bins + 1)]
    bin_of[~np.isnan(values)] = np.clip(np.searchsorted(edges, known, side="right") - 1, 0, n_bins - 1)
    labels = [f"[{number_text(left)}, {number_text(right)})" for left, right in pairwise(edges)]
    return Bins(labels + ([MISSING] if has_missing else []), bin_of, edges=edges)
