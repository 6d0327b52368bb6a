"""First solutions under t-closeness: moves of one record at a time, by gain per cost, then giving back.

`pick[i]` is the option of record i, from low[i]:high[i]. `m` is fixed, so a record may not turn linked or unlinked
here: the ranges see to that.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.terms.frontier import NEVER, values_without_pairs
from sfumato.kernels.terms.measures import LINKED, N_ALL, N_LINKED, clear, make_tally, put, squared_distance
from sfumato.kernels.terms.options import AT, COST, PLAIN, SIZE

SAME = 1e-12  # squared distances that differ by less are equal
FEW = 16  # records up to which only the best move of a round is made


@kernel
def own_part(option, m, menu, tally):
    """Return what a record adds to the squared distance when the tally holds all others."""
    table, value, labels = menu
    mass, _sorted, note = tally
    n_labels, size = mass.size, table[option, SIZE]
    if size == 0:
        return 0.0
    shared = note[n_labels, N_LINKED] / n_labels
    first = table[option, AT]
    if first >= 0:
        shared = 0.0
        if labels.share.size > 0:
            for at in range(first, first + size):
                shared += mass[labels.label[at]] * labels.share[at]
        else:
            for at in range(first, first + size):
                shared += mass[labels.label[at]]
            shared = shared / size
        shared += note[n_labels, N_ALL] / n_labels
    return value[option, PLAIN] + 2.0 * shared / (m * m)


@kernel
def set_option(i, option, pick, menu, tally):
    """Give record i another option; -1 takes it out of the tally or puts the first one in."""
    table, _value, labels = menu
    if pick[i] >= 0:
        put(table[pick[i], SIZE], table[pick[i], AT], labels, -1.0, tally)
    pick[i] = option
    if option >= 0:
        put(table[option, SIZE], table[option, AT], labels, 1.0, tally)


@kernel
def _best_move(i, m, low, high, pick, over, saving, menu, tally):
    """Return the best option for record i, and how good it is; 0 when none is worth a move.

    over: how much the squared distance is above its limit; moves that lower it are ranked by their gain per cost, or by
    the gain alone when saving is -1. When it is below, moves that keep it there are ranked by what they save, beyond
    `saving`, and then by the distance.
    """
    table = menu.table
    now = pick[i]
    set_option(i, np.int64(-1), pick, menu, tally)
    before = own_part(now, m, menu, tally)
    best, rank, least = now, 0.0, np.inf
    for option in range(low[i], high[i]):
        price = table[option, COST] - table[now, COST]
        if over > 0.0:
            gain = min(before - own_part(option, m, menu, tally), over)
            if gain < 1e-14:
                continue
            worth = gain
            if saving >= 0:
                worth = gain / price if price > 0 else 1e100 * gain
            if worth > rank * (1.0 + 1e-12):
                best, rank = option, worth
        else:
            if price >= 0 or -price < saving or -price < rank:
                break
            change = own_part(option, m, menu, tally) - before
            if over + change < -1e-13 and (-price > rank or change < least - 1e-13):
                best, rank, least = option, float(-price), change
    set_option(i, now, pick, menu, tally)
    return best, rank


@kernel
def improve(m, low, high, pick, by_cost, prior, requirement, menu, tally):
    """Change `pick` until the group is close enough, then give back; return the squared distance."""
    d = pick.size
    clear(tally)
    for i in range(d):
        option, pick[i] = pick[i], -1
        set_option(i, option, pick, menu, tally)
    distance = squared_distance(m, prior, requirement, tally)
    move, rank = np.empty(d, dtype=np.int64), np.empty(d)
    close = distance <= requirement.limit
    for _ in range(8 * min(d, FEW) + 60):
        best = -1
        least = np.int64(0) if by_cost or close else np.int64(-1)
        for i in range(d):
            move[i], rank[i] = _best_move(i, m, low, high, pick, distance - requirement.limit, least, menu, tally)
            if rank[i] > 0.0 and (best < 0 or rank[i] > rank[best] * (1.0 + 1e-12)):
                best = i
        if best < 0:
            break
        for i in range(d):  # a crowd moves together: all whose move is nearly as good, while it is right
            if i != best and (d <= FEW or rank[i] < 0.7 * rank[best]):
                continue
            before = pick[i]
            set_option(i, move[i], pick, menu, tally)
            here = squared_distance(m, prior, requirement, tally)
            if here <= requirement.limit or (not close and here < distance):
                distance = here
            else:
                set_option(i, before, pick, menu, tally)
                if d <= FEW:
                    return distance
            if not close and distance <= requirement.limit:
                close = True
                break
    return distance


@kernel
def ranges_for(turned, low, high, menu):
    """Return option ranges in which exactly `turned` unexplained records are linked, those that are cheapest to link.

    -1 leaves all as they are. Also returns what linking them costs.
    """
    table = menu.table
    first, last = low.copy(), high.copy()
    least = np.int64(0)
    for i in range(low.size):
        if turned < 0 or table[low[i], SIZE] > 0:
            continue
        cheaper = 0
        price = table[low[i] + 1, COST]
        for j in range(low.size):
            if table[low[j], SIZE] == 0:
                other = table[low[j] + 1, COST]
                if other < price or (other == price and j < i):
                    cheaper += 1
        if cheaper < turned:
            first[i] = low[i] + 1
            least += price
        else:
            last[i] = low[i] + 1
    return first, last, least


@kernel
def count_unexplained(low, menu):
    """Return how many records no label explains as they are."""
    n = 0
    for i in range(low.size):
        if menu.table[low[i], SIZE] == 0:
            n += 1
    return n


@kernel
def first_closeness(groups, start, low_at, high_at, pick_at, prior, requirement, menu, cost, distance):
    """Look for a choice that makes each of some groups close to the prior, by moves of single records.

    The records of group g are the positions start[g]:start[g + 1], with options low_at:high_at. Fills pick_at, and for
    each group the cost (NEVER: none found) and the squared distance (then the least one seen).
    """
    tally = make_tally(prior.size, np.int64(0))
    table = menu.table
    for index in range(groups.size):
        group = groups[index]
        begin, end = start[group], start[group + 1]
        low, high, pick = low_at[begin:end], high_at[begin:end], pick_at[begin:end]
        d = end - begin
        unexplained = count_unexplained(low, menu)
        trial = np.empty(d, dtype=np.int64)
        best_cost, best_distance = NEVER, np.inf
        by_number = requirement.unlinked == LINKED
        for turned in range(unexplained + 1 if by_number else 1):
            m = d - unexplained + turned if by_number else d
            first, last, least = ranges_for(turned if by_number else np.int64(-1), low, high, menu)
            if least > best_cost:
                break
            values_without_pairs(m, low, high, menu)
            for attempt in range(3):  # from nothing removed by cost and by distance, and from all removed
                if attempt == 1 and best_cost < NEVER:
                    continue
                for i in range(d):
                    trial[i] = last[i] - 1 if attempt == 2 else first[i]
                here = improve(m, first, last, trial, attempt == 0, prior, requirement, menu, tally)
                price = np.int64(0)
                for i in range(d):
                    price += table[trial[i], COST]
                if here > requirement.limit:
                    if best_cost == NEVER:
                        best_distance = min(best_distance, here)
                elif price < best_cost or (price == best_cost and here < best_distance - SAME):
                    best_cost, best_distance = price, here
                    for i in range(d):
                        pick[i] = trial[i]
        cost[group], distance[group] = best_cost, best_distance
