"""The cheapest kept sets under t-closeness: branch and bound over records, with frontiers as lower bounds.

Under the policy `linked` the belief is an average over the records that are linked after removal, so their number m is
fixed first: every number of records that removal turns linkable is tried, and the best answer stands.

Ties: least cost, then least distance, then the first in the order of records and options.
"""

from __future__ import annotations

import numpy as np

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
def search_tree(m, turned, order, low, high, pick, best, requirement, menu, tally, fronts, bounds, constant, nodes):
    """Improve `pick` by branch and bound; return cost, squared distance, nodes used and whether all was searched.

    best: cost and squared distance of `pick`, or (NEVER, inf). turned: how many records that no label explains must be
    linked in the end; -1 leaves it open. bounds: how many kinds of frontier there are.
    """
    table, option_value, labels = menu
    plain, tangential = np.int64(0), np.int64(1)
    d = order.size
    room = np.int64(0)
    for i in range(d):
        room = max(room, high[i] - low[i])
    best_cost, best_distance = best
    if d * room > _LARGEST_TREE:
        return best_cost, best_distance, 0, False
    child, child_n, child_at = (
        np.empty((d, room), dtype=np.int64),
        np.zeros(d, dtype=np.int64),
        np.zeros(d, dtype=np.int64),
    )
    child_key, child_value = np.empty((d, room), dtype=np.int64), np.empty((d, room))
    cost, near, tangent = np.zeros(d + 1, dtype=np.int64), np.zeros(d + 1), np.zeros(d + 1)
    linked, chosen = np.zeros(d + 1, dtype=np.int64), np.empty(d, dtype=np.int64)
    unexplained = np.zeros(d + 1, dtype=np.int64)  # records from a position on that may stay unlinked
    for position in range(d - 1, -1, -1):
        unexplained[position] = unexplained[position + 1] + (table[low[order[position]], SIZE] == 0)
    near[0], tangent[0] = requirement.prior_square, requirement.prior_square + constant
    clear(tally)
    used = 0
    depth = 0
    fresh = True
    while depth >= 0:
        i = order[depth]
        if fresh:
            if used >= nodes:
                return best_cost, best_distance, used, False
            used += 1
            n = 0
            start = low[i]
            if depth > 0 and low[order[depth - 1]] == low[i]:
                start = chosen[depth - 1]  # equal records: the order of their options does not matter
            for option in range(start, high[i]):
                price = cost[depth] + table[option, COST]
                if price > best_cost:
                    break
                explains = table[low[i], SIZE] == 0 and table[option, SIZE] > 0
                if turned >= 0 and (
                    linked[depth] + explains > turned or linked[depth] + explains + unexplained[depth + 1] < turned
                ):
                    continue
                value = near[depth] + own_part(option, m, menu, tally)
                need = least_cost(plain, depth + 1, requirement.bound - value, fronts)
                slope = 0.0
                if bounds > 1 and need < NEVER:
                    slope = tangent[depth] + option_value[option, TANGENT]
                    need = max(need, least_cost(tangential, depth + 1, requirement.bound - slope, fronts))
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
                    child_key[depth, at - 1] > key
                    or (child_key[depth, at - 1] == key and child_value[depth, at - 1] > value + SAME)
                ):
                    child[depth, at] = child[depth, at - 1]
                    child_key[depth, at] = child_key[depth, at - 1]
                    child_value[depth, at] = child_value[depth, at - 1]
                    at -= 1
                child[depth, at], child_key[depth, at], child_value[depth, at] = option, key, value
                n += 1
            child_n[depth], child_at[depth] = n, 0
            fresh = False
        else:
            option = chosen[depth]
            put(table[option, SIZE], table[option, AT], labels, -1.0, tally)
        moved = False
        while child_at[depth] < child_n[depth]:
            at = child_at[depth]
            child_at[depth] += 1
            option, key, value = child[depth, at], child_key[depth, at], child_value[depth, at]
            if key > best_cost:
                child_at[depth] = child_n[depth]
                break
            price = cost[depth] + table[option, COST]
            if (
                key == best_cost
                and value + least_value(plain, depth + 1, best_cost - price, fronts) >= best_distance - SAME
            ):
                continue
            chosen[depth] = option
            if depth == d - 1:
                if value <= requirement.limit and (price < best_cost or value < best_distance - SAME):
                    best_cost, best_distance = price, value
                    for position in range(d):
                        pick[order[position]] = chosen[position]
                continue
            put(table[option, SIZE], table[option, AT], labels, 1.0, tally)
            cost[depth + 1], near[depth + 1] = price, value
            tangent[depth + 1] = tangent[depth] + option_value[option, TANGENT] if bounds > 1 else 0.0
            linked[depth + 1] = linked[depth] + (table[low[i], SIZE] == 0 and table[option, SIZE] > 0)
            moved = True
            break
        if moved:
            depth += 1
            fresh = True
        else:
            depth -= 1
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
