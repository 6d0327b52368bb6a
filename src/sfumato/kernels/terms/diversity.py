"""The cheapest kept sets under (c, l)-diversity, alone or together with t-closeness.

The excess (see `measures`) only falls when a record's mass is spread over more labels, and only rises
when labels of two records coincide. So disjoint sets of the largest size that each number of kept terms allows give a
lower bound that needs sizes only (`levels`). All vectors of *levels* (numbers of kept terms) that cost
less than what is known and that sizes do not exclude are listed; for these, cheapest first, real options are searched
with the exact excess of the records chosen so far and sizes for the rest.

Ties: least cost, then least excess (within a small budget), then the first in the order of records and options.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.terms.frontier import NEVER
from sfumato.kernels.terms.greedy import own_part
from sfumato.kernels.terms.levels import insert, list_vectors, make_levels
from sfumato.kernels.terms.measures import LINKED, NEAR, clear, make_tally, mixed_excess, put, satisfies
from sfumato.kernels.terms.options import AT, PLAIN, SIZE, own_value
from sfumato.kernels.terms.repair import CROWD

VECTORS = 4096  # vectors of levels kept at a time
PER_VECTOR = 20  # a vector gets the group's nodes divided by this
TIE_NODES = 400  # vectors of equal cost that are looked at
TIE_CHOICES = 100  # nodes of the search for a smaller excess at equal cost

AFTER, BEFORE = range(2)  # of what records add to the distance: those from a position on, those before it
N_SIZES, N_WHOLE, N_WITH_LABELS = range(3)  # of records from a position on: with some labels, with all, with any


@kernel
def _fewest_choices_first(vector, levels):
    """Return the records in the order in which options are chosen for them."""
    order = np.empty(vector.size, dtype=np.int64)
    for i in range(vector.size):
        choices = levels.high[vector[i]] - levels.low[vector[i]]
        at = i
        while at > 0 and levels.high[vector[order[at - 1]]] - levels.low[vector[order[at - 1]]] > choices:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return order


@kernel
def _sum_up_rest(vector, order, levels, m, n_labels, close, menu, rest, number, far):
    """Fill what records from each position on can have: sizes ascending, their numbers, and the least distance."""
    for position in range(order.size - 1, -1, -1):
        level = vector[order[position]]
        size = levels.size[level]
        n = number[position + 1, N_SIZES]
        for i in range(n):
            rest[position, i] = rest[position + 1, i]
        number[position, N_WHOLE] = number[position + 1, N_WHOLE]
        number[position, N_WITH_LABELS] = number[position + 1, N_WITH_LABELS]
        if size > 0:
            number[position, N_WITH_LABELS] += 1
            if size == n_labels:
                number[position, N_WHOLE] += 1
            else:
                n = insert(rest[position], n, size)
        number[position, N_SIZES] = n
        far[AFTER, position] = far[AFTER, position + 1]
        if close and size > 0:
            least = np.inf
            for other in range(levels.low[level], levels.high[level]):
                menu.value[other, PLAIN] = own_value(other, m, menu)
                least = min(least, menu.value[other, PLAIN])
            far[AFTER, position] += least


@kernel
def realize(vector, levels, pick, most, prior, requirement, menu, tally, nodes):
    """Look for options at the levels of a vector with the least excess, below `most`; fill `pick` when there are any.

    Returns the excess (inf: none found), nodes used, and whether all was searched. Closeness, when required, is
    asked of the whole choice, and bounded on the way by what records can have at best.
    """
    table, _value, labels = menu
    first_of, last_of = levels.low, levels.high
    d = vector.size
    close = requirement.limit >= 0.0
    order, option = _fewest_choices_first(vector, levels), np.empty(d, dtype=np.int64)
    sizes, ats = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    m = d
    for i in range(d):
        option[i] = first_of[vector[order[i]]] - 1
        if requirement.unlinked == LINKED and levels.size[vector[i]] == 0:
            m -= 1
    rest = np.empty((d + 1, d), dtype=np.int64)  # sizes of the records from a position on, ascending
    number = np.zeros((d + 1, 3), dtype=np.int64)
    far = np.zeros((2, d + 1))  # what records from a position on add to the distance at best; what those before add
    _sum_up_rest(vector, order, levels, m, prior.size, close, menu, rest, number, far)
    best = np.inf
    far[BEFORE, 0] = requirement.prior_square
    if close and far[BEFORE, 0] + far[AFTER, 0] > requirement.bound:
        return best, 0, True
    clear(tally)
    used, depth, done = 0, 0, True
    while depth >= 0:
        level = vector[order[depth]]
        chosen = option[depth]
        if chosen >= first_of[level]:
            put(table[chosen, SIZE], table[chosen, AT], labels, -1.0, tally)
        chosen += 1
        if chosen == last_of[level]:
            option[depth] = first_of[level] - 1
            depth -= 1
            continue
        option[depth] = chosen
        used += 1
        if used > nodes:
            done = False
            break
        if close:
            far[BEFORE, depth + 1] = far[BEFORE, depth] + own_part(chosen, m, menu, tally)
        put(table[chosen, SIZE], table[chosen, AT], labels, 1.0, tally)
        if close and far[BEFORE, depth + 1] + far[AFTER, depth + 1] > requirement.bound:
            continue
        n, n_whole, linked = number[depth + 1, N_SIZES], number[depth + 1, N_WHOLE], number[depth + 1, N_WITH_LABELS]
        over = mixed_excess(requirement.l, requirement.c, rest[depth + 1], n, n_whole, linked, tally)
        if over >= min(best - 1e-12, most):
            continue
        if depth < d - 1:
            depth += 1
            continue
        safe = over < -NEAR * d and not close
        if not safe:
            for position in range(d):
                sizes[order[position]] = table[option[position], SIZE]
                ats[order[position]] = table[option[position], AT]
            safe, _distance, over, _tie = satisfies(sizes, ats, labels, prior, requirement, tally)
        if safe:
            best = over
            for position in range(d):
                pick[order[position]] = option[position]
    return best, used, done


@kernel
def _next(keys, n, after):
    """Return where the key after the one at `after` stands, in the order of (key, position); -1: nowhere."""
    best = -1
    for i in range(n):
        if after >= 0 and (keys[i] < keys[after] or (keys[i] == keys[after] and i <= after)):
            continue
        if best < 0 or keys[i] < keys[best]:
            best = i
    return best


@kernel
def search_diversity(
    groups, start, low_at, high_at, pick_at, prior, requirement, menu, nodes, cost, bound, used, proven
):
    """Improve first solutions to proven ones where `nodes` allow it.

    Groups, positions and cost as in `repair_groups`; writes a lower bound of the cost, the nodes used, and whether the
    answer (a cost, or that there is none) is proven.
    """
    tally = make_tally(prior.size, requirement.l)
    widest = np.int64(0)
    for index in range(groups.size):
        widest = max(widest, start[groups[index] + 1] - start[groups[index]])
    vectors, keys = np.empty((VECTORS, min(widest, CROWD)), dtype=np.int32), np.empty((2, VECTORS))
    for index in range(groups.size):
        group = groups[index]
        begin, end = start[group], start[group + 1]
        low, high, pick = low_at[begin:end], high_at[begin:end], pick_at[begin:end]
        d = end - begin
        bound[group], used[group], proven[group] = 0, 0, False
        if d > CROWD:
            continue
        levels = make_levels(low, high, prior.size, menu)
        vector = np.empty(d, dtype=np.int64)
        best, over, most = cost[group], np.inf, NEAR * d
        complete, lowest = True, best
        for ties in range(2):  # first what costs less, then what costs the same and has less excess
            if ties == 1 and best == NEVER:
                break
            if ties == 1 and over == np.inf:  # the first solution stands
                sizes, ats = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
                for i in range(d):
                    sizes[i], ats[i] = menu.table[pick[i], SIZE], menu.table[pick[i], AT]
                _safe, _distance, over, _tie = satisfies(sizes, ats, menu.labels, prior, requirement, tally)
            allowed = nodes if ties == 0 else min(nodes, TIE_NODES)
            if ties == 1:
                most = over - 1e-12
            found, here, whole = list_vectors(
                levels, best - 1 + ties, ties == 1, most, requirement, prior.size, allowed, vectors, keys
            )
            used[group] += here
            if ties == 0 and not whole:
                complete, lowest = False, np.int64(0)
            left = nodes - here if ties == 0 else min(nodes, TIE_CHOICES)
            at = _next(keys[ties], found, -1)
            while at >= 0:
                price = np.int64(keys[0, at])
                if ties == 1 and keys[1, at] >= over - 1e-12:
                    break
                if left <= 0:
                    if ties == 0:
                        complete, lowest = False, min(lowest, price)
                    break
                for i in range(d):
                    vector[i] = vectors[at, i]
                share = min(left, nodes // PER_VECTOR) if ties == 0 else left
                over_here, here, whole = realize(vector, levels, pick, most, prior, requirement, menu, tally, share)
                used[group] += here
                left -= here
                if over_here < np.inf:
                    best, over = price, over_here
                    if ties == 0:
                        break
                    most = over - 1e-12
                elif ties == 0 and not whole:
                    complete, lowest = False, min(lowest, price)
                at = _next(keys[ties], found, at)
        cost[group] = best
        bound[group] = best if complete else min(lowest, best)
        proven[group] = bound[group] == best
