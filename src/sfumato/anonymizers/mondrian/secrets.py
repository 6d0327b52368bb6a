"""What is asked of classes for who knows other sensitive columns of a person: of the rows that agree in these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.conditions import Asked, conditions_for, in_words, knows_secrets
from sfumato.anonymizers.local_recoding.units import combine
from sfumato.data.dataset import Dataset
from sfumato.errors import Unsatisfiable
from sfumato.kernels.classes.lattice import PASSES, judge_classes
from sfumato.models import LDiversity, TCloseness
from sfumato.models.base import Policy

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SecretsAsked:
    """Requirements with the same known columns, tested on groups of rows; n rows, s sensitive columns."""

    asked: Asked
    known: Sequence[tuple[NDArray[np.int32], int]]  # of all rows of the dataset, and how many values there are
    place: Integers  # of each row of the dataset, among those that `asked` is about

    def hold(self, rows: Integers, start: Integers) -> NDArray[np.bool_]:
        """Return which groups hold, given rows, group after group, and where each group starts."""
        group_of = np.repeat(np.arange(start.size - 1, dtype=np.int32), np.diff(start))
        columns = [group_of, *(codes[rows] for codes, _ in self.known)]
        some, part_of = combine(columns, [start.size - 1, *(size for _, size in self.known)], rows.size)
        size = np.bincount(part_of, minlength=some.size).astype(np.int64)
        verdict = np.empty(size.size, dtype=np.int8)
        judge_classes(
            self.asked.conditions,
            part_of,
            self.place[rows].astype(np.int32),
            np.ones(rows.size, dtype=np.int64),
            np.ascontiguousarray(self.asked.bar_of.T),
            size,
            np.empty(rows.size, dtype=np.int64),
            np.empty(self.asked.conditions.bars, dtype=np.int64),
            verdict,
        )
        holds = np.ones(start.size - 1, dtype=np.bool_)
        holds[group_of[some[verdict != PASSES]]] = False
        return holds


def secrets_conditions(dataset: Dataset, policy: Policy, rows: Integers | None) -> list[SecretsAsked]:
    """Return what is asked for who knows other secrets, or raise when all rows as one class do not have it."""
    everybody = np.arange(dataset.n_rows) if rows is None else rows
    place = np.zeros(dataset.n_rows, dtype=np.int64)
    place[everybody] = np.arange(everybody.size)
    found = []
    models: tuple[LDiversity | TCloseness, ...] = policy.of(LDiversity, TCloseness)
    for model in filter(knows_secrets, models):
        columns = [dataset.column(name) for name in model.known or ()]
        known = [(column.codes, len(column.labels)) for column in columns]
        condition = SecretsAsked(conditions_for(dataset, Policy((replace(model, known=None),)), rows), known, place)
        if everybody.size and not condition.hold(everybody, np.array([0, everybody.size])).all():
            raise Unsatisfiable(
                f"{in_words(model)} does not even hold for all {everybody.size:,} rows as one class: some that "
                "agree in the known columns are too few, or too much alike.\n"
                "No way to form classes can satisfy it. Ask for less, or leave some column out of known."
            )
        found.append(condition)
    return found
