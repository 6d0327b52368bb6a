"""Masked tuples of one class: who shares a sensitive equivalence class with whom, and how far each is from its bound.

Sizes: m sensitive columns, v labels and s leaves of the largest of them. Leaves are labels 0..s-1 of their column, and
the leaves below a label are an interval. An entry is a tuple of labels with the rows that carry it; a group of column i
is all entries that agree in every other column. Groups 0..m-1 are the class itself, seen in one column.

The excess of a leaf in a group is the sum over its rows of (share of the leaf below the row's label) - (bound of the
leaf): the requirement is excess <= 0. It is decided in whole numbers where every share is 0, 1 or the bound itself,
else in floats with a margin on the safe side; where no row has a share above the bound there is nothing to decide.

Nothing here takes longer because a column has many values that are not in the class: the labels that are in it stand in
lists, and the labels above a leaf are followed upwards.

Few arrays with many columns: each array that is handed from loop to loop costs compile time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

MARGIN = 1e-11  # a row; floats must keep so far away from the bound
MET = -1e300  # the excess where nothing is above its bound
SUB, WHOLE = 0, 1  # levels of bounds: sensitive equivalence classes, quasi-identifier classes (groups below m)

# Columns of Secrets.label and Secrets.leaf; those of a level are at + 2 * level.
UP, FIRST, LAST, OF, RISKY_FROM, RISKY_TO = 0, 1, 2, 3, 4, 5
PART, NUM, DEN = 0, 1, 2
# Places in State.number, columns of State.entry, State.group and State.slot.
ENTRIES, GROUPS, EPOCH, QUEUE_HEAD, QUEUE_LENGTH, MOVES, OVERFLOW, FOUND = 0, 1, 2, 3, 4, 5, 6, 7
LABEL, GROUP, FOLLOWING, ROWS = 0, 1, 2, 3  # of each column: label, group, next entry of the group; rows stand at 0
COLUMN, HEAD, SIZE, QUEUED, QUEUE = 0, 1, 2, 3, 4
ENTRY_AT, ENTRY_EPOCH, GROUP_AT, GROUP_EPOCH = 0, 1, 2, 3
HERE, BEYOND = 0, 1  # columns of State.tally: rows, and the next label in the class
ABSENT = -2  # beyond a label that is not in the class; -1: beyond the last one that is


class Secrets(NamedTuple):
    """What is known of the sensitive columns before any class is looked at."""

    label: NDArray[np.int64]  # (m, v, 8): next label above or -1, first and last leaf below, what shares are of,
    #                           and for both levels from where to where in `risky` the leaves above their bound stand
    loss: NDArray[np.float64]  # (m, v): of one row
    leaf: NDArray[np.int64]  # (m, s, 5): the share of a leaf below a label is part / of; bounds are num / den
    bound: NDArray[np.float64]  # (2, m, s): the same as floats
    risky: NDArray[np.int64]
    asked: NDArray[np.int64]  # (2,): which levels are asked for
    leaves: NDArray[np.int64]  # (m,)


class State(NamedTuple):
    """The entries and groups of one class; what is beyond the counts is left over from classes before."""

    number: NDArray[np.int64]  # (8,)
    entry: NDArray[np.int64]  # (e, 4, m)
    group: NDArray[np.int64]  # (g, 5): the last column is the list of groups to look at; heads are entries, or leaves
    #                           of the class as a whole
    slot: NDArray[np.int64]  # (slots, 4): where entries and groups are found by their labels
    tally: NDArray[np.int64]  # (m, v + 1, 2): rows of the class by label, and the next label that is in the class; at
    #                           the end how many leaves there are, and the first label that is none: these ascend
    inner: NDArray[np.int64]  # (v, 3) scratch: labels of a group that are no leaves, and their rows; rows by label
    wanted: NDArray[np.int64]  # (m,) scratch: a tuple of labels


def make_state(secrets: Secrets, entries: int) -> State:
    """Return room for classes of so many entries, those that moves make included."""
    m, labels = secrets.loss.shape
    groups = entries * m + m
    tally = np.zeros((m, labels + 1, 2), dtype=np.int64)
    tally[:, :, BEYOND] = ABSENT
    tally[:, labels, HERE] = secrets.leaves
    return State(
        number=np.zeros(8, dtype=np.int64),
        entry=np.empty((entries, 4, m), dtype=np.int64),
        group=np.empty((groups, 5), dtype=np.int64),
        slot=np.zeros((1 << int(2 * groups).bit_length(), 4), dtype=np.int64),
        tally=tally,
        inner=np.zeros((labels, 3), dtype=np.int64),
        wanted=np.empty(m, dtype=np.int64),
    )


@kernel
def clear(state):
    """Empty the state for the next class."""
    count, group, tally = state.number, state.group, state.tally
    m = tally.shape[0]
    for e in range(count[ENTRIES]):
        for i in range(m):
            tally[i, state.entry[e, LABEL, i], HERE] = 0
            tally[i, state.entry[e, LABEL, i], BEYOND] = ABSENT
    _forget(state)
    epoch = count[EPOCH] + 1
    for place in range(count.size):
        count[place] = 0
    count[EPOCH] = epoch
    count[GROUPS] = m
    for i in range(m):
        group[i, COLUMN] = i
        group[i, HEAD] = -1
        group[i, SIZE] = 0
        group[i, QUEUED] = 0
        tally[i, tally.shape[1] - 1, BEYOND] = -1


@kernel
def _forget(state):
    """Empty the scratch of the group that was collected last."""
    for at in range(state.number[FOUND]):
        state.inner[state.inner[at, 0], 2] = 0
    state.number[FOUND] = 0


@kernel
def _list_label(state, i, v):
    """Put a label on the list of those in the class."""
    tally = state.tally
    if tally[i, v, BEYOND] != ABSENT:
        return
    at = tally.shape[1] - 1
    if v < tally[i, at, HERE]:
        tally[i, v, BEYOND] = state.group[i, HEAD]
        state.group[i, HEAD] = v
        return
    while 0 <= tally[i, at, BEYOND] < v:
        at = tally[i, at, BEYOND]
    tally[i, v, BEYOND] = tally[i, at, BEYOND]
    tally[i, at, BEYOND] = v


@kernel
def _slot_of(state, labels, skip):
    """Return where the entry (skip = -1) or the group of column `skip` is, or where it would be."""
    m = labels.size
    last = state.slot.shape[0] - 1
    value = np.uint64(1469598103934665603) + np.uint64(skip + 1)
    for j in range(m):
        if j != skip:
            value = (value ^ np.uint64(labels[j] + 1)) * np.uint64(1099511628211)
            value ^= value >> np.uint64(29)
    at = np.int64(value & np.uint64(last))
    epoch = state.number[EPOCH]
    column = ENTRY_AT if skip < 0 else GROUP_AT
    while state.slot[at, column + 1] == epoch:
        found = state.slot[at, column]
        e = found
        same = True
        if skip >= 0:
            same = state.group[found, COLUMN] == skip
            e = state.group[found, HEAD]
        if same:
            for j in range(m):
                if j != skip and state.entry[e, LABEL, j] != labels[j]:
                    same = False
                    break
        if same:
            return at
        at = (at + 1) & last
    return at


@kernel
def find_group(state, labels, i):
    """Return the group of column i that a tuple of labels belongs to, or -1."""
    at = _slot_of(state, labels, i)
    return state.slot[at, GROUP_AT] if state.slot[at, GROUP_EPOCH] == state.number[EPOCH] else -1


@kernel
def entry_of(state, labels):
    """Return the entry with these labels, made if it is not there; -1 when there is no room."""
    count, entry, group, slot = state.number, state.entry, state.group, state.slot
    epoch = count[EPOCH]
    at = _slot_of(state, labels, np.int64(-1))
    if slot[at, ENTRY_EPOCH] == epoch:
        return slot[at, ENTRY_AT]
    e = count[ENTRIES]
    if e >= entry.shape[0]:
        count[OVERFLOW] = 1
        return -1
    count[ENTRIES] += 1
    slot[at, ENTRY_AT] = e
    slot[at, ENTRY_EPOCH] = epoch
    m = labels.size
    entry[e, ROWS, 0] = 0
    for j in range(m):
        entry[e, LABEL, j] = labels[j]
    for i in range(m):
        at = _slot_of(state, labels, i)
        if slot[at, GROUP_EPOCH] == epoch:
            g = slot[at, GROUP_AT]
        else:
            g = count[GROUPS]
            count[GROUPS] += 1
            slot[at, GROUP_AT] = g
            slot[at, GROUP_EPOCH] = epoch
            group[g, COLUMN] = i
            group[g, HEAD] = -1
            group[g, SIZE] = 0
            group[g, QUEUED] = 0
        entry[e, FOLLOWING, i] = group[g, HEAD]
        entry[e, GROUP, i] = g
        group[g, HEAD] = e
        _list_label(state, i, labels[i])
    return e


@kernel
def add_rows(state, e, x):
    """Give an entry more rows (fewer, when x is negative), and put its groups on the list of those to look at."""
    count, entry, group = state.number, state.entry, state.group
    m = state.tally.shape[0]
    entry[e, ROWS, 0] += x
    for i in range(m):
        g = entry[e, GROUP, i]
        group[g, SIZE] += x
        group[i, SIZE] += x
        state.tally[i, entry[e, LABEL, i], HERE] += x
        if not group[g, QUEUED]:
            group[g, QUEUED] = 1
            group[(count[QUEUE_HEAD] + count[QUEUE_LENGTH]) % group.shape[0], QUEUE] = g
            count[QUEUE_LENGTH] += 1


@kernel
def collect(state, secrets, g):
    """Gather the labels of a group that are no leaves into the scratch, and return how many there are."""
    m = state.tally.shape[0]
    i = state.group[g, COLUMN]
    leaves = secrets.leaves[i]
    _forget(state)
    found = 0
    at = state.group[g, HEAD] if g >= m else state.tally[i, state.tally.shape[1] - 1, BEYOND]
    while at >= 0:
        if g < m:
            v, rows, at = at, state.tally[i, at, HERE], state.tally[i, at, BEYOND]
        else:
            v, rows = state.entry[at, LABEL, i], state.entry[at, ROWS, 0]
            at = state.entry[at, FOLLOWING, i]
        if v >= leaves and rows > 0:
            state.inner[found, 0] = v
            state.inner[found, 1] = rows
            state.inner[v, 2] = rows
            found += 1
    state.number[FOUND] = found
    return found


@kernel
def visible_rows(state, g, leaf):
    """Return how many rows of a group show a leaf itself."""
    m = state.tally.shape[0]
    i = state.group[g, COLUMN]
    if g < m:
        return state.tally[i, leaf, HERE]
    e = state.group[g, HEAD]
    while e >= 0:
        if state.entry[e, LABEL, i] == leaf:
            return state.entry[e, ROWS, 0]
        e = state.entry[e, FOLLOWING, i]
    return 0


@kernel
def total_of(secrets, level, i, leaf, visible, size, inner, found):
    """Return the excess of a leaf in a group with `visible` rows that show it, as a float, once it was collected."""
    total = visible - secrets.bound[level, i, leaf] * size
    v = secrets.label[i, leaf, UP] if found > 0 else -1
    while v >= 0:
        if inner[v, 2] > 0:
            total += inner[v, 2] * (secrets.leaf[i, leaf, PART] / secrets.label[i, v, OF])
        v = secrets.label[i, v, UP]
    return total


@kernel
def excess_of(secrets, level, i, leaf, visible, size, inner, found):
    """Return the excess of a leaf in a group: above 0 unless the bound is certainly met."""
    total = total_of(secrets, level, i, leaf, visible, size, inner, found)
    if total <= -1e-6 * size:
        return total
    part = secrets.leaf[i, leaf, PART]
    num, den = secrets.leaf[i, leaf, NUM + 2 * level], secrets.leaf[i, leaf, DEN + 2 * level]
    certain, neutral, fraction = visible, 0, 0  # rows with share 1, with the bound as share, with another one
    above = visible > 0 and num < den
    v = secrets.label[i, leaf, UP] if found > 0 and part > 0 else -1
    while v >= 0:
        of, rows = secrets.label[i, v, OF], inner[v, 2]
        if rows > 0 and part * den > num * of:
            above = True
        if part == of:
            certain += rows
        elif part * den == num * of:
            neutral += rows
        else:
            fraction += rows
        v = secrets.label[i, v, UP]
    if not above:
        return MET
    if fraction == 0:
        exact = certain * (den - num) - (size - certain - neutral) * num
        return min(total, 0.0) if exact <= 0 else max(total, 1e-9)
    return total if total <= -MARGIN * size else max(total, MARGIN * size)


@kernel
def risky_leaves(secrets, level, i, v):
    """Return from where to where in `risky` the leaves stand that a label lifts above their bound."""
    return secrets.label[i, v, RISKY_FROM + 2 * level], secrets.label[i, v, RISKY_TO + 2 * level]


@kernel
def worst_leaf(state, secrets, g):
    """Return the leaf that is furthest above its bound in a group, or -1, and its excess."""
    m = state.tally.shape[0]
    i = state.group[g, COLUMN]
    level = np.int64(g < m)
    size = state.group[g, SIZE]
    worst, height = -1, 0.0
    if size == 0 or not secrets.asked[level]:
        return worst, height
    found = collect(state, secrets, g)
    leaves = secrets.leaves[i]
    at = state.group[g, HEAD]
    while at >= 0:
        if g < m:
            leaf, visible, at = at, state.tally[i, at, HERE], state.tally[i, at, BEYOND]
        else:
            leaf, visible = state.entry[at, LABEL, i], state.entry[at, ROWS, 0]
            at = state.entry[at, FOLLOWING, i]
        if leaf < leaves and visible > 0:
            excess = excess_of(secrets, level, i, leaf, visible, size, state.inner, found)
            last = g < m and excess == height and leaf > worst >= 0  # of leaves that are as far above, the last
            if excess > height or last:
                worst, height = leaf, excess
    for inner in range(found):
        v = state.inner[inner, 0]
        first, last = risky_leaves(secrets, level, i, v)
        for place in range(first, last):
            leaf = secrets.risky[place]
            excess = excess_of(secrets, level, i, leaf, visible_rows(state, g, leaf), size, state.inner, found)
            if excess > height:
                worst, height = leaf, excess
    return worst, height
