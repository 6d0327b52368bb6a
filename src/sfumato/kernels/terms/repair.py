"""First solutions when (c, l)-diversity is required: moves of single records, each judged on the whole group.

Slow but sure: from everything removed there is always a way when (c, l) alone is required. Large groups give terms back
by blocks of records.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.terms.frontier import NEVER
from sfumato.kernels.terms.measures import make_tally, satisfies
from sfumato.kernels.terms.options import AT, COST, SIZE

CROWD = 96  # records of a group beyond which blocks are moved
TRIES = 4  # options of one cost that are looked at


@kernel
def _violation(pick, sizes, ats, prior, requirement, menu, tally):
    """Return how far a group is from what is required, 0 when it is safe."""
    for i in range(pick.size):
        sizes[i], ats[i] = menu.table[pick[i], SIZE], menu.table[pick[i], AT]
    safe, distance, over, _tie = satisfies(sizes, ats, menu.labels, prior, requirement, tally)
    if safe:
        return 0.0
    far = max(distance - requirement.limit, 0.0) if requirement.limit >= 0.0 else 0.0
    return max(over, 0.0) / pick.size + far + 1e-9


@kernel
def _repair(low, high, pick, sizes, ats, prior, requirement, menu, tally):
    """Change `pick` by single moves until the group is safe, then give back; return whether it is safe."""
    table = menu.table
    d = pick.size
    now = _violation(pick, sizes, ats, prior, requirement, menu, tally)
    for _ in range(12 * d + 40):
        mover, move, rank, then = -1, np.int64(-1), 0.0, now
        for i in range(d):
            before = pick[i]
            run = 0
            for option in range(low[i], high[i]):
                run = run + 1 if option > low[i] and table[option, COST] == table[option - 1, COST] else 0
                price = table[option, COST] - table[before, COST]
                if option == before or run >= TRIES:
                    continue
                if now == 0.0 and -price <= rank:
                    break
                pick[i] = option
                left = _violation(pick, sizes, ats, prior, requirement, menu, tally)
                if now == 0.0:
                    worth = float(-price) if left == 0.0 else 0.0
                else:
                    worth = (now - left) / price if price > 0 else 1e100 * (now - left)
                if worth > rank * (1.0 + 1e-12) and (now == 0.0 or now - left > 1e-14):
                    mover, move, rank, then = i, option, worth, left
            pick[i] = before
        if mover < 0:
            break
        pick[mover] = move
        now = then
    return now == 0.0


@kernel
def _repair_crowd(low, high, pick, sizes, ats, prior, requirement, menu, tally):
    """Give back to blocks of records, first everything, then ever fewer terms; return whether the group is safe."""
    table = menu.table
    d = pick.size
    trial = pick.copy()
    if _violation(trial, sizes, ats, prior, requirement, menu, tally) > 0.0:
        return False
    for level in range(64):
        block = d
        while block >= 1:
            for first in range(0, d, block):
                changed = False
                for i in range(first, min(first + block, d)):
                    option, here = low[i], 0
                    while option < high[i] - 1 and here < level:
                        option += 1
                        if table[option, COST] != table[option - 1, COST]:
                            here += 1
                    if here == level and table[option, COST] < table[pick[i], COST]:
                        trial[i] = option
                        changed = True
                if not changed:
                    continue
                good = _violation(trial, sizes, ats, prior, requirement, menu, tally) == 0.0
                for i in range(first, min(first + block, d)):
                    if good:
                        pick[i] = trial[i]
                    else:
                        trial[i] = pick[i]
            block >>= 1
    return True


@kernel
def repair_groups(groups, start, low_at, high_at, pick_at, prior, requirement, menu, cost):
    """Find a safe choice for each of some groups, from what is in pick_at, from nothing removed and from all removed.

    Positions as in `first_closeness`. Fills pick_at and the cost (NEVER: none found).
    """
    tally = make_tally(prior.size, requirement.l)
    for index in range(groups.size):
        group = groups[index]
        begin, end = start[group], start[group + 1]
        low, high, pick = low_at[begin:end], high_at[begin:end], pick_at[begin:end]
        d = end - begin
        sizes, ats, trial = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
        cost[group] = NEVER
        for attempt in range(3):
            for i in range(d):
                trial[i] = pick[i] if attempt == 0 else low[i] if attempt == 1 else high[i] - 1
            if d > CROWD:
                if attempt < 2:
                    continue
                safe = _repair_crowd(low, high, trial, sizes, ats, prior, requirement, menu, tally)
            else:
                safe = _repair(low, high, trial, sizes, ats, prior, requirement, menu, tally)
            price = np.int64(0)
            for i in range(d):
                price += menu.table[trial[i], COST]
            if safe and price < cost[group]:
                cost[group] = price
                for i in range(d):
                    pick[i] = trial[i]
