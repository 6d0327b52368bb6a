"""How many people are alone with what some columns say of them, and with all of these but one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, distinct_codes


@dataclass(frozen=True)
class Uniqueness:
    """People, those that nobody else looks like, and how many of these there would be without a column."""

    people: int
    unique: int
    without: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def uniqueness(columns: Mapping[str, tuple[Codes, int]], people: int) -> Uniqueness:
    """Count who is alone with codes, given each column's and how many values it has.

    >>> age, sex = np.array([0, 0, 1], np.int32), np.array([0, 1, 1], np.int32)
    >>> uniqueness({"age": (age, 2), "sex": (sex, 2)}, 3)
    Uniqueness(people=3, unique=3, without={'age': 1, 'sex': 1})
    """
    if not columns:
        return Uniqueness(people, int(people == 1), {})
    cells = distinct_codes(list(columns.values()), people)
    sizes = [size for _, size in columns.values()]

    def alone_by(kept: list[int]) -> int:
        # Rows that are equal in all columns are so in fewer: only distinct ones need to be looked at again.
        chosen = [(np.ascontiguousarray(cells.codes[:, at]), sizes[at]) for at in kept]
        return _alone(distinct_codes(chosen, cells.weight.size, cells.weight).weight)

    places = range(len(sizes))
    without = {name: alone_by([at for at in places if at != own]) for own, name in enumerate(columns)}
    return Uniqueness(people, _alone(cells.weight), without)


def _alone(weight: NDArray[np.int64]) -> int:
    return int((weight == 1).sum())
