"""Whom a table is a sample of: how many people there are, whom each row stands for, and who lives together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import RowsOf
from sfumato.data.distinct import text_codes
from sfumato.data.weighting import weights_in_column
from sfumato.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """What the holder says of the people outside the table; nothing is known of them without any of it.

    >>> Sampling(fraction=0.25).people_of(None, 3).tolist()
    [4.0, 4.0, 4.0]
    >>> Sampling(size=90).people_of(None, 3).tolist(), Sampling().people_of(None, 3)
    ([30.0, 30.0, 30.0], None)
    """

    size: int | None = None  # people of the population
    fraction: float | None = None  # share of them that the table is about
    weight: str | None = None  # column that says how many people a row stands for
    household: str | None = None  # column that is equal for those who live together

    def people_of(
        self, carried: pa.Table | None, n_rows: int, counts: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64] | None:
        """Return how many people each row stands for, None where nobody says it.

        Weights are scaled to the population where its size is known, too: they may be relative ones then. `counts` says
        how many rows each row is, where equal ones are held once.
        """
        each = np.ones(n_rows) if counts is None else counts.astype(np.float64)
        rows = int(each.sum())
        total = self.size or (rows / self.fraction if self.fraction is not None else None)
        if self.weight is not None and carried is not None and self.weight in carried.column_names:
            weights = each * weights_in_column(carried.column(self.weight), self.weight)
            return weights if total is None else weights * (total / weights.sum())
        return each * (total / max(rows, 1)) if total is not None else None

    def population(self, people: NDArray[np.float64], rows: int) -> int:
        """Return how many people there are, where each row stands for so many; no fewer than rows."""
        return max(self.size or round(float(people.sum())), rows)

    def households_of(self, carried: pa.Table | None) -> NDArray[np.int64] | None:
        """Return the household of each row as a number; None where nobody says who lives together.

        A missing cell is a household of its own: nobody is known to live with that person.
        """
        if self.household is None or carried is None or self.household not in carried.column_names:
            return None
        codes, labels, has_missing = text_codes(carried.column(self.household), ("",))
        found = codes.astype(np.int64)
        if has_missing:
            alone = np.flatnonzero(found == len(labels))
            found[alone] = len(labels) + np.arange(alone.size)
        return found

    def refuse_unfit(self, carried: pa.Table | None, n_rows: int, people: RowsOf | None = None) -> None:
        """Raise where a table does not fit: too many people, cells that are no weights, people with several of them.

        `people` has the rows behind each row, where these are people and all their rows stay.
        """
        if self.size is not None and self.size < n_rows:
            raise DataError(
                f"[population] size says that there are {self.size:,} people, but the table is about {n_rows:,}.\n"
                "Give the number of all people that the table is a sample of, or leave it out."
            )
        found = carried if people is None else people.table.carried
        for key, name in (("weight", self.weight), ("household", self.household)):
            if found is None or name is None or name not in found.column_names:
                continue
            if key == "weight":
                weights_in_column(found.column(name), name)
            if people is not None and (several := _with_several(found.column(name), people.person_of)):
                raise DataError(
                    f"[source] {key} names {name!r}, in which {several:,} people have rows that differ.\n"
                    f"Give all rows of a person the same, put them together ([gather]), or leave {key} out."
                )


def _with_several(column: pa.ChunkedArray, person_of: NDArray[np.int32]) -> int:
    """Return how many people have different cells in their rows."""
    codes = text_codes(column, ("",))[0].astype(np.int64)
    width = int(codes.max(initial=0)) + 1
    pairs = np.unique(person_of.astype(np.int64) * width + codes)
    return int((np.bincount(pairs // width) > 1).sum())


UNKNOWN = Sampling()
