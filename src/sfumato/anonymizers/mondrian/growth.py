"""A table that is being cut: distinct combinations in the arrays of kernels, and rounds of cuts on all threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Crowding
from sfumato.anonymizers.boxes import Integers, measure_of, ranges
from sfumato.anonymizers.conditions import Asked
from sfumato.anonymizers.local_recoding.units import shares_of
from sfumato.data.dataset import CodedColumn, Codes, distinct_codes, starts_of, weights_of
from sfumato.data.grid import Grid
from sfumato.data.recoding import SplitTree
from sfumato.kernels.classes.conditions import Conditions
from sfumato.kernels.classes.cuts import BALANCED, BEST, RANGE, VALUES, Desk, Table, make_desk
from sfumato.kernels.classes.mondrian import divide, propose

# Which groups satisfy a requirement, given rows, group after group, and where each group starts.
Check: TypeAlias = Callable[[Integers, Integers], NDArray[np.bool_]]

DEEP = 64  # rounds after which parts are halved, lest a long row of values is cut off one by one
LARGE = 4_096  # items from which on threads share the attributes of a part
SCATTERED = 512  # items up to which a part is cut with an eye on who is crowded together
NEARLY = 1.03  # times the loss of the best cut: cuts that are nearly as good
TRIES = 64  # cuts of a part that are tried, at most, when a check refuses one after the other


@dataclass(frozen=True, eq=False)
class Items:
    """What is cut: distinct combinations of quasi-identifiers, or single rows. Sizes: c items, n rows."""

    codes: Codes  # (c, q), in ascending order
    weight: Integers  # (c,): how many rows each is
    item_of: NDArray[np.integer]  # (n,)
    share_start: Integers  # (c + 1,)
    shares: Integers  # (s, 2): bars of a histogram of sensitive values, and how many rows each item has in them

    @cached_property
    def rows(self) -> Integers:
        """The rows, item after item, shape (n,)."""
        return np.argsort(self.item_of, kind="stable")

    @cached_property
    def end(self) -> Integers:
        """Where each item's rows end, shape (c,)."""
        return np.cumsum(self.weight)

    def rows_of(self, items: Integers) -> Integers:
        """Return the rows of some items, item after item."""
        return self.rows[ranges(self.end[items] - self.weight[items], self.end[items])]


def items_of(
    columns: Sequence[CodedColumn], grids: Mapping[str, Grid], asked: Asked, n_rows: int, *, together: bool
) -> Items:
    """Return combinations of quasi-identifiers, or single rows unless equal ones stay together.

    Whatever lies in one band of a grid is equal: it is published alike.
    """
    shown = [
        (column.codes, len(column.labels))
        if (grid := grids.get(column.name)) is None
        else (grid.band_of[column.codes], grid.size)
        for column in columns
    ]
    distinct = distinct_codes(shown, n_rows, asked.weights)
    if together:
        size_of, item_of = distinct.weight, distinct.distinct_of
        return Items(distinct.codes, size_of, item_of, *shares_of(item_of, size_of.size, asked.bar_of, asked.weights))
    n_columns = asked.bar_of.shape[0]
    # Equal rows stand in the order of their sensitive values, so that which of them are divided depends on row numbers
    # only where it makes no difference.
    order = np.lexsort((*asked.bar_of, distinct.distinct_of))
    item_of = np.empty(n_rows, dtype=np.int64)
    item_of[order] = np.arange(n_rows)
    shares = np.ones((n_rows * n_columns, 2), dtype=np.int64)
    shares[:, 0] = asked.bar_of[:, order].T.ravel()
    one = np.ones(n_rows, dtype=np.int64)
    return Items(distinct.codes[distinct.distinct_of[order]], one, item_of, np.arange(n_rows + 1) * n_columns, shares)


def table_of(
    columns: Sequence[CodedColumn],
    grids: Mapping[str, Grid],
    items: Items,
    *,
    value_sets: bool,
    exact: bool,
    by_hierarchy: bool,
    divide_ties: bool,
) -> Table:
    """Return what the kernels work on; the options are those of the anonymizer."""
    attribute = np.zeros((len(columns), 4), dtype=np.int64)
    nodes, values = [np.empty((0, 3), dtype=np.int64)], [np.empty(0)]
    first_node = 0
    weights = weights_of(columns)
    for position, column in enumerate(columns):
        nodes.append(np.full((1, 3), -1))
        values.append(weights[position : position + 1])
        first_node += 1
        measure, grid = measure_of(column, value_sets=value_sets, exact=exact), grids.get(column.name)
        n_values = len(column.labels) if grid is None else grid.size
        code = np.arange(n_values)
        node, value = np.stack([code, code, np.full(n_values, -1)], axis=1), np.zeros(n_values)
        if measure == RANGE:
            reach = _positions(column)
            begin, end = (reach, reach) if grid is None else (reach[grid.first], reach[grid.last])
            node, value = np.concatenate([node, node]), np.concatenate([begin, end])
        elif column.tree is not None:
            parent = np.where(column.tree.parent >= 0, column.tree.parent + first_node, -1)
            node, value = np.stack([column.tree.first, column.tree.last, parent], axis=1), column.node_loss()
        by_node = measure != RANGE and by_hierarchy
        attribute[position] = first_node, n_values, measure, by_node
        nodes.append(node.astype(np.int64))
        values.append(value)
        first_node += value.size
    return Table(
        codes=np.ascontiguousarray(items.codes, dtype=np.int32),
        weight=items.weight.astype(np.int64),
        share_start=items.share_start.astype(np.int64),
        shares=items.shares,
        attribute=attribute,
        node=np.concatenate(nodes),
        value=np.concatenate(values),
        divide_ties=divide_ties,
    )


def _positions(column: CodedColumn) -> NDArray[np.float64]:
    """Return where each value lies from 0 to 1; missing lies one further, so that a range with it loses all."""
    n_known = len(column.labels) - (column.missing >= 0)
    known = np.arange(n_known, dtype=np.float64) if column.values is None else column.values[:n_known] / 2
    position = np.full(len(column.labels), 2.0)
    if n_known:
        width = known[-1] - known[0]
        position[:n_known] = (known - known[0]) / (width or 1.0)
    return position


@dataclass(frozen=True)
class Say:
    """What others have to say about cuts; they know rows by their numbers in the dataset."""

    check: Check | None = None
    crowding: Crowding | None = None
    rows: Integers | None = None  # (n,): the number of each row that takes part; None: all do

    def allows(self, order: Integers, start: Integers) -> NDArray[np.bool_]:
        """Return which groups are allowed."""
        assert self.check is not None
        return np.asarray(self.check(order if self.rows is None else self.rows[order], start))

    def crowd(self, order: Integers, start: Integers) -> NDArray[np.float64]:
        """Return the score of each group."""
        assert self.crowding is not None
        return self.crowding(order if self.rows is None else self.rows[order], start)


class Growth:
    """A table that is being cut."""

    def __init__(
        self, table: Table, items: Items, conditions: Conditions, rule: int, pool: ThreadPoolExecutor, threads: int
    ) -> None:
        self.table, self.items, self.conditions, self.rule = table, items, conditions, rule
        self.pool, self.threads = pool, threads
        n, q = table.codes.shape
        self.sorted = np.empty((q + 1, n), dtype=np.int32)
        for a in range(q):
            short = np.uint16 if table.attribute[a, VALUES] <= 2**16 else np.int32  # NumPy sorts these by counting
            self.sorted[a] = np.argsort(table.codes[:, a].astype(short), kind="stable")
        self.sorted[q] = np.arange(n)
        self.look_ahead(1, 0)

    def look_ahead(self, lookahead: int, follow: int) -> None:
        """From now on, follow so many cuts of parts of so many items."""
        self.lookahead, self.follow = lookahead, follow
        self.desks: list[Desk] = [make_desk(self.table, self.conditions.bars, follow) for _ in range(self.threads)]

    def run(self, say: Say, advance: Callable[[float], None]) -> SplitTree:
        """Cut until no part can be cut any more; `advance` is told how many rows are settled."""
        self.lists, self.say = self.sorted.copy(), say
        parts, nodes = np.array([[0, self.lists.shape[1]]], dtype=np.int64), np.zeros(1, dtype=np.int64)
        parent = [np.full(1, -1, dtype=np.int64)]
        final_parts, final_nodes = [], []
        n_nodes, rounds = 1, 0
        while parts.size:
            largest_first = np.argsort(parts[:, 0] - parts[:, 1], kind="stable")  # threads then get equal work
            parts, nodes = parts[largest_first], nodes[largest_first]
            cuts, cut = self._choose(parts, self.rule if rounds < DEEP else BALANCED)
            final_parts.append(parts[~cut])
            final_nodes.append(nodes[~cut])
            advance(float(self.table.weight[self._members(parts[~cut])].sum()))
            parts, nodes = parts[cut], nodes[cut]
            middle = self._divide(parts, cuts[cut])
            parent.append(np.repeat(nodes, 2))
            nodes = n_nodes + np.arange(2 * nodes.size)
            n_nodes += nodes.size
            parts = np.stack([parts[:, 0], middle, middle, parts[:, 1]], axis=1).reshape(-1, 2)
            rounds += 1
        found = np.concatenate(final_parts)
        by_place = np.argsort(found[:, 0])
        start = np.append(found[by_place, 0], self.lists.shape[1])
        group_of = np.empty(self.lists.shape[1], dtype=np.int32)  # of each item
        group_of[self.lists[-1]] = np.repeat(np.arange(by_place.size), np.diff(start))
        some_row = np.empty(group_of.size, dtype=np.int64)
        some_row[self.items.item_of] = np.arange(self.items.item_of.size)
        return SplitTree(
            group_of=group_of[self.items.item_of],
            some_row=some_row[self.lists[-1]],
            start=start,
            node_of=np.concatenate(final_nodes)[by_place],
            parent=np.concatenate(parent),
            rounds=rounds,
        )

    def _members(self, parts: Integers) -> Integers:
        """Return the items of some parts, part after part."""
        members: NDArray[np.int32] = self.lists[-1][ranges(parts[:, 0], parts[:, 1])]
        return members.astype(np.int64)

    def _choose(self, parts: Integers, rule: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Return a cut of each part, shape (p, 3), and whether there is one."""
        cuts, found, scores = self._best(parts, rule, self.lookahead, self.follow)
        if self.say.crowding is not None and rule == BEST:
            self._scatter(parts, cuts, found, scores)
        if self.say.check is None:
            return cuts[:, 0], found > 0
        chosen = cuts[:, 0].copy()
        allowed = self._try(parts, cuts, found, np.zeros_like(found), chosen)
        again = np.flatnonzero(~allowed & (found == cuts.shape[1]))
        if again.size:  # the ones tried are the first of those found now, in some order
            more_cuts, more_found, _ = self._best(parts[again], rule, TRIES + self.lookahead, 0)
            best = chosen[again]
            allowed[again] = self._try(parts[again], more_cuts, more_found, found[again], best)
            chosen[again] = best
        return chosen, allowed

    def _try(
        self, parts: Integers, cuts: Integers, found: Integers, first: Integers, chosen: Integers
    ) -> NDArray[np.bool_]:
        """Check the cuts of each part from the `first` on; fill in one that passes, return whether there is one."""
        allowed = np.zeros(found.size, dtype=np.bool_)
        rank = first.copy()
        while (pending := np.flatnonzero(~allowed & (rank < found))).size:
            tried = cuts[pending, rank[pending]]
            order, start = self._sides(parts[pending], tried)
            passes = self.say.allows(order, start).reshape(-1, 2).all(axis=1)
            allowed[pending[passes]] = True
            chosen[pending[passes]] = tried[passes]
            rank[pending] += 1
        return allowed

    def _scatter(self, parts: Integers, cuts: Integers, found: Integers, scores: NDArray[np.float64]) -> None:
        """Put those of the cuts first, in place, that are nearly as good as the first and crowd the least.

        Scores are what is lost, below zero; parts of many rows are left alone, where no cut crowds much.
        """
        small = parts[:, 1] - parts[:, 0] <= SCATTERED
        near = small[:, None] & (np.arange(cuts.shape[1]) < found[:, None]) & (scores >= NEARLY * scores[:, :1])
        near[near.sum(axis=1) < 2] = False
        part, rank = np.nonzero(near)
        if not part.size:
            return
        order, start = self._sides(parts[part], cuts[part, rank])
        worse = self.say.crowd(order, start).reshape(-1, 2).max(axis=1)
        best = np.lexsort((rank, worse, part))
        best = best[np.append(True, part[best][1:] != part[best][:-1])]
        chosen, place = part[best], rank[best]
        cuts[chosen, 0], cuts[chosen, place] = cuts[chosen, place], cuts[chosen, 0].copy()

    def _sides(self, parts: Integers, cuts: Integers) -> tuple[Integers, Integers]:
        """Return the rows of both sides of each cut, side after side, and where each side starts."""
        members = self._members(parts)
        size = parts[:, 1] - parts[:, 0]
        end = np.cumsum(size)
        first_side = np.zeros(members.size, dtype=np.bool_)
        mark = np.zeros(self.table.weight.size, dtype=np.bool_)
        for part, (a, first, last) in enumerate(cuts):
            some = self.lists[a, first:last]
            mark[some] = True
            first_side[end[part] - size[part] : end[part]] = mark[members[end[part] - size[part] : end[part]]]
            mark[some] = False
        side = 2 * np.repeat(np.arange(len(parts)), size) + ~first_side
        order = members[np.argsort(side, kind="stable")]
        rows = np.bincount(side, weights=self.table.weight[members], minlength=2 * len(parts)).astype(np.int64)
        return self.items.rows_of(order), starts_of(rows)

    def _best(
        self, parts: Integers, rule: int, most: int, follow: int
    ) -> tuple[Integers, Integers, NDArray[np.float64]]:
        """Return the best cuts of each part, shape (p, most, 3), how many there are, and their scores."""
        q = self.table.attribute.shape[0]
        size = parts[:, 1] - parts[:, 0]
        shared = (size > max(LARGE, follow)) & (self.threads > 1) & (q > 1)  # what is followed is one thread's work
        pieces = np.where(shared, q, 1)
        start = starts_of(pieces)
        part_of = np.repeat(np.arange(len(parts)), pieces)
        chosen = np.where(shared[part_of], np.arange(start[-1]) - start[part_of], -1)
        scores = np.zeros((part_of.size, most))
        cuts = np.zeros((part_of.size, most, 3), dtype=np.int64)
        found = np.zeros(part_of.size, dtype=np.int64)
        looked_at = parts[part_of]

        def work(thread: int) -> None:
            desk = self.desks[thread]
            propose(
                self.table, self.conditions, self.lists, looked_at, chosen, rule, follow, desk,
                scores, cuts, found, thread, self.threads,
            )  # fmt: skip

        self._each(work)
        best, n_best, best_scores = cuts[start[:-1]], found[start[:-1]], scores[start[:-1]]
        for part in np.flatnonzero(shared):
            pieces_of = slice(start[part], start[part + 1])
            there = np.arange(most) < found[pieces_of, None]
            all_cuts, all_scores = cuts[pieces_of][there], scores[pieces_of][there]
            ranked = np.lexsort((all_cuts[:, 2], all_cuts[:, 1], all_cuts[:, 0], -all_scores))[:most]
            best[part, : ranked.size], n_best[part] = all_cuts[ranked], ranked.size
            best_scores[part, : ranked.size] = all_scores[ranked]
        return best, n_best, best_scores

    def _divide(self, parts: Integers, cuts: Integers) -> Integers:
        """Divide parts along their cuts; return where the second side of each begins."""
        cuts = np.ascontiguousarray(cuts)
        middle = np.zeros(len(parts), dtype=np.int64)
        spare = np.empty(self.lists.shape[1], dtype=np.int32)

        def work(thread: int) -> None:
            divide(
                self.table.codes, self.lists, parts, cuts, self.desks[thread].side, spare, middle, thread, self.threads
            )

        self._each(work)
        return middle

    def _each(self, work: Callable[[int], None]) -> None:
        """Do the work of each thread; kernels run side by side without the interpreter lock."""
        if self.threads == 1:
            work(0)
        else:
            list(self.pool.map(work, range(self.threads)))
