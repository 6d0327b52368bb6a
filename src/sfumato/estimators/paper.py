"""The published estimator: steps of Bayes' rule on how often combinations are shown, from these counts themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import PolicyError
from sfumato.estimators.base import Axis, Solution, Table
from sfumato.estimators.kronecker import combinations_shown, gathered, mixed, shown, shown_squared, unmixed
from sfumato.estimators.records import Records
from sfumato.parameters import whole_number

TINY = 1e-9  # a combination that nobody shows may still be true when p < 1, and zeros would stay zeros


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Sei et al. (2017), equations 26 and 27, until a step moves less than `tolerance` of all records."""

    name: ClassVar[str] = "paper"

    tolerance: float = 1e-4
    most: int = 5_000  # steps

    def __post_init__(self) -> None:
        if isinstance(self.tolerance, bool) or not 0 <= self.tolerance < 1:
            raise PolicyError(f"paper: tolerance was given as {self.tolerance!r}.\nGive a share, such as 1e-4.")
        whole_number(self.most, "paper: most", 1, 5_000)

    def estimate(self, records: Records, budget: float) -> Solution:
        """Return the counts."""
        seen, axes = records.seen, records.axes
        least = TINY if any(axis.p < 1 for axis in axes) else 0.0
        table = np.maximum(seen, least) / combinations_shown(axes)
        steps, moved = 0, np.inf
        while steps < self.most and moved > self.tolerance * records.n_rows:
            after = bayes_step(table, seen, axes)
            moved = np.abs(after - table).sum()
            table, steps = after, steps + 1
        return Solution(table, steps, drawn=table - unmixed(seen, axes))


def bayes_step(table: Table, seen: Table, axes: Sequence[Axis]) -> Table:
    """Return the table after one step: what is seen is given to the true combinations that it may have come from."""
    weights = shown(axes)
    expected = mixed(table, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(expected > 0, seen / expected, 0.0)
    after: Table = table * gathered(share, weights) / combinations_shown(axes)
    return after


def within_noise(table: Table, seen: Table, axes: Sequence[Axis], part: float = 1.0) -> bool:
    """Whether a table explains what is seen as well as the true one is expected to (the discrepancy principle)."""
    expected = mixed(table, shown(axes))
    noise = (expected - mixed(table, shown_squared(axes))).sum()
    return bool(((seen - expected) ** 2).sum() <= part * noise)
