"""Value adding: every combination that a record shows gets an equal part of it. Quick, and pulled to the average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.estimators.base import Solution, Table
from sfumato.estimators.kronecker import along, combinations_shown, unmixed
from sfumato.estimators.records import Records


@dataclass(frozen=True, kw_only=True)
class ValueAdding:
    """Sei et al. (2017), equation 18: the baseline that the other estimators are measured against.

    Where cells show groups of values it is all that there is to do: nothing tells how common each value of a group is.
    """

    name: ClassVar[str] = "value-adding"

    def estimate(self, records: Records, budget: float) -> Solution:
        """Return the counts."""
        if any(axis.grouped for axis in records.axes):
            counts, parts = in_equal_parts(records)
            return Solution(counts, drawn=counts * (parts - 1))
        seen, n = records.seen, records.n_rows
        shown = combinations_shown(records.axes)
        inside = math.prod(axis.shown_truly for axis in records.axes)
        if shown == seen.size:
            counts = np.full(seen.shape, n / seen.size)
        else:
            counts = seen * inside / shown + (n - seen) * (1 - inside) / (seen.size - shown)
        return Solution(counts, drawn=counts - unmixed(seen, records.axes))


def in_equal_parts(records: Records) -> tuple[Table, Table]:
    """Return counts in which the combinations that a record shows share it, and how many share the record of each.

    Columns are grouped or show single values, so all records that show a combination show the same ones.
    """
    counts = records.by_sets
    parts = np.ones((1,) * counts.ndim)
    for position, column in enumerate(records.cells):
        set_of_value = np.full(column.axis.d, -1)
        set_of_value[column.members] = np.repeat(np.arange(counts.shape[position]), np.diff(column.start))
        size = np.where(set_of_value < 0, 1, np.diff(column.start, append=0)[set_of_value])
        size, shown = (along(each, position, counts.ndim) for each in (size, set_of_value >= 0))
        counts = np.where(shown, np.take(counts, set_of_value, axis=position), 0) / size
        parts = parts * size
    return counts, np.broadcast_to(parts, counts.shape)


def largest_error(records: Records) -> float:
    """Return the largest L2 error of the shares: every record of a group could have one and the same value."""
    counts, parts = in_equal_parts(records)
    return math.sqrt(float((counts**2 * (parts - 1)).sum())) / max(records.n_rows, 1)
