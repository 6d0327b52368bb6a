"""A question to a release: which columns, of which records; checked, and its error known, before any work is done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedSets
from sfumato.data.distinct import text_codes
from sfumato.data.names import listed
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.errors import DataError, did_you_mean
from sfumato.estimators.base import Axis, CrossTable, Estimator, Expectation, Table
from sfumato.estimators.kronecker import combinations_shown, error_of, expected_l2
from sfumato.estimators.records import Cells, Records
from sfumato.estimators.value_adding import ValueAdding, largest_error

BUDGET = 2e9  # operations on whole sets, about 20 seconds
MOST_CELLS = 5_000_000
MOST_MARGIN = 5  # columns of a smaller table that is looked for where the whole one is no good
MOST_COUNTING = 4e11  # words or combinations


@dataclass(frozen=True, eq=False)
class Query:
    """Columns of a release, and for some of them the one value that is asked about."""

    records: Records
    kept: dict[int, int]  # axis -> value that a filter on a randomized column keeps
    asked: tuple[str, ...]

    def expectation(self) -> Expectation:
        """Return the size of the table and the error to expect, before anything is computed."""
        every = tuple(range(len(self.asked)))
        usable: list[tuple[int, ...]] = []
        for size in range(min(len(every) - 1, MOST_MARGIN), 0, -1):
            for chosen in combinations(every, size):
                within = any(set(chosen) <= set(larger) for larger in usable)
                if not within and self._expected(chosen).outlook in ("exact", "good"):
                    usable.append(chosen)
        margins = tuple(tuple(self.asked[position] for position in chosen) for chosen in usable)
        return replace(self._expected(every), margins=margins)

    def _expected(self, chosen: Sequence[int]) -> Expectation:
        """Return what to expect of a table of some of the columns, and of those that filters are about."""
        places = (*chosen, *self.kept)
        axes = [self.records.axes[position] for position in places]
        grouped = any(axis.grouped for axis in axes)
        return Expectation(
            columns=tuple(self.asked[position] for position in chosen),
            rows=self.records.n_rows,
            cells=math.prod(axis.d for axis in axes),
            l2=largest_error(self.records.only(places)) if grouped else expected_l2(axes, self.records.n_rows),
            randomized=any(axis.randomized for axis in axes),
            grouped=grouped,
        )

    def estimate(self, estimator: Estimator, budget: float = BUDGET) -> CrossTable:
        """Return the table, with standard errors of each count."""
        self.check_work()
        axes = self.records.axes
        grouped = [axis.name for axis in axes if axis.grouped]
        if grouped and estimator.name not in ("auto", ValueAdding.name):
            raise DataError(
                f"A table of column {grouped[0]!r} was asked for by {estimator.name}, but its cells show groups of "
                "values that nobody drew: no law of chance leads back from them.\n"
                f"Take method = {ValueAdding.name!r}, by which the values of a group share its records."
            )
        estimator = ValueAdding() if grouped else estimator
        solution = estimator.estimate(self.records, budget)
        error = error_of(solution.counts, axes) if not grouped else np.zeros_like(solution.counts)
        if solution.drawn is not None:
            error = np.sqrt(error**2 + solution.drawn**2)
        return CrossTable(
            axes=tuple(axis for position, axis in enumerate(axes) if position not in self.kept),
            counts=self._sliced(solution.counts),
            std_error=self._sliced(error),
            method=estimator.name,
            iterations=solution.iterations,
            expected=self.expectation(),
            facts=solution.facts,
        )

    def check_work(self) -> None:
        """Raise when the table is larger than what can be counted in reasonable time."""
        axes, n = self.records.axes, self.records.n_rows
        cells = math.prod(axis.d for axis in axes)
        counting = min(cells * n / 64, n * combinations_shown(axes))
        if cells > MOST_CELLS or counting > MOST_COUNTING:
            raise DataError(
                f"A table of {cells:,} cells from {n:,} records was asked for; the most is {MOST_CELLS:,} cells and "
                f"{MOST_COUNTING:.0e} operations of counting.\nAsk for fewer columns."
            )

    def _sliced(self, table: Table) -> Table:
        return table[tuple(self.kept.get(position, slice(None)) for position in range(table.ndim))]


def query(release: Release, columns: Sequence[str], where: Mapping[str, str] | None = None) -> Query:
    """Return a question about some columns; `where` keeps records with these values.

    A filter on an ordinary column chooses records. Nobody knows which records have a value of a randomized column, so a
    filter on one is answered from the table that has it as a further column.
    """
    where = dict(where or {})
    names = listed(columns)
    stated = release.description.get("rows", release.total)
    if stated != release.total:
        raise DataError(
            f"The release has {release.total:,} rows, but its release.json speaks of {stated!r}.\n"
            "It is damaged or incomplete: get it again."
        )
    if not names:
        raise DataError("A table was asked for, but of no columns.\nName at least one.")
    repeated = sorted({name for name in names if names.count(name) > 1} | set(names) & set(where))
    if repeated:
        raise DataError(f"A table was asked for with columns named twice: {', '.join(map(repr, repeated))}.")
    chosen = np.ones(release.n_rows, dtype=np.bool_)
    slices: list[tuple[str, str]] = []
    for name, value in where.items():
        column = _Column.of(release, name)
        place = {label: code for code, label in enumerate(column.axis.labels)}.get(value)
        if place is None:
            raise DataError(
                f"Records with {name} = {value!r} were asked for, but {name!r} has no such value."
                f"{did_you_mean(value, column.axis.labels)}"
            )
        if column.axis.randomized:
            slices.append((name, value))
        else:
            assert column.codes is not None
            chosen &= column.codes == place
    rows = None if chosen.all() else np.flatnonzero(chosen).astype(np.int32)
    taken = [_Column.of(release, name) for name in (*names, *(name for name, _ in slices))]
    kept = {
        len(names) + position: taken[len(names) + position].axis.labels.index(value)
        for position, (_, value) in enumerate(slices)
    }
    cells = tuple(column.cells(rows) for column in taken)
    weights = release.weights if release.weights is None or rows is None else release.weights[rows]
    n_rows = release.n_rows if rows is None else rows.size
    return Query(Records(cells, n_rows if weights is None else int(weights.sum()), weights), kept, tuple(names))


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of a release, whatever it is."""

    axis: Axis
    sets: BitSets | None = None
    codes: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, release: Release, name: str) -> _Column:
        column = release.columns.get(name)
        about = release.description.get("columns", {}).get(name, {})
        if column is None and (release.carried is None or name not in release.carried.column_names):
            raise DataError(
                f"Column {name!r} was asked for, but the release does not have it.{did_you_mean(name, release.order)}"
            )
        if column is None:
            assert release.carried is not None
            marker = str(release.description.get("missing", ""))
            codes, labels, has_missing = text_codes(release.carried.column(name), (marker,))
            return cls.of_codes(name, codes, (*labels, marker) if has_missing else tuple(labels))
        if column.role is Role.SENSITIVE_QUASI_IDENTIFIER:
            if "groups" in about and isinstance(column, BitSets):
                return cls(_grouped(column, about["groups"]), sets=column)
            if "groups" in about and not isinstance(column, CodedSets):  # of one value each
                return cls.of_codes(name, column.codes, column.labels)
            if "shares" in about and isinstance(column, ReleasedColumn):
                return _replaced(column, about)
            eta, p = _stated(about, name)
            if isinstance(column, BitSets):
                axis = Axis(name, column.labels, eta, p, grid=_grid(about, column.labels))
                if axis.eta == axis.d or axis.p == 0:
                    raise _tells_nothing(name)
                if (column.size != eta).any():
                    raise DataError(
                        f"Column {name!r} does not show eta = {eta} values in every cell, as release.json states.\n"
                        "The release is damaged: get it again."
                    )
                return cls(axis, sets=column)
        if isinstance(column, CodedSets):
            raise DataError(
                f"Column {name!r} was asked for, but it holds sets that were not drawn by randomization.\n"
                "Ask for columns of single values, or randomized ones."
            )
        return cls.of_codes(name, column.codes, column.labels)

    @classmethod
    def of_codes(cls, name: str, codes: NDArray[np.int32], labels: tuple[str, ...]) -> _Column:
        order = sorted(range(len(labels)), key=labels.__getitem__)
        rank = np.empty(len(labels), dtype=np.int32)
        rank[order] = np.arange(len(labels), dtype=np.int32)
        return cls(Axis(name, tuple(labels[code] for code in order)), codes=rank[codes])

    def cells(self, rows: NDArray[np.int32] | None) -> Cells:
        if self.sets is not None:
            return Cells.of_sets(self.axis, self.sets if rows is None else self.sets.take(rows))
        assert self.codes is not None
        return Cells.of_values(self.axis, self.codes if rows is None else self.codes[rows])


def _tells_nothing(name: str) -> DataError:
    return DataError(
        f"Column {name!r} was asked for, but every cell of it shows the same for all values: nothing can be told about "
        "it.\nAsk for other columns."
    )


def _replaced(column: ReleasedColumn, about: Mapping[str, Any]) -> _Column:
    """Return a column whose cells show one value each, kept or drawn by shares that release.json states."""
    try:
        domain, shares = tuple(map(str, about["domain"])), [Fraction(str(share)) for share in about["shares"]]
        p = Fraction(str(about["p"]))
        fine = 0 <= p <= 1 and len(shares) == len(domain) == len(set(domain)) and min(shares) >= 0 and sum(shares) == 1
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        fine = False
    if not fine:
        raise _unsaid(f"how column {column.name!r} was drawn (domain, shares, p)")
    place_of = {label: place for place, label in enumerate(domain)}
    places = np.array([place_of.get(label, -1) for label in column.labels], dtype=np.int32)
    if (places < 0).any():
        raise DataError(
            f"Column {column.name!r} shows {int((places < 0).sum()):,} value(s) outside its domain in release.json.\n"
            "The release is damaged: get it again."
        )
    if not p:
        raise _tells_nothing(column.name)
    axis = Axis(column.name, domain, 1, float(p), shares=tuple(map(float, shares)), grid=_grid(about, domain))
    return _Column(axis, codes=places[column.codes])


def _grid(about: Mapping[str, Any], domain: Sequence[str]) -> tuple[int, ...] | None:
    """Return the weights of a domain's values in the prior that release.json states; None where it states none."""
    stated = about.get("base_rates", {}).get("values", {})
    weights = tuple(stated.get(value) for value in domain)
    return weights if all(type(weight) is int and weight > 0 for weight in weights) else None


def _grouped(column: BitSets, groups: Any) -> Axis:
    """Return a column whose cells show groups of values, as release.json lists them."""
    try:
        group_of = {str(value): number for number, group in enumerate(groups) for value in group}
        fine = len(group_of) == sum(map(len, groups)) and set(group_of) == set(column.labels)
    except TypeError:
        fine = False
    if not fine:
        raise _unsaid(f"which groups of values column {column.name!r} shows")
    if len(groups) == 1:
        raise _tells_nothing(column.name)
    size = np.array([len(group) for group in groups])
    place = np.array([group_of[label] for label in column.labels])
    shown = np.unique(column.packed, axis=0)
    members = column.with_packed(shown).bits(0, len(shown)).astype(np.bool_)
    if any((place[own] != place[own][0]).any() or own.sum() != size[place[own][0]] for own in members if own.any()):
        raise DataError(
            f"Column {column.name!r} shows cells that are none of the groups in release.json.\n"
            "The release is damaged: get it again."
        )
    return Axis(column.name, column.labels, int(size.max()), grouped=True)


def _stated(about: Mapping[str, Any], name: str) -> tuple[int, float]:
    """Return eta and p of a column, as release.json states them."""
    try:
        eta, p, d = about["eta"], Fraction(str(about["p"])), len(about["domain"])
        fine = isinstance(eta, int) and 1 <= eta <= d and 0 <= p <= 1
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        fine = False
    if not fine:
        raise _unsaid(f"how column {name!r} was randomized (domain, eta, p)")
    return int(eta), float(p)


def _unsaid(what: str) -> DataError:
    return DataError(
        f"The release.json does not say {what}.\nGet the whole release folder, as `sfumato anonymize` wrote it."
    )
