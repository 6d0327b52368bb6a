"""The likelihood of whole sets: everything that the cells of a record say together, not only which values they show.

A set is likelier by a factor 1 + ratio for the values in it (p < 1), or impossible for all others (p = 1). Along an
axis with p < 1 the table gets one more entry, the sum of the axis, and the others are multiplied by the ratio: then
every pattern is a plain sum of entries. Where cells show one value each, the ratio may be another for every value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.estimators.base import Axis, Table
from sfumato.estimators.kronecker import along
from sfumato.estimators.records import Records
from sfumato.kernels.cells.reconstruction import likelihood_pass

HELD_OUT = 0.2  # share of the records that tell when to stop
PATIENCE = 3
_NOTHING = np.empty(0)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Steps of expectation maximization over the patterns of some records."""

    records: Records

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns and how they were randomized."""
        return self.records.axes

    @property
    def entries(self) -> int:
        """How many entries of the table a pattern is a sum of."""
        return math.prod(axis.eta + (axis.p < 1) for axis in self.axes)

    @property
    def work(self) -> float:
        """Entries that one step looks at."""
        return float(self.records.patterns.weight.size) * self.entries

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(axis.d + (axis.p < 1) for axis in self.axes)

    @cached_property
    def _sets(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        starts, members = [], []
        for column in self.records.cells:
            if column.axis.p < 1:  # the sum of the axis is one more member of every set
                ends = column.start[1:]
                members.append(np.insert(column.members, ends, column.axis.d))
                starts.append(column.start + np.arange(column.start.size))
            else:
                members.append(column.members)
                starts.append(column.start)
        return self.records.members(self._shape, members, starts)

    def step(self, table: Table, weight: NDArray[np.float64]) -> tuple[Table, float]:
        """Return the table after one step on patterns of these weights, and the log likelihood before it."""
        gathered = np.zeros(math.prod(self._shape))
        log = self._pass(table, weight, gathered)
        pulled = gathered.reshape(self._shape)
        for position, axis in enumerate(self.axes):
            if axis.p < 1:
                real, total = np.split(pulled, [axis.d], axis=position)
                pulled = along(axis.ratio, position, pulled.ndim) * real + total
        return table / table.sum() * pulled, log

    def log(self, table: Table, weight: NDArray[np.float64]) -> float:
        """Return the log likelihood of patterns of these weights, up to a constant."""
        return self._pass(table, weight, _NOTHING)

    def _pass(self, table: Table, weight: NDArray[np.float64], gathered: NDArray[np.float64]) -> float:
        spread = table / max(float(table.sum()), 1e-300)
        for position, axis in enumerate(self.axes):
            if axis.p < 1:
                total = spread.sum(axis=position, keepdims=True)
                spread = np.concatenate([along(axis.ratio, position, spread.ndim) * spread, total], axis=position)
        first, start, members = self._sets
        places = np.empty(max(self.entries, 1), dtype=np.int64)
        flat = np.ascontiguousarray(spread).ravel()
        patterns = self.records.patterns
        return float(likelihood_pass(patterns.sets, first, start, members, weight, flat, places, gathered))

    def converged(self, start: Table, tolerance: float, most: int) -> tuple[Table, int]:
        """Return the table of the highest likelihood, and how many steps that took (accelerated: SQUAREM)."""
        weight = self.records.patterns.weight

        def step(table: Table) -> tuple[Table, float]:
            after, log = self.step(table, weight)
            return after * (weight.sum() / after.sum()), log

        return squarem(step, start * (weight.sum() / start.sum()), tolerance, most)

    def until_held_out(self, start: Table, most: int, rng: np.random.Generator) -> tuple[Table, int]:
        """Return the table after as many steps as held-out records ask for, and that number.

        Some of the records are kept aside; steps on the others go on while the kept ones become likelier.
        """
        weight = self.records.patterns.weight
        aside = rng.binomial(weight.astype(np.int64), HELD_OUT).astype(np.float64)
        used = weight - aside
        table, best, best_log, since = start, 0, self.log(start, aside), 0
        for number in range(1, most + 1):
            table, _ = self.step(table, used)
            log = self.log(table, aside)
            if log > best_log:
                best, best_log, since = number, log, 0
            else:
                since += 1
                if since == PATIENCE:
                    break
        table = start
        for _ in range(best):
            table, _ = self.step(table, weight)
        return table * (weight.sum() / table.sum()), best


def squarem(
    step: Callable[[Table], tuple[Table, float]], table: Table, tolerance: float, most: int
) -> tuple[Table, int]:
    """Repeat a step until it moves less than the tolerance (share of all, L1), taking long leaps where that helps."""
    total = max(float(table.sum()), 1e-300)
    steps = 0
    best_log = -math.inf
    while steps < most:
        one, log = step(table)
        two, _ = step(one)
        steps += 2
        moved, turn = one - table, two - 2 * one + table
        if np.abs(two - one).sum() <= tolerance * total:
            return two, steps
        length = -math.sqrt(float((moved**2).sum()) / max(float((turn**2).sum()), 1e-300))
        length = min(max(length, -256.0), -1.0)
        leap = np.maximum(table - 2 * length * moved + length**2 * turn, 0)
        leap = np.where((leap == 0) & (two > 0), 1e-3 * two, leap)  # a zero would stay one for ever
        after, leap_log = step(leap)
        steps += 1
        table = after if leap_log >= log and leap_log >= best_log else two
        best_log = max(best_log, log)
    return table, steps
