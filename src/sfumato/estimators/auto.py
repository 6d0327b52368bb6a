"""The recommended estimator: from single columns to pairs and on, each table no more detailed than the records support.

A table that fits the noise is worse than one that stops short of it. So a table of two columns starts from the product
of the single tables and as much of the columns' dependence as exceeds its noise (`interactions.py`); a table of k
columns starts from the most even one that has the tables of k - 1 columns as margins. Steps on the likelihood of whole
sets improve the start only while records that were kept aside become likelier. Each step keeps the margins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.estimators.base import Solution, Table
from sfumato.estimators.interactions import WIDEST, Dependence
from sfumato.estimators.kronecker import error_of
from sfumato.estimators.likelihood import PARTS, PATIENCE, Likelihood
from sfumato.estimators.mle import MOST, even
from sfumato.estimators.paper import TINY, bayes_step, within_noise
from sfumato.estimators.records import Records

USUAL = 40  # steps that a table is expected to need
PASSES = 2.2  # over the patterns for each step, at least: on four fifths of the records, the rest, and all of them
DISCREPANCY_STEPS = 2_000
ROUNDS = 30  # over the margins, to find the most even table that has them
PAIR = 5e8  # operations on a table of two columns: it starts near its end
SURPRISE = 4.0  # standard deviations of a chi-squared statistic above its mean at which stated counts are not used
ALL_SUBSETS = 6  # columns up to which every table of fewer columns is estimated first


@dataclass(frozen=True, kw_only=True)
class Auto:
    """Whole sets, tables of fewer columns first, stopped by held-out records; cheaper steps beyond the budget."""

    name: ClassVar[str] = "auto"

    seed: int = 0  # of the records that are kept aside; the same query then has the same answer

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise PolicyError(f"auto: seed was given as {self.seed!r}.\nGive a whole number, 0 or more.")

    def estimate(self, records: Records, budget: float) -> Solution:
        """Return the counts."""
        q = len(records.cells)
        found: dict[tuple[int, ...], Table] = {}
        iterations, left = 0, budget
        how: dict[str, int] = {}
        untold: list[list[str]] = []
        sizes = range(1, q + 1) if q <= ALL_SUBSETS else (1, q)
        for size in sizes:
            for chosen in combinations(range(q), size):
                margins = {margin: found[margin] for margin in combinations(chosen, size - 1) if margin in found}
                if not margins:
                    margins = {(position,): found[position,] for position in chosen if size > 1}
                part = records.only(chosen)
                table, steps, spent, by = self._improve(part, _Margins(chosen, margins), left)
                if by == "independent":
                    untold.append([axis.name for axis in part.axes])
                found[chosen] = table
                left = max(left - spent, 0)
                how[by] = how.get(by, 0) + 1
                iterations = steps
        facts = {"tables": how, "work": budget - left, **({"untold": untold} if untold else {})}
        return Solution(found[tuple(range(q))], iterations, facts=facts)

    def _improve(self, records: Records, margins: _Margins, budget: float) -> tuple[Table, int, float, str]:
        """Return the table, the steps that it took, the work that was spent, and how it was found."""
        if not any(axis.randomized for axis in records.axes):
            return records.seen, 0, 0.0, "counted"
        likelihood = Likelihood(records)
        dependence = margins.dependence(records)

        def start(weight: NDArray[np.float64]) -> Table:
            if dependence is None:
                return margins.start(records)
            return margins.held(dependence.estimate(weight)[0] * records.n_rows, ROUNDS)

        cheap = records.n_rows * likelihood.entries * PASSES * USUAL <= budget  # without counting patterns first
        if not cheap and likelihood.work * PASSES * USUAL > budget:
            table, steps = _discrepancy(records, start(records.patterns.weight))
            return table, steps, 0.0, "discrepancy"
        if not margins.tables:
            table, steps = likelihood.converged(even(records), 1e-6, int(min(MOST, budget / likelihood.work)))
            return _beside_grid(records, table), steps, steps * likelihood.work, "converged"
        passes = (budget if len(records.cells) > 2 else min(budget, PAIR)) / likelihood.work
        folds = PARTS if passes >= (PARTS + 1) * USUAL else 1
        rng = np.random.default_rng(self.seed)
        most = int(passes / (folds + 1))
        table, steps = likelihood.until_held_out(start, margins.held, most, folds, rng)
        independent = dependence is not None and not steps and not dependence.estimate(records.patterns.weight)[1]
        work = (folds + 1) * (steps + PATIENCE) * likelihood.work
        return margins.held(table, ROUNDS), steps, work, "independent" if independent else "held out"


def _beside_grid(records: Records, table: Table) -> Table:
    """Return the table of one column, averaged with the counts that release.json states on a public grid.

    Each count is weighted by how precisely it is known. Stated counts that the cells contradict are not used, nor any
    that are not on the grid: base rates may be those of another table.
    """
    (axis,) = records.axes
    if axis.grid is None:
        return table
    middle = np.array(axis.grid) - 0.5
    step = records.n_rows / middle.sum()
    if not 0.5 < step / max(10, math.isqrt(records.n_rows)) < 2:
        return table
    stated, variance = middle * step, step**2 / 12
    noise = np.maximum(error_of(table, records.axes) ** 2, 1.0)
    surprise = float(((table - stated) ** 2 / (noise + variance)).sum())
    if surprise > axis.d + SURPRISE * math.sqrt(2 * axis.d):
        return table
    joined: Table = (table / noise + stated / variance) / (1 / noise + 1 / variance)
    joined *= records.n_rows / joined.sum()
    return joined


@dataclass(frozen=True, eq=False)
class _Margins:
    """The tables of fewer columns that a table has to agree with."""

    chosen: tuple[int, ...]
    tables: dict[tuple[int, ...], Table]

    def held(self, table: Table, rounds: int = 1) -> Table:
        """Return the table scaled to its margins, one after the other."""
        for _ in range(rounds):
            before = table
            for margin, wanted in self.tables.items():
                table = _fitted(table, self.chosen, margin, wanted)
            if np.abs(table - before).sum() <= 1e-9 * table.sum():
                break
        return table

    def dependence(self, records: Records) -> Dependence | None:
        """Return the dependence of two columns beside their own tables; None for other tables and very long columns."""
        if len(self.chosen) != 2 or max(records.shape) > WIDEST:
            return None
        first, second = (self.tables[position,] / records.n_rows for position in self.chosen)
        return Dependence(records, (first, second))

    def start(self, records: Records) -> Table:
        """Return the most even table that agrees with the margins."""
        return np.maximum(self.held(even(records), ROUNDS), TINY)


def _fitted(table: Table, chosen: Sequence[int], margin: Sequence[int], wanted: Table) -> Table:
    """Return the table scaled so that a margin becomes what is wanted."""
    others = tuple(position for position, column in enumerate(chosen) if column not in margin)
    sums = table.sum(axis=others, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sums > 0, np.expand_dims(wanted, others) / sums, 0.0)
    fitted: Table = table * scale
    return fitted


def _discrepancy(records: Records, start: Table) -> tuple[Table, int]:
    """Return the table after steps on the counts alone, up to the noise in them."""
    table, seen, axes = start, records.seen, records.axes
    for number in range(DISCREPANCY_STEPS):
        if within_noise(table, seen, axes):
            return table, number
        table = bayes_step(table, seen, axes)
    return table, DISCREPANCY_STEPS
