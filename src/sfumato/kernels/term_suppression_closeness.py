"""The cheapest kept sets under t-closeness: branch and bound over records, with frontiers as lower bounds.

Under the policy `linked` the belief is an average over the records that are linked after removal, so their number m is
fixed first: every number of records that removal turns linkable is tried, and the best answer stands.

Ties: least cost, then least distance, then the first in the order of records and options.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.term_suppression_frontier import (
    NEVER,
    build_frontiers,
    least_cost,
    least_value,
    make_frontiers,
    values_by_tangent,
    values_without_pairs,
)
from sfumato.kernels.term_suppression_greedy import come_closer, give_back, own_part
from sfumato.kernels.term_suppression_measures import LINKED, clear, put, take

SAME = 1e-12  # squared distances that differ by less are equal
_MOST_RECORDS = 1024  # of a group that gets frontiers and a tree
_LARGEST_TREE = 1 << 22  # cells of the table of children


@kernel
def total_cost(pick, pool):
    """Return the cost of a choice."""
    cost = np.int64(0)
    for i in range(pick.size):
        cost += pool.cost[pick[i]]
    return cost


@kernel
def _by_worth(low, high, pool):
    """Return the records, those first whose distance drops most per cost."""
    d = low.size
    worth, order = np.empty(d), np.empty(d, dtype=np.int64)
    for i in range(d):
        best = 0.0
        for option in range(low[i] + 1, high[i]):
            price = pool.cost[option] - pool.cost[low[i]]
            if price > 0:
                best = max(best, (pool.value[low[i], 0] - pool.value[option, 0]) / price)
        worth[i] = best
        at = i
        while at > 0 and worth[order[at - 1]] < best:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return order


@kernel
def search_tree(m, turned, order, low, high, pick, best, prior, requirement, pool, tally, fronts, bounds, constant, nodes):
    """Improve `pick` by branch and bound; return cost, squared distance, nodes used and whether the search was complete.

    best: cost and squared distance of `pick`, or (NEVER, inf). turned: how many records that no label explains must be
    linked in the end; -1 leaves it open. bounds: how many kinds of frontier there are.
    """
    d = order.size
    room = np.int64(0)
    for i in range(d):
        room = max(room, high[i] - low[i])
    best_cost, best_distance = best
    if d * room > _LARGEST_TREE:
        return best_cost, best_distance, 0, False
    child, child_n, child_at = np.empty((d, room), dtype=np.int64), np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    child_key, child_value = np.empty((d, room), dtype=np.int64), np.empty((d, room))
    cost, near, tangent = np.zeros(d + 1, dtype=np.int64), np.zeros(d + 1), np.zeros(d + 1)
    linked, chosen = np.zeros(d + 1, dtype=np.int64), np.empty(d, dtype=np.int64)
    unexplained = np.zeros(d + 1, dtype=np.int64)  # records from a position on that may stay unlinked
    for position in range(d - 1, -1, -1):
        unexplained[position] = unexplained[position + 1] + (pool.size[low[order[position]]] == 0)
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
                price = cost[depth] + pool.cost[option]
                if price > best_cost:
                    break
                explains = pool.size[low[i]] == 0 and pool.size[option] > 0
                if turned >= 0 and (
                    linked[depth] + explains > turned or linked[depth] + explains + unexplained[depth + 1] < turned
                ):
                    continue
                value = near[depth] + own_part(option, m, pool, tally)
                need = least_cost(0, depth + 1, requirement.bound - value, fronts)
                slope = 0.0
                if bounds > 1 and need < NEVER:
                    slope = tangent[depth] + pool.value[option, 1]
                    need = max(need, least_cost(1, depth + 1, requirement.bound - slope, fronts))
                if need == NEVER or price + need > best_cost:
                    continue
                if price + need == best_cost:
                    left = best_cost - price
                    if value + least_value(0, depth + 1, left, fronts) >= best_distance - SAME:
                        continue
                    if bounds > 1 and slope + least_value(1, depth + 1, left, fronts) >= best_distance - SAME:
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
            take(pool.size[option], pool.at[option], pool.labels, tally)
        moved = False
        while child_at[depth] < child_n[depth]:
            at = child_at[depth]
            child_at[depth] += 1
            option, key, value = child[depth, at], child_key[depth, at], child_value[depth, at]
            if key > best_cost:
                child_at[depth] = child_n[depth]
                break
            price = cost[depth] + pool.cost[option]
            if key == best_cost and value + least_value(0, depth + 1, best_cost - price, fronts) >= best_distance - SAME:
                continue
            chosen[depth] = option
            if depth == d - 1:
                if value <= requirement.limit and (price < best_cost or value < best_distance - SAME):
                    best_cost, best_distance = price, value
                    for position in range(d):
                        pick[order[position]] = chosen[position]
                continue
            put(pool.size[option], pool.at[option], pool.labels, tally)
            cost[depth + 1], near[depth + 1] = price, value
            tangent[depth + 1] = tangent[depth] + pool.value[option, 1] if bounds > 1 else 0.0
            linked[depth + 1] = linked[depth] + (pool.size[low[i]] == 0 and pool.size[option] > 0)
            moved = True
            break
        if moved:
            depth += 1
            fresh = True
        else:
            depth -= 1
    return best_cost, best_distance, used, True


@kernel
def _ranges(turned, low, high, pool):
    """Return option ranges in which exactly `turned` unexplained records are linked, those that are cheapest to link."""
    d = low.size
    first, last = low.copy(), high.copy()
    for i in range(d):
        if pool.size[low[i]] == 0:
            cheaper = 0
            price = pool.cost[low[i] + 1]
            for j in range(d):
                if pool.size[low[j]] == 0:
                    other = pool.cost[low[j] + 1]
                    cheaper += other < price or (other == price and j < i)
            if cheaper < turned:
                first[i] = low[i] + 1
            else:
                last[i] = low[i] + 1
    return first, last


@kernel
def _solve_for_m(m, turned, low, high, pick, best_cost, best_distance, prior, requirement, pool, tally, nodes):
    """Improve `pick` for a fixed number of linked records; return cost, squared distance, lower bound, nodes, complete."""
    d = low.size
    n_labels = prior.size
    values_without_pairs(m, low, high, n_labels, pool)
    order = _by_worth(low, high, pool)
    bounded = d <= _MOST_RECORDS
    fronts = make_frontiers(d if bounded else 0)
    bound = np.int64(0)
    if bounded:
        build_frontiers(0, order, low, high, pool, fronts)
        bound = least_cost(0, 0, requirement.bound - requirement.prior_square, fronts)
    if turned > 0:  # linking so many records costs at least this
        first, _last = _ranges(turned, low, high, pool)
        least = np.int64(0)
        for i in range(d):
            least += pool.cost[first[i]]
        bound = max(bound, least)
    if bound == NEVER or bound > best_cost:
        return best_cost, best_distance, bound, 0, True

    first, last = low, high
    if turned >= 0:
        first, last = _ranges(turned, low, high, pool)
    trial = np.empty(d, dtype=np.int64)
    closest = np.inf
    for start in range(2):
        if start == 1 and best_cost == bound:
            break
        for i in range(d):
            trial[i] = first[i] if start == 0 else last[i] - 1
        distance = come_closer(m, first, last, trial, start == 0, prior, requirement, pool, tally)
        if distance > requirement.limit and start == 0:
            distance = come_closer(m, first, last, trial, False, prior, requirement, pool, tally)
        closest = min(closest, distance)
        if distance <= requirement.limit:
            distance = give_back(m, first, last, trial, prior, requirement, pool, tally)
            cost = total_cost(trial, pool)
            if cost < best_cost or (cost == best_cost and distance < best_distance - SAME):
                best_cost, best_distance = cost, distance
                pick[:] = trial
    if best_cost == NEVER:
        best_distance = min(best_distance, closest)

    if not bounded:
        return best_cost, best_distance, bound, 0, False
    bounds, constant = 1, 0.0
    if best_cost > bound:
        guide = pick if best_cost < NEVER else trial
        constant = values_by_tangent(m, low, high, guide, n_labels, pool, tally)
        build_frontiers(1, order, low, high, pool, fronts)
        bounds = 2
        bound = max(bound, least_cost(1, 0, requirement.bound - requirement.prior_square - constant, fronts))
        if bound > best_cost:
            return best_cost, best_distance, bound, 0, True
    cost, distance, used, complete = search_tree(
        m, turned, order, low, high, pick, (best_cost, best_distance), prior, requirement, pool, tally, fronts, bounds, constant, nodes
    )
    return cost, distance, bound, used, complete


@kernel
def solve_closeness(low, high, pick, prior, requirement, pool, tally, nodes):
    """Fill `pick` with the cheapest options for which a group is close to the prior.

    Returns cost (NEVER: none was found), squared distance (then the least one seen), lower bound of the cost, nodes used,
    and whether the answer is proven.
    """
    d = low.size
    unexplained = 0
    for i in range(d):
        unexplained += pool.size[low[i]] == 0
    best_cost, best_distance = NEVER, np.inf
    if requirement.unlinked != LINKED:
        best_cost, best_distance, bound, used, complete = _solve_for_m(
            d, -1, low, high, pick, best_cost, best_distance, prior, requirement, pool, tally, nodes
        )
        return best_cost, best_distance, min(bound, best_cost), used, complete
    used, complete, bound = 0, True, NEVER
    for turned in range(unexplained + 1):
        m = d - unexplained + turned
        if m == 0:  # nothing is linked to anything: safe as it is
            pick[:] = low
            return np.int64(0), 0.0, np.int64(0), 0, True
        best_cost, best_distance, own_bound, own_nodes, own_complete = _solve_for_m(
            m, turned, low, high, pick, best_cost, best_distance, prior, requirement, pool, tally, nodes - used
        )
        used += own_nodes
        bound = min(bound, own_bound)
        if not own_complete:
            complete = False
    return best_cost, best_distance, min(bound, best_cost), used, complete
