"""The published searches over many groups, with the paper's bound on the time of each group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.anonymizers.base import Deadline
from sfumato.anonymizers.term_suppression.records import Floats, Ints, Records
from sfumato.anonymizers.term_suppression.search import SOLVED, UNREACHABLE, Found, Room, judge_as_is, nothing_found
from sfumato.kernels.published.terms import BEST, start_walk, walk_on
from sfumato.kernels.terms.measures import Requirement, judge
from sfumato.kernels.terms.options import AT, SIZE, Menu
from sfumato.kernels.terms.subsets import SMALL

_STEPS = 64  # between two looks at the clock


def solve_published(
    records: Records,
    order: Ints,
    start: Ints,
    prior: Floats,
    requirement: Requirement,
    *,
    adaptive: bool = True,
    seconds: float = 10.0,
    advance: Callable[[int], None] = lambda groups: None,
    checkpoint: Callable[[], None] = lambda: None,
) -> Found:
    """Choose which terms stay, by the published search; groups as in `solve_all`, records of at most 14 terms.

    `proven` says that a search went through all that could be better; `nodes` counts its steps.
    """
    links = records.links._replace(prior=np.ascontiguousarray(prior, dtype=np.float64))
    found = nothing_found(records.set_of.size, start.size - 1, records.words)
    safe = judge_as_is(records, links, order, start, requirement, found)
    room = Room(records)
    widths = np.diff(records.sets.start) + records.sets.unknown
    for group in np.flatnonzero(~safe).tolist():
        rows = order[start[group] : start[group + 1]]
        numbers = records.set_of[rows].astype(np.int64)
        slot = room.slots_of(numbers, links)
        option_of = _options_of_kept_sets(records, numbers, slot, room)
        walk = start_walk(widths[numbers].astype(np.int64))
        unit, deadline = np.int64(records.unit), Deadline(seconds)
        finished = False
        while not finished and not deadline.over():
            checkpoint()
            finished = walk_on(walk, _STEPS, adaptive, option_of, unit, links.prior, requirement, room.menu)
        found.proven[group], found.nodes[group], found.status[group] = finished, walk.state[2], UNREACHABLE
        if walk.state[BEST] >= 0:
            pick = option_of[np.arange(rows.size), walk.best]
            holds, distance = _judged(pick, links.prior, requirement, room.menu)
            if holds:
                found.status[group], found.cost[group], found.distance[group] = SOLVED, walk.state[BEST], distance
                found.kept_bits[rows, 0] = np.where(room.menu.table[pick, SIZE] > 0, walk.best, -1)
        advance(1)
    advance(int(safe.sum()))
    return found


def _options_of_kept_sets(records: Records, numbers: Ints, slot: Ints, room: Room) -> Ints:
    """Return for every record and every choice of its terms, known ones first, the option that has the same labels."""
    widths = np.diff(records.sets.start)[numbers]
    unknown = records.sets.unknown[numbers]
    result = np.full((numbers.size, 1 << min(int((widths + unknown).max(initial=0)), SMALL)), -1, dtype=np.int64)
    for i in range(numbers.size):
        first, last = slot[i, 1], slot[i, 2]
        result[i] = first  # linked to nothing, unless a closed set contains it
        choices = np.arange(1 << widths[i])
        for option in range(last - 1, first - 1, -1):
            if room.menu.table[option, SIZE]:
                inside = choices & ~room.pool.kept_bits[option, 0] == 0
                chosen = choices[inside]
                larger = room.menu.table[result[i, chosen], SIZE] < room.menu.table[option, SIZE]
                result[i, chosen[larger]] = option
    return result


def _judged(pick: Ints, prior: Floats, requirement: Requirement, menu: Menu) -> tuple[bool, float]:
    """Return whether a group whose records have these options is safe, and its squared distance to the prior."""
    safe, distance, tie = np.zeros(1, dtype=np.bool_), np.zeros(1), np.zeros(1, dtype=np.bool_)
    size_at, at_at, one = menu.table[pick, SIZE], menu.table[pick, AT], np.zeros(1, dtype=np.int64)
    judge(one, np.array([0, pick.size]), size_at, at_at, menu.labels, prior, requirement, safe, distance, tie)
    return bool(safe[0]), float(distance[0])
