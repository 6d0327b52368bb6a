"""The recommended estimator: from single columns to pairs and on, each table no more detailed than the records support.

A table that fits the noise is worse than one that stops short of it. So each table of k columns starts from the most
even one that has the tables of k - 1 columns as margins, and is improved by steps on the likelihood of whole sets only
while records that were kept aside become likelier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from sfumato.errors import PolicyError
from sfumato.estimators.base import Solution, Table
from sfumato.estimators.kronecker import expected_l2
from sfumato.estimators.likelihood import PATIENCE, Likelihood
from sfumato.estimators.mle import MOST, even
from sfumato.estimators.paper import TINY, bayes_step, within_noise
from sfumato.estimators.records import Records

STEPS = 1_000  # at most, on the likelihood of whole sets; where noise is tiny, held-out records ask for many
USUAL = 40  # steps that a table is expected to need
PASSES = 2.2  # over the patterns for each step: on four fifths of the records, the rest, and all of them
DISCREPANCY_STEPS = 2_000
ROUNDS = 30  # over the margins, to find the most even table that has them
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
        sizes = range(1, q + 1) if q <= ALL_SUBSETS else (1, q)
        for size in sizes:
            for chosen in combinations(range(q), size):
                part = records.only(chosen)
                start = even(part) if size == 1 else _start(part, chosen, found)
                table, steps, spent, by = self._improve(part, start, left, single=size == 1)
                found[chosen] = table
                left = max(left - spent, 0)
                how[by] = how.get(by, 0) + 1
                iterations = steps
        return Solution(found[tuple(range(q))], iterations, facts={"tables": how, "work": budget - left})

    def _improve(self, records: Records, start: Table, budget: float, *, single: bool) -> tuple[Table, int, float, str]:
        """Return a better table, the steps that it took, the work that was spent, and how it was found."""
        if not any(axis.randomized for axis in records.axes):
            return records.seen, 0, 0.0, "counted"
        likelihood = Likelihood(records)
        cheap = records.n_rows * likelihood.entries * PASSES * USUAL <= budget  # without counting patterns first
        if not cheap and likelihood.work * PASSES * USUAL > budget:
            table, steps = _discrepancy(records, start)
            return table, steps, 0.0, "discrepancy"
        if single or _settled(records):
            table, steps = likelihood.converged(start, 1e-6, int(min(MOST, budget / likelihood.work)))
            return table, steps, steps * likelihood.work, "converged"
        rng = np.random.default_rng(self.seed)
        most = int(min(STEPS, budget / (PASSES * likelihood.work)))
        table, steps = likelihood.until_held_out(start, most, rng)
        return table, steps, PASSES * (steps + PATIENCE) * likelihood.work, "held out"


def _settled(records: Records) -> bool:
    """Whether single values were drawn, and so many records that noise is less than the count of an average cell.

    A single value says little about where to stop: held-out records then stop too early (measured up to a cell error of
    1, where steps up to the end lost least).
    """
    axes = records.axes
    if all(axis.shares is None for axis in axes):
        return False
    return expected_l2(axes, records.n_rows) * math.sqrt(math.prod(records.shape)) < 1


def _start(records: Records, chosen: tuple[int, ...], found: dict[tuple[int, ...], Table]) -> Table:
    """Return the most even table with the tables of one column less as margins, or of single columns."""
    margins = [margin for margin in combinations(chosen, len(chosen) - 1) if margin in found]
    if len(chosen) == 2 or not margins:
        margins = [(position,) for position in chosen]
    table = even(records)
    for _ in range(ROUNDS):
        before = table
        for margin in margins:
            table = _fitted(table, chosen, margin, found[margin])
        if np.abs(table - before).sum() <= 1e-6 * records.n_rows:
            break
    return np.maximum(table, TINY)


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
