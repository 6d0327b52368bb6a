"""Making and judging all classes of a node of the lattice of levels: for full-domain generalization.

Sizes: n rows, q quasi-identifiers, N nodes, u distinct rows (at a node, told apart by sensitive values or not), c
classes, h kinds (combinations of sensitive values), s sensitive columns, v bars of a histogram, w words of a key.

A distinct row has a key: the first value of its label in each column, and its kind, side by side in the bits of some
words. So the order of keys is that of labels, and a table of distinct rows is rolled up to a coarser node by looking up
those columns alone whose level changes. Tables are kept in a pool, one behind the other, the one of the finest node
first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel, lean_kernel
from sfumato.kernels.classes.conditions import DISTINCT, KIND, Conditions, first_failing
from sfumato.kernels.classes.losing import rows_to_lose

PASSES, FAILS, FAILS_BELOW = range(3)  # the last: so does every part of the class
WORD, SHIFT, BITS, LEVELS, STRIDE, PLACE = range(6)  # columns of Layout.column
AT, NODE, START, N_DISTINCT = range(4)  # columns of Pool.table
LOOKED_UP = 3  # the last column of Pool.change
LATER_BITS = 31  # of all words of a key but the first
TABLES, END = range(2)  # places in Pool.used
ODD = np.int64(-7046029254386353131)  # without pattern; products wrap around, as in number_keys
# What is counted of the classes of a node: of all, of those that fail, and of those that fail for good.
CLASSES, SQUARES, GONE, GONE_ROWS, GONE_SQUARES, GONE_DETAIL, LASTING_ROWS, LASTING_SQUARES, LASTING_DETAIL = range(9)
SMALL_ROWS = 9  # of those whose size alone is why they fail, here and at finer nodes
COUNTED = 10


class Layout(NamedTuple):
    """Where columns are in a key, and what stands for each label."""

    column: NDArray[np.int64]  # (q, 6): WORD, SHIFT and BITS in a key, LEVELS, STRIDE of nodes, PLACE in Pool.table
    begin: NDArray[np.int64]  # (q, levels): code x of column j at a level is looked up at begin[j, level] + x
    labels: NDArray[np.int64]  # (q, levels): how many there are
    field: NDArray[np.int64]  # (x,): the first value of its label, as it is in a key
    kept: NDArray[np.float64]  # (x,): the detail that the label keeps, 1 at most where columns weigh the same
    chain: NDArray[np.int64]  # the columns of most values
    kind: NDArray[np.int64]  # (3,): WORD, SHIFT and BITS of a distinct row's kind
    guard: int  # a bit above the place of each column in Pool.table
    at: NDArray[np.int64]  # (q,), scratch


class Pool(NamedTuple):
    """Tables of distinct rows that are kept, and what is needed to make more."""

    key: NDArray[np.int64]  # (w, distinct rows)
    weight: NDArray[np.int64]  # (distinct rows,)
    table: NDArray[np.int64]  # (tables, 4): AT, the levels of its NODE side by side; START and N_DISTINCT
    table_of: NDArray[np.int32]  # (N,): the table of a node, -1: none is kept
    used: NDArray[np.int64]  # (2,): TABLES that are kept, and the END of their distinct rows
    slot_of: NDArray[np.int32]  # scratch: its length a power of two above twice the distinct rows of the finest node
    number_of: NDArray[np.int32]  # (u,), scratch
    change: NDArray[np.int64]  # (q, 4), scratch: SHIFT and BITS of columns that change, and where they are looked up


class Groups(NamedTuple):
    """Distinct rows of a table, class by class: scratch for as many distinct rows as the finest node has."""

    key: NDArray[np.int64]  # (w, c)
    size: NDArray[np.int64]  # (c,)
    verdict: NDArray[np.int8]  # (c,)
    start: NDArray[np.int64]  # (c + 1,): of class i, order[start[i]:start[i + 1]]
    order: NDArray[np.int32]  # (u,): distinct rows
    class_of: NDArray[np.int32]  # (u,)


class Asked(NamedTuple):
    """What is asked of each class."""

    conditions: Conditions
    furthest: NDArray[np.float64]  # by `find_furthest`
    histogram_of: NDArray[np.int32]  # (h, s): the places of a kind in a histogram
    histogram: NDArray[np.int64]  # (v,): scratch


@lean_kernel
def pack_rows(codes, column, kind, key):
    """Put the codes of rows into keys.  (q + 1, n), the last of which are kinds -> (w, n) in place, zeros before."""
    for j in range(column.shape[0] + 1):
        place = column[j] if j < column.shape[0] else kind
        for row in range(key.shape[1]):
            key[place[WORD], row] |= np.int64(codes[j, row]) << place[SHIFT]


@lean_kernel
def count_values(layout, key, weight, count):
    """Add up how often each value of each column occurs, where its lowest level is looked up.  (w, u), (u,) -> (x,)."""
    for j in range(layout.column.shape[0]):
        for distinct in range(weight.size):
            code = key[layout.column[j, WORD], distinct] >> layout.column[j, SHIFT] & layout.column[j, BITS]
            count[layout.begin[j, 0] + code] += weight[distinct]


@lean_kernel
def _changes(layout, pool, word, of, node, kinds):
    """Set which columns of a word change from one node to a coarser one; return how many, and all other bits."""
    changes = 0
    unchanged = np.int64(-1)
    if not kinds and layout.kind[WORD] == word:
        unchanged &= ~(layout.kind[BITS] << layout.kind[SHIFT])
    for j in range(layout.column.shape[0]):
        stride = layout.column[j, STRIDE]
        level = node // stride % layout.column[j, LEVELS]
        if layout.column[j, WORD] == word and level != of // stride % layout.column[j, LEVELS]:
            unchanged &= ~(layout.column[j, BITS] << layout.column[j, SHIFT])
            if layout.labels[j, level] == 1:
                continue  # its first value is 0
            pool.change[changes, SHIFT] = layout.column[j, SHIFT]
            pool.change[changes, BITS] = layout.column[j, BITS]
            pool.change[changes, LOOKED_UP] = layout.begin[j, level]
            changes += 1
    return changes, unchanged


@lean_kernel
def _number_distinct(layout, pool, table, node, kinds, key, at, number_of):
    """Number the distinct rows of a table by their keys at a coarser node, by first appearance; return how many.

    -> keys (w, c) from place `at` on, number_of (u,) in place. Without `kinds`, rows of all kinds are the same.
    """
    first = pool.table[table, START]
    distinct = pool.table[table, N_DISTINCT]
    slots = np.int64(16)
    while slots < 2 * distinct:
        slots *= 2
    found = 0
    for word in range(key.shape[0]):
        changes, unchanged = _changes(layout, pool, word, pool.table[table, NODE], node, kinds)
        for slot in range(slots):
            pool.slot_of[slot] = -1
        found = 0
        for i in range(distinct):
            old = pool.key[word, first + i]
            new = old & unchanged
            for c in range(changes):
                new |= layout.field[pool.change[c, LOOKED_UP] + ((old >> pool.change[c, SHIFT]) & pool.change[c, BITS])]
            if word > 0:  # what differs so far is told apart by its number
                new |= np.int64(number_of[i]) << LATER_BITS
            mixed = (new ^ (new >> 32)) * ODD
            slot = (mixed ^ (mixed >> 32)) & (slots - 1)
            while pool.slot_of[slot] >= 0 and key[word, at + pool.slot_of[slot]] != new:
                slot = (slot + 1) & (slots - 1)
            if pool.slot_of[slot] < 0:
                pool.slot_of[slot] = found
                key[word, at + found] = new
                found += 1
            number_of[i] = pool.slot_of[slot]
    if key.shape[0] > 1:
        _set_keys(layout, pool, table, node, kinds, key, at, number_of)
    return found


@lean_kernel
def _set_keys(layout, pool, table, node, kinds, key, at, number_of):
    """Set all words of the keys of numbered distinct rows."""
    for word in range(key.shape[0]):
        changes, unchanged = _changes(layout, pool, word, pool.table[table, NODE], node, kinds)
        for i in range(pool.table[table, N_DISTINCT]):
            old = pool.key[word, pool.table[table, START] + i]
            new = old & unchanged
            for c in range(changes):
                new |= layout.field[pool.change[c, LOOKED_UP] + ((old >> pool.change[c, SHIFT]) & pool.change[c, BITS])]
            key[word, at + number_of[i]] = new


@lean_kernel
def _finest(layout, pool, node):
    """Return the smallest table that is kept of a node that is as fine or finer."""
    at = np.int64(0)
    for j in range(layout.column.shape[0]):
        at += node // layout.column[j, STRIDE] % layout.column[j, LEVELS] << layout.column[j, PLACE]
    pool.table[pool.used[TABLES], AT] = at
    at |= layout.guard
    found = 0
    for table in range(1, pool.used[TABLES]):
        # A column whose level is above takes the bit above it away.
        finer = (at - pool.table[table, AT]) & layout.guard == layout.guard
        if finer and pool.table[table, N_DISTINCT] < pool.table[found, N_DISTINCT]:
            found = table
    return found


@lean_kernel
def _roll_up(layout, pool, node):
    """Make the table of a node, and keep it where there is room; return which it is."""
    source = _finest(layout, pool, node)
    end = pool.used[END]
    found = _number_distinct(layout, pool, source, node, True, pool.key, end, pool.number_of)
    for c in range(end, end + found):
        pool.weight[c] = 0
    for i in range(pool.table[source, N_DISTINCT]):
        pool.weight[end + pool.number_of[i]] += pool.weight[pool.table[source, START] + i]
    table = pool.used[TABLES]
    pool.table[table, NODE] = node
    pool.table[table, START] = end
    pool.table[table, N_DISTINCT] = found
    # The next one may be as large as the finest, and needs a place for one key more.
    if end + found + pool.table[0, N_DISTINCT] < pool.weight.size and table + 1 < pool.table.shape[0]:
        pool.table_of[node] = table
        pool.used[TABLES] = table + 1
        pool.used[END] = end + found
    return table


@lean_kernel
def _table_at(layout, pool, node):
    """Return the table of a node, made from the smallest one that is kept and finer.

    Tables on the way to it are kept: with its levels in the columns of most values, one column after the other.
    """
    way = np.int64(0)
    table = np.int64(pool.table_of[node])
    steps = layout.chain.size + 1 if table < 0 else 0
    for i in range(steps):
        if i < layout.chain.size:
            stride = layout.column[layout.chain[i], STRIDE]
            way += node // stride % layout.column[layout.chain[i], LEVELS] * stride
        else:
            way = node
        table = np.int64(pool.table_of[way])
        if table < 0 and (way == node or pool.used[TABLES] + 1 < pool.table.shape[0]):
            table = _roll_up(layout, pool, way)
    return table


@lean_kernel
def judge_sizes(layout, pool, node, k, least, detail, verdict, counted):
    """Judge the classes of a node by their sizes alone; return which table has them.  -> (c,), (COUNTED,) in place.

    Below k they fail; below `least` they fail for what is asked besides.
    """
    table = _table_at(layout, pool, node)
    first = pool.table[table, START]
    classes = pool.table[table, N_DISTINCT]
    for c in range(classes):
        verdict[c] = FAILS_BELOW if pool.weight[first + c] < k else PASSES
    sum_up(layout, node, pool.key, pool.weight, first, verdict, classes, detail, counted)
    for c in range(first, first + classes):
        if pool.weight[c] < least:
            counted[SMALL_ROWS] += pool.weight[c]
    return table


@lean_kernel
def sum_up(layout, node, key, size, first, verdict, classes, detail, counted):
    """Count classes by their verdicts, and where asked for the detail that those which fail would keep.

    Of class c, key and size are those numbered first + c.  (w, u), (u,), (c,) -> (COUNTED,) in place.
    """
    for i in range(COUNTED):
        counted[i] = 0.0
    counted[CLASSES] = classes
    for j in range(layout.column.shape[0]):
        layout.at[j] = layout.begin[j, node // layout.column[j, STRIDE] % layout.column[j, LEVELS]]
    for c in range(classes):
        rows = float(size[first + c])
        counted[SQUARES] += rows * rows
        if verdict[c] == PASSES:
            continue
        kept = 0.0
        if detail:
            for j in range(layout.column.shape[0]):
                code = key[layout.column[j, WORD], first + c] >> layout.column[j, SHIFT] & layout.column[j, BITS]
                kept += layout.kept[layout.at[j] + code]
        counted[GONE] += 1.0
        counted[GONE_ROWS] += rows
        counted[GONE_SQUARES] += rows * rows
        counted[GONE_DETAIL] += rows * kept
        if verdict[c] == FAILS_BELOW:
            counted[LASTING_ROWS] += rows
            counted[LASTING_SQUARES] += rows * rows
            counted[LASTING_DETAIL] += rows * kept


@lean_kernel
def group_distinct(layout, pool, table, node, groups):
    """Put the distinct rows of a table into the classes of a node, numbered by first appearance.

    Return how many there are, and the table: if none is given (-1), that of the node.
    """
    if table < 0:
        table = _table_at(layout, pool, node)
    first = pool.table[table, START]
    distinct = pool.table[table, N_DISTINCT]
    found = _number_distinct(layout, pool, table, node, False, groups.key, 0, groups.class_of)
    for c in range(found):
        groups.size[c] = 0
        groups.start[c + 1] = 0
    for i in range(distinct):
        groups.size[groups.class_of[i]] += pool.weight[first + i]
        groups.start[groups.class_of[i] + 1] += 1
    groups.start[0] = 0
    for c in range(found):
        groups.verdict[c] = PASSES
        groups.start[c + 1] += groups.start[c]
    for i in range(distinct):
        c = groups.class_of[i]
        groups.order[groups.start[c]] = first + i
        groups.start[c] += 1
    for c in range(found):  # by now, each starts where the next one does
        groups.start[found - c] = groups.start[found - c - 1]
    groups.start[0] = 0
    return found, table


@lean_kernel
def judge_groups(layout, pool, groups, classes, asked, lasting, limit):
    """Set the verdict on classes that pass by now; return how many rows have to be dropped here and at finer nodes.

    It ends when these are above a limit. `lasting`: rows of classes that fail for good are counted alone.
    """
    conditions = asked.conditions
    histogram = asked.histogram
    everything = conditions.table.shape[0]
    lost = 0.0
    for c in range(classes):
        if lost > limit:
            break
        if groups.verdict[c] != PASSES:
            continue
        size = groups.size[c]
        if size < conditions.k:
            groups.verdict[c] = FAILS_BELOW
            lost += size
            continue
        for i in range(histogram.size):
            histogram[i] = 0
        for at in range(groups.start[c], groups.start[c + 1]):
            distinct = groups.order[at]
            kind = (pool.key[layout.kind[WORD], distinct] >> layout.kind[SHIFT]) & layout.kind[BITS]
            for column in range(asked.histogram_of.shape[1]):
                histogram[asked.histogram_of[kind, column]] += pool.weight[distinct]
        if first_failing(conditions, np.int64(0), everything, histogram, size) < 0:
            continue
        groups.verdict[c] = FAILS
        for i in range(everything):
            # Fewer rows never have more different values.
            if conditions.table[i, KIND] == DISTINCT and first_failing(conditions, i, i + 1, histogram, size) >= 0:
                groups.verdict[c] = FAILS_BELOW
        if groups.verdict[c] == FAILS_BELOW:
            lost += size
        elif not lasting:
            lost += rows_to_lose(conditions, asked.furthest, histogram, size)
    return lost


@kernel
def judge_classes(conditions, class_of, kind_of, weight, histogram_of, size, order, histogram, verdict):
    """Set the verdict on each class.  (u,), (u,), (u,), (h, s), (c,) -> (c,) in place; order (u,) is scratch."""
    start = np.zeros(size.size + 1, dtype=np.int64)
    for distinct in range(class_of.size):
        start[class_of[distinct] + 1] += 1
    for c in range(size.size):
        start[c + 1] += start[c]
    for distinct in range(class_of.size):
        order[start[class_of[distinct]]] = distinct
        start[class_of[distinct]] += 1
    everything = conditions.table.shape[0]
    first = np.int64(0)
    for c in range(size.size):
        last = start[c]  # by now, where the next class begins
        for i in range(histogram.size):
            histogram[i] = 0
        for at in range(first, last):
            for column in range(histogram_of.shape[1]):
                histogram[histogram_of[kind_of[order[at]], column]] += weight[order[at]]
        first = last
        verdict[c] = FAILS_BELOW if size[c] < conditions.k else PASSES
        if verdict[c] == PASSES and first_failing(conditions, np.int64(0), everything, histogram, size[c]) >= 0:
            verdict[c] = FAILS
        for i in range(everything):
            # Fewer rows never have more different values.
            if conditions.table[i, KIND] == DISTINCT and first_failing(conditions, i, i + 1, histogram, size[c]) >= 0:
                verdict[c] = FAILS_BELOW
