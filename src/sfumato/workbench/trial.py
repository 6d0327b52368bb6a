"""What a plan would cost: the real run, in memory, on the whole table or on a sample that is said to be one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.dataset import Dataset
from sfumato.errors import Unsatisfiable
from sfumato.metrics.base import About
from sfumato.pipeline import Case
from sfumato.plan import Plan

WHOLE = 100_000  # rows up to which all are taken
SAMPLE = 20_000


@dataclass(frozen=True)
class Trial:
    """What a run in memory found. Nothing of its release is kept."""

    made: bool
    rows: int  # that were taken
    people: int  # rows of the table
    words: str  # what stands in the way where it was not made
    losses: tuple[Mapping[str, Any], ...] = ()  # the main ones: title, value, unit

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "sampled": self.rows < self.people}


def sampled(table: pa.Table, chance: np.random.Generator, whole: int = WHOLE, few: int = SAMPLE) -> pa.Table:
    """Return a table as it is, or so many of its rows, drawn by chance, in their order, where it is large."""
    if table.num_rows <= whole:
        return table
    return table.take(np.sort(chance.choice(table.num_rows, few, replace=False)))


def trial(plan: Plan, dataset: Dataset, people: int) -> Trial:
    """Return what a run costs on some rows of a table of `people` rows."""
    try:
        outcome = Case.of_coded(plan, dataset).make(attack=False)
    except Unsatisfiable as error:
        return Trial(False, dataset.n_rows, people, str(error).split("\n")[0])
    main = [each.headline() for each in outcome.measurements if each.about is About.LOSS]
    shown = tuple({key: each.get(key) for key in ("title", "value", "unit")} for each in main if each.get("main"))
    return Trial(True, dataset.n_rows, people, "", shown)
