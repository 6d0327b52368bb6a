"""What an analyst would compute from the numbers of a table, before and after: means, correlations, regressions.

From the release they are computed as `sf.load` does it, with what ranges leave open taken into account.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, distinct_codes
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind
from sfumato.data.weighting import row_weights_of
from sfumato.errors import DataError
from sfumato.metrics.base import Asked, Measurement, Metric
from sfumato.metrics.comparison import Comparison
from sfumato.receiving.loading import Loaded
from sfumato.receiving.regression import tell_apart

MOST_COLUMNS = 8  # those with most values; more would make tables that nobody reads
MOST_ROWS = 100_000  # that differ, of which slopes are computed; else those of a random sample of so many
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Statistics(Metric):
    """By how much means, correlations and regression slopes of the numbers change, in units that compare.

    A mean counts in standard deviations of its column, a slope as if both columns had standard deviation 1. Survey
    weights count as the plan says. Slopes of very many different rows are those of a random sample of them.
    Limit: other questions may change more; these are the ones that nearly everybody asks first.

    >>> before, after = {"age": [20, 20, 30, 30]}, {"age": ["[20, 25]"] * 2 + ["30"] * 2}
    >>> print(Statistics().of(Comparison.of_tables(before, after, age="quasi-identifier")))
    Statistics moved: 0.25 sd (original: 0 sd); most: mean of age, 25 became 26.25
    """

    name: ClassVar[str] = "statistics"

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where a column of numbers is published as such."""
        if numbers_in(comparison):
            yield cls()

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        numbers = numbers_in(comparison)
        truth, shown = _Truth.of(comparison, numbers), _shown(comparison, numbers)
        found = [*_means(truth, Loaded(shown)), *_correlations(truth, Loaded(shown))]
        sampled = max(truth.count.size, shown.n_rows) > MOST_ROWS
        if sampled:
            truth, shown = truth.sampled(), _sampled(shown)
        found += _slopes(truth, Loaded(shown))
        value = float(np.mean([each["moved"] for each in found])) if found else 0.0
        worst = max(found, key=lambda each: float(each["moved"]), default=None)
        most = f"most: {worst['what']}, {worst['before']:.4g} became {worst['after']:.4g}" if worst and value else ""
        return Measurement(
            title="Statistics moved",
            value=value,
            before=0.0,
            unit="sd",
            better="lower",
            note=most,
            explanation="By how much means, correlations and regression slopes of the numbers, computed from the "
            "release, differ from those of the original, on average, in standard deviations.",
            facts={
                "statistics": found,
                "weight": comparison.release.description.get("weight"),
                "slopes_of": MOST_ROWS if sampled else None,  # rows, where not of all
            },
        )


@dataclass(frozen=True, eq=False)
class _Truth:
    """The numbers of the original; each distinct combination once."""

    values: Mapping[str, Floats]  # (c,)
    count: NDArray[np.int64]  # (c,): rows of each
    weight: Floats  # (c,): what they count together

    @classmethod
    def of(cls, comparison: Comparison, numbers: Mapping[str, CodedColumn]) -> _Truth:
        dataset = comparison.dataset
        distinct = distinct_codes(
            [(column.codes, len(column.labels)) for column in numbers.values()], dataset.n_rows, dataset.weights
        )
        weight: Floats = distinct.weight.astype(np.float64)
        if comparison.release.description.get("weight") is not None:
            of_rows = row_weights_of(dataset.carried, comparison.release.description, dataset.n_rows)
            weight = np.bincount(distinct.distinct_of, of_rows, minlength=distinct.weight.size).astype(np.float64)
        columns = zip(numbers.items(), distinct.codes.T, strict=True)
        found = {name: column.values[codes] for (name, column), codes in columns if column.values is not None}
        return cls(found, distinct.weight, weight)

    def sampled(self) -> _Truth:
        """Return a random sample."""
        count = _drawn(self.count)
        some = count > 0
        values = {name: values[some] for name, values in self.values.items()}
        return _Truth(values, count[some], (self.weight * count / self.count)[some])


def numbers_in(comparison: Comparison) -> dict[str, CodedColumn]:
    """Return the columns of numbers that are published as single labels; those with most values."""
    found = {
        name: column
        for name, column in comparison.dataset.columns.items()
        if isinstance(column, CodedColumn) and column.values is not None
        if isinstance(comparison.release.columns.get(name), ReleasedColumn)
    }
    chosen = sorted(found, key=lambda name: -len(found[name].labels))[:MOST_COLUMNS]
    return {name: column for name, column in found.items() if name in chosen}


def _shown(comparison: Comparison, numbers: Mapping[str, CodedColumn]) -> Release:
    """Return the columns of numbers as published, equal rows once; values drawn by chance as they are shown.

    That a column holds numbers, a table of another tool does not say itself.
    """
    release = comparison.release
    columns = {name: replace(release.column(name), kind=Kind.NUMBER) for name in numbers}
    weight = release.description.get("weight")
    carried = release.carried.select([weight]) if weight is not None and release.carried is not None else None
    order = (*columns, *(carried.column_names if carried is not None else ()))
    about = {name: {**told, "p": None} for name, told in release.description.get("columns", {}).items()}
    description = {**release.description, "columns": about}
    return replace(release, columns=columns, carried=carried, order=order, description=description).weighted()


def _sampled(release: Release) -> Release:
    """Return a random sample of a release with weights."""
    assert release.weights is not None
    count = _drawn(release.weights)
    some = np.flatnonzero(count).astype(np.int32)
    return release.rows(some, count[some])


def _drawn(count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of the rows that each stands for are in a random sample."""
    total = int(count.sum())
    if total <= MOST_ROWS:
        return count
    drawn = np.random.default_rng(0).choice(total, MOST_ROWS, replace=False, shuffle=False)
    return np.bincount(np.searchsorted(np.cumsum(count), drawn, side="right"), minlength=count.size)


def _entry(what: str, before: float, after: float, unit: float, **more: Any) -> Iterator[dict[str, Any]]:
    """Yield a statistic if it exists on both sides."""
    if math.isfinite(before) and math.isfinite(after) and unit > 0:
        known = {name: value if value is None or math.isfinite(value) else None for name, value in more.items()}
        moved = min(abs(after - before) / unit, 1e6)
        yield {"what": what, "before": before, "after": after, **known, "moved": moved}


def _means(truth: _Truth, loaded: Loaded) -> Iterator[dict[str, Any]]:
    for name, values in truth.values.items():
        mean, deviation = _moments(values, truth.weight)
        for after in loaded.mean(name):  # none where no row is left
            yield from _entry(f"mean of {name}", mean, after.value, deviation, lower=after.lower, upper=after.upper)


def _moments(values: Floats, weight: Floats) -> tuple[float, float]:
    known = np.isfinite(values) & (weight > 0)
    if not known.any():
        return math.nan, math.nan
    mean = float(np.average(values[known], weights=weight[known]))
    return mean, math.sqrt(float(np.average((values[known] - mean) ** 2, weights=weight[known])))


def _correlations(truth: _Truth, loaded: Loaded) -> Iterator[dict[str, Any]]:
    before, rows = truth.values, loaded.row_weights() * loaded.row_counts()
    for one, other in combinations(before, 2):
        first = _correlation(before[one], before[other], truth.weight)
        second = _correlation(loaded.numbers(one).midpoint, loaded.numbers(other).midpoint, rows)
        yield from _entry(f"correlation of {one} and {other}", first, second, 1.0)


def _correlation(x: Floats, y: Floats, weight: Floats) -> float:
    known = np.isfinite(x) & np.isfinite(y) & (weight > 0)
    if not known.any():
        return math.nan
    w = weight[known]
    x, y = x[known] - np.average(x[known], weights=w), y[known] - np.average(y[known], weights=w)
    product = math.sqrt(float(np.average(x**2, weights=w) * np.average(y**2, weights=w)))
    return float(np.average(x * y, weights=w)) / product if product > 0 else math.nan


def _slopes(truth: _Truth, loaded: Loaded) -> Iterator[dict[str, Any]]:
    """Yield the slopes of each column on all others."""
    before, weight = truth.values, truth.weight
    for outcome in before if len(before) > 1 else ():
        others = [name for name in before if name != outcome]
        design = np.column_stack([np.ones(weight.size), *(before[name] for name in others)])
        known = np.isfinite(design).all(axis=1) & np.isfinite(before[outcome]) & (weight > 0)
        root = np.sqrt(weight[known])
        if truth.count[known].sum() <= len(before) or not tell_apart(design[known]):
            continue
        slopes = np.linalg.lstsq(design[known] * root[:, None], before[outcome][known] * root, rcond=None)[0]
        try:
            after = loaded.regression(outcome, others)
        except DataError:  # nothing is left to tell its columns apart
            continue
        spread = _moments(before[outcome], weight)[1]
        for name, slope in zip(others, slopes[1:].tolist(), strict=True):
            estimate, error = after[name]
            scale = spread / (_moments(before[name], weight)[1] or math.inf)
            yield from _entry(f"slope of {outcome} on {name}", slope, estimate, scale, std_error=error)
