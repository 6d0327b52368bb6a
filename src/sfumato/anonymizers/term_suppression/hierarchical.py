"""Removing terms until beliefs are close to the prior over a hierarchy of labels: group by group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Deadline, Workplace
from sfumato.anonymizers.term_suppression.records import POLICIES, Floats, Ints, Records
from sfumato.anonymizers.term_suppression.search import SOLVED, UNREACHABLE, Found, Room, nothing_found
from sfumato.data.dataset import starts_of
from sfumato.kernels.terms.frontier import NEVER
from sfumato.kernels.terms.hierarchy import Tower, judge_by_hierarchy, search_by_hierarchy
from sfumato.kernels.terms.measures import FORBID
from sfumato.kernels.terms.options import SIZE
from sfumato.kernels.terms.sets import sort_groups

_NODES_OF_GROUP = 20  # a node goes through all nodes of the hierarchy


def make_tower(levels: NDArray[np.int32], prior: Floats) -> Tower:
    """Return the hierarchy of labels as loops use it; levels[h, label] is the node of a label, numbered in each level.

    >>> make_tower(np.array([[0, 1, 2], [0, 0, 1]], np.int32), np.array([0.5, 0.25, 0.25])).prior.tolist()
    [0.5, 0.25, 0.25, 0.75, 0.25]
    """
    first = starts_of(levels.max(axis=1) + 1)
    node = levels + first[:-1, None]
    even = np.full(prior.size, 1 / prior.size)
    before, alike = (np.bincount(node.ravel(), np.tile(each, levels.shape[0]), first[-1]) for each in (prior, even))
    return Tower(node.astype(np.int32), before.astype(np.float64), alike.astype(np.float64))


def judge_tower(
    records: Records, rows: Ints, begin: Ints, unlinked: str, limit: float, tower: Tower
) -> NDArray[np.bool_]:
    """Return which groups are close enough with all their terms; group g has the rows begin[g] to begin[g + 1]."""
    sets, set_at, n = records.sets, records.set_of[rows], begin.size - 1
    safe, distance = np.zeros(n, dtype=np.bool_), np.zeros(n)
    size_at, at_at = sets.size[set_at].astype(np.int64), sets.at[set_at]
    policy = POLICIES[unlinked]
    judge_by_hierarchy(np.arange(n), begin, size_at, at_at, sets.labels, policy, limit, tower, safe, distance)
    return safe


def solve_tower(
    records: Records,
    order: Ints,
    start: Ints,
    unlinked: str,
    limit: float,
    tower: Tower,
    *,
    nodes: int,
    deadline: Deadline,
    workplace: Workplace,
    advance: Callable[[int], None],
) -> Found:
    """Choose which terms stay, for every group; groups, budget and deadline as in `solve_all`."""
    n_groups = start.size - 1
    found = nothing_found(records.set_of.size, n_groups, records.words)
    order = order.copy()
    sort_groups(order, start, records.set_of, records.sets)
    group_at = np.repeat(np.arange(n_groups), np.diff(start))
    np.add.at(found.total, group_at, records.sets.worth[records.set_of[order]])
    safe = judge_tower(records, order, start, unlinked, limit, tower)
    links = records.links._replace(prior=np.zeros(records.links.prior.size))
    room = Room(records)
    for group in np.flatnonzero(~safe).tolist():
        workplace.checkpoint()
        rows = order[start[group] : start[group + 1]]
        numbers = records.set_of[rows].astype(np.int64)
        slot = room.slots_of(numbers, links)
        low, high = slot[:, 1].copy(), slot[:, 2].copy()
        if POLICIES[unlinked] == FORBID:
            low += room.menu.table[low, SIZE] == 0
        pick = low.copy()
        budget = 0 if deadline.over() else nodes // _NODES_OF_GROUP
        asked = (low, high, pick, POLICIES[unlinked], limit, budget, room.menu, tower)
        cost, found.nodes[group], whole = search_by_hierarchy(*asked)
        capped = bool(slot[:, 3].any())
        found.proven[group] = whole and not capped
        found.status[group] = SOLVED if cost < NEVER else UNREACHABLE
        found.distance[group] = np.inf  # no square of a distance: nothing to tell
        if cost < NEVER:
            found.cost[group], found.distance[group] = cost, 0.0
            found.bound[group] = cost if found.proven[group] else 0
            found.kept_bits[rows] = room.pool.kept_bits[pick]
        advance(1)
    advance(int(safe.sum()))
    return found
