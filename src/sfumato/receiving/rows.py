"""How much each row of a release counts, and which rows are no news of one another: those of one person."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, distinct_codes
from sfumato.receiving.values import Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows, (n,), each of which counts by its weight and stands for `count` such rows.

    Rows of one person may say the same twice, so errors are those of a sample of people (Liang and Zeger 1986).
    """

    weight: Floats
    count: Floats
    person: Codes | None = None  # whose each row is, where people are numbered: else every row is somebody's own

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self.count.sum())

    @property
    def units(self) -> int:
        """How many people there are, or rows where each is somebody's own."""
        return self.total if self.person is None else np.unique(self.person).size

    @property
    def what(self) -> str:
        """What these are."""
        return "rows" if self.person is None else "people"

    @cached_property
    def both(self) -> Floats:
        """What all rows that a row stands for count together."""
        return self.count * self.weight

    def only(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(self.weight[chosen], self.count[chosen], None if self.person is None else self.person[chosen])

    def with_dropped(self, dropped: int) -> Rows:
        """Return the rows and one that stands for all that were dropped, with the mean weight."""
        weight = np.average(self.weight, weights=self.count) if self.count.any() else 1.0
        person = None if self.person is None else np.append(self.person, self.person.max(initial=-1) + 1)
        return Rows(np.append(self.weight, weight), np.append(self.count, dropped), person)

    def squares(self, of_row: Floats) -> Floats:
        """Return the sum of the squares of what each person, or row, adds to the sum of `of_row`, (n, terms)."""
        if self.person is None:
            return np.asarray(self.count @ (self.weight[:, None] * of_row) ** 2)
        added = (np.bincount(self.person, self.both * term) for term in of_row.T)
        return np.array([by_person @ by_person for by_person in added])

    def squares_in(self, cell_of: Codes, n_cells: int) -> Floats:
        """Return the sum of the squares of what each person, or row, counts in each cell."""
        if self.person is None:
            return np.asarray(np.bincount(cell_of, self.both * self.weight, minlength=n_cells), dtype=np.float64)
        people = int(self.person.max(initial=-1)) + 1
        pairs = distinct_codes([(cell_of, n_cells), (self.person, people)], cell_of.size)
        counted = np.bincount(pairs.distinct_of, self.both, minlength=len(pairs.weight))
        return np.asarray(np.bincount(pairs.codes[:, 0], counted**2, minlength=n_cells), dtype=np.float64)
