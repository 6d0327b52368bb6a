"""Local recoding with labels of hierarchies: cheapest regions first, then moves.

Sizes: n rows, q quasi-identifiers, c classes. Four steps: find distinct rows (units), sweep the lattice of levels from
cheap to dear and close what is safe, place what stayed open, move units to where they cost less. Nothing is suppressed:
passing classes may be joined, so whenever the whole table passes, a release exists.

Everything after the first step depends on the distinct rows alone, not on the order of rows, and runs on one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.conditions import Conditions
from sfumato.kernels.jit import kernel
from sfumato.kernels.local_recoding_moves import CLASSES, Store, dissolve, gather, load, make_store, place
from sfumato.kernels.local_recoding_sweep import make_keys, sweep
from sfumato.kernels.local_recoding_units import Trees, Units, combine, make_units


class Effort(NamedTuple):
    """How much work is put into a low loss."""

    passes: int  # rounds of moves
    floor: float  # classes that lose this or less, summed over quasi-identifiers, are left alone
    visits: int  # branches looked at in all rounds together, then moves end


EFFORTS = {
    "fast": Effort(passes=0, floor=0.0, visits=0),
    "capped": Effort(passes=4, floor=0.0, visits=20_000_000),
    "std": Effort(passes=4, floor=0.0, visits=10**15),
    "thorough": Effort(passes=20, floor=0.0, visits=10**15),
}
SWEEP_VISITS = 4 * 10**9  # units looked at in the sweep, then what is open is placed


class Recoded(NamedTuple):
    """The classes of a table."""

    class_of: NDArray[np.int32]  # (n,)
    label: NDArray[np.int32]  # (c, q) nodes of each quasi-identifier's own tree; no two classes have the same


def recode(
    codes: Sequence[NDArray[np.int32]],
    trees: Trees,
    conditions: Conditions,
    cell_of: NDArray[np.int32],
    effort: Effort,
    *,
    together: bool = False,
) -> Recoded:
    """Return classes that all pass, given that the whole table does and has a row.

    `together` gives rows with equal quasi-identifiers one label, always.
    """
    units, unit_of = make_units(codes, trees.values.tolist(), cell_of, together=together or conditions.size_only)
    store = _solve(conditions, units, trees, effort)
    return _rows(store, units, trees, unit_of)


def _solve(conditions: Conditions, units: Units, trees: Trees, effort: Effort) -> Store:
    copies = units.copies.copy()
    shares = int(copies.sum())
    share_unit = np.empty(shares, dtype=np.int32)
    share_copies = np.empty(shares, dtype=np.int64)
    class_start = np.zeros(conditions.rows // conditions.k + 2, dtype=np.int64)
    classes, _, _ = sweep(
        conditions, units, trees, make_keys(units, trees), SWEEP_VISITS, copies, share_unit, share_copies, class_start
    )
    # One class more: what fits nowhere. Some shares more: a class may be on the move while its shares still stand.
    store = make_store(
        classes + 1, shares + 3 * conditions.k, conditions.cells, np.argsort(trees.values, kind="stable")
    )
    load(trees, units, store, classes, share_unit, share_copies, class_start)
    place(conditions, trees, units, store, copies)
    if copies.any():
        gather(conditions, trees, units, store, copies, np.empty(classes + 1))
    visits = effort.visits
    for _ in range(effort.passes):
        before = (store.rows * store.loss).sum()
        order = np.argsort(-store.loss, kind="stable")
        visits -= dissolve(conditions, trees, units, store, order, effort.floor, visits)
        if visits <= 0 or (store.rows * store.loss).sum() >= before:
            break
    return store


def _rows(store: Store, units: Units, trees: Trees, unit_of: NDArray[np.int32]) -> Recoded:
    """Return the class of each row; classes with the same label are one."""
    living = np.flatnonzero(store.rows[: store.counter[CLASSES]])
    label = store.label[living] - trees.leaf[:-1]
    nodes = np.diff(trees.leaf).tolist()
    some_class, number_of = combine([column.astype(np.int32) for column in label.T], nodes, living.size)
    new_class = np.full(store.rows.size, -1, dtype=np.int32)
    new_class[living] = number_of
    start = np.zeros(units.size.size + 1, dtype=np.int64)
    count_shares(store, start)
    start = np.concatenate([[0], np.cumsum(start[:-1])])
    share_class = np.empty(start[-1], dtype=np.int32)
    share_rows = np.empty(start[-1], dtype=np.int64)
    class_of = np.empty(unit_of.size, dtype=np.int32)
    hand_out(store, units, unit_of, new_class, start, share_class, share_rows, class_of)
    return Recoded(class_of, label[some_class].astype(np.int32))


@kernel
def count_shares(store, shares):
    """Count the shares of each unit.  -> (u,) in place."""
    for c in range(store.counter[CLASSES]):
        share = store.share[c]
        while share >= 0:
            shares[store.share_unit[share]] += 1
            share = store.share_next[share]


@kernel
def hand_out(store, units, unit_of, new_class, start, share_class, share_rows, class_of):
    """Give each row a class: the rows of a unit go to its shares one after the other.  -> (n,) in place."""
    cursor = start[:-1].copy()
    for c in range(store.counter[CLASSES]):
        share = store.share[c]
        while share >= 0:
            unit = store.share_unit[share]
            share_class[cursor[unit]] = new_class[c]
            share_rows[cursor[unit]] = store.share_copies[share] * units.size[unit]
            cursor[unit] += 1
            share = store.share_next[share]
    cursor = start[:-1].copy()
    for row in range(unit_of.size):
        unit = unit_of[row]
        while share_rows[cursor[unit]] == 0:
            cursor[unit] += 1
        share_rows[cursor[unit]] -= 1
        class_of[row] = share_class[cursor[unit]]
