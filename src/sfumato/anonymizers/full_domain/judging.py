"""Choices of levels, judged: what of their classes may be published, and what that tells about other choices.

Sizes: q quasi-identifiers, u distinct rows, c classes, w words of a key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.lattice import Lattice, groups_of, pool_of
from sfumato.anonymizers.full_domain.population import Crowd
from sfumato.kernels.classes.conditions import DISTINCT, KIND, LIMITED, Conditions
from sfumato.kernels.classes.lattice import (
    COUNTED,
    FAILS,
    FAILS_BELOW,
    GONE_ROWS,
    LASTING_ROWS,
    PASSES,
    SMALL_ROWS,
    START,
    Asked,
    group_distinct,
    judge_groups,
    judge_sizes,
    sum_up,
)
from sfumato.kernels.classes.losing import find_furthest, least_values


class Judged(NamedTuple):
    """What the classes of a node count for; squares are of sizes, detail is what would be kept of rows.

    Where a node is out, whatever the rest of its classes, this is of what was judged until then: by size, all of it.
    """

    classes: float
    squares: float
    gone: float  # classes that fail, their rows and so on
    gone_rows: float
    gone_squares: float
    gone_detail: float
    lasting_rows: float  # of those that fail at all finer nodes as well
    lasting_squares: float
    lasting_detail: float
    small_rows: float  # of those whose size alone is why they fail
    allowed: bool = True  # False: too much has to be dropped, or it cannot be published whatever is
    closes: bool = False  # no finer node is allowed, and nothing is to be learned from them
    hopeless: bool = False  # no finer node is allowed


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a node in ascending order of their labels."""

    class_of: NDArray[np.int32]  # (u,): of each distinct row
    kept: NDArray[np.bool_]  # (c,)
    dropped: int  # rows


class Judge:
    """Judges nodes of the lattice. Tables of some nodes are kept, and coarser ones made from them.

    `bounded`: what nodes lose at least is known before any is judged, so that nothing is learned from hopeless ones.
    """

    def __init__(
        self,
        lattice: Lattice,
        conditions: Conditions,
        again: Callable[[NDArray[np.int64], int], Conditions],
        *,
        limit: int,
        bounded: bool,
        crowd: Crowd | None = None,
    ) -> None:
        self.lattice, self.limit, self._again, self._crowd = lattice, limit, again, crowd
        self._asked = self._asked_of(conditions)
        self._bounded = bounded
        self._compares = bool((conditions.table[:, KIND] >= LIMITED).any())
        distinct = conditions.table[:, KIND] == DISTINCT
        # Of hopeless nodes sizes alone are looked at. Where these do not tell which rows fail for good, none is one
        # but for such rows; and where nothing is to be learned from them, they are closed.
        self._lasting = (crowd is not None or bool(distinct.any())) and bool(limit) and not bounded
        self._closes = bounded or self._lasting or not limit
        counts = np.flatnonzero(distinct) if self._lasting else range(len(distinct))
        self._least = max([conditions.k, *(int(least_values(conditions, i)) for i in counts)])
        self._groups, self._counted = groups_of(lattice.key), np.zeros(COUNTED)
        self._distinct = pool_of(lattice, lattice.key, lattice.weight)
        self._sizes = self._distinct
        if not conditions.size_only:
            classes, _ = group_distinct(lattice.layout, self._distinct, 0, 0, self._groups)
            self._sizes = pool_of(lattice, self._groups.key[:, :classes], self._groups.size[:classes])

    def __call__(self, node: int, *, hopeless: bool = False) -> Judged:
        """Return what the classes of a node count for; of a hopeless one, what their sizes tell."""
        layout, groups, counted, limit = self.lattice.layout, self._groups, self._counted, self.limit
        by_size = self._asked.conditions.size_only
        asked = self._asked.conditions.k, self._least, self._bounded
        table = judge_sizes(layout, self._sizes, node, *asked, groups.verdict, counted)
        if counted[SMALL_ROWS] > limit:
            closes = self._closes or bool(counted[LASTING_ROWS] > limit)
            return self._told(allowed=False, closes=closes, hopeless=not closes)
        if hopeless or (by_size and self._crowd is None):
            return self._told(allowed=not hopeless)
        if by_size:
            key, size, (first, classes) = self._sizes.key, self._sizes.weight, self._sizes.table[table, START:].tolist()
            allowed = self._ask_crowd(node, key[:, first : first + classes], size[first : first + classes])
            sum_up(layout, node, key, size, first, groups.verdict, classes, self._bounded, counted)
            return self._judged(allowed)
        classes, table = group_distinct(layout, self._distinct, -1, node, groups)
        lost = judge_groups(layout, self._distinct, groups, classes, self._asked, self._lasting, float(limit))
        if lost > limit:
            return self._told(allowed=False, closes=self._closes, hopeless=not self._closes)
        allowed = self._ask_crowd(node, groups.key[:, :classes], groups.size[:classes])
        if lost or self._lasting or self._crowd is not None:
            self._judge_again(table, classes)
            sum_up(layout, node, groups.key, groups.size, 0, groups.verdict, classes, self._bounded, counted)
        return self._judged(allowed)

    def _judged(self, allowed: bool) -> Judged:
        gone, lasting = self._counted[GONE_ROWS], self._counted[LASTING_ROWS]
        closes = not allowed or bool(lasting > self.limit)
        return self._told(allowed=allowed and bool(gone <= self.limit), closes=closes)

    def _told(self, *, allowed: bool, closes: bool = False, hopeless: bool = False) -> Judged:
        return Judged._make([*self._counted.tolist(), allowed, closes, hopeless])

    def decide(self, node: int) -> Classes:
        """Return the classes of a node that is allowed."""
        groups = self._groups
        classes, _ = group_distinct(self.lattice.layout, self._distinct, 0, node, groups)
        judge_groups(self.lattice.layout, self._distinct, groups, classes, self._asked, False, np.inf)
        key, size, verdict = groups.key[:, :classes], groups.size[:classes], groups.verdict[:classes]
        self._ask_crowd(node, key, size)
        self._judge_again(0, classes)
        order = np.lexsort(key[::-1])
        rank = np.empty(classes, dtype=np.int32)
        rank[order] = np.arange(classes, dtype=np.int32)
        kept = verdict[order] == PASSES
        return Classes(rank[groups.class_of], kept, int(size[verdict != PASSES].sum()))

    def _ask_crowd(self, node: int, key: NDArray[np.int64], size: NDArray[np.int64]) -> bool:
        """Judge classes by the people whom they could be about; return whether the node is allowed at all."""
        if self._crowd is None:
            return True
        verdict = self._groups.verdict[: size.size]
        people, elsewhere = self._crowd.people(self.lattice.levels(node), self.lattice.codes(key))
        too_few, wrong = self._crowd.fails(size, people)
        verdict[wrong & (verdict == PASSES)] = FAILS
        verdict[too_few] = FAILS_BELOW
        return not (self._crowd.asked.low and elsewhere)

    def _judge_again(self, table: int, classes: int) -> None:
        """Drop classes until all others pass, compared with one another: the whole is what is published."""
        groups, pool = self._groups, self._distinct
        size, verdict = groups.size[:classes], groups.verdict[:classes]
        first, distinct = pool.table[table, START:].tolist()
        word, shift, mask = self.lattice.layout.kind.tolist()
        while self._compares and 0 < (dropped := int(size[verdict != PASSES].sum())) <= self.limit:
            left = first + np.flatnonzero(verdict[groups.class_of[:distinct]] == PASSES)
            kind, weight = pool.key[word, left] >> shift & mask, pool.weight[left]
            reference = np.zeros(self._asked.conditions.bars, dtype=np.int64)
            for place in self.lattice.histogram_of.T:
                np.add.at(reference, place[kind], weight)
            asked = self._asked_of(self._again(reference, self._asked.conditions.rows - dropped))
            if not judge_groups(self.lattice.layout, pool, groups, classes, asked, False, np.inf):
                return

    def _asked_of(self, conditions: Conditions) -> Asked:
        histogram, furthest = np.zeros(conditions.bars, dtype=np.int64), np.zeros(len(conditions.table))
        find_furthest(conditions, histogram, furthest)
        return Asked(conditions, furthest, self.lattice.histogram_of, histogram)
