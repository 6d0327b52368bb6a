"""The published searches, for comparison: remove one occurrence of a term after the other, depth first.

`adaptive` tries every occurrence that is left, orders them by what they bring per cost (ties as they come) and follows
them in this order, each only with those after it; `dfs` follows them as they come, and looks at each when its turn
comes. Source: Shi and Xiong (2010), with
the readings fixed by the specification. Both stop when time is up; a search can be left and taken up again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.terms.measures import (
    FORBID,
    LINKED,
    N_ALL,
    N_LINKED,
    N_TOUCHED,
    NEAR,
    TOUCHED,
    clear,
    make_tally,
    put,
    squared_distance,
)
from sfumato.kernels.terms.options import AT, SIZE

DEPTH, BEST, STEPS, EVALUATED, FIRST = range(5)  # entries of Walk.state; BEST is a cost, -1 while there is none


class Walk(NamedTuple):
    """Where a search stands. Sizes: d records, o occurrences of terms."""

    state: NDArray[np.int64]  # (5,)
    record_of: NDArray[np.int64]  # (o,)
    bit_of: NDArray[np.int64]  # (o,)
    kept: NDArray[np.int64]  # (d,) one bit for each of the terms that are left
    best: NDArray[np.int64]  # (d,)
    tail: NDArray[np.int64]  # (o + 1, o) occurrences that each node may remove, in order
    length: NDArray[np.int64]  # (o + 1,)
    at: NDArray[np.int64]  # (o + 1,) next one to follow, -1 before the node is expanded
    cost: NDArray[np.int64]  # (o + 1,)
    fine: NDArray[np.bool_]  # (o + 1, o) whether the group is safe without it
    score: NDArray[np.float64]  # (o + 1,)


def start_walk(widths: NDArray[np.int64]) -> Walk:
    """Return a search of a group whose records have so many known terms each."""
    d, n = widths.size, int(widths.sum())
    return Walk(
        state=np.array([0, -1, 0, 0, -1], dtype=np.int64),
        record_of=np.repeat(np.arange(d), widths),
        bit_of=np.concatenate([np.arange(width) for width in widths]).astype(np.int64) if d else np.empty(0, np.int64),
        kept=(np.int64(1) << widths) - 1,
        best=(np.int64(1) << widths) - 1,
        tail=np.tile(np.arange(n), (n + 1, 1)),
        length=np.full(n + 1, n),
        at=np.full(n + 1, -1),
        cost=np.zeros(n + 1, dtype=np.int64),
        fine=np.zeros((n + 1, n), dtype=np.bool_),
        score=np.zeros(n + 1),
    )


@kernel
def _assess(d, prior, requirement, tally):
    """Return whether the tallied group is safe, and its score: l' under diversity, else minus the squared distance."""
    mass, values, note = tally
    n_labels = prior.size
    linked = note[n_labels, N_LINKED]
    if requirement.unlinked == FORBID and linked < d:
        return False, -4.0
    if linked == 0:
        return True, 1e9
    m = linked if requirement.unlinked == LINKED else d
    fine, score = True, 0.0
    if requirement.limit >= 0.0:
        distance = squared_distance(m, prior, requirement, tally)
        fine, score = distance <= requirement.limit, -distance
    if requirement.l > 0:
        n = note[n_labels, N_TOUCHED]
        floor = note[n_labels, N_ALL] / n_labels
        count = 0
        for i in range(n):
            if mass[note[i, TOUCHED]] > 0.0:
                values[count] = mass[note[i, TOUCHED]] + floor
                count += 1
        ordered = np.sort(values[:count])
        largest = ordered[count - 1] if count > 0 else floor
        # Labels from the least likely on: those that only records with all labels reach, then the others.
        others = n_labels - count if floor > 0.0 else 0
        rest, reached = 0.0, 0
        needed = largest / requirement.c - NEAR * linked
        if others > 0 and floor * others >= needed:
            reached = count + others + 1 - max(int(np.ceil(needed / floor)), 1)
        else:
            rest = floor * others
            for i in range(count):
                rest += ordered[i]
                if rest >= needed:
                    reached = count - i
                    break
        fine = fine and reached >= requirement.l
        score = float(reached)
    return fine, score


@kernel
def _switch(i, bit, kept, left, now, option_of, table, labels, tally):
    """Remove a term of record i, or put it back, with what follows for its option and the tally."""
    put(table[now[i], SIZE], table[now[i], AT], labels, -1.0, tally)
    left[i] += 1 - 2 * (kept[i] >> bit & 1)
    kept[i] ^= np.int64(1) << bit
    now[i] = option_of[i, kept[i]]
    put(table[now[i], SIZE], table[now[i], AT], labels, 1.0, tally)


@kernel
def _best_first(rank, tail, fine):
    """Put occurrences in the order of falling ranks, equal ones as they come."""
    for j in range(1, rank.size):
        occurrence, safe, value = tail[j], fine[j], rank[j]
        spot = j
        while spot > 0 and rank[spot - 1] < value:
            tail[spot], fine[spot], rank[spot] = tail[spot - 1], fine[spot - 1], rank[spot - 1]
            spot -= 1
        tail[spot], fine[spot], rank[spot] = occurrence, safe, value


@kernel
def walk_on(walk, steps, adaptive, option_of, unit, prior, requirement, menu):
    """Go on with a search for so many steps; return whether it is finished.

    option_of[record, kept] is the option with the labels of a kept set; unit:
    cost one, divisible by every number of terms.
    """
    table, _value, labels = menu
    state, record_of, bit_of, kept, best, tail, length, at, cost, fine, score = walk
    d = kept.size
    tally = make_tally(prior.size, np.int64(0))
    clear(tally)
    now = np.empty(d, dtype=np.int64)
    left = np.zeros(d, dtype=np.int64)
    for i in range(d):
        now[i] = option_of[i, kept[i]]
        put(table[now[i], SIZE], table[now[i], AT], labels, 1.0, tally)
    for occurrence in range(record_of.size):
        i = record_of[occurrence]
        left[i] += kept[i] >> bit_of[occurrence] & 1
    depth = state[DEPTH]
    while depth >= 0:
        if steps <= 0:
            state[DEPTH] = depth
            return False
        steps -= 1
        state[STEPS] += 1
        if at[depth] < 0:
            if depth == 0:
                safe, score[0] = _assess(d, prior, requirement, tally)
                if safe:
                    state[BEST] = 0
                    break
            rank = np.empty(length[depth] if adaptive else 0)
            for j in range(rank.size):  # how the group would be without each occurrence
                i, bit = record_of[tail[depth, j]], bit_of[tail[depth, j]]
                _switch(i, bit, kept, left, now, option_of, table, labels, tally)
                fine[depth, j], value = _assess(d, prior, requirement, tally)
                _switch(i, bit, kept, left, now, option_of, table, labels, tally)
                rank[j] = (value - score[depth]) * left[i]
            state[EVALUATED] += rank.size
            if adaptive:
                _best_first(rank, tail[depth], fine[depth])
            at[depth] = 0
        if at[depth] == length[depth]:
            at[depth] = -1
            depth -= 1
            if depth >= 0:
                occurrence = tail[depth, at[depth] - 1]
                i, bit = record_of[occurrence], bit_of[occurrence]
                _switch(i, bit, kept, left, now, option_of, table, labels, tally)
            continue
        j = at[depth]
        at[depth] += 1
        occurrence = tail[depth, j]
        i = record_of[occurrence]
        price = cost[depth] + unit // left[i]
        if state[BEST] >= 0 and price >= state[BEST]:
            continue
        if not adaptive:  # looked at when its turn comes, not before
            _switch(i, bit_of[occurrence], kept, left, now, option_of, table, labels, tally)
            fine[depth, j], _ = _assess(d, prior, requirement, tally)
            _switch(i, bit_of[occurrence], kept, left, now, option_of, table, labels, tally)
            state[EVALUATED] += 1
        if fine[depth, j]:
            state[BEST] = price
            if state[FIRST] < 0:
                state[FIRST] = price
            for other in range(d):
                best[other] = kept[other]
            best[i] ^= np.int64(1) << bit_of[occurrence]
            continue
        _switch(i, bit_of[occurrence], kept, left, now, option_of, table, labels, tally)
        for further in range(j + 1, length[depth]):
            tail[depth + 1, further - j - 1] = tail[depth, further]
        length[depth + 1] = length[depth] - j - 1
        cost[depth + 1] = price
        depth += 1
        at[depth] = -1
        if adaptive:
            _safe, score[depth] = _assess(d, prior, requirement, tally)
    state[DEPTH] = -1
    return True
