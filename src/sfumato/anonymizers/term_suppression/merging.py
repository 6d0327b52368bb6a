"""Merging groups that were split from one another: where one cannot be made safe, or where the union is cheaper.

Sizes: n rows that take part, g groups, t nodes of the split tree. Groups are nodes of it; a union is solved from the
original terms of its records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.term_suppression.records import Ints, Records
from sfumato.anonymizers.term_suppression.search import UNREACHABLE, Found, groups_as_ranges, nothing_found

Solve: TypeAlias = Callable[[Ints, Ints], Found]  # rows group by group, and where each group starts


@dataclass
class Grove:
    """Groups that are nodes of a split tree, and the answers for them."""

    records: Records
    rows: Ints  # (n,)
    parent: Ints  # (t,): -1 for the root
    solve: Solve
    home: Ints  # (g,): the node of each group, ascending
    group_at: Ints  # (n,): the group of each of the rows
    found: Found

    @classmethod
    def plant(cls, records: Records, rows: Ints, leaf_at: Ints, parent: Ints, solve: Solve) -> Grove:
        """Solve the leaves; leaf_at[i] is the leaf that rows[i] is in."""
        home, group_at = np.unique(np.asarray(leaf_at, dtype=np.int64), return_inverse=True)
        order, start = groups_as_ranges(group_at, home.size)
        found = solve(rows[order], start)
        return cls(records, rows, np.asarray(parent, dtype=np.int64), solve, home, group_at, found)

    @property
    def node_at(self) -> Ints:
        """The node that each of the rows ended in, shape (n,)."""
        return self.home[self.group_at]

    def merge_unreachable(self) -> None:
        """Merge groups that cannot be made safe with what they were split from, until all can or all are one."""
        while True:
            above = np.unique(self.parent[self.home[self.found.status == UNREACHABLE]])
            above = above[above >= 0]
            if not above.size:
                return
            target = _topmost(self.home, self.parent, above)
            nodes = np.unique(target[target != self.home])
            self._accept(nodes, self._solve(nodes), np.ones(nodes.size, dtype=np.bool_))

    def merge_cheaper(self, loss: NDArray[np.float64], weight: float) -> None:
        """Merge siblings where that lowers what is lost in all: loss[node] plus weight * share of the terms' worth.

        From the leaves up; a union that was tried is not tried again. What is lost can only grow on the way up, so a
        union is not even tried unless all that its parts lose in terms would make up for it.
        """
        total = max(int(self.found.total.sum()), 1)
        tried = np.zeros(self.parent.size, dtype=np.bool_)
        while True:
            above = self.parent[self.home]
            inner = above >= 0
            children = np.bincount(above[inner], minlength=self.parent.size)
            lost = np.bincount(above[inner], loss[self.home[inner]], minlength=self.parent.size)
            cost = np.bincount(above[inner], self.found.cost[inner], minlength=self.parent.size)
            nodes = np.flatnonzero((children == 2) & ~tried & (loss - lost < weight * cost / total))
            if not nodes.size:
                return
            tried[nodes] = True
            fresh = self._solve(nodes)
            better = loss[nodes] + weight * fresh.cost / total < lost[nodes] + weight * cost[nodes] / total
            better &= fresh.status != UNREACHABLE
            if better.any():
                self._accept(nodes[better], fresh, better)

    def _solve(self, nodes: Ints) -> Found:
        """Return the answers for unions: all groups below each of these nodes."""
        node_at = _topmost(self.home, self.parent, nodes)[self.group_at]
        chosen = np.flatnonzero(np.isin(node_at, nodes))
        order, start = groups_as_ranges(np.searchsorted(nodes, node_at[chosen]), nodes.size)
        return self.solve(self.rows[chosen[order]], start)

    def _accept(self, nodes: Ints, fresh: Found, taken: NDArray[np.bool_]) -> None:
        """Replace all groups below these nodes by one each, with those of the fresh answers that are taken."""
        home, position = np.unique(_topmost(self.home, self.parent, nodes), return_inverse=True)
        renewed = np.isin(home, nodes)
        found = nothing_found(0, home.size, self.records.words)
        stay = np.flatnonzero(~renewed[position])
        for name in Found._fields[1:]:
            column = getattr(found, name)
            column[position[stay]] = getattr(self.found, name)[stay]
            column[renewed] = getattr(fresh, name)[taken]
        self.group_at = position[self.group_at]
        changed = self.rows[renewed[self.group_at]]
        self.found.kept_bits[changed] = fresh.kept_bits[changed]
        self.home, self.found = home, found._replace(kept_bits=self.found.kept_bits)


def _topmost(home: Ints, parent: Ints, marked: Ints) -> Ints:
    """Return for every node its highest ancestor among the marked ones, or itself."""
    wanted = np.zeros(parent.size, dtype=np.bool_)
    wanted[marked] = True
    result, walk = home.copy(), home.copy()
    while True:
        alive = walk >= 0
        if not alive.any():
            return result
        hit = alive & wanted[walk]
        result[hit] = walk[hit]
        walk = np.where(alive, parent[walk], -1)
