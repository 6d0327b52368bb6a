"""Removing terms from records so that groups of them are safe: plain arrays in, plain arrays out, on all threads.

Sizes: n records, g groups, r rows and e terms of the knowledge table. See `term_suppression_groups` for the answers.
"""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


from sfumato.kernels.term_suppression_measures import FORBID, LINKED, PRIMES, ZERO, Requirement
from sfumato.kernels.term_suppression_options import BITS, Links, Sets, make_desk, make_links, make_pool
from sfumato.kernels.term_suppression_sets import add_up_prior, link_sets, mark_kept, number_sets

NODES = 400_000  # of the search in one group
POLICIES = {"linked": LINKED, "zero": ZERO, "forbid": FORBID}
_EXACT_WIDTH = 30  # terms up to which costs are exact: the least common multiple of 1..30 leaves room for large groups
_ROWS_AT_A_TIME = 1024

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Records(NamedTuple):
    """Records as numbered sets of terms, with the knowledge table that they are looked up in."""

    start: Ints  # (n + 1,)
    term_of_item: NDArray[np.int32]  # -1: not in the knowledge table
    set_of: NDArray[np.int32]  # (n,)
    sets: Sets
    links: Links  # without a prior yet
    harmonic: Ints  # 1 + 1/2 + ... + 1/i in whole units
    unit: int  # how many of them make one
    words: int  # of a mask

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Which records some label explains as they are, shape (n,)."""
        return (self.sets.size > 0)[self.set_of]


def code_records(
    start: Ints,
    term_of_item: NDArray[np.int32],
    row_start: Ints,
    row_terms: NDArray[np.int32],
    label_of_row: NDArray[np.int32],
    n_terms: int,
    n_labels: int,
) -> Records:
    """Number equal records once and link them to labels.

    Record i has the terms term_of_item[start[i]:start[i + 1]], without repeats; row j of the knowledge table belongs to
    label_of_row[j], ascending, and has the terms row_terms[row_start[j]:row_start[j + 1]], ascending.
    """
    start = np.ascontiguousarray(start, dtype=np.int64)
    term_of_item = np.ascontiguousarray(term_of_item, dtype=np.int32)
    links = make_links(row_start, row_terms, label_of_row, n_terms, np.zeros(n_labels))
    n = start.size - 1
    set_of, unknown = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    set_start = np.zeros(n + 1, dtype=np.int64)
    terms = np.empty(max(term_of_item.size, 1), dtype=np.int32)
    n_sets = number_sets(start, term_of_item, set_of, set_start, terms, unknown)
    set_start, unknown = set_start[: n_sets + 1].copy(), unknown[:n_sets].copy()
    terms = terms[: set_start[-1]].copy()
    size, at_of = np.empty(n_sets, dtype=np.int32), np.empty(n_sets, dtype=np.int64)
    labels = link_sets(set_start, terms, unknown, links, size, at_of)
    sets = Sets(start=set_start, terms=terms, unknown=unknown, size=size, at=at_of, labels=labels)
    known = int(np.diff(set_start).max(initial=0))
    harmonic, unit = harmonic_numbers(int((np.diff(set_start) + unknown).max(initial=0)))
    words = max(1, -(-known // BITS))
    return Records(start, term_of_item, set_of, sets, links, harmonic, unit, words)


def harmonic_numbers(most: int) -> tuple[Ints, int]:
    """Return H(0), ..., H(most) in whole units, and how many units make one; exact up to 30 terms.

    >>> harmonic_numbers(3)
    (array([ 0,  6,  9, 11]), 6)
    """
    unit = math.lcm(*range(1, most + 1)) if most <= _EXACT_WIDTH else 1 << 40
    parts = [0, *(Fraction(unit, number) for number in range(1, most + 1))]
    return np.array([round(sum(parts[: i + 1])) for i in range(most + 1)], dtype=np.int64), unit


def estimate_prior(records: Records, unlinked: str = "linked") -> Floats:
    """Return what records as they are tell about each label: the mean of their beliefs, shape (labels,).

    >>> knowledge = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([0, 1], np.int32)
    >>> records = code_records(np.array([0, 1, 1]), np.array([0], np.int32), *knowledge, 2, 2)
    >>> estimate_prior(records)
    array([0.75, 0.25])
    """
    weight = np.bincount(records.set_of, minlength=records.sets.size.size).astype(np.int64)
    by_size = np.argsort(records.sets.size, kind="stable")
    prior = np.zeros(records.links.prior.size)
    sets = records.sets
    linked = add_up_prior(by_size, sets.size, sets.at, sets.labels, weight, prior)
    m = int(linked) if POLICIES[unlinked] == LINKED else records.set_of.size
    return prior / max(m, 1)


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


def solve_all(
    records: Records,
    order: Ints,
    start: Ints,
    prior: Floats,
    requirement: Requirement,
    *,
    threads: int = 1,
    nodes: int = NODES,
    time_limit: float | None = None,
    advance: Callable[[int], None] = lambda groups: None,
) -> Any:
    """Choose which terms stay, for every group; the same for any number of threads.

    Once `time_limit` seconds have passed, groups not yet begun get a first solution without a search: as safe, not as cheap.
    """
    links = records.links._replace(prior=np.ascontiguousarray(prior, dtype=np.float64))
    found = make_found(records.set_of.size, start.size - 1, records.words)
    order = order.copy()
    rooms: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for _ in range(threads):
        desk = make_desk(links.label_of_row.size, records.sets.size.size, records.words)
        rooms.put((make_pool(records.words), desk))
    stop = math.inf if time_limit is None else time.monotonic() + time_limit

    def work(piece: tuple[int, int]) -> None:
        pool, desk = rooms.get()
        budget = nodes if time.monotonic() < stop else 0
        pool = solve_groups(
            piece[0], piece[1], order, start, records.set_of, records.sets, links, records.harmonic, requirement,
            pool, desk, budget, found,
        )  # fmt: skip
        rooms.put((pool, desk))
        advance(piece[1] - piece[0])

    pieces = _pieces(start)
    if threads == 1:
        for piece in pieces:
            work(piece)
    else:
        with ThreadPoolExecutor(threads) as crew:
            for _done in crew.map(work, pieces):
                pass
    return found


def _pieces(start: Ints) -> list[tuple[int, int]]:
    """Cut groups into ranges of about equally many rows."""
    n_groups = start.size - 1
    cuts = np.searchsorted(start, np.arange(0, int(start[-1]), _ROWS_AT_A_TIME), side="left")
    edges = np.unique(np.concatenate([[0], cuts, [n_groups]]))
    return [(int(low), int(high)) for low, high in zip(edges[:-1], edges[1:], strict=True)]


def kept_items(records: Records, found: Any) -> NDArray[np.bool_]:
    """Return for every item of every record whether it stays."""
    keep = np.empty(records.term_of_item.size, dtype=np.bool_)
    mark_kept(records.start, records.term_of_item, found.mask, keep)
    return keep


def merge_unreachable(
    records: Records,
    node_of: NDArray[Any],
    parent: NDArray[Any],
    prior: Floats,
    requirement: Requirement,
    **options: Any,
) -> tuple[Any, Ints, Ints, int]:
    """Solve groups, and those that cannot be made safe together with their siblings, from their original terms.

    node_of[row] is the leaf of the split tree that a row is in; parent[node] is -1 for the root. Returns the answers, the
    node of the tree that each row ends in, shape (n,), the node of each group, and how many leaves were merged.
    """
    node_of, parent = np.asarray(node_of, dtype=np.int64), np.asarray(parent, dtype=np.int64)
    home, inverse = np.unique(node_of, return_inverse=True)
    leaves = home.copy()
    order, start = groups_as_ranges(inverse, home.size)
    found = solve_all(records, order, start, prior, requirement, **options)
    while True:
        failed = np.flatnonzero(found.status == UNREACHABLE)
        above = np.unique(parent[home[failed]])
        above = above[above >= 0]
        if above.size == 0:
            return found, home[inverse], home, int(leaves.size - home.size + (np.isin(home, leaves, invert=True)).sum())
        raised = _topmost(home, parent, above)
        changed = raised != home
        again, position = np.unique(raised, return_inverse=True)
        renewed = np.zeros(again.size, dtype=np.bool_)
        renewed[position[changed]] = True
        inverse = position[inverse]
        merged = _carry_over(found, position, renewed, again.size)
        rows = np.flatnonzero(renewed[inverse])
        rank = np.cumsum(renewed) - 1
        order, start = groups_as_ranges(rank[inverse[rows]], int(renewed.sum()))
        fresh = solve_all(records, rows[order], start, prior, requirement, **options)
        merged.mask[rows] = fresh.mask[rows]
        for old, new in zip(merged[1:], fresh[1:], strict=True):
            old[renewed] = new
        found, home = merged, again


def _topmost(home: Ints, parent: Ints, marked: Ints) -> Ints:
    """Return for every node its highest ancestor among the marked ones, or itself."""
    wanted = np.zeros(parent.size, dtype=np.bool_)
    wanted[marked] = True
    result, walk = home.copy(), home.copy()
    while True:
        alive = walk >= 0
        if not alive.any():
            return result
        hit = alive & wanted[walk]
        result[hit] = walk[hit]
        walk = np.where(alive, parent[walk], -1)


def _carry_over(found: Any, position: Ints, renewed: NDArray[np.bool_], n_groups: int) -> Any:
    """Return results for a new numbering of groups; those to be renewed are empty."""
    mask = found.mask.copy()
    columns = []
    for old in found[1:]:
        new = np.zeros(n_groups, dtype=old.dtype)
        stay = ~renewed[position]
        new[position[stay]] = old[stay]
        columns.append(new)
    return Any(mask, *columns)
