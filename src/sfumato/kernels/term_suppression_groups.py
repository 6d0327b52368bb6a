"""Groups of records, one after the other: safe as they are, or solved, or out of reach.

One call works on a range of groups and holds no lock, so threads take ranges in turn. Every group is solved on its own,
from its records in the order of their terms: the answer depends neither on threads nor on the order of records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import kernel
from sfumato.kernels.term_suppression_closeness import solve_closeness
from sfumato.kernels.term_suppression_diversity import solve_diversity
from sfumato.kernels.term_suppression_frontier import NEVER
from sfumato.kernels.term_suppression_measures import FORBID, make_tally, satisfies
from sfumato.kernels.term_suppression_options import add_options, empty_pool
from sfumato.kernels.term_suppression_sets import sort_by_terms

UNCHANGED, SOLVED, UNREACHABLE = range(3)
_FULL_POOL = 1 << 23  # labels in a pool, after which options are forgotten


class Found(NamedTuple):
    """What came out. Sizes: n rows, g groups."""

    mask: NDArray[np.int64]  # (n, words): which known terms stay, in ascending order; -1: everything stays
    status: NDArray[np.int8]  # (g,)
    cost: NDArray[np.int64]  # (g,) in units of `harmonic`
    bound: NDArray[np.int64]  # (g,) no safe choice costs less
    total: NDArray[np.int64]  # (g,) what all terms of the group are worth
    proven: NDArray[np.bool_]  # (g,) whether the status and the cost are proven
    nodes: NDArray[np.int64]  # (g,)
    distance: NDArray[np.float64]  # (g,) squared; of an unreachable group the least that was seen
    tie: NDArray[np.bool_]  # (g,) whether the diversity of the answer was decided by remainders


def make_found(n_rows: int, n_groups: int, words: int) -> Found:
    """Return results before any work: everything stays."""
    return Found(
        mask=np.full((n_rows, words), -1, dtype=np.int64),
        status=np.zeros(n_groups, dtype=np.int8),
        cost=np.zeros(n_groups, dtype=np.int64),
        bound=np.zeros(n_groups, dtype=np.int64),
        total=np.zeros(n_groups, dtype=np.int64),
        proven=np.zeros(n_groups, dtype=np.bool_),
        nodes=np.zeros(n_groups, dtype=np.int64),
        distance=np.zeros(n_groups),
        tie=np.zeros(n_groups, dtype=np.bool_),
    )


@kernel
def _solve(rows, set_of, sets, links, harmonic, requirement, pool, desk, tally, nodes, group, found):
    """Solve one group that is not safe as it is; return the pool."""
    d = rows.size
    capped = False
    for i in range(d):
        if desk.slot_of_set[set_of[rows[i]]] < 0:
            pool = add_options(set_of[rows[i]], sets, links, harmonic, pool, desk)
    low, high, pick = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    sizes, ats = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    for i in range(d):
        slot = desk.slot_of_set[set_of[rows[i]]]
        low[i], high[i] = pool.first[slot], pool.last[slot]
        if requirement.unlinked == FORBID and pool.size[low[i]] == 0:
            low[i] += 1
        capped |= pool.capped[slot]
    if requirement.l > 0:
        cost, _excess, bound, used, proven = solve_diversity(
            low, high, pick, links.prior, requirement, pool, tally, nodes
        )
        distance = np.inf
    else:
        cost, distance, bound, used, proven = solve_closeness(
            low, high, pick, links.prior, requirement, pool, tally, nodes // 50
        )
    found.nodes[group] = used
    found.status[group] = UNREACHABLE
    found.proven[group] = proven and not capped
    found.bound[group] = 0 if capped else bound
    found.distance[group] = distance
    if cost == NEVER:
        return pool
    for i in range(d):
        sizes[i], ats[i] = pool.size[pick[i]], pool.at[pick[i]]
    safe, distance, _over, tie = satisfies(sizes, ats, pool.labels, links.prior, requirement, tally)
    if safe:
        found.status[group] = SOLVED
        found.cost[group], found.distance[group], found.tie[group] = cost, distance, tie
        for i in range(d):
            found.mask[rows[i]] = pool.mask[pick[i]]
    return pool


@kernel
def solve_groups(first, last, order, start, set_of, sets, links, harmonic, requirement, pool, desk, nodes, found):
    """Solve groups first:last; group g has the rows order[start[g]:start[g + 1]], which are put in the order of their terms.

    Returns the pool, which may have grown.
    """
    tally = make_tally(links.prior.size, max(requirement.l, 1))
    for group in range(first, last):
        rows = order[start[group] : start[group + 1]]
        sort_by_terms(rows, set_of, sets)
        d = rows.size
        sizes, ats = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
        total = np.int64(0)
        for i in range(d):
            number = set_of[rows[i]]
            sizes[i], ats[i] = sets.size[number], sets.at[number]
            total += harmonic[sets.start[number + 1] - sets.start[number] + sets.unknown[number]]
        found.total[group] = total
        safe, distance, _over, tie = satisfies(sizes, ats, sets.labels, links.prior, requirement, tally)
        if safe:
            found.status[group], found.proven[group] = UNCHANGED, True
            found.distance[group], found.tie[group] = distance, tie
            continue
        pool = _solve(rows, set_of, sets, links, harmonic, requirement, pool, desk, tally, nodes, group, found)
        if pool.used[2] > _FULL_POOL:
            empty_pool(pool, desk)
    return pool
