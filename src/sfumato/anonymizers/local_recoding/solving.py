"""Local recoding with labels of hierarchies: cheapest regions first, then moves.

Sizes: n rows, q quasi-identifiers, c classes. Four steps: find distinct rows (units), walk the lattice of levels from
cheap to dear and close regions that are safe, place what stayed open, move units to where they cost less. Nothing is
suppressed: passing classes may be joined, so whenever the whole table passes, a release exists.

Everything after the first step depends on the distinct rows alone, not on the order of rows, and runs on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.local_recoding.units import combine, make_units, thinned
from sfumato.data.recoding import Pieces, divide_rows
from sfumato.kernels.classes.conditions import Conditions
from sfumato.kernels.classes.moves import gather, load, move, price_joining
from sfumato.kernels.classes.regions import close_regions, make_agenda, make_keys
from sfumato.kernels.classes.store import CLASSES, ROWS, SHARES, VISITS, Store, hand_out, make_store
from sfumato.kernels.classes.units import LEAF, VALUES, Trees, Units


class Effort(NamedTuple):
    """How much work is put into a low loss."""

    early: float  # when nodes of the lattice are visited, as a share of their mean loss
    reach: float  # what their regions may cost, as a multiple of the price then; dearer ones wait
    reach_tested: float  # the same where regions must be tested for more than k: to come again costs more there
    passes: int  # rounds of moves
    visits: int  # nodes of the trie looked at in all rounds together, then moves end


NEVER = 10**15
EFFORTS = {
    "fast": Effort(early=1.0, reach=1e18, reach_tested=1e18, passes=0, visits=0),
    "capped": Effort(early=0.7, reach=1.2, reach_tested=1.6, passes=4, visits=3_000_000),
    "std": Effort(early=0.7, reach=1.2, reach_tested=1.6, passes=8, visits=NEVER),
    "thorough": Effort(early=0.5, reach=1.2, reach_tested=1.2, passes=40, visits=NEVER),
}
LATTICE_WORK = 2 * 10**9  # units times nodes of the lattice: beyond, levels are left out
LARGEST_LATTICE = 2**20


class Recoded(NamedTuple):
    """The classes of a table."""

    class_of: NDArray[np.int32]  # (n,), or of each piece where there are some
    label: NDArray[np.int32]  # (c, q) nodes of each quasi-identifier's own tree; no two classes have the same
    pieces: Pieces | None = None  # what rows that stand for several were divided into


def recode(
    codes: Sequence[NDArray[np.int32]],
    trees: Trees,
    conditions: Conditions,
    bar_of: NDArray[np.int32],
    effort: Effort,
    *,
    weights: NDArray[np.int64] | None = None,
    together: bool = False,
    checkpoint: Callable[[], None] = lambda: None,
) -> Recoded:
    """Return classes that all pass, given that the whole table does and has a row.

    `together` gives rows with equal quasi-identifiers one label, always; `checkpoint` is called between rounds. With
    `weights`, (n,), each row stands for as many, and may be divided.
    """
    if not codes:
        return Recoded(np.zeros(bar_of.shape[1], dtype=np.int32), np.zeros((1, 0), dtype=np.int32))
    # Columns with few values first: a step in the trie that splits little, but where going wrong costs most.
    order = np.argsort(trees.column[:, VALUES], kind="stable")
    trees = trees._replace(column=trees.column[order])
    values = trees.column[:, VALUES].tolist()
    together = together or conditions.size_only
    units, copies, unit_of = make_units([codes[j] for j in order], values, bar_of, weights, together=together)
    store = _solve(conditions, units, trees, copies, effort, checkpoint)
    recoded = _rows(store, units, trees, unit_of, weights)
    return recoded._replace(label=np.ascontiguousarray(recoded.label[:, np.argsort(order)]))


def _solve(
    conditions: Conditions,
    units: Units,
    trees: Trees,
    copies: NDArray[np.int64],
    effort: Effort,
    checkpoint: Callable[[], None],
) -> Store:
    nodes = max(min(LATTICE_WORK // units.size.size, LARGEST_LATTICE), 2000)
    lattice = thinned(trees, units, copies, nodes)
    shares = int(copies.sum())
    share = np.empty((shares, 2), dtype=np.int64)
    class_start = np.zeros(int(copies @ units.size) // conditions.k + 2, dtype=np.int64)
    keys = make_keys(units, lattice)
    agenda = make_agenda(conditions, units, lattice, keys, copies)
    checkpoint()
    reach = effort.reach if conditions.size_only else effort.reach_tested
    classes = close_regions(conditions, units, lattice, keys, agenda, effort.early, reach, copies, share, class_start)
    checkpoint()
    # One class more: what fits nowhere. Some shares more: a class may be on the move while its shares still stand.
    moving = min(3 * conditions.k, shares) + 1
    kinds = int(units.kind.max()) + 1 if conditions.table.size else 0
    store = make_store(classes + 1, shares, moving, conditions.bars, kinds, trees.column.shape[0])
    load(trees, units, store, 0, classes, share, class_start)
    move(conditions, trees, units, store, copies, np.empty(0, dtype=np.int64), 0)
    if copies.any():
        _gather(conditions, units, trees, store, copies)
    store.counter[VISITS] = 0
    for _ in range(effort.passes):
        checkpoint()
        before = store.group[:, ROWS] @ store.loss
        order = np.argsort(-store.loss, kind="stable")
        move(conditions, trees, units, store, copies[:0], order, effort.visits)
        if store.counter[VISITS] >= effort.visits or store.group[:, ROWS] @ store.loss >= before:
            break
    return store


def _gather(conditions: Conditions, units: Units, trees: Trees, store: Store, copies: NDArray[np.int64]) -> None:
    """Make one class of what is still open, and join others to it until it passes."""
    c = int(store.counter[CLASSES])
    left = np.flatnonzero(copies)
    share = np.stack([left, copies[left]], axis=1)
    load(trees, units, store, c, c + 1, share, np.array([0, left.size], dtype=np.int64))
    price = np.empty(c)
    price_joining(trees, store, c, price)
    gather(conditions, trees, units, store, c, np.argsort(price, kind="stable"))


def _rows(
    store: Store, units: Units, trees: Trees, unit_of: NDArray[np.int32], weights: NDArray[np.int64] | None
) -> Recoded:
    """Return the class of each row, or of each piece of one; classes with the same label are one."""
    living = np.flatnonzero(store.group[:, ROWS])
    label = (store.label[living] - trees.column[:, LEAF]).astype(np.int32)
    some_class, number_of = combine(list(label.T), (label.max(axis=0) + 1).tolist(), living.size)
    new_class = np.full(store.loss.size, -1, dtype=np.int32)
    new_class[living] = number_of
    class_of = np.empty(unit_of.size if weights is None else 0, dtype=np.int32)
    u = units.size.size
    start, cursor = np.zeros(u + 1, dtype=np.int64), np.zeros(u, dtype=np.int64)
    part = np.empty((int(store.counter[SHARES]), 2), dtype=np.int64)
    hand_out(store, units, unit_of[: class_of.size], new_class, start, cursor, part, class_of)
    if weights is None:
        return Recoded(class_of, label[some_class])
    pieces, option_of = divide_rows(unit_of, weights, part[: start[-1], 1])
    return Recoded(part[option_of, 0].astype(np.int32), label[some_class], pieces)
