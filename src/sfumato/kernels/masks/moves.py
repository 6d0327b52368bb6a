"""Improving a class that keeps its bounds: rows move to labels that lose less, as many as every group can take.

A flow is some rows of one original tuple that carry one tuple of labels. Its rows may carry any labels at or above the
original values; a move is tried for all of them, done for as many rows as all groups that it touches have room for,
checked, and taken back should the check fail.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.masks.raising import row_excess
from sfumato.kernels.masks.state import (
    BEYOND,
    COLUMN,
    FIRST,
    FOLLOWING,
    GROUP,
    HEAD,
    HERE,
    LABEL,
    LAST,
    OVERFLOW,
    ROWS,
    SIZE,
    SUB,
    UP,
    add_rows,
    clear,
    collect,
    entry_of,
    find_group,
    risky_leaves,
    total_of,
    visible_rows,
    worst_leaf,
)

# Columns of flows.
ORIGIN, ENTRY, HELD, NEXT = 0, 1, 2, 3


@kernel
def replay(flows, n_flows, log, n_moves, head):
    """Follow logged moves of entries with the flows in them; return the number of flows, -1 when there is no room."""
    for e in range(head.size):
        head[e] = -1
    for f in range(n_flows):
        flows[f, NEXT] = head[flows[f, ENTRY]]
        head[flows[f, ENTRY]] = f
    for at in range(n_moves):
        e, to, left = log[at, 0], log[at, 1], log[at, 2]
        while left > 0:
            f = head[e]
            x = flows[f, HELD]
            if x <= left:
                head[e] = flows[f, NEXT]
            else:
                if n_flows == flows.shape[0]:
                    return -1
                x = left
                flows[f, HELD] -= x
                flows[n_flows, ORIGIN] = flows[f, ORIGIN]
                flows[n_flows, HELD] = x
                f = n_flows
                n_flows += 1
            flows[f, ENTRY] = to
            flows[f, NEXT] = head[to]
            head[to] = f
            left -= x
    return n_flows


@kernel
def _room(state, secrets, g, lose, gain, most):
    """Return how many rows, at most `most`, a group can exchange from label `lose` to label `gain` (-1: none)."""
    m = state.wanted.size
    i = state.group[g, COLUMN]
    level = np.int64(g < m)
    if not secrets.asked[level]:
        return most
    size = state.group[g, SIZE]
    found = collect(state, secrets, g)
    leaves = secrets.leaves[i]
    at = state.group[g, HEAD]
    while at >= 0 and most > 0:
        if g < m:
            leaf, visible, at = at, state.tally[i, at, HERE], state.tally[i, at, BEYOND]
        else:
            leaf, visible = state.entry[at, LABEL, i], state.entry[at, ROWS, 0]
            at = state.entry[at, FOLLOWING, i]
        if leaf < leaves and visible > 0:
            step = -row_excess(secrets, level, i, leaf, lose) if lose >= 0 else 0.0
            if gain >= 0:
                step += row_excess(secrets, level, i, leaf, gain)
            if step > 1e-15:
                total = total_of(secrets, level, i, leaf, visible, size, state.inner, found)
                most = min(most, max(np.int64(np.floor(-total / step + 1e-9)), 0))
    for inner in range(found + 1):
        v = gain if inner == found else state.inner[inner, 0]
        if v < 0 or most == 0:
            break
        first, last = risky_leaves(secrets, level, i, v)
        for place in range(first, last):
            leaf = secrets.risky[place]
            step = -row_excess(secrets, level, i, leaf, lose) if lose >= 0 else 0.0
            if gain >= 0:
                step += row_excess(secrets, level, i, leaf, gain)
            if step > 1e-15:
                visible = visible_rows(state, g, leaf)
                total = total_of(secrets, level, i, leaf, visible, size, state.inner, found)
                most = min(most, max(np.int64(np.floor(-total / step + 1e-9)), 0))
    return most


@kernel
def _differing(entry, e, labels):
    """Return in how many columns an entry has other labels."""
    changed = 0
    for j in range(labels.size):
        changed += entry[e, LABEL, j] != labels[j]
    return changed


@kernel
def movable(state, secrets, e, labels, most):
    """Return how many rows of an entry can take other labels without any group going above its bounds."""
    m = labels.size
    changed = _differing(state.entry, e, labels)
    for i in range(m):
        before, after = state.entry[e, LABEL, i], labels[i]
        alone = changed == 1 and before != after  # rows stay in their group
        for part in range(3):  # the class as a whole, the group that rows leave, the group that they join
            g, lose, gain = np.int64(i), before, after
            if part == 0 and before == after:
                continue
            if part == 1:
                g = state.entry[e, GROUP, i]
                gain = after if alone else np.int64(-1)
            elif part == 2:
                if alone:
                    continue
                lose = np.int64(-1)
                g = find_group(state, labels, i)
                if g < 0:
                    # The rows would be a group of their own.
                    first, last = risky_leaves(secrets, np.int64(SUB), i, after)
                    if secrets.asked[SUB] and first < last:
                        return np.int64(0)
                    continue
            most = _room(state, secrets, g, lose, gain, most)
            if most == 0:
                return most
    return most


@kernel
def carry(state, secrets, e, labels, x):
    """Move x rows of an entry to other labels if all bounds hold afterwards; return the new entry, else -1."""
    m = labels.size
    to = entry_of(state, labels)
    if to < 0:
        return to
    add_rows(state, e, -x)
    add_rows(state, to, x)
    fine = True
    for i in range(m):
        for g in (i, state.entry[e, GROUP, i], state.entry[to, GROUP, i]):
            if fine and worst_leaf(state, secrets, g)[0] >= 0:
                fine = False
    if not fine:
        add_rows(state, to, -x)
        add_rows(state, e, x)
        return -1
    return to


@kernel
def improve(state, secrets, flows, n_flows, leaf_of, rounds, reach):
    """Move flows to labels that lose less while that is possible; return their number, -1 when there is no room.

    At most so many rounds, and `reach` columns at once.
    """
    m = leaf_of.shape[1]
    labels = np.empty(m, dtype=np.int64)
    chosen = np.empty(m, dtype=np.int64)
    for _ in range(rounds):
        moved = False
        f = 0
        while f < n_flows:
            e, held, o = flows[f, ENTRY], flows[f, HELD], flows[f, ORIGIN]
            now = 0.0
            for j in range(m):
                now += secrets.loss[j, state.entry[e, LABEL, j]]
            best, best_rows = 1e-12, np.int64(0)
            if now > 1e-12 and held > 0:
                for j in range(m):
                    labels[j] = leaf_of[o, j]
                while True:
                    loss = 0.0
                    for j in range(m):
                        loss += secrets.loss[j, labels[j]]
                    if (now - loss) * held > best and _differing(state.entry, e, labels) <= reach:
                        x = movable(state, secrets, e, labels, held)
                        if x * (now - loss) > best:
                            best, best_rows = x * (now - loss), x
                            for j in range(m):
                                chosen[j] = labels[j]
                    j = 0
                    while j < m:
                        labels[j] = secrets.label[j, labels[j], UP]
                        if labels[j] >= 0:
                            break
                        labels[j] = leaf_of[o, j]
                        j += 1
                    if j == m:
                        break
            again = False
            if best_rows > 0:
                if n_flows == flows.shape[0]:
                    return -1
                to = carry(state, secrets, e, chosen, best_rows)
                if state.number[OVERFLOW]:
                    return -1
                if to >= 0:
                    moved = True
                    again = best_rows < held
                    flows[f, HELD] -= best_rows
                    at = n_flows if again else f
                    flows[at, ORIGIN], flows[at, ENTRY], flows[at, HELD] = o, to, best_rows
                    n_flows += again
            if not again:
                f += 1
        if not moved:
            break
    return n_flows


@kernel
def begin(state, leaf_of, tuples, labels, rows, flows):
    """Fill the state with flows; return their number, -1 when there is no room."""
    clear(state)
    if tuples.size > flows.shape[0]:
        return -1
    for f in range(tuples.size):
        e = entry_of(state, labels[f])
        if e < 0:
            return -1
        add_rows(state, e, rows[f])
        flows[f, ORIGIN], flows[f, ENTRY], flows[f, HELD] = tuples[f], e, rows[f]
    return tuples.size


@kernel
def spoil_vacuous(state, secrets, leaf_of, flows, n_flows):
    """Mix labels that hide one value only, where that is possible; return the number of flows, -1 without room.

    Such a label hides nothing from somebody who knows who is in its class. A row with another value below the label
    joins it, or its rows go on to a higher label that hides several values, whichever loses less.
    """
    m = leaf_of.shape[1]
    wanted = np.empty(m, dtype=np.int64)
    best_labels = np.empty(m, dtype=np.int64)
    one = np.int64(1)  # row; a plain 1 would have what it is given to compiled once more
    for i in range(m):
        following = state.tally[i, state.tally.shape[1] - 1, BEYOND]
        while following >= 0:
            u, following = following, state.tally[i, following, BEYOND]
            only, several = -1, False
            for f in range(n_flows):
                if flows[f, HELD] > 0 and state.entry[flows[f, ENTRY], LABEL, i] == u:
                    leaf = leaf_of[flows[f, ORIGIN], i]
                    several = several or (only >= 0 and only != leaf)
                    only = leaf
            if only < 0 or several:
                continue
            # One row of another value joins.
            best, best_flow = np.inf, -1
            for f in range(n_flows):
                e = flows[f, ENTRY]
                leaf = leaf_of[flows[f, ORIGIN], i]
                inside = secrets.label[i, u, FIRST] <= leaf <= secrets.label[i, u, LAST]
                price = secrets.loss[i, u] - secrets.loss[i, state.entry[e, LABEL, i]]
                if flows[f, HELD] > 0 and leaf != only and inside and 0 < price < best:
                    for j in range(m):
                        wanted[j] = state.entry[e, LABEL, j]
                    wanted[i] = u
                    if movable(state, secrets, e, wanted, one) == 1:
                        best, best_flow = price, f
                        for j in range(m):
                            best_labels[j] = wanted[j]
            # Or all its rows go higher, where others hide.
            higher = secrets.label[i, u, UP]
            while higher >= 0 and state.tally[i, higher, HERE] == 0:
                higher = secrets.label[i, higher, UP]
            if higher >= 0 and state.tally[i, u, HERE] * (secrets.loss[i, higher] - secrets.loss[i, u]) < best:
                for f in range(n_flows):
                    e, x = flows[f, ENTRY], flows[f, HELD]
                    if x > 0 and state.entry[e, LABEL, i] == u:
                        for j in range(m):
                            wanted[j] = state.entry[e, LABEL, j]
                        wanted[i] = higher
                        if movable(state, secrets, e, wanted, x) == x:
                            to = carry(state, secrets, e, wanted, x)
                            if state.number[OVERFLOW]:
                                return -1
                            if to >= 0:
                                flows[f, ENTRY] = to
                if state.tally[i, u, HERE] == 0:
                    continue
            if best_flow >= 0:
                if n_flows == flows.shape[0]:
                    return -1
                e = flows[best_flow, ENTRY]
                if movable(state, secrets, e, best_labels, one) == 1:
                    to = carry(state, secrets, e, best_labels, one)
                    if state.number[OVERFLOW]:
                        return -1
                    if to >= 0:
                        flows[best_flow, HELD] -= 1
                        flows[n_flows, ORIGIN], flows[n_flows, ENTRY] = flows[best_flow, ORIGIN], to
                        flows[n_flows, HELD] = 1
                        n_flows += 1
    return n_flows


@kernel
def deal_out(distinct_of, pair_of_distinct, cursor, option_labels, left, shown):
    """Give each row the labels of an option that is left for its class and tuple.  (n,) -> shown (m, n) in place.

    cursor: (pairs,) the first option of each class and tuple; left: (options,) rows; both are used up.
    """
    for row in range(distinct_of.size):
        pair = pair_of_distinct[distinct_of[row]]
        at = cursor[pair]
        while left[at] == 0:
            at += 1
        cursor[pair] = at
        left[at] -= 1
        for i in range(shown.shape[0]):
            shown[i, row] = option_labels[at, i]
