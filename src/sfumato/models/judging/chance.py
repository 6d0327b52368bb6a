"""Whether cells were drawn by the chance that a release claims, by whoever holds the original.

Rows of a release stand in another order. Columns that were published as they were link them: rows with equal values
there are a group, in the original and in the release. What is known of a group's true values is known of its cells, so
how often cells show true and other values has a mean and a variance that follow from the claim. Tails are bounded by
Bennett's inequality, so an honest release fails with a probability below `LEVEL` for each column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedColumn, Dataset, distinct_codes, visible_labels
from sfumato.data.distinct import text_codes
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.models.base import PrivacyModel, Verdict
from sfumato.models.judging.randomized import RandomizedColumn, faults, log_tail
from sfumato.models.judging.weights import Integers, rows_in

LEVEL = 1e-9  # how unlikely what is seen must be, for each column, before it is no accident
_ROWS = 1 << 14  # whose cells are laid open at once
_ROUNDING = 1e-6  # of sums of shares
_VALUES = 512  # of a domain up to which each pair of a true and a shown value is counted


@dataclass(frozen=True)
class Chance:
    """What became of the test of a column: rows in groups of equal truth, of all that were linked; and its verdict."""

    rows: int
    alone: int  # rows whose true value is known, because their whole group has it
    plausible: bool

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows were linked to the original, {self.alone:,} of them to one true value; "
            f"tested at level {LEVEL:g}"
        )


class JudgedCells:
    """Columns of a release whose cells are judged: which fail, and which chance does not explain."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.failing: list[tuple[RandomizedColumn, NDArray[np.bool_]]] = []  # for each column (n,)
        self.faults: dict[str, list[str]] = {}
        self.notes: list[str] = []  # what whoever reads the verdict should know

    def add(self, column: RandomizedColumn, failing: NDArray[np.bool_]) -> None:
        """Take a column and which of its cells fail, (n,): all of them where something is wrong with how they came."""
        wrong, tested = list(faults(self.release, column)), chance_of(self.release, column)
        if tested is not None:
            self.notes.append(f"Cells of column {column.name!r}: {tested}.")
            if not tested.plausible:
                wrong.append(
                    f"cells that show the true values, or others, more or less often than {column.parameters} allow"
                )
        if wrong:
            self.faults[column.name] = wrong
        self.failing.append((column, np.ones_like(failing) if wrong else failing))

    def verdict(self, model: PrivacyModel, facts: Mapping[str, Any], *, satisfied: bool, **found: Any) -> Verdict:
        """Return the verdict on all columns, given what a model found."""
        return Verdict(
            model=model,
            satisfied=satisfied and not self.faults,
            failing_rows=rows_in(np.logical_or.reduce([rows for _, rows in self.failing]), self.failing[0][0].weights),
            facts={**facts, **({"faults": self.faults} if self.faults else {})},
            finding="; ".join(f"column {name!r} has {', '.join(wrong)}" for name, wrong in self.faults.items()),
            notes=tuple(self.notes),
            **found,
        )


def chance_of(release: Release, column: RandomizedColumn) -> Chance | None:
    """Return whether chance explains a column's cells, given the original; None when there is nothing to compare."""
    truth = release.truth
    if truth is None or truth.n_rows != release.n_rows or release.weights is not None or not release.n_rows:
        return None
    true_of = _true_places(truth, column)
    if true_of is None or not column.d > column.eta:
        return None
    in_original, in_release, n_groups = _linked(truth, release)
    size = np.bincount(in_original, minlength=n_groups)
    linked = size == np.bincount(in_release, minlength=n_groups)
    pair, count = np.unique(in_original * column.d + true_of, return_counts=True)
    group, value = pair // column.d, pair % column.d
    used = linked[group]
    share = count / size[group]
    start = np.searchsorted(group, np.arange(n_groups + 1))
    only = np.where(linked & (np.diff(start) == 1), value[np.minimum(start[:-1], max(value.size - 1, 0))], -1)
    seen = _seen(release, column, in_release, linked, start, value, share, only)
    g, h = column.chances
    by_chance = np.bincount(group, share * h[value], n_groups)  # what any row of a group adds on average
    mean_of = by_chance[group] + (g - h)[value] * share  # of what a row adds that has this value
    mean, variance = float((count * mean_of)[used].sum()), float((count * mean_of * (1 - mean_of))[used].sum())
    fits = _explained(np.array([seen.hits]), np.array([mean]), np.array([variance]), LEVEL / 2)
    if seen.pairs is not None:
        known = np.bincount(only[in_release][only[in_release] >= 0], minlength=column.d)
        chance = np.tile(h, (column.d, 1))
        np.fill_diagonal(chance, g)
        means, variances = known[:, None] * chance, known[:, None] * chance * (1 - chance)
        fits = fits and _explained(seen.pairs, means, variances, LEVEL / 2)
    return Chance(int(size[linked].sum()), int(size[only >= 0].sum()), fits)


def _true_places(truth: Dataset, column: RandomizedColumn) -> Integers | None:
    """Return where each row's true value stands in the domain, (n,); None where it is not known for all."""
    original = truth.columns.get(column.name)
    if not isinstance(original, CodedColumn):
        return None
    place_of = {value: place for place, value in enumerate(column.domain)}
    places = np.array([place_of.get(label, -1) for label in visible_labels(original, truth.schema.missing)])
    return places[original.codes] if (places >= 0).all() else None


def _linked(truth: Dataset, release: Release) -> tuple[Integers, Integers, int]:
    """Return the group of each row of the original and of the release, and how many groups there are."""
    n = truth.n_rows
    both = [
        (np.concatenate([codes, places]).astype(np.int32), n_values)
        for codes, places, n_values in _unchanged(truth, release)
    ]
    distinct = distinct_codes(both, 2 * n)
    return distinct.distinct_of[:n].astype(np.int64), distinct.distinct_of[n:].astype(np.int64), distinct.weight.size


def _unchanged(truth: Dataset, release: Release) -> Iterator[tuple[Integers, Integers, int]]:
    """Yield the codes of columns that the release shows as they were, there and here: equal values, equally often."""
    for name in release.order:
        before, after = truth.columns.get(name), release.columns.get(name)
        if isinstance(before, CodedColumn) and isinstance(after, ReleasedColumn):
            if before.role is Role.SENSITIVE_QUASI_IDENTIFIER:
                continue
            there, here = (before.codes, before.labels), (after.codes, after.labels)
        elif before is None and after is None and truth.carried is not None and release.carried is not None:
            if name not in truth.carried.column_names:
                continue
            there, here = (_as_text(table, name, truth.schema.missing) for table in (truth.carried, release.carried))
        else:
            continue
        place_of = {label: place for place, label in enumerate(there[1])}
        places = np.array([place_of.get(label, -1) for label in here[1]], dtype=np.int64)
        if (places >= 0).all():
            codes, shown = there[0].astype(np.int64), places[here[0]]
            n_values = len(there[1])
            if np.array_equal(np.bincount(codes, minlength=n_values), np.bincount(shown, minlength=n_values)):
                yield codes, shown, n_values


def _as_text(table: pa.Table, name: str, missing: tuple[str, ...]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    column = table.column(name)
    if pa.types.is_nested(column.type):  # Arrow has no texts of these; lists get those of a text file
        cells = ("|".join(map(str, cell)) if isinstance(cell, list) else cell for cell in column.to_pylist())
        column = pa.chunked_array([pa.array([None if cell is None else str(cell) for cell in cells], pa.string())])
    codes, labels, has_missing = text_codes(column, missing)
    return codes, (*labels, "") if has_missing else tuple(labels)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What cells show: over all linked rows, the shares of a row's group that it shows; and true by shown values."""

    hits: float
    pairs: Integers | None  # (d, d), of rows whose true value is known


def _seen(
    release: Release,
    column: RandomizedColumn,
    group_of: Integers,
    linked: NDArray[np.bool_],
    start: Integers,
    value: Integers,
    share: NDArray[np.float64],
    only: Integers,
) -> _Seen:
    hits, pairs = 0.0, np.zeros((column.d, column.d), dtype=np.int64) if column.d <= _VALUES else None
    for first in range(0, release.n_rows, _ROWS):
        bits = _bits(release, column, first, first + _ROWS)
        group = group_of[first : first + _ROWS]
        length = np.where(linked[group], start[group + 1] - start[group], 0)
        row = np.repeat(np.arange(group.size), length)
        at = np.repeat(start[group] - (np.cumsum(length) - length), length) + np.arange(length.sum())
        hits += float(bits[row, value[at]] @ share[at])
        if pairs is not None:
            known = np.flatnonzero(only[group] >= 0)
            is_true = np.zeros((known.size, column.d), dtype=np.float32)
            is_true[np.arange(known.size), only[group[known]]] = 1
            pairs += np.rint(is_true.T @ bits[known].astype(np.float32)).astype(np.int64)
    return _Seen(hits, pairs)


def _bits(release: Release, column: RandomizedColumn, first: int, last: int) -> NDArray[np.uint8]:
    """Return for some rows and each value of the domain whether the cell shows it, (rows, d)."""
    shown = release.columns[column.name]
    if isinstance(shown, BitSets):
        return shown.bits(first, last)
    assert isinstance(shown, ReleasedColumn)
    place_of = {label: place for place, label in enumerate(column.domain)}
    places = np.array([place_of[label] for label in shown.labels])[shown.codes[first:last]]
    bits = np.zeros((places.size, column.d), dtype=np.uint8)
    bits[np.arange(places.size), places] = 1
    return bits


def _explained(
    seen: NDArray[np.number], mean: NDArray[np.float64], variance: NDArray[np.float64], level: float
) -> bool:
    """Whether counts are within what chance explains, all of them together at a level, above and below their means."""
    limit = math.log(level / (2 * seen.size))
    beyond = np.abs(seen - mean)
    if (beyond[variance == 0] > _ROUNDING).any():
        return False  # what is certain did not happen
    return bool((log_tail(beyond, variance) >= limit).all())
