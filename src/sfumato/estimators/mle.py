"""Maximum likelihood of whole sets, converged: the best that can be said of single columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import DataError
from sfumato.estimators.base import Solution, Table
from sfumato.estimators.likelihood import Likelihood
from sfumato.estimators.records import Records

MOST = 3_000


@dataclass(frozen=True, kw_only=True)
class Mle:
    """Steps on the likelihood of whole sets until they stand still; noisy for tables of many cells."""

    name: ClassVar[str] = "mle"

    tolerance: float = 1e-6

    def estimate(self, records: Records, budget: float) -> Solution:
        """Return the counts."""
        likelihood = Likelihood(records)
        most = int(min(MOST, budget / max(likelihood.work, 1)))
        if most < 30:
            raise DataError(
                f"The likelihood of whole sets was asked for a query of {likelihood.work:,.0f} operations a step, too "
                f"many for a budget of {budget:.0e}.\nAsk for fewer columns, another method, or a larger budget."
            )
        table, steps = likelihood.converged(even(records), self.tolerance, most)
        return Solution(table, steps)


def even(records: Records) -> Table:
    """Return the table in which every combination is as frequent as any other."""
    table: Table = np.ones(records.shape)
    return table * (records.n_rows / max(table.size, 1))
