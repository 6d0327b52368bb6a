"""MDAV: maximum distance to average vector. u units, which are distinct rows; v bars of a histogram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.boxes import ranges
from sfumato.anonymizers.conditions import Asked, holds
from sfumato.anonymizers.local_recoding.units import shares_of
from sfumato.data.dataset import DistinctRows, counted
from sfumato.kernels.classes.conditions import Conditions

LARGEST_BLOCK = 4096  # units among which neighbours are looked for; the work grows with its square

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Groups: TypeAlias = NDArray[np.int64]  # (u,): the group of each unit


@dataclass(frozen=True, eq=False)
class Units:
    """Distinct rows as points, each with how many rows it stands for and what these have in sensitive columns."""

    points: Floats  # (u, dimensions)
    weight: Integers  # (u,)
    start: Integers  # (u + 1,): unit i has the shares from start[i] to start[i + 1]
    shares: Integers  # (s, 2): bars of a histogram, and how many rows are in them

    @classmethod
    def of(cls, points: Floats, distinct: DistinctRows, asked: Asked) -> Units:
        """Return units with the histograms of their rows."""
        units, unit_of = len(distinct.weight), distinct.distinct_of
        weight = counted(unit_of, units, asked.weights)
        return cls(points, weight, *shares_of(unit_of, units, asked.bar_of, asked.weights))

    def histogram(self, units: Integers, bars: int) -> Integers:
        """Return what the rows of some units have in sensitive columns, (v,)."""
        found = np.zeros(bars, dtype=np.int64)
        if bars:
            bar, count = self.shares[ranges(self.start[units], self.start[units + 1])].T
            np.add.at(found, bar, count)
        return found

    def add(self, histogram: Integers, unit: int) -> None:
        """Add the rows of one unit to a histogram."""
        bar, count = self.shares[self.start[unit] : self.start[unit + 1]].T
        np.add.at(histogram, bar, count)


def mdav_groups(units: Units, conditions: Conditions, advance: Callable[[float], None]) -> Groups:
    """Return groups of neighbours that all satisfy the conditions, as all units together do."""
    group_of = np.full(len(units.weight), -1, dtype=np.int64)
    number = 0
    for block in _blocks(units, conditions):
        for group in _groups_in(block, units, conditions):
            group_of[group] = number
            number += 1
            advance(group.size)
    return group_of


def _blocks(units: Units, conditions: Conditions) -> list[Integers]:
    """Return parts in which neighbours are looked for: halves of halves, as long as both satisfy the conditions."""
    waiting, found = [np.arange(len(units.weight))], []
    while waiting:
        block = waiting.pop()
        halves = _halves(block, units, conditions) if block.size > LARGEST_BLOCK else None
        if halves is None:
            found.append(block)
        else:
            waiting += halves
    return found


def _halves(block: Integers, units: Units, conditions: Conditions) -> list[Integers] | None:
    points = units.points[block]
    widest = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, widest], kind="stable")
    halves = [block[order[: order.size // 2]], block[order[order.size // 2 :]]]
    fine = all(
        holds(conditions, units.histogram(half, conditions.bars), int(units.weight[half].sum())) for half in halves
    )
    return halves if fine else None


def _groups_in(block: Integers, units: Units, conditions: Conditions) -> list[Integers]:
    """Return the groups of a block: around the unit farthest from the centre, then around the one farthest from it."""
    left = block
    found: list[Integers] = []
    rest = units.histogram(left, conditions.bars)
    while left.size:
        centre = np.average(units.points[left], axis=0, weights=units.weight[left])
        seed = int(_distance(units.points[left], centre).argmax())
        at = units.points[left[seed]]
        for _ in range(2):
            group = _grown(left, at, units, conditions, rest)
            if group is None:
                return [*found, left]
            found.append(left[group])
            rest = rest - units.histogram(left[group], conditions.bars)
            left = np.delete(left, group)
            if not left.size:
                return found
            at = units.points[left[int(_distance(units.points[left], at).argmax())]]
    return found


def _distance(points: Floats, at: Floats) -> Floats:
    distance: Floats = ((points - at) ** 2).sum(axis=1)
    return distance


def _grown(left: Integers, at: Floats, units: Units, conditions: Conditions, whole: Integers) -> Integers | None:
    """Return places of the nearest units that together satisfy the conditions; None when what is left would not."""
    order = np.argsort(_distance(units.points[left], at), kind="stable")
    size_of = np.cumsum(units.weight[left[order]])
    total = int(size_of[-1])
    histogram = np.zeros(conditions.bars, dtype=np.int64)
    for place, unit in enumerate(left[order].tolist()):
        if not conditions.size_only:
            units.add(histogram, unit)
        size = int(size_of[place])
        if total - size < conditions.k and total > size:
            return None
        if holds(conditions, histogram, size):
            break
    if size == total:
        return order
    return order[: place + 1] if holds(conditions, whole - histogram, total - size) else None
