"""Removing terms from records so that groups of them are safe: plain arrays in, plain arrays out, on all threads.

Sizes: n records, g groups, r rows and e terms of the knowledge table.
"""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Deadline, Workplace, side_by_side
from sfumato.anonymizers.term_suppression.records import POLICIES, Floats, Ints, Records
from sfumato.kernels.terms.closeness import search_closeness
from sfumato.kernels.terms.diversity import search_diversity
from sfumato.kernels.terms.frontier import NEVER
from sfumato.kernels.terms.greedy import first_closeness
from sfumato.kernels.terms.levels import bound_by_sizes, first_levels
from sfumato.kernels.terms.links import Links
from sfumato.kernels.terms.measures import FORBID, PRIMES, Requirement, judge
from sfumato.kernels.terms.options import AT, COST, SIZE, Menu, add_options, forget_options, make_pool
from sfumato.kernels.terms.repair import repair_groups
from sfumato.kernels.terms.sets import mark_kept, sort_groups
from sfumato.kernels.terms.subsets import make_subsets

UNCHANGED, SOLVED, UNREACHABLE = range(3)  # what became of a group
NODES = 400_000  # of the search in one group
_NODES_OF_TREE = 50  # a node of the tree under closeness looks at so many options
_ROWS_AT_A_TIME = 1024


def make_requirement(
    prior: Floats, unlinked: str = "linked", t: float | None = None, c: Fraction | None = None, l: int = 0
) -> Requirement:
    """Return what groups must satisfy: closeness to the prior if t is given, diversity if c and l are.

    Distances up to t + 1e-9 pass an audit; answers keep to half of that tolerance.
    """
    ratio = Fraction(1) if c is None else c
    return Requirement(
        unlinked=POLICIES[unlinked],
        limit=-1.0 if t is None else (t + 4e-10) ** 2,
        bound=-1.0 if t is None else (t + 6e-10) ** 2,
        l=int(l),
        c=float(ratio),
        over=(ratio.numerator % PRIMES[0], ratio.numerator % PRIMES[1]),
        under=(ratio.denominator % PRIMES[0], ratio.denominator % PRIMES[1]),
        prior_sum=float(prior.sum()),
        prior_square=float(prior @ prior),
    )


def groups_as_ranges(group_of: NDArray[Any], n_groups: int) -> tuple[Ints, Ints]:
    """Return the rows group by group, and where each group starts, shapes (n,) and (g + 1,).

    >>> groups_as_ranges(np.array([1, 0, 1]), 2)
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    start = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group_of, minlength=n_groups), out=start[1:])
    return np.argsort(group_of, kind="stable").astype(np.int64), start


class Found(NamedTuple):
    """What came out."""

    kept_bits: Ints  # (n, words): which known terms of a record stay, in ascending order; -1: everything stays
    status: NDArray[np.int8]  # (g,) UNCHANGED, SOLVED or UNREACHABLE
    cost: Ints  # (g,) in units of Records.harmonic
    bound: Ints  # (g,) no safe choice costs less
    total: Ints  # (g,) what all terms of the group are worth
    proven: NDArray[np.bool_]  # (g,) whether status and cost are proven
    nodes: Ints  # (g,) of the search
    distance: Floats  # (g,) squared; of an unreachable group the least that was seen
    tie: NDArray[np.bool_]  # (g,) whether remainders decided that the group is diverse

    def of(self, groups: slice | NDArray[np.bool_]) -> Found:
        """Return the results of some groups; those by record are of all."""
        columns: list[Any] = [column[groups] for column in self[1:]]
        return Found(self.kept_bits, *columns)


def nothing_found(n_rows: int, n_groups: int, words: int) -> Found:
    """Return results before any work: everything stays."""
    return Found(
        kept_bits=np.full((n_rows, words), -1, dtype=np.int64),
        status=np.full(n_groups, UNCHANGED, dtype=np.int8),
        cost=np.zeros(n_groups, dtype=np.int64),
        bound=np.zeros(n_groups, dtype=np.int64),
        total=np.zeros(n_groups, dtype=np.int64),
        proven=np.ones(n_groups, dtype=np.bool_),
        nodes=np.zeros(n_groups, dtype=np.int64),
        distance=np.zeros(n_groups),
        tie=np.zeros(n_groups, dtype=np.bool_),
    )


class Room:
    """What one thread works with."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.subsets = make_subsets(records.links.label_of_row.size, records.words)
        self.make(1 << 17, 1 << 20 if records.links.likelihood.size else 1 << 22)

    def make(self, options: int, labels: int) -> None:
        """Make room for so many options and labels."""
        self.pool, self.menu = make_pool(
            self.records.sets.size.size, self.records.words, options, labels, self.records.links
        )

    def list_options(self, numbers: Ints, links: Links) -> int:
        """List the options of some sets anew; return for how many there was room, at least one."""
        records = self.records
        while True:
            forget_options(self.pool)
            arguments = (numbers, records.sets, links, records.harmonic, self.pool, self.menu, self.subsets)
            done = int(add_options(*arguments))
            if done > 0:
                return done
            self.grow()

    def slots_of(self, numbers: Ints, links: Links) -> Ints:
        """Return the slots of some sets, with room for the options of all of them at once."""
        distinct = np.unique(numbers)
        while self.list_options(distinct, links) < distinct.size:
            self.grow()
        return self.pool.slot[self.pool.slot_of_set[numbers]]

    def grow(self) -> None:
        """Make room for twice as many options and forget those at hand."""
        self.make(2 * self.menu.table.shape[0], 2 * self.menu.labels.label.size)


def solve_all(
    records: Records,
    order: Ints,
    start: Ints,
    prior: Floats,
    requirement: Requirement,
    *,
    nodes: int = NODES,
    deadline: Deadline | None = None,
    workplace: Workplace | None = None,
    advance: Callable[[int], None] = lambda groups: None,
) -> Found:
    """Choose which terms stay, for every group; the same for any number of threads and any order of records.

    Group g has the rows order[start[g]:start[g + 1]]. Once the deadline is over, groups not yet begun get a first
    solution without a search: as safe, not as cheap.
    """
    links = records.links._replace(prior=np.ascontiguousarray(prior, dtype=np.float64))
    found = nothing_found(records.set_of.size, start.size - 1, records.words)
    order = order.copy()
    sort_groups(order, start, records.set_of, records.sets)
    deadline, workplace = deadline or Deadline(), workplace or Workplace()
    rooms: queue.SimpleQueue[Room] = queue.SimpleQueue()
    for _ in range(max(workplace.threads, 1)):
        rooms.put(Room(records))

    def work(piece: tuple[int, int], place: Workplace) -> None:
        room = rooms.get()
        first, last = piece
        rows, begin = order[start[first] : start[last]], start[first : last + 1] - start[first]
        budget = 0 if deadline.over() else nodes
        try:
            _solve_piece(rows, begin, links, requirement, budget, room, found.of(slice(first, last)))
        finally:
            rooms.put(room)
        advance(last - first)

    side_by_side(work, _pieces(start), workplace)
    return found


def _pieces(start: Ints) -> list[tuple[int, int]]:
    """Cut groups into ranges of about equally many rows."""
    n_groups = start.size - 1
    cuts = np.searchsorted(start, np.arange(0, int(start[-1]), _ROWS_AT_A_TIME), side="left")
    edges = np.unique(np.concatenate([[0], cuts, [n_groups]]))
    return [(int(low), int(high)) for low, high in itertools.pairwise(edges)]


def _solve_piece(
    rows: Ints, begin: Ints, links: Links, requirement: Requirement, nodes: int, room: Room, found: Found
) -> None:
    """Solve some groups: first a test of what is safe as it is, then the rest in as many turns as room allows."""
    set_at = room.records.set_of[rows].astype(np.int64)
    safe = judge_as_is(room.records, links, rows, begin, requirement, found)
    wanted = np.flatnonzero(~safe)
    while wanted.size:
        needed = set_at[np.concatenate([np.arange(begin[group], begin[group + 1]) for group in wanted])]
        _sets, place = np.unique(needed, return_index=True)
        numbers = needed[np.sort(place)]
        done = room.list_options(numbers, links)
        at_hand = room.pool.slot_of_set[set_at] >= 0
        missing = np.flatnonzero([not at_hand[begin[group] : begin[group + 1]].all() for group in wanted])
        complete = wanted if done == numbers.size or not missing.size else wanted[: missing[0]]
        if not complete.size:
            room.grow()  # not even one group fits
            continue
        _solve_listed(complete, rows, begin, links.prior, requirement, nodes, room, found)
        wanted = wanted[complete.size :]


def judge_as_is(
    records: Records, links: Links, rows: Ints, begin: Ints, requirement: Requirement, found: Found
) -> NDArray[np.bool_]:
    """Return which groups are safe with all their terms; notes what the terms of each are worth, and how far it is."""
    sets, set_at, n = records.sets, records.set_of[rows], begin.size - 1
    np.add.at(found.total, np.repeat(np.arange(n), np.diff(begin)), sets.worth[set_at])
    safe = np.zeros(n, dtype=np.bool_)
    size_at, at_at = sets.size[set_at].astype(np.int64), sets.at[set_at]
    judge(np.arange(n), begin, size_at, at_at, sets.labels, links.prior, requirement, safe, found.distance, found.tie)
    return safe


class _Answers(NamedTuple):
    """What is known of the groups of a piece while they are searched."""

    pick: Ints  # (records,): the option of each
    cost: Ints  # (groups,), NEVER where none was found
    bound: Ints
    used: Ints  # nodes of the search
    distance: Floats
    proven: NDArray[np.bool_]
    safe: NDArray[np.bool_]
    tie: NDArray[np.bool_]

    @classmethod
    def none_yet(cls, pick: Ints, n: int) -> _Answers:
        """Return what is known before the search of n groups."""
        zero, no = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
        return cls(pick, np.full(n, NEVER), zero, zero.copy(), np.full(n, np.inf), no, no.copy(), no.copy())


def _solve_listed(
    groups: Ints, rows: Ints, begin: Ints, prior: Floats, requirement: Requirement, nodes: int, room: Room, found: Found
) -> None:
    """Solve those of the groups whose options are listed."""
    slot = np.maximum(room.pool.slot_of_set[room.records.set_of[rows]], 0)  # groups that are not listed get anything
    low, high = room.pool.slot[slot, 1], room.pool.slot[slot, 2]
    if requirement.unlinked == FORBID:
        low = low + (room.menu.table[low, SIZE] == 0)
    capped = room.pool.slot[slot, 3] != 0
    answers = _Answers.none_yet(low.copy(), begin.size - 1)
    _search(groups, begin, low, high, prior, requirement, nodes, room.menu, answers)
    for group in groups:
        begins, ends = begin[group], begin[group + 1]
        good = answers.cost[group] < NEVER and answers.safe[group]
        some_missing = capped[begins:ends].any()
        found.status[group] = SOLVED if good else UNREACHABLE
        found.cost[group] = answers.cost[group] if good else 0
        found.bound[group] = 0 if some_missing else min(answers.bound[group], found.total[group])
        found.proven[group] = answers.proven[group] and not some_missing
        found.nodes[group], found.distance[group] = answers.used[group], answers.distance[group]
        found.tie[group] = answers.tie[group]
        if good:
            found.kept_bits[rows[begins:ends]] = room.pool.kept_bits[answers.pick[begins:ends]]


def _search(
    groups: Ints,
    begin: Ints,
    low: Ints,
    high: Ints,
    prior: Floats,
    requirement: Requirement,
    nodes: int,
    menu: Menu,
    answers: _Answers,
) -> None:
    """Fill the answers: a first one for each group, then the best that the nodes allow, judged at the end."""
    pick, cost, bound, used, distance, proven, safe, tie = answers
    where = (groups, begin, low, high, pick)

    def judge_picks(some: Ints) -> None:
        size_at, at_at = menu.table[pick, SIZE], menu.table[pick, AT]
        judge(some, begin, size_at, at_at, menu.labels, prior, requirement, safe, distance, tie)

    if requirement.l > 0:
        first_levels(*where, requirement, prior.size, menu)
        judge_picks(groups)
        failed = groups[~safe[groups]]
        for group in groups[safe[groups]]:
            cost[group] = menu.table[pick[begin[group] : begin[group + 1]], COST].sum()
        if failed.size:
            repair_groups(failed, *where[1:], prior, requirement, menu, cost)
        search_diversity(*where, prior, requirement, menu, nodes, cost, bound, used, proven)
        unbounded = groups[(bound[groups] == 0) & ~proven[groups] & (cost[groups] < NEVER)]
        if unbounded.size and nodes:
            by_sizes = nodes // _NODES_OF_TREE
            bound_by_sizes(unbounded, begin, low, high, cost, requirement, prior.size, menu, by_sizes, bound)
    else:
        of_tree = nodes // _NODES_OF_TREE
        first_closeness(*where, prior, requirement, menu, cost, distance)
        search_closeness(*where, prior, requirement, menu, of_tree, cost, distance, bound, used, proven)
    judge_picks(groups[cost[groups] < NEVER])


def kept_items(records: Records, found: Found) -> NDArray[np.bool_]:
    """Return for every item of every record whether it stays."""
    keep = np.empty(records.term_of_item.size, dtype=np.bool_)
    mark_kept(records.start, records.term_of_item, found.kept_bits, keep)
    return keep
