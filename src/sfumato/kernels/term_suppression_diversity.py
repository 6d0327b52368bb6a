"""The cheapest kept sets under (c, l)-diversity, alone or together with t-closeness.

The excess (see `term_suppression_measures`) only falls when a record's mass is spread over more labels, and only rises
when labels of two records coincide. So disjoint sets of the largest size that each number of kept terms allows give a
lower bound that needs sizes only. The search has three steps:

1. A first solution: greedy on sizes, judged on the real sets; else greedy on the real sets.
2. All vectors of *levels* (numbers of kept terms) that cost less and are not excluded by sizes.
3. For these, cheapest first, real options: the exact excess of the records chosen so far, sizes for the rest.

Ties: least cost, then least excess (within a small budget), then the first in the order of records and options.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import kernel
from sfumato.kernels.term_suppression_closeness import total_cost
from sfumato.kernels.term_suppression_frontier import NEVER
from sfumato.kernels.term_suppression_greedy import CROWD, repair, repair_crowd
from sfumato.kernels.term_suppression_measures import (
    LINKED,
    N_ALL,
    N_LINKED,
    N_TOUCHED,
    NEAR,
    clear,
    put,
    satisfies,
    sum_of_largest,
    take,
)

VECTORS = 4096  # vectors of levels kept at a time
PER_VECTOR = 20  # a vector gets the group's nodes divided by this
TIE_NODES = 400  # nodes that a smaller excess at equal cost is worth
TRIES = 4  # options per level that the greedy search looks at


class Levels(NamedTuple):
    """The options of each record by the number of kept terms. Levels of record i are start[i]:start[i + 1], cheapest first."""

    start: NDArray[np.int64]  # (d + 1,)
    cost: NDArray[np.int64]
    size: NDArray[np.int64]  # the most labels
    low: NDArray[np.int64]  # options low:high, most labels first
    high: NDArray[np.int64]


@kernel
def make_levels(low, high, pool):
    """Return the levels of a group."""
    d = low.size
    n = 0
    for i in range(d):
        n += high[i] - low[i]
    start = np.zeros(d + 1, dtype=np.int64)
    cost, size = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    first, last = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n = 0
    for i in range(d):
        for option in range(low[i], high[i]):
            if option > low[i] and pool.kept[option] == pool.kept[option - 1]:
                last[n - 1] = option + 1
            else:
                cost[n], size[n], first[n], last[n] = pool.cost[option], pool.size[option], option, option + 1
                n += 1
        start[i + 1] = n
    return Levels(start, cost, size, first, last)


@kernel
def excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked):
    """Return the excess of n disjoint sets, sizes ascending, of `n_all` records with all labels, and `linked` in all."""
    floor = n_all / n_labels
    largest = 1.0 / sizes[0] if n > 0 else 0.0
    left = l - 1
    top = 0.0
    for i in range(n):
        if left <= 0:
            break
        taken = min(left, sizes[i])
        top += taken / sizes[i]
        left -= taken
    top += min(l - 1, n_labels) * floor
    return largest + floor + c * top - c * linked


@kernel
def _insert(sizes, n, size):
    at = n
    while at > 0 and sizes[at - 1] > size:
        sizes[at] = sizes[at - 1]
        at -= 1
    sizes[at] = size
    return n + 1


@kernel
def _excess_of_levels(vector, levels, l, c, n_labels, sizes):
    n, n_all, linked = 0, 0, 0
    for i in range(vector.size):
        size = levels.size[vector[i]]
        if size > 0:
            linked += 1
            if size == n_labels:
                n_all += 1
            else:
                n = _insert(sizes, n, size)
    return excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked)


@kernel
def greedy_levels(vector, levels, l, c, n_labels, sizes):
    """Lower levels by what each step brings per cost until sizes allow it, then raise what is not needed; return success."""
    d = vector.size
    now = _excess_of_levels(vector, levels, l, c, n_labels, sizes)
    for _ in range(8 * d + 8):
        if now <= 0.0:
            break
        mover, move, rank, then = -1, np.int64(-1), 0.0, now
        for i in range(d):
            before = vector[i]
            for level in range(before + 1, levels.start[i + 1]):
                vector[i] = level
                left = _excess_of_levels(vector, levels, l, c, n_labels, sizes)
                worth = min(now - left, now) / (levels.cost[level] - levels.cost[before])
                if worth > rank * (1.0 + 1e-12):
                    mover, move, rank, then = i, level, worth, left
            vector[i] = before
        if mover < 0:
            return False
        vector[mover] = move
        now = then
    if now > 0.0:
        return False
    for _ in range(8 * d + 8):
        mover, move, saving = -1, np.int64(-1), np.int64(0)
        for i in range(d):
            before = vector[i]
            for level in range(levels.start[i], before):
                saved = levels.cost[before] - levels.cost[level]
                if saved <= saving:
                    break
                vector[i] = level
                if _excess_of_levels(vector, levels, l, c, n_labels, sizes) <= 0.0:
                    mover, move, saving = i, level, saved
                    break
            vector[i] = before
        if mover < 0:
            break
        vector[mover] = move
    return True


@kernel
def list_vectors(levels, budget, exact, most, l, c, n_labels, nodes, vectors, cost_of, excess_of):
    """List vectors of levels that cost at most `budget` (exactly that when `exact`) and whose sizes allow an excess below `most`.

    Returns how many, the nodes used, and whether the list is complete.
    """
    d = levels.start.size - 1
    vector = levels.start[:d].copy() - 1
    chosen = np.empty((d + 1, d), dtype=np.int64)  # sizes so far, ascending
    number = np.zeros((d + 1, 3), dtype=np.int64)  # sizes, records with all labels, linked records
    cost = np.zeros(d + 1, dtype=np.int64)
    sizes = np.empty(d, dtype=np.int64)
    found, used, depth = 0, 0, 0
    while depth >= 0:
        vector[depth] += 1
        level = vector[depth]
        if level == levels.start[depth + 1] or cost[depth] + levels.cost[level] > budget:
            vector[depth] = levels.start[depth] - 1
            depth -= 1
            continue
        used += 1
        if used > nodes:
            return found, used, False
        n, n_all, linked = number[depth, 0], number[depth, 1], number[depth, 2]
        sizes[:n] = chosen[depth, :n]
        size = levels.size[level]
        if size > 0:
            linked += 1
            if size == n_labels:
                n_all += 1
            else:
                n = _insert(sizes, n, size)
        chosen[depth + 1, :n] = sizes[:n]
        number[depth + 1, 0], number[depth + 1, 1], number[depth + 1, 2] = n, n_all, linked
        cost[depth + 1] = cost[depth] + levels.cost[level]
        left = budget - cost[depth + 1]
        for i in range(depth + 1, d):  # whatever the rest could get, each alone with all that is left
            best, silent = np.int64(0), levels.size[levels.start[i]] == 0
            for other in range(levels.start[i], levels.start[i + 1]):
                if levels.cost[other] > left:
                    break
                best = max(best, levels.size[other])
            if best > 0:
                linked += 1
                if not silent:  # a record that may stay unlinked counts as spread without end
                    n = _insert(sizes, n, best)
        if excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked) > most:
            continue
        if depth < d - 1:
            depth += 1
        elif not exact or left == 0:
            if found == cost_of.size:
                return found, used, False
            for i in range(d):
                vectors[found, i] = vector[i]
            cost_of[found] = cost[d]
            excess_of[found] = excess_of_sizes(l, c, sizes, n, n_labels, n_all, linked)
            found += 1
    return found, used, True


@kernel
def _mixed_excess(l, c, rest, n_rest, rest_all, rest_linked, tally):
    """Return the excess of the tally together with disjoint sets of the sizes in `rest`, ascending."""
    n_labels = tally.mass.size
    floor = (tally.number[N_ALL] + rest_all) / n_labels
    largest = 0.0
    n = tally.number[N_TOUCHED]
    for i in range(n):
        mass = tally.mass[tally.touched[i]]
        tally.sorted[i] = mass
        largest = max(largest, mass)
    left = l - 1
    for i in range(n_rest):
        largest = max(largest, 1.0 / rest[i])
        for _ in range(min(left, rest[i])):
            tally.sorted[n] = 1.0 / rest[i]
            n += 1
        left -= min(left, rest[i])
    top = sum_of_largest(tally.sorted, n, l - 1) + min(l - 1, n_labels) * floor
    return largest + floor + c * top - c * (tally.number[N_LINKED] + rest_linked)


@kernel
def realize(vector, levels, pick, most, m, prior, requirement, pool, tally, sizes, ats, nodes):
    """Look for options at the levels of a vector with the least excess, below `most`; fill `pick` when there are any.

    Returns the excess (inf: none found), nodes used, and whether all was searched. Closeness, when required, is asked of
    leaves, and pruned by what records can have at best.
    """
    d = vector.size
    l, c, n_labels = requirement.l, requirement.c, prior.size
    close = requirement.limit >= 0.0
    order, option = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    for i in range(d):  # records with the fewest choices first
        choices = levels.high[vector[i]] - levels.low[vector[i]]
        at = i
        while at > 0 and levels.high[vector[order[at - 1]]] - levels.low[vector[order[at - 1]]] > choices:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    rest = np.empty((d + 1, d), dtype=np.int64)
    number = np.zeros((d + 1, 3), dtype=np.int64)
    far = np.zeros(d + 1)
    for position in range(d - 1, -1, -1):
        i = order[position]
        size = levels.size[vector[i]]
        n = number[position + 1, 0]
        rest[position, :n] = rest[position + 1, :n]
        number[position] = number[position + 1]
        if size > 0:
            number[position, 2] += 1
            if size == n_labels:
                number[position, 1] += 1
            else:
                number[position, 0] = _insert(rest[position], n, size)
        option[position] = levels.low[vector[i]] - 1
        if close and size > 0:
            least = np.inf
            for other in range(levels.low[vector[i]], levels.high[vector[i]]):
                labels = pool.size[other]
                least = min(least, 1.0 / (m * m * labels) - 2.0 * pool.prior[other] / (m * labels))
            far[position] = far[position + 1] + least
        else:
            far[position] = far[position + 1]
    best = np.inf
    if close and requirement.prior_square + far[0] > requirement.bound:
        return best, 0, True
    near = np.zeros(d + 1)
    near[0] = requirement.prior_square
    clear(tally)
    used, depth = 0, 0
    while depth >= 0:
        i = order[depth]
        if option[depth] >= levels.low[vector[i]]:
            take(pool.size[option[depth]], pool.at[option[depth]], pool.labels, tally)
        option[depth] += 1
        if option[depth] == levels.high[vector[i]]:
            option[depth] = levels.low[vector[i]] - 1
            depth -= 1
            continue
        used += 1
        if used > nodes:
            return best, used, False
        chosen = option[depth]
        size, at = pool.size[chosen], pool.at[chosen]
        if close and size > 0:
            shared = tally.number[N_LINKED] / n_labels
            if size < n_labels:
                mass = 0.0
                for j in range(at, at + size):
                    mass += tally.mass[pool.labels[j]]
                shared = mass / size + tally.number[N_ALL] / n_labels
            near[depth + 1] = near[depth] + 1.0 / (m * m * size) - 2.0 * pool.prior[chosen] / (m * size)
            near[depth + 1] += 2.0 * shared / (m * m)
        else:
            near[depth + 1] = near[depth]
        put(size, at, pool.labels, tally)
        if close and near[depth + 1] + far[depth + 1] > requirement.bound:
            continue
        n_rest, n_all, linked = number[depth + 1, 0], number[depth + 1, 1], number[depth + 1, 2]
        over = _mixed_excess(l, c, rest[depth + 1], n_rest, n_all, linked, tally)
        if over >= min(best - 1e-12, most):
            continue
        if depth < d - 1:
            depth += 1
            continue
        for position in range(d):
            sizes[order[position]] = pool.size[option[position]]
            ats[order[position]] = pool.at[option[position]]
        safe = over < -NEAR * d and not close
        if not safe:
            safe, _distance, over, _tie = satisfies(sizes, ats, pool.labels, prior, requirement, tally)
        if safe:
            best = over
            for position in range(d):
                pick[order[position]] = option[position]
    return best, used, True


@kernel
def _first_solution(low, high, pick, levels, vector, sizes, ats, prior, requirement, pool, tally):
    """Fill `pick` with a safe choice; return its cost, NEVER when none was found."""
    d = low.size
    best = NEVER
    trial = np.empty(d, dtype=np.int64)
    if d > CROWD:
        if repair_crowd(low, high, pick, sizes, ats, prior, requirement, pool, tally):
            best = total_cost(pick, pool)
        return best
    vector[:] = levels.start[:d]
    if greedy_levels(vector, levels, requirement.l, requirement.c, prior.size, sizes):
        for i in range(d):
            trial[i] = levels.low[vector[i]]
            sizes[i], ats[i] = pool.size[trial[i]], pool.at[trial[i]]
        if satisfies(sizes, ats, pool.labels, prior, requirement, tally)[0]:
            pick[:] = trial
            return total_cost(trial, pool)
        if repair(low, high, trial, sizes, ats, prior, requirement, pool, tally, TRIES):
            pick[:] = trial
            best = total_cost(trial, pool)
    for start in range(2):
        for i in range(d):
            trial[i] = low[i] if start == 0 else high[i] - 1
        if repair(low, high, trial, sizes, ats, prior, requirement, pool, tally, TRIES):
            cost = total_cost(trial, pool)
            if cost < best:
                pick[:] = trial
                best = cost
    return best


@kernel
def _linked_in(vector, levels):
    linked = 0
    for i in range(vector.size):
        linked += levels.size[vector[i]] > 0
    return linked


@kernel
def solve_diversity(low, high, pick, prior, requirement, pool, tally, nodes):
    """Fill `pick` with the cheapest safe options of a group when (c, l)-diversity is required.

    Returns cost (NEVER: none was found), excess, lower bound of the cost, nodes used, and whether the answer is proven.
    """
    d = low.size
    levels = make_levels(low, high, pool)
    vector, sizes, ats = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    best = _first_solution(low, high, pick, levels, vector, sizes, ats, prior, requirement, pool, tally)
    if d > CROWD:
        return best, 0.0, np.int64(0), 0, best == 0
    l, c, n_labels = requirement.l, requirement.c, prior.size
    slack = NEAR * d
    vectors = np.empty((VECTORS, d), dtype=np.int32)
    cost_of, excess_of = np.empty(VECTORS, dtype=np.int64), np.empty(VECTORS)
    found, used, complete = list_vectors(
        levels, best - 1, False, slack, l, c, n_labels, nodes, vectors, cost_of, excess_of
    )
    bound = best
    if not complete:
        bound = np.int64(0)
    order = np.argsort(cost_of[:found], kind="mergesort")
    over = np.inf
    proven = complete
    for at in range(found):
        if cost_of[order[at]] >= best:
            break
        if used >= nodes:
            proven = False
            bound = min(bound, cost_of[order[at]])
            break
        vector[:] = vectors[order[at]]
        m = _linked_in(vector, levels) if requirement.unlinked == LINKED else d
        allowed = min(nodes - used, nodes // PER_VECTOR)
        over_here, here, all_seen = realize(
            vector, levels, pick, slack, m, prior, requirement, pool, tally, sizes, ats, allowed
        )
        used += here
        if over_here < np.inf:
            best, over = cost_of[order[at]], over_here
            bound = min(bound, best)
            break
        if not all_seen:
            proven = False
            bound = min(bound, cost_of[order[at]])
    if best == NEVER:
        return best, over, bound, used, proven

    if not (over < np.inf):
        for i in range(d):
            sizes[i], ats[i] = pool.size[pick[i]], pool.at[pick[i]]
        _safe, _distance, over, _tie = satisfies(sizes, ats, pool.labels, prior, requirement, tally)
    found, tried, _complete = list_vectors(
        levels, best, True, over - 1e-12, l, c, n_labels, TIE_NODES, vectors, cost_of, excess_of
    )
    order = np.argsort(excess_of[:found], kind="mergesort")
    for at in range(found):
        if tried >= 2 * TIE_NODES or excess_of[order[at]] >= over - 1e-12:
            break
        vector[:] = vectors[order[at]]
        m = _linked_in(vector, levels) if requirement.unlinked == LINKED else d
        over_here, here, _all_seen = realize(
            vector, levels, pick, over - 1e-12, m, prior, requirement, pool, tally, sizes, ats, 2 * TIE_NODES - tried
        )
        tried += here
        over = min(over, over_here)
    return best, over, min(bound, best), used + tried, proven
