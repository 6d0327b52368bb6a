"""The inverse: undo the mixing exactly, then move to the nearest table without negative counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.estimators.base import Solution
from sfumato.estimators.kronecker import onto_simplex, unmixed
from sfumato.estimators.records import Records


@dataclass(frozen=True, kw_only=True)
class Inverse:
    """Unbiased before it is moved to the nearest possible table; noisy where a table has many cells."""

    name: ClassVar[str] = "inverse"

    def estimate(self, records: Records, budget: float) -> Solution:
        """Return the counts."""
        return Solution(onto_simplex(unmixed(records.seen, records.axes), records.n_rows))
