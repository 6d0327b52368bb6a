"""How many people are alone with what some columns say of them, and with all of these but one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.dataset import Codes

_LARGEST = 1 << 62  # that a number of 64 bits holds, with room


@dataclass(frozen=True)
class Uniqueness:
    """People, those that nobody else looks like, and how many of these there would be without a column."""

    people: int
    unique: int
    without: Mapping[str, int]


def uniqueness(columns: Mapping[str, tuple[Codes, int]], people: int) -> Uniqueness:
    """Count who is alone with codes, given each column's and how many values it has.

    >>> age, sex = np.array([0, 0, 1], np.int32), np.array([0, 1, 1], np.int32)
    >>> uniqueness({"age": (age, 2), "sex": (sex, 2)}, 3)
    Uniqueness(people=3, unique=3, without={'age': 1, 'sex': 1})
    """
    parts = list(columns.values())
    without = {name: _alone([*parts[:own], *parts[own + 1 :]], people) for own, name in enumerate(columns)}
    return Uniqueness(people, _alone(parts, people), without)


def known_by(told: tuple[Codes, int], columns: Mapping[str, tuple[Codes, int]]) -> list[str]:
    """Return the columns of which each value goes with one value of another, given codes and how many values each has.

    A column that tells nearly everybody apart tells everything, and is left out, as is what always says the same.

    >>> town, land = np.array([0, 1, 2, 0, 1, 2], np.int32), np.array([0, 0, 1, 0, 0, 1], np.int32)
    >>> known_by((land, 2), {"town": (town, 3)}), known_by((town, 3), {"land": (land, 2)})
    (['town'], [])
    """
    codes, size = told
    found = []
    for name, (others, many) in columns.items():
        if 1 < size <= many <= max(2, codes.size // 2):
            pairs = np.unique(others.astype(np.int64) * size + codes).size
            if pairs == np.unique(others).size:
                found.append(name)
    return found


def _alone(columns: Sequence[tuple[Codes, int]], people: int) -> int:
    """Return how many rows have a combination of codes that no other row has."""
    key, span = np.zeros(people, dtype=np.int64), 1
    for codes, size in columns:
        if span * size > _LARGEST:  # number the combinations so far through
            found, key = np.unique(key, return_inverse=True)
            span = found.size
        key = key * size + codes
        span *= size
    key.sort()
    begins = np.concatenate([[True], key[1:] != key[:-1], [True]])
    return int((begins[:-1] & begins[1:])[:people].sum())
