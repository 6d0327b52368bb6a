"""The cheapest kept sets under closeness over a hierarchy of labels: the earth mover's distance.

The way between two labels is the level of their lowest common ancestor over the height of the hierarchy. Then the least
way that turns one belief into another is the mean, over the levels below the top, of what nodes have beyond the prior.

Branch and bound over records: masses only grow, so what is beyond the prior by now is a lower bound of the distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.terms.frontier import NEVER
from sfumato.kernels.terms.measures import FORBID, LINKED
from sfumato.kernels.terms.options import AT, COST, SIZE

Ints = NDArray[np.int64]


class Tower(NamedTuple):
    """A hierarchy of labels, level by level, and the prior. h levels below the top, n labels, v nodes of all levels."""

    node: NDArray[np.int32]  # (h, n): the node of each label
    prior: NDArray[np.float64]  # (v,)
    spread: NDArray[np.float64]  # (v,): the share of labels that a node has


@kernel
def _put(size, at, labels, sign, tower, mass):
    """Add a record to the masses of all nodes, or take it out; return whether it is linked."""
    if size == 0:
        return False
    if at < 0:
        for node in range(mass.size):
            mass[node] += sign * tower.spread[node]
        return True
    for i in range(at, at + size):
        share = labels.share[i] if labels.share.size > 0 else 1.0 / size
        for level in range(tower.node.shape[0]):
            mass[tower.node[level, labels.label[i]]] += sign * share
    return True


@kernel
def _distance(mass, m, tower):
    """Return how far beyond the prior nodes are, as the mean over levels; the distance, once all records are in."""
    beyond = 0.0
    if m > 0:
        for node in range(mass.size):
            beyond += max(mass[node] / m - tower.prior[node], 0.0)
    return beyond / tower.node.shape[0]


@kernel
def judge_by_hierarchy(groups, start, size_at, at_at, labels, unlinked, limit, tower, safe, distance):
    """Say for each of some groups whether it is close enough to the prior, and its distance."""
    mass = np.zeros(tower.prior.size)
    for index in range(groups.size):
        group = groups[index]
        mass[:] = 0.0
        linked = 0
        for at in range(start[group], start[group + 1]):
            linked += _put(size_at[at], at_at[at], labels, 1.0, tower, mass)
        d = start[group + 1] - start[group]
        distance[group] = _distance(mass, linked, tower)
        safe[group] = distance[group] <= limit and (linked == d or unlinked == LINKED)


@kernel
def _evaluate(pick, menu, tower, mass):
    """Return the distance of a choice; the masses are left filled."""
    mass[:] = 0.0
    linked = 0
    for i in range(pick.size):
        linked += _put(menu.table[pick[i], SIZE], menu.table[pick[i], AT], menu.labels, 1.0, tower, mass)
    return _distance(mass, linked, tower)


@kernel
def _first(low, high, pick, limit, menu, tower, mass):
    """Change `pick` by moves of single records until the group is close, then give back; return whether it is."""
    table = menu.table
    d = pick.size
    now = _evaluate(pick, menu, tower, mass)
    for _ in range(8 * d + 8):
        if now <= limit:
            break
        mover, move, rank, then = -1, np.int64(-1), 0.0, now
        for i in range(d):
            before = pick[i]
            for option in range(low[i], high[i]):
                price = table[option, COST] - table[before, COST]
                if price <= 0:
                    continue
                pick[i] = option
                here = _evaluate(pick, menu, tower, mass)
                if (now - here) / price > rank:
                    mover, move, rank, then = i, option, (now - here) / price, here
            pick[i] = before
        if mover < 0:
            return False
        pick[mover] = move
        now = then
    if now > limit:
        return False
    for i in range(d):
        for option in range(low[i], high[i]):
            if table[option, COST] >= table[pick[i], COST]:
                break
            before, pick[i] = pick[i], option
            if _evaluate(pick, menu, tower, mass) <= limit:
                break
            pick[i] = before
    return True


@kernel
def search_by_hierarchy(low, high, pick, unlinked, limit, nodes, menu, tower):
    """Find the cheapest safe options of one group; return cost (NEVER: none), nodes used, and whether it is proven.

    Record i has the options low[i]:high[i]; `pick` gets the choice.
    """
    table, _value, labels = menu
    d = pick.size
    mass = np.zeros(tower.prior.size)
    best = NEVER
    trial = np.empty(d, dtype=np.int64)
    for attempt in range(2):  # from nothing removed, and from all
        for i in range(d):
            trial[i] = low[i] if attempt == 0 else high[i] - 1
        if _first(low, high, trial, limit, menu, tower, mass):
            price = np.int64(0)
            for i in range(d):
                price += table[trial[i], COST]
            if price < best:
                best = price
                pick[:] = trial
    mass[:] = 0.0
    spent, linked = np.zeros(d + 1, dtype=np.int64), np.zeros(d + 1, dtype=np.int64)
    for i in range(d):
        trial[i] = low[i] - 1
    used, depth = 0, 0
    while depth >= 0:
        if trial[depth] >= low[depth]:
            _put(table[trial[depth], SIZE], table[trial[depth], AT], labels, -1.0, tower, mass)
        elif depth > 0 and low[depth - 1] == low[depth]:
            trial[depth] = trial[depth - 1] - 1  # equal records: the order of their options does not matter
        trial[depth] += 1
        option = trial[depth]
        if option == high[depth] or spent[depth] + table[option, COST] >= best:
            trial[depth] = low[depth] - 1
            depth -= 1
            continue
        used += 1
        if used > nodes:
            return best, used, False
        linked[depth + 1] = linked[depth] + _put(table[option, SIZE], table[option, AT], labels, 1.0, tower, mass)
        spent[depth + 1] = spent[depth] + table[option, COST]
        if _distance(mass, d, tower) > limit + 1e-12:  # divided by no more than d in the end
            continue
        if depth < d - 1:
            depth += 1
            continue
        m = linked[d]
        if (m == d or unlinked != FORBID) and _distance(mass, m, tower) <= limit:
            best = spent[d]
            pick[:] = trial
    return best, used, True
