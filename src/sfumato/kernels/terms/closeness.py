"""The cheapest kept sets under t-closeness: branch and bound over records, with frontiers as lower bounds.

Under the policy `linked` the belief is an average over the records that are linked after removal, so their number m is
fixed first: every number of records that removal turns linkable is tried, and the best answer stands.

Ties: least cost, then least distance, then the first in the order of records and options.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.terms.frontier import (
    NEVER,
    build_frontiers,
    least_cost,
    least_value,
    make_frontiers,
    values_by_tangent,
    values_without_pairs,
)
from sfumato.kernels.terms.greedy import SAME, count_unexplained, own_part, ranges_for
from sfumato.kernels.terms.measures import LINKED, clear, make_tally, put
from sfumato.kernels.terms.options import AT, COST, PLAIN, SIZE, TANGENT

_MOST_RECORDS = 1024  # of a group that gets frontiers and a tree
_LARGEST_TREE = 1 << 22  # cells of the table of children

OPTION, KEY = range(2)  # of Tree.child
CHOSEN, SPENT, EXPLAINED, UNEXPLAINED, CHILDREN, FOLLOWED = range(6)  # of Tree.path
NEAR, SLOPE = range(2)  # of Tree.far


class Tree(NamedTuple):
    """Where a search stands: position by position, what was chosen and what may be tried. d records, r options."""

    child: NDArray[np.int64]  # (d, r, 2): options to try, the most promising first, and what each costs at best
    near: NDArray[np.float64]  # (d, r): the squared distance with each of them, pairs with later records left out
    path: NDArray[np.int64]  # (d + 1, 6): the option chosen; what is spent before it; records before it that removal
    #                          explains; records from it on that nothing explains; children, and how many were followed
    far: NDArray[np.float64]  # (d + 1, 2): the squared distance of the records before it, and its bound by the tangent


@kernel
def _by_worth(low, high, menu):
    """Return the records, those first whose distance drops most per cost."""
    table, value, _labels = menu
    d = low.size
    worth, order = np.empty(d), np.empty(d, dtype=np.int64)
    for i in range(d):
        best = 0.0
        for option in range(low[i] + 1, high[i]):
            price = table[option, COST] - table[low[i], COST]
            if price > 0:
                best = max(best, (value[low[i], PLAIN] - value[option, PLAIN]) / price)
        worth[i] = best
        at = i
        while at > 0 and worth[order[at - 1]] < best:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return order


@kernel
def _list_children(depth, m, turned, order, low, high, best, bound, menu, tally, fronts, bounds, tree):
    """List the options of the record at a depth that may lead to something better, the most promising first."""
    table, option_value, _labels = menu
    child, child_near, path, far = tree
    plain, tangential = np.int64(0), np.int64(1)
    best_cost, best_distance = best
    i = order[depth]
    n = 0
    start = low[i]
    if depth > 0 and low[order[depth - 1]] == low[i]:
        start = path[depth - 1, CHOSEN]  # equal records: the order of their options does not matter
    for option in range(start, high[i]):
        price = path[depth, SPENT] + table[option, COST]
        if price > best_cost:
            break
        linked = path[depth, EXPLAINED] + (table[low[i], SIZE] == 0 and table[option, SIZE] > 0)
        if turned >= 0 and (linked > turned or linked + path[depth + 1, UNEXPLAINED] < turned):
            continue
        value = far[depth, NEAR] + own_part(option, m, menu, tally)
        need = least_cost(plain, depth + 1, bound - value, fronts)
        slope = 0.0
        if bounds > 1 and need < NEVER:
            slope = far[depth, SLOPE] + option_value[option, TANGENT]
            need = max(need, least_cost(tangential, depth + 1, bound - slope, fronts))
        if need == NEVER or price + need > best_cost:
            continue
        if price + need == best_cost:
            left = best_cost - price
            if value + least_value(plain, depth + 1, left, fronts) >= best_distance - SAME:
                continue
            if bounds > 1 and slope + least_value(tangential, depth + 1, left, fronts) >= best_distance - SAME:
                continue
        at = n
        key = price + need
        while at > 0 and (
            child[depth, at - 1, KEY] > key
            or (child[depth, at - 1, KEY] == key and child_near[depth, at - 1] > value + SAME)
        ):
            child[depth, at, OPTION], child[depth, at, KEY] = child[depth, at - 1, OPTION], child[depth, at - 1, KEY]
            child_near[depth, at] = child_near[depth, at - 1]
            at -= 1
        child[depth, at, OPTION], child[depth, at, KEY], child_near[depth, at] = option, key, value
        n += 1
    path[depth, CHILDREN], path[depth, FOLLOWED] = n, 0


@kernel
def _next_child(depth, best, table, fronts, tree):
    """Return the place of the next child that may still lead to something better; -1: there is none."""
    child, child_near, path, _far = tree
    best_cost, best_distance = best
    while path[depth, FOLLOWED] < path[depth, CHILDREN]:
        at = path[depth, FOLLOWED]
        path[depth, FOLLOWED] += 1
        key = child[depth, at, KEY]
        if key > best_cost:
            break
        left = best_cost - path[depth, SPENT] - table[child[depth, at, OPTION], COST]
        value = child_near[depth, at]
        if key < best_cost or value + least_value(np.int64(0), depth + 1, left, fronts) < best_distance - SAME:
            return at
    path[depth, FOLLOWED] = path[depth, CHILDREN]
    return np.int64(-1)


@kernel
def search_tree(m, turned, order, low, high, pick, best, requirement, menu, tally, fronts, bounds, constant, nodes):
    """Improve `pick` by branch and bound; return cost, squared distance, nodes used and whether all was searched.

    best: cost and squared distance of `pick`, or (NEVER, inf). turned: how many records that no label explains must be
    linked in the end; -1 leaves it open. bounds: how many kinds of frontier there are.
    """
    table, option_value, labels = menu
    d = order.size
    best_cost, best_distance = best
    room = np.int64(0)
    for i in range(d):
        room = max(room, high[i] - low[i])
    if d * room > _LARGEST_TREE:
        return best_cost, best_distance, 0, False
    child, child_near = np.empty((d, room, 2), dtype=np.int64), np.empty((d, room))
    path, far = np.zeros((d + 1, 6), dtype=np.int64), np.zeros((d + 1, 2))
    tree = Tree(child, child_near, path, far)
    for position in range(d - 1, -1, -1):
        silent = table[low[order[position]], SIZE] == 0
        path[position, UNEXPLAINED] = path[position + 1, UNEXPLAINED] + silent
    far[0, NEAR], far[0, SLOPE] = requirement.prior_square, requirement.prior_square + constant
    clear(tally)
    used = 0
    depth = np.int64(0)
    fresh = True
    while depth >= 0:
        best = best_cost, best_distance
        if fresh:
            if used >= nodes:
                return best_cost, best_distance, used, False
            used += 1
            _list_children(
                depth, m, turned, order, low, high, best, requirement.bound, menu, tally, fronts, bounds, tree
            )
            fresh = False
        else:
            option = path[depth, CHOSEN]
            put(table[option, SIZE], table[option, AT], labels, -1.0, tally)
        at = _next_child(depth, best, table, fronts, tree)
        while at >= 0 and depth == d - 1:
            option, value = child[depth, at, OPTION], child_near[depth, at]
            path[depth, CHOSEN] = option
            price = path[depth, SPENT] + table[option, COST]
            if value <= requirement.limit and (price < best_cost or value < best_distance - SAME):
                best_cost, best_distance = price, value
                for position in range(d):
                    pick[order[position]] = path[position, CHOSEN]
            at = _next_child(depth, (best_cost, best_distance), table, fronts, tree)
        if at < 0:
            depth -= 1
            continue
        option = child[depth, at, OPTION]
        put(table[option, SIZE], table[option, AT], labels, 1.0, tally)
        path[depth, CHOSEN] = option
        path[depth + 1, SPENT] = path[depth, SPENT] + table[option, COST]
        path[depth + 1, EXPLAINED] = path[depth, EXPLAINED] + (
            table[low[order[depth]], SIZE] == 0 and table[option, SIZE] > 0
        )
        far[depth + 1, NEAR] = child_near[depth, at]
        far[depth + 1, SLOPE] = far[depth, SLOPE] + option_value[option, TANGENT] if bounds > 1 else 0.0
        depth += 1
        fresh = True
    return best_cost, best_distance, used, True


@kernel
def search_closeness(
    groups, start, low_at, high_at, pick_at, prior, requirement, menu, nodes, cost, distance, bound, used, proven
):
    """Improve first solutions to proven ones where `nodes` allow it.

    Groups, positions, cost and distance as in `first_closeness`; writes a lower bound of the cost, the nodes used, and
    whether the answer (a cost, or that there is none) is proven.
    """
    plain = np.int64(0)
    tally = make_tally(prior.size, plain)
    for index in range(groups.size):
        group = groups[index]
        begin, end = start[group], start[group + 1]
        low, high, pick = low_at[begin:end], high_at[begin:end], pick_at[begin:end]
        d = end - begin
        bound[group], used[group], proven[group] = 0, 0, False
        if d > _MOST_RECORDS:
            continue
        best_cost, best_distance = cost[group], distance[group]
        by_number = requirement.unlinked == LINKED
        unexplained = count_unexplained(low, menu)
        fronts = make_frontiers(d)
        lowest, complete = NEVER, True
        for round_ in range(unexplained + 1 if by_number else 1):
            m, turned = (d - unexplained + round_, round_) if by_number else (d, np.int64(-1))
            _first, _last, own_bound = ranges_for(turned, low, high, menu)
            if own_bound > best_cost:
                break
            values_without_pairs(m, low, high, menu)
            order = _by_worth(low, high, menu)
            constant, kinds = 0.0, np.int64(0)
            for kind in range(2):
                if kind == 1:
                    if best_cost <= own_bound or best_cost == NEVER:
                        break
                    constant = values_by_tangent(m, low, high, pick, menu, tally)
                build_frontiers(kind, order, low, high, menu, fronts)
                most = requirement.bound - requirement.prior_square - constant
                own_bound = max(own_bound, least_cost(kind, plain, most, fronts))
                kinds += 1
            lowest = min(lowest, own_bound)
            if own_bound == NEVER or own_bound > best_cost:
                continue
            best = best_cost, best_distance if best_cost < NEVER else np.inf
            price, near, here, whole = search_tree(
                m,
                turned,
                order,
                low,
                high,
                pick,
                best,
                requirement,
                menu,
                tally,
                fronts,
                kinds,
                constant,
                nodes - used[group],
            )
            used[group] += here
            complete = complete and whole
            if price < NEVER:
                best_cost, best_distance = price, near
        cost[group], distance[group] = best_cost, best_distance
        bound[group] = best_cost if complete else min(lowest, best_cost)
        proven[group] = complete or bound[group] == best_cost
