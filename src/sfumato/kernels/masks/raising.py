"""Masking a class until every group keeps its bounds: labels only rise, so it ends.

A group above its bound is repaired by raising the fewest rows of a label in it, or by raising another column of all its
rows so that it joins another group; whichever costs less for what it repairs. Rows that leave one group and join
another may put these above their bounds, so both are looked at again.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.masks.state import (
    COLUMN,
    ENTRIES,
    FIRST,
    FOLLOWING,
    HEAD,
    HERE,
    LABEL,
    LAST,
    MARGIN,
    MOVES,
    OF,
    OVERFLOW,
    PART,
    QUEUE,
    QUEUE_HEAD,
    QUEUE_LENGTH,
    QUEUED,
    ROWS,
    SIZE,
    SUB,
    UP,
    WHOLE,
    add_rows,
    collect,
    entry_of,
    find_group,
    risky_leaves,
    total_of,
    visible_rows,
    worst_leaf,
)


@kernel
def row_excess(secrets, level, i, leaf, v):
    """Return what one row with a label adds to the excess of a leaf."""
    bound = secrets.bound[level, i, leaf]
    if secrets.label[i, v, FIRST] <= leaf <= secrets.label[i, v, LAST]:
        return secrets.leaf[i, leaf, PART] / secrets.label[i, v, OF] - bound
    return -bound


@kernel
def raise_rows(state, secrets, log, e, i, u, x):
    """Move rows of an entry to the label u of column i; return what it costs."""
    for j in range(state.wanted.size):
        state.wanted[j] = state.entry[e, LABEL, j]
    state.wanted[i] = u
    to = entry_of(state, state.wanted)
    at = state.number[MOVES]
    if log.shape[0] and at >= log.shape[0]:
        state.number[OVERFLOW] = 1
    if state.number[OVERFLOW]:
        return 0.0
    add_rows(state, e, -x)
    add_rows(state, to, x)
    if log.shape[0]:
        log[at, 0], log[at, 1], log[at, 2] = e, to, x
    state.number[MOVES] += 1
    return x * (secrets.loss[i, u] - secrets.loss[i, state.entry[e, LABEL, i]])


@kernel
def _rows_to_raise(state, secrets, g, leaf, excess, v, u, most, found):
    """Return how many of `most` rows of a group must rise from v to u to repair a leaf; 0 when it is no use.

    It is none when it lifts another leaf above its bound, but at the root, where it is the last resort.
    """
    i = state.group[g, COLUMN]
    level = np.int64(g < state.wanted.size)
    size = state.group[g, SIZE]
    gain = row_excess(secrets, level, i, leaf, v) - row_excess(secrets, level, i, leaf, u)
    if gain <= 1e-12:
        return 0
    x = min(max(np.int64(np.ceil((excess + 2 * MARGIN * size) / gain - 1e-9)), 1), most)
    if secrets.label[i, u, UP] >= 0:
        first, last = risky_leaves(secrets, level, i, u)
        for at in range(first, last):
            other = secrets.risky[at]
            total = total_of(secrets, level, i, other, visible_rows(state, g, other), size, state.inner, found)
            step = row_excess(secrets, level, i, other, u) - row_excess(secrets, level, i, other, v)
            if step > 0 and total + x * step > -MARGIN * size:
                return 0
    return x


@kernel
def _repair_group(state, secrets, log, g, leaf, excess):
    """Raise some rows of a sensitive equivalence class so that a leaf comes nearer to its bound; return the cost.

    -1 when nothing helps.
    """
    m = state.wanted.size
    i = state.group[g, COLUMN]
    sub = np.int64(SUB)
    entry, label, loss = state.entry, secrets.label, secrets.loss
    best = np.inf
    best_entry, best_column, best_label, best_rows = np.int64(-1), np.int64(-1), np.int64(-1), np.int64(0)
    found = collect(state, secrets, g)
    e = state.group[g, HEAD]
    while e >= 0:
        v = entry[e, LABEL, i]
        own = row_excess(secrets, sub, i, leaf, v)
        if entry[e, ROWS, 0] > 0 and own > 0:
            u = label[i, v, UP]
            while u >= 0:
                x = _rows_to_raise(state, secrets, g, leaf, excess, v, u, entry[e, ROWS, 0], found)
                if x > 0:
                    gain = own - row_excess(secrets, sub, i, leaf, u)
                    cost = x * (loss[i, u] - loss[i, v]) / min(x * gain / excess, 1.0)
                    if cost < best:
                        best = cost
                        best_entry, best_column, best_label, best_rows = e, i, u, x
                u = label[i, u, UP]
        e = entry[e, FOLLOWING, i]
    head = state.group[g, HEAD]
    for j in range(m):
        if j == i:
            continue
        t = entry[head, LABEL, j]
        u = label[j, t, UP]
        while u >= 0:
            cost = state.group[g, SIZE] * (loss[j, u] - loss[j, t])
            if cost >= best:
                break
            for l in range(m):
                state.wanted[l] = entry[head, LABEL, l]
            state.wanted[j] = u
            other = find_group(state, state.wanted, i)
            if other >= 0 and state.group[other, SIZE] > 0:
                found = collect(state, secrets, other)
                visible = visible_rows(state, other, leaf)
                there = total_of(secrets, sub, i, leaf, visible, state.group[other, SIZE], state.inner, found)
                if max(there + excess, 0.0) - max(there, 0.0) < excess * 0.5:
                    best = cost
                    best_entry, best_column, best_label, best_rows = head, j, u, 0
            u = label[j, u, UP]
    if best_entry < 0:
        return -1.0
    if best_rows > 0:
        return raise_rows(state, secrets, log, best_entry, best_column, best_label, best_rows)
    spent = 0.0
    e = state.group[g, HEAD]
    while e >= 0:
        following = entry[e, FOLLOWING, i]
        if entry[e, ROWS, 0] > 0:
            spent += raise_rows(state, secrets, log, e, best_column, best_label, entry[e, ROWS, 0])
        e = following
    return spent


@kernel
def _repair_class(state, secrets, log, i, leaf, excess):
    """Raise some rows of the class so that a leaf comes nearer to its bound in it; return the cost, -1: no way."""
    whole = np.int64(WHOLE)
    best = np.inf
    best_from, best_label, left = np.int64(-1), np.int64(-1), np.int64(0)
    found = collect(state, secrets, i)
    v = leaf
    while v >= 0:
        here = state.tally[i, v, HERE]
        u = secrets.label[i, v, UP] if here > 0 and row_excess(secrets, whole, i, leaf, v) > 0 else -1
        while u >= 0:
            x = _rows_to_raise(state, secrets, i, leaf, excess, v, u, here, found)
            if x > 0:
                gain = row_excess(secrets, whole, i, leaf, v) - row_excess(secrets, whole, i, leaf, u)
                cost = x * (secrets.loss[i, u] - secrets.loss[i, v]) / min(x * gain / excess, 1.0)
                if cost < best:
                    best = cost
                    best_from, best_label, left = v, u, x
            u = secrets.label[i, u, UP]
        v = secrets.label[i, v, UP]
    if best_from < 0:
        return -1.0
    spent = 0.0
    for e in range(state.number[ENTRIES]):
        x = min(left, state.entry[e, ROWS, 0])
        if state.entry[e, LABEL, i] == best_from and x > 0:
            spent += raise_rows(state, secrets, log, e, i, best_label, x)
            left -= x
    return spent


@kernel
def settle(state, secrets, log, budget):
    """Raise labels until every group keeps its bounds; return the cost, inf beyond the budget or without a way."""
    count, group = state.number, state.group
    spent = 0.0
    judged = -1  # how many moves there were when the class as a whole was put on the list
    while True:
        if count[QUEUE_LENGTH] == 0:
            if not secrets.asked[WHOLE] or judged == count[MOVES]:
                return spent
            judged = count[MOVES]
            for i in range(state.wanted.size):
                group[(count[QUEUE_HEAD] + i) % group.shape[0], QUEUE] = i
            count[QUEUE_LENGTH] = state.wanted.size
        g = group[count[QUEUE_HEAD], QUEUE]
        count[QUEUE_HEAD] = (count[QUEUE_HEAD] + 1) % group.shape[0]
        count[QUEUE_LENGTH] -= 1
        group[g, QUEUED] = 0
        while True:
            leaf, excess = worst_leaf(state, secrets, g)
            if leaf < 0:
                break
            if g < state.wanted.size:
                cost = _repair_class(state, secrets, log, g, leaf, excess)
            else:
                cost = _repair_group(state, secrets, log, g, leaf, excess)
            spent += cost
            if cost < 0 or spent > budget or count[OVERFLOW]:
                return np.inf
