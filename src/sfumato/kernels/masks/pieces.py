"""Cutting the table from the top, where there are too many regions to list.

A piece is some distinct rows that stand side by side in `order`, with one label of each quasi-identifier. Each time it
is cut along the hierarchy that costs least, and pieces that were better off together are joined again at the end. A
piece of very many rows is priced by an even sample of them while it is compared with others; before it stays whole, by
all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.masks.raising import settle
from sfumato.kernels.masks.state import OVERFLOW, add_rows, clear, entry_of

FROM, TO, ABOVE, CUT, LABELS = 0, 1, 2, 3, 4  # columns of Pieces.piece
WHOLE_COST, BEST_COST = 0, 1  # columns of Pieces.cost
MADE, LOOKED, JOINED = 0, 1, 2  # places in Pieces.number
NO_STATE, NO_PIECES = -1, -2  # what there was no room for
CHILD, UNTIL, DISTINCT, ROWS_IN = (
    0,
    1,
    2,
    3,
)  # rows of Pieces.bins: child and end of each part; by label, distinct rows and rows
NOWHERE = np.int64(-1)
CERTAIN = 0.8  # of the price of a sample: what costs less than that costs less


class Starts(NamedTuple):
    """Labels that masking a class may start from: those of the table, and others that lose something already."""

    labels: NDArray[np.int64]  # (starts, t, m)
    loss: NDArray[np.float64]  # (starts,): of one row


class Pieces(NamedTuple):
    """The table on the way: c distinct rows, p pieces so far."""

    order: NDArray[np.int64]  # (c,): distinct rows
    spare: NDArray[np.int64]  # (c,) scratch
    piece: NDArray[np.int64]  # (p, 4 + axes): from where to where, the piece that it was cut from, whether it is cut
    cost: NDArray[np.float64]  # (p, 2): when it stays whole (-1: not known), and of its parts at their best
    bins: NDArray[np.int64]  # (4, v) scratch
    part_cost: NDArray[np.float64]  # (2, v) scratch: now and at best
    number: NDArray[np.int64]  # (3,)


@kernel
def _price(members, step, distinct, starts, state, secrets, budget):
    """Return what every so manieth of some distinct rows costs as one class, inf beyond the budget, -1 without room."""
    no_log = np.empty((0, 3), dtype=np.int64)
    best = np.inf
    for start in range(starts.loss.size - 1, -1, -1):
        clear(state)
        rows = np.int64(0)
        for at in range(0, members.size, step):
            e = entry_of(state, starts.labels[start, distinct.tuple_of[members[at]]])
            if e < 0:
                return -1.0
            add_rows(state, e, distinct.rows[members[at]])
            rows += distinct.rows[members[at]]
        already = starts.loss[start] * rows
        if already <= min(budget, best):
            best = min(best, already + settle(state, secrets, no_log, min(budget, best) - already))
        if state.number[OVERFLOW]:
            return -1.0
    return best


@kernel
def _cost(members, own, k, most, distinct, starts, state, secrets, budget):
    """Return what a piece costs when it stays whole, inf beyond the budget, -1 without room.

    own: loss of the labels of its quasi-identifiers, of one row. Above `most` distinct rows, a sample is looked at.
    """
    rows = np.int64(0)
    for at in range(members.size):
        rows += distinct.rows[members[at]]
    if rows < k or own * rows > budget:
        return np.inf
    step = (members.size + most - 1) // most
    sampled = np.int64(0)
    for at in range(0, members.size, step):
        sampled += distinct.rows[members[at]]
    scale = rows / sampled
    price = _price(members, step, distinct, starts, state, secrets, (budget - own * rows) / scale)
    if price == np.inf and budget == np.inf and step > 1:  # no masks for the sample; perhaps for all
        scale = 1.0
        price = _price(members, np.int64(1), distinct, starts, state, secrets, np.inf)
    return price if price < 0 else own * rows + price * scale


@kernel
def _only_child(members, code_of, up, node):
    """Return the child of a label that all distinct rows lie below, -1 at a leaf or when there are several."""
    only = np.int64(-1)
    for at in range(members.size):
        label = np.int64(code_of[members[at]])
        if label == node:
            return np.int64(-1)
        while up[label] != node:
            label = up[label]
        if only >= 0 and label != only:
            return np.int64(-1)
        only = label
    return only


@kernel
def _part(members, code_of, rows_of, axis, node, k, hierarchies, bins, parted):
    """Sort distinct rows by the child of a label that they lie below; return how many children there are.

    None at a leaf, and where a child has fewer than k rows.
    """
    up, child = hierarchies.up[axis], hierarchies.child[axis]
    first, last = hierarchies.child_from[axis, node], hierarchies.child_from[axis, node + 1]
    for place in range(first, last):
        bins[DISTINCT, child[place]] = bins[ROWS_IN, child[place]] = 0
    for at in range(members.size):
        label = np.int64(code_of[members[at]])
        if label == node:
            return 0
        while up[label] != node:
            label = up[label]
        bins[DISTINCT, label] += 1
        bins[ROWS_IN, label] += rows_of[members[at]]
    found, end = 0, np.int64(0)
    for place in range(first, last):
        label = child[place]
        if bins[DISTINCT, label] > 0:
            if bins[ROWS_IN, label] < k:
                return 0
            end += bins[DISTINCT, label]
            bins[CHILD, found], bins[UNTIL, found] = label, end
            bins[DISTINCT, label] = end - bins[DISTINCT, label]  # from here on: where the next one goes
            found += 1
    for at in range(members.size):
        label = np.int64(code_of[members[at]])
        while up[label] != node:
            label = up[label]
        parted[bins[DISTINCT, label]] = members[at]
        bins[DISTINCT, label] += 1
    return found


@kernel
def _own(piece, hierarchies, axis, label):
    """Return what the labels of a piece lose of one row, with another one on an axis (-1: none)."""
    own = 0.0
    for other in range(hierarchies.up.shape[0]):
        own += hierarchies.loss[other, label if other == axis else piece[LABELS + other]]
    return own


@kernel
def _descend(p, pieces, distinct, hierarchies):
    """Take the lowest labels under which all rows of a piece lie: they say more, and cost nothing."""
    members = pieces.order[pieces.piece[p, FROM] : pieces.piece[p, TO]]
    before = _own(pieces.piece[p], hierarchies, NOWHERE, NOWHERE)
    for axis in range(hierarchies.up.shape[0]):
        label = pieces.piece[p, LABELS + axis]
        while label >= 0:
            pieces.piece[p, LABELS + axis] = label
            label = _only_child(members, distinct.codes[:, axis], hierarchies.up[axis], label)
    rows = np.int64(0)
    for at in range(members.size):
        rows += distinct.rows[members[at]]
    if pieces.cost[p, WHOLE_COST] >= 0:
        pieces.cost[p, WHOLE_COST] -= (before - _own(pieces.piece[p], hierarchies, NOWHERE, NOWHERE)) * rows


@kernel
def cut_further(pieces, distinct, hierarchies, starts, k, most, state, secrets, work):
    """Cut pieces while they are so many distinct rows in all; return how many are not cut further, below 0: no room.

    NO_STATE and NO_PIECES say what there is no room for; then the work goes on where it was with more.
    """
    piece, cost, bins, now, number = pieces.piece, pieces.cost, pieces.bins, pieces.part_cost, pieces.number
    axes = hierarchies.up.shape[0]
    done = np.int64(0)
    while number[LOOKED] < number[MADE] and work > 0:
        p = number[LOOKED]
        if number[MADE] + hierarchies.up.shape[1] > piece.shape[0]:
            return np.int64(NO_PIECES) if done == 0 else done
        begin, end = piece[p, FROM], piece[p, TO]
        members, parted = pieces.order[begin:end], pieces.spare[begin:end]
        _descend(p, pieces, distinct, hierarchies)
        if p == 0 and cost[p, WHOLE_COST] < 0:
            own = _own(piece[p], hierarchies, NOWHERE, NOWHERE)
            cost[p, WHOLE_COST] = _cost(members, own, k, most, distinct, starts, state, secrets, np.inf)
            if cost[p, WHOLE_COST] < 0:
                return np.int64(NO_STATE)
        best, best_axis = np.inf, -1
        for axis in range(axes):
            found = _part(
                members,
                distinct.codes[:, axis],
                distinct.rows,
                axis,
                piece[p, LABELS + axis],
                k,
                hierarchies,
                bins,
                parted,
            )
            total, at = 0.0, np.int64(0)
            for part in range(found):
                if total < best:
                    own = _own(piece[p], hierarchies, axis, bins[CHILD, part])
                    inside = parted[at : bins[UNTIL, part]]
                    now[0, part] = _cost(inside, own, k, most, distinct, starts, state, secrets, best - total)
                    if now[0, part] < 0:
                        return np.int64(NO_STATE) if done == 0 else done
                    total += now[0, part]
                    at = bins[UNTIL, part]
            if found > 0 and total < best:
                best, best_axis = total, axis
                now[1, :found] = now[0, :found]
        number[LOOKED] += 1
        work -= end - begin
        piece[p, CUT] = best_axis
        if best_axis < 0:
            done += end - begin
            continue
        node = piece[p, LABELS + best_axis]
        found = _part(
            members, distinct.codes[:, best_axis], distinct.rows, best_axis, node, k, hierarchies, bins, parted
        )
        members[:] = parted
        at = begin
        for part in range(found):
            new = number[MADE]
            piece[new] = piece[p]
            piece[new, FROM], piece[new, TO], piece[new, ABOVE] = at, begin + bins[UNTIL, part], p
            piece[new, LABELS + best_axis] = bins[CHILD, part]
            cost[new, WHOLE_COST], cost[new, BEST_COST] = now[1, part], 0.0
            at = piece[new, TO]
            number[MADE] += 1
    return done


@kernel
def join_again(pieces, distinct, hierarchies, starts, k, most, state, secrets):
    """Undo cuts that did not pay, the last one first; return 0, or NO_STATE.  CUT becomes -1 where a piece is whole."""
    piece, cost, number = pieces.piece, pieces.cost, pieces.number
    everything = np.int64(pieces.order.size)
    while number[JOINED] < number[MADE]:
        p = number[MADE] - 1 - number[JOINED]
        begin, end = piece[p, FROM], piece[p, TO]
        parts = cost[p, BEST_COST] if piece[p, CUT] >= 0 else np.inf
        whole = cost[p, WHOLE_COST]
        if end - begin > most and (parts == np.inf or parts > CERTAIN * whole):
            members = pieces.order[begin:end]
            own = _own(piece[p], hierarchies, NOWHERE, NOWHERE)
            whole = _cost(members, own, k, everything, distinct, starts, state, secrets, parts)
            if whole < 0:
                return np.int64(NO_STATE)
        if parts >= whole:
            piece[p, CUT] = -1
        if p > 0:
            cost[piece[p, ABOVE], BEST_COST] += min(parts, whole)
        cost[p, WHOLE_COST] = min(parts, whole)
        number[JOINED] += 1
    return np.int64(0)


@kernel
def class_of_distinct(pieces, class_of, class_labels):
    """Number the pieces that stay whole in the order of their rows, fill what is in them; return how many there are.

    class_of: (c,); class_labels: (c, axes).
    """
    piece, spare = pieces.piece, pieces.spare
    spare[:] = -1  # the piece that begins at a place
    for p in range(pieces.number[MADE]):  # what a piece was cut from comes before it
        above = piece[p, ABOVE]
        if above >= 0 and piece[above, CUT] < 0:
            piece[p, CUT] = -1
        elif piece[p, CUT] < 0:
            spare[piece[p, FROM]] = p
    found = 0
    for begin in range(spare.size):
        p = spare[begin]
        if p >= 0:
            for at in range(begin, piece[p, TO]):
                class_of[pieces.order[at]] = found
            class_labels[found] = piece[p, LABELS:]
            found += 1
    return found
