"""How common each sensitive value is in each class, beside the whole release: for models that compare the two.

Sizes: c classes, p pairs of a class and a value that occurs in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.hierarchy import ROOT
from sfumato.data.release import Release
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import LARGEST, Classes, Counts, classes_of, sensitive_column, total_in, values_in


@dataclass(frozen=True, eq=False)
class Shares:
    """Whole numbers, of any size where 64 bits do not hold them. Shares follow: count / size against total / rows."""

    classes: Classes
    counts: Counts
    n_values: int  # that occur in the release
    n_rows: int
    count: NDArray[Any]  # (p,): rows of the class with the value
    total: NDArray[Any]  # (p,): rows of the release with the value
    expected: NDArray[Any]  # (p,): total * size of the class; over n_rows, the rows there would be

    @property
    def above(self) -> NDArray[Any]:
        """What the class has more of the value than expected, times n_rows; below zero where it has less."""
        return np.asarray(self.count * self.n_rows - self.expected)

    @property
    def distinct(self) -> NDArray[np.int64]:
        """How many values each class has, shape (c,)."""
        return np.diff(self.counts.start)

    def by_class(self, operation: np.ufunc, of_pair: NDArray[Any]) -> NDArray[Any]:
        """Return what an operation makes of all pairs of each class, shape (c,)."""
        return np.asarray(operation.reduceat(of_pair, self.counts.start[:-1]) if of_pair.size else of_pair)


def shares_of(release: Release, name: str, model: PrivacyModel) -> Shares:
    """Return the shares of a sensitive column that a model names, or raise when it cannot be judged."""
    column = sensitive_column(release, name, model)
    classes = classes_of(release)
    values = values_in(release, column)
    if ROOT in values.known:
        raise DataError(
            f"{model.name} is asked of column {column.name!r}, which has withheld values ({ROOT!r}): how common they "
            "are cannot be judged.\nPublish them, or ask for l-diversity instead."
        )
    counts = classes.counts(column, values.value_of)
    in_all = total_in(release, column, counts, np.arange(len(values) + 1), len(values))
    n_rows = int(in_all.sum())
    fits = n_rows * n_rows < LARGEST
    total = in_all[counts.value]
    size = np.repeat(counts.size, np.diff(counts.start))
    count = counts.count
    if not fits:
        total, size, count = (numbers.astype(object) for numbers in (total, size, count))
    return Shares(classes, counts, len(values), n_rows, count, total, total * size)
