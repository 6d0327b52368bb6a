"""A table in parts: how the work of a step is done where one machine does not hold every row. No cluster in here."""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import Dataset
from sfumato.data.recoding import Pieces, Recoding


def carry_out_on_cells(step: Step, cells: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
    """Return what a step decides about distinct rows with weights; about single ones where it cannot take these."""
    held = cells if before.pieces is None else cells.standing_for(before.pieces.row_of, before.pieces.count)
    if held.weights is not None and not step.anonymizer.counts_with(step.policy):
        row_of = np.repeat(np.arange(held.n_rows), held.weights)
        before = before.divided(Pieces(row_of, np.ones(row_of.size, dtype=np.int64)))
        held = held.standing_for(row_of, None)
    return step.carry_out(held, before, workplace)
