"""The likelihood of whole sets: everything that the cells of a record say together, not only which values they show.

A set is likelier by a factor 1 + ratio for the values in it (p < 1), or impossible for all others (p = 1). Along an
axis with p < 1 the table gets one more entry, the sum of the axis, and the others are multiplied by the ratio: then
every pattern is a plain sum of entries. Where cells show one value each, the ratio may be another for every value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sfumato.estimators.base import Axis, Table
from sfumato.estimators.kronecker import along
from sfumato.estimators.records import Records
from sfumato.kernels.cells.reconstruction import likelihood_pass

PARTS = 5  # of the records, each kept aside once to tell when to stop
LOOKS = (
    0,
    1,
    2,
    3,
    4,
    6,
    8,
    11,
    16,
    23,
    32,
    45,
    64,
    91,
    128,
    181,
    256,
)  # steps after which records kept aside are asked
PATIENCE = 3  # looks without gain after which a path ends
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

    def until_held_out(
        self,
        start: Callable[[NDArray[np.float64]], Table],
        hold: Callable[[Table], Table],
        most: int,
        folds: int,
        rng: np.random.Generator,
    ) -> tuple[Table, int]:
        """Return the table after as many steps as held-out records ask for, and that number.

        The records are dealt into five parts; each of the first `folds` parts is kept aside once, while steps are made
        on the other records. `start` makes a first table from records of these weights. `hold` puts a table back to the
        margins that are known: without that, the first step moves the margins towards the records that it sees, those
        kept aside become less likely at once, and the search stops where it began.
        """
        weight = self.records.patterns.weight
        logs = np.zeros(len(LOOKS))
        left = weight.astype(np.int64)
        for part in range(folds):
            aside = rng.binomial(left, 1 / (PARTS - part))
            left = left - aside
            used, kept = weight - aside, aside.astype(np.float64)
            if not used.any():
                continue
            path = []
            for number, table in enumerate(self._steps(start(used), used, hold)):
                if number in LOOKS:
                    path.append(self.log(table, kept))
                if number >= most or len(path) == len(LOOKS) or max(path) > max(path[-PATIENCE:]):
                    break
            logs[: len(path)] += path
            logs[len(path) :] = -math.inf
        best = LOOKS[int(np.argmax(logs))]
        return next(islice(self._steps(start(weight), weight, hold), best, None)), best

    def _steps(self, table: Table, weight: NDArray[np.float64], hold: Callable[[Table], Table]) -> Iterator[Table]:
        """Yield the table before the first step, and after each."""
        while True:
            yield table
            table = hold(self.step(table, weight)[0])


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
