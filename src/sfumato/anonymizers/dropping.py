"""Which rows to drop: those that cost others more detail than goes with them.

A dropped row loses everything in every quasi-identifier. It is worth that where the others of its class can do with so
much lower labels that less is lost in sum. Of each class, the rows at one end of one column are looked at, since others
change no label. Without the best of these, classes are formed anew: what is left of a class may be too few, or fit
better elsewhere. What loses less in sum, dropped rows included, is taken; else fewer rows are tried.

Sizes: n rows that are left, g groups, q quasi-identifiers, v values of a column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.boxes import extent_losses, measure_of
from sfumato.anonymizers.conditions import Asked, conditions_for, is_hopeless
from sfumato.data.dataset import CodedColumn, Dataset, weights_of
from sfumato.data.grid import Grid
from sfumato.kernels.classes.cuts import SET
from sfumato.models.base import Policy
from sfumato.parameters import Takes, about

Made = TypeVar("Made")
Integers: TypeAlias = NDArray[np.int64]
Losses: TypeAlias = NDArray[np.float64]

DROP_ROWS = about(
    Takes.NUMBER,
    "Rows to drop",
    "Share of the rows that may be dropped, where less is lost so, dropped rows included.",
    least=0,
    below=1,
    example=0.05,
)
FORMED = 12  # times that classes are formed anew at most
FEWER = 4  # where dropping some rows did not lose less, so many times fewer are tried next
LOOKED_UP = 1 << 20  # pairs of values whose loss is kept


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What groups of rows lose in one column, by their lowest and highest code, or by how many values they have."""

    codes: NDArray[np.int32]  # of all rows of the dataset
    weight: float  # what the column counts, all together 1
    values: int
    between: Callable[[Integers, Integers], Losses] | None  # None: by the number of values

    def running(self, codes: Integers, segment: Integers) -> Losses:
        """Return what is lost by the rows of a segment up to each, (n,); segments are numbered from 0, in order."""
        if self.between is None:
            _, first = np.unique(segment * self.values + codes, return_index=True)
            new = np.zeros(codes.size, dtype=np.int64)
            new[first] = 1
            total = np.cumsum(new)
            begins = np.append(True, segment[1:] != segment[:-1])
            before = (total - new)[begins][segment]
            return np.asarray(self.weight * (total - before - 1) / max(self.values - 1, 1))
        apart = segment * self.values
        low = np.minimum.accumulate(codes - apart) + apart
        high = np.maximum.accumulate(codes + apart) - apart
        return np.asarray(self.weight * self.between(low, high))


class Formed(NamedTuple, Generic[Made]):
    """Groups of some rows, and what they lose."""

    group_of: NDArray[np.int32]  # (n,)
    lost: Losses  # (g,): by all rows of a group together
    made: Made


class Kept(NamedTuple, Generic[Made]):
    """The rows that are left, in groups, and what is lost in sum, a dropped row counting 1."""

    rows: Integers
    formed: Formed[Made]
    lost: float
    dropped: int

    @property
    def facts(self) -> dict[str, int]:
        """What there is to say of it."""
        return {"rows_dropped": self.dropped}

    def keep_row(self, n_rows: int) -> NDArray[np.bool_]:
        """Return which of so many rows are left."""
        keep = np.zeros(n_rows, dtype=np.bool_)
        keep[self.rows] = True
        return keep


def rows_to_drop(share: float, rows: int) -> int:
    """Return how many rows may be dropped at most.

    >>> rows_to_drop(0.07, 100), rows_to_drop(0.05, 59)
    (7, 2)
    """
    return math.floor(Fraction(str(share)) * rows)


def yardsticks_of(
    columns: Sequence[CodedColumn],
    *,
    value_sets: bool = False,
    exact: bool = False,
    grids: Mapping[str, Grid] | None = None,
) -> list[Yardstick]:
    """Return what groups lose in each quasi-identifier, as it is published."""
    found = []
    for column, weight in zip(columns, weights_of(columns), strict=True):
        measure = measure_of(column, value_sets=value_sets, exact=exact)
        between = None if measure == SET else _between(column, measure, (grids or {}).get(column.name))
        found.append(Yardstick(column.codes, float(weight) / len(columns), len(column.labels), between))
    return found


def _between(column: CodedColumn, measure: int, grid: Grid | None) -> Callable[[Integers, Integers], Losses]:
    """Return what is lost from one code to another."""
    between = partial(extent_losses, column, measure, grid)
    v = len(column.labels)
    if v * v > LOOKED_UP:
        return between
    first, last = np.divmod(np.arange(v * v), v)
    table = between(np.minimum(first, last), np.maximum(first, last))
    return lambda low, high: table[low * v + high]


def drop_where_it_pays(
    dataset: Dataset,
    policy: Policy,
    rows: Integers,
    most: int,
    form: Callable[[Integers, Asked], Formed[Made]],
    yardsticks: Sequence[Yardstick],
) -> Kept[Made]:
    """Return classes of all rows, or of most of them where that loses less, dropped rows included.

    At most so many are dropped; `form` forms classes of some rows, given what is asked of these: what a class is
    compared with is what is left. `yardsticks` say whom to try to do without; what counts is what was formed.
    """
    best = _kept(rows, form(rows, conditions_for(dataset, policy, rows)), rows.size)
    try_next, times = most, 0
    while times < FORMED:
        gone = outliers(best.rows, best.formed.group_of, yardsticks, min(try_next, most - best.dropped))
        if not gone.size:
            break
        times += 1
        left = np.setdiff1d(best.rows, gone, assume_unique=True)
        asked = conditions_for(dataset, policy, left)
        if not is_hopeless(asked.conditions):
            tried = _kept(left, form(left, asked), rows.size)
            if tried.lost < best.lost:
                best, try_next = tried, most
                continue
        try_next = gone.size // FEWER
    return best


def _kept(rows: Integers, formed: Formed[Made], all_rows: int) -> Kept[Made]:
    dropped = all_rows - rows.size
    return Kept(rows, formed, float(formed.lost.sum()) + dropped, dropped)


def lost_in_groups(rows: Integers, group_of: NDArray[np.int32], yardsticks: Sequence[Yardstick]) -> Losses:
    """Return what all rows of each group lose together, (g,)."""
    order = np.argsort(group_of, kind="stable")
    segment = group_of[order].astype(np.int64)
    size = np.bincount(segment)
    at_end = np.cumsum(size) - 1
    lost = np.zeros(size.size)
    for yardstick in yardsticks:
        lost += yardstick.running(yardstick.codes[rows[order]].astype(np.int64), segment)[at_end]
    return size * lost


def outliers(rows: Integers, groups: NDArray[np.int32], yardsticks: Sequence[Yardstick], most: int) -> Integers:
    """Return those of the rows, at most so many, without which less is lost in sum if the others stay in their groups.

    Of each group at most one end is taken; those that gain most for each row come first.
    """
    if most <= 0 or not rows.size:
        return np.empty(0, dtype=np.int64)
    group_of = groups.astype(np.int64)
    lost = lost_in_groups(rows, groups, yardsticks)
    gain, size = np.zeros(lost.size), np.ones(lost.size, dtype=np.int64)
    at_end = np.zeros((lost.size, 3), dtype=np.int64)  # column, direction, the first code in this direction that stays
    for column, yardstick in enumerate(yardsticks):
        codes = yardstick.codes[rows].astype(np.int64)
        for direction in (1, -1):
            better = _ends(rows, group_of, yardsticks, lost, direction * codes, most)
            more = better.gain > gain
            gain[more], size[more] = better.gain[more], better.size[more]
            at_end[more] = np.stack(
                [np.full(more.sum(), column), np.full(more.sum(), direction), better.stays[more]], 1
            )
    order = np.lexsort((np.arange(gain.size), -gain / size))
    chosen = order[gain[order] > 0]
    chosen = chosen[np.cumsum(size[chosen]) <= most]
    taken = np.zeros(gain.size, dtype=np.bool_)
    taken[chosen] = True
    here = np.flatnonzero(taken[group_of])
    column, direction, stays = at_end[group_of[here]].T
    codes = np.stack([yardstick.codes for yardstick in yardsticks])[column, rows[here]]
    return np.asarray(rows[here[direction * codes < stays]])


class _Ends(NamedTuple):
    """The best end of each group in one direction of a column."""

    gain: Losses  # (g,), 0: none
    size: Integers  # (g,): rows that go
    stays: Integers  # (g,): the first code that stays


def _ends(
    rows: Integers, group_of: Integers, yardsticks: Sequence[Yardstick], lost: Losses, codes: Integers, most: int
) -> _Ends:
    """Return which rows of each group to take away, those of the lowest codes, so that least is lost in sum."""
    order = np.lexsort((-codes, -group_of))  # who stays comes first; groups from the last to the first
    segment = lost.size - 1 - group_of[order]
    begin = np.searchsorted(segment, np.arange(lost.size))
    staying = np.arange(order.size) - begin[segment] + 1
    going = np.bincount(segment)[segment] - staying
    left = np.zeros(order.size)
    for yardstick in yardsticks:
        left += yardstick.running(yardstick.codes[rows[order]].astype(np.int64), segment)
    gain = lost[::-1][segment] - staying * left - going
    last_of_its_code = np.append(codes[order][1:] != codes[order][:-1], False)
    gain[~last_of_its_code | (going == 0) | (going > most)] = 0.0
    best = np.maximum.reduceat(gain, begin)
    at = np.flatnonzero((gain == best[segment]) & (gain > 0))
    first, place = np.unique(segment[at], return_index=True)
    at = at[place]
    found = _Ends(np.zeros(lost.size), np.ones(lost.size, dtype=np.int64), np.zeros(lost.size, dtype=np.int64))
    group = lost.size - 1 - first
    found.gain[group], found.size[group], found.stays[group] = gain[at], going[at], codes[order][at]
    return found
