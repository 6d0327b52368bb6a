"""Rating (Liu et al.), the baseline of the paper on sensitive quasi-identifiers, by groups of values.

The domain of a column is cut into groups of at least l values, and a record shows its group. An analyst takes every
value of a group for equally common. Groups of records would fit the paper's words as well, but then single columns
came back exactly, which its figures do not show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.generators import CensusColumn


def truth(columns: Sequence[CensusColumn]) -> Any:
    place = np.zeros(columns[0].codes.size, dtype=np.int64)
    for column in columns:
        place = place * column.d + column.codes
    shape = [column.d for column in columns]
    return np.bincount(place, minlength=math.prod(shape)).reshape(shape).astype(float)


def rating_groups(d: int, l: int) -> Any:
    """Return the group of each of d values, (d,): neighbours, at least l in each, as far as there are so many."""
    least = max(min(l, d - 1), 1)
    return np.minimum(np.arange(d) // least, max(d // least, 1) - 1)


def rated(columns: Sequence[CensusColumn], l: int) -> list[tuple[Any, list[Any]]]:
    """Return the two tables of Rating for each column: which group each record shows, and the values of each group."""
    found = []
    for column in columns:
        group_of = rating_groups(column.d, l)
        found.append(
            (
                group_of.astype(np.int32)[column.codes],
                np.split(np.arange(column.d), np.flatnonzero(np.diff(group_of)) + 1),
            )
        )
    return found


def rating(columns: Sequence[CensusColumn], l: int) -> Any:
    """Every value of a group gets the mean of its group (Rating, by value groups)."""
    exact = truth(columns)
    for position, column in enumerate(columns):
        group_of = rating_groups(column.d, l)
        mean = (group_of[:, None] == group_of).astype(float)
        mean /= mean.sum(axis=0)
        exact = np.moveaxis(np.tensordot(mean, exact, axes=(1, position)), 0, position)
    return exact
