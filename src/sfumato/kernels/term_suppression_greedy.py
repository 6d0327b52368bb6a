"""First solutions: moves of one record at a time, by what they bring for what they cost, then giving back.

`pick[i]` is the option of record i, from low[i]:high[i]. `m` is fixed, so a record may not turn linked or unlinked here:
the caller's ranges see to that.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.term_suppression_measures import (
    N_ALL,
    N_LINKED,
    clear,
    put,
    satisfies,
    squared_distance,
    take,
)

FEW = 16  # records up to which only the best move of a sweep is made
CROWD = 96  # records beyond which moves are judged by blocks of records


@kernel
def own_part(option, m, pool, tally):
    """Return what a record adds to the squared distance when the tally holds all others."""
    size = pool.size[option]
    if size == 0:
        return 0.0
    n_labels = tally.mass.size
    if size == n_labels:
        shared = tally.number[N_LINKED] / n_labels
    else:
        mass = 0.0
        for at in range(pool.at[option], pool.at[option] + size):
            mass += tally.mass[pool.labels[at]]
        shared = mass / size + tally.number[N_ALL] / n_labels
    return pool.value[option, 0] + 2.0 * shared / (m * m)


@kernel
def _fill(pick, pool, tally):
    clear(tally)
    for i in range(pick.size):
        put(pool.size[pick[i]], pool.at[pick[i]], pool.labels, tally)


@kernel
def _best_move(i, m, low, high, pick, over, by_cost, pool, tally):
    """Return the best option for record i, what the distance changes by, and the rank of the move (0: none helps)."""
    now = pick[i]
    take(pool.size[now], pool.at[now], pool.labels, tally)
    before = own_part(now, m, pool, tally)
    best, change, rank = now, 0.0, 0.0
    for option in range(low[i], high[i]):
        if option == now:
            continue
        difference = own_part(option, m, pool, tally) - before
        if difference > -1e-14:
            continue
        gain = min(-difference, over)
        price = pool.cost[option] - pool.cost[now]
        worth = gain if not by_cost else gain / price if price > 0 else 1e300 * gain
        if worth > rank:
            best, change, rank = option, difference, worth
    put(pool.size[now], pool.at[now], pool.labels, tally)
    return best, change, rank


@kernel
def _change(i, option, pick, pool, tally):
    take(pool.size[pick[i]], pool.at[pick[i]], pool.labels, tally)
    pick[i] = option
    put(pool.size[option], pool.at[option], pool.labels, tally)


@kernel
def come_closer(m, low, high, pick, by_cost, prior, requirement, pool, tally):
    """Change `pick` until the group is close enough or no move helps; return the squared distance.

    Moves are ranked by what they bring per cost, or by what they bring alone.
    """
    d = pick.size
    _fill(pick, pool, tally)
    distance = squared_distance(m, prior, requirement, tally)
    move, rank = np.empty(d, dtype=np.int64), np.empty(d)
    for _ in range(4 * min(d, FEW) + 40):
        over = distance - requirement.limit
        if over <= 0.0:
            break
        best = -1
        for i in range(d):
            move[i], _change_of, rank[i] = _best_move(i, m, low, high, pick, over, by_cost, pool, tally)
            if rank[i] > 0.0 and (best < 0 or rank[i] > rank[best] * (1.0 + 1e-12)):
                best = i
        if best < 0:
            break
        if d <= FEW:
            _change(best, move[best], pick, pool, tally)
            distance = squared_distance(m, prior, requirement, tally)
            continue
        for i in range(d):  # a crowd moves together: all whose move is nearly as good, while it is needed
            if rank[i] >= 0.7 * rank[best] and distance > requirement.limit:
                option, difference, _worth = _best_move(
                    i, m, low, high, pick, distance - requirement.limit, by_cost, pool, tally
                )
                if difference < 0.0:
                    _change(i, option, pick, pool, tally)
                    distance += difference
        distance = squared_distance(m, prior, requirement, tally)
    _fill(pick, pool, tally)
    return squared_distance(m, prior, requirement, tally)


@kernel
def give_back(m, low, high, pick, prior, requirement, pool, tally):
    """Lower the cost of a close group by single moves while it stays close; return its squared distance."""
    d = pick.size
    _fill(pick, pool, tally)
    distance = squared_distance(m, prior, requirement, tally)
    for _ in range(4 * d + 40):
        mover, move, saving, change = -1, np.int64(-1), np.int64(0), 0.0
        changed = False
        for i in range(d):
            now = pick[i]
            if d > FEW:
                mover, saving = -1, np.int64(0)
            take(pool.size[now], pool.at[now], pool.labels, tally)
            before = own_part(now, m, pool, tally)
            for option in range(low[i], high[i]):
                saved = pool.cost[now] - pool.cost[option]
                if saved <= 0 or saved < saving:
                    break
                difference = own_part(option, m, pool, tally) - before
                if distance + difference > requirement.limit - 1e-13:
                    continue
                if saved > saving or difference < change - 1e-13:
                    mover, move, saving, change = i, option, saved, difference
            put(pool.size[now], pool.at[now], pool.labels, tally)
            if d > FEW and mover == i:
                _change(i, move, pick, pool, tally)
                distance += change
                changed = True
        if d <= FEW and mover >= 0:
            _change(mover, move, pick, pool, tally)
            distance += change
            changed = True
        if not changed:
            break
        distance = squared_distance(m, prior, requirement, tally)
    _fill(pick, pool, tally)
    return squared_distance(m, prior, requirement, tally)


@kernel
def _violation(pick, sizes, ats, prior, requirement, pool, tally):
    """Return how far a group is from what is required, 0 when it is safe."""
    for i in range(pick.size):
        sizes[i], ats[i] = pool.size[pick[i]], pool.at[pick[i]]
    safe, distance, over, _tie = satisfies(sizes, ats, pool.labels, prior, requirement, tally)
    if safe:
        return 0.0
    far = max(distance - requirement.limit, 0.0) if requirement.limit >= 0.0 else 0.0
    return max(over, 0.0) / pick.size + far + 1e-9


@kernel
def repair(low, high, pick, sizes, ats, prior, requirement, pool, tally, per_count):
    """Change `pick` by single moves until the group is safe, then give back; return whether it is safe.

    Judges whole groups, so it serves every requirement; slow, for those that faster ways do not settle. Tries the
    `per_count` options with the most labels for each number of kept terms.
    """
    d = pick.size
    now = _violation(pick, sizes, ats, prior, requirement, pool, tally)
    for _ in range(6 * d + 20):
        if now == 0.0:
            break
        mover, move, rank, then = -1, np.int64(-1), 0.0, now
        for i in range(d):
            before = pick[i]
            run = 0
            for option in range(low[i], high[i]):
                run = run + 1 if option > low[i] and pool.kept[option] == pool.kept[option - 1] else 0
                if option == before or run >= per_count:
                    continue
                pick[i] = option
                left = _violation(pick, sizes, ats, prior, requirement, pool, tally)
                price = pool.cost[option] - pool.cost[before]
                gain = now - left
                if gain > 1e-14:
                    worth = gain / price if price > 0 else 1e300 * gain
                    if worth > rank * (1.0 + 1e-12):
                        mover, move, rank, then = i, option, worth, left
            pick[i] = before
        if mover < 0:
            return False
        pick[mover] = move
        now = then
    if now > 0.0:
        return False
    spare(low, high, pick, sizes, ats, prior, requirement, pool, tally, per_count)
    return True


@kernel
def spare(low, high, pick, sizes, ats, prior, requirement, pool, tally, per_count):
    """Lower the cost of a safe group by single moves while it stays safe."""
    d = pick.size
    for _ in range(6 * d + 20):
        mover, move, saving = -1, np.int64(-1), np.int64(0)
        for i in range(d):
            before = pick[i]
            run = 0
            for option in range(low[i], high[i]):
                saved = pool.cost[before] - pool.cost[option]
                if saved <= saving:
                    break
                run = run + 1 if option > low[i] and pool.kept[option] == pool.kept[option - 1] else 0
                if run >= per_count:
                    continue
                pick[i] = option
                if _violation(pick, sizes, ats, prior, requirement, pool, tally) == 0.0:
                    mover, move, saving = i, option, saved
                    break
            pick[i] = before
        if mover < 0:
            break
        pick[mover] = move


@kernel
def repair_crowd(low, high, pick, sizes, ats, prior, requirement, pool, tally):
    """Fill `pick` for a large group: remove everything, then give back to blocks of records; return whether it is safe."""
    d = pick.size
    trial = high - 1
    pick[:] = trial
    if _violation(pick, sizes, ats, prior, requirement, pool, tally) > 0.0:
        return False
    for kept in range(64):  # first everything, then ever fewer terms
        block = d
        while block >= 1:
            for start in range(0, d, block):
                changed = False
                for i in range(start, min(start + block, d)):
                    trial[i] = pick[i]
                    option, level = low[i], 0
                    while option < high[i] - 1 and level < kept:
                        option += 1
                        level += pool.kept[option] != pool.kept[option - 1]
                    if level == kept and pool.cost[option] < pool.cost[pick[i]]:
                        trial[i] = option
                        changed = True
                if not changed:
                    continue
                if _violation(trial, sizes, ats, prior, requirement, pool, tally) == 0.0:
                    pick[:] = trial
                else:
                    trial[:] = pick
            block >>= 1
    return True
