"""Value adding: every combination that a record shows gets an equal part of it. Quick, and pulled to the average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.estimators.base import Solution
from sfumato.estimators.kronecker import combinations_shown, unmixed
from sfumato.estimators.records import Records


@dataclass(frozen=True, kw_only=True)
class ValueAdding:
    """Sei et al. (2017), equation 18: the baseline that the other estimators are measured against."""

    name: ClassVar[str] = "value-adding"

    def estimate(self, records: Records, budget: float) -> Solution:
        """Return the counts."""
        seen, n = records.seen, records.n_rows
        shown = combinations_shown(records.axes)
        inside = math.prod(axis.g for axis in records.axes)
        if shown == seen.size:
            counts = np.full(seen.shape, n / seen.size)
        else:
            counts = seen * inside / shown + (n - seen) * (1 - inside) / (seen.size - shown)
        return Solution(counts, drawn=counts - unmixed(seen, records.axes))
