"""Making and judging all classes of a node of the lattice of levels: for full-domain generalization.

Sizes: u cells (distinct rows at the node, told apart by sensitive values), q quasi-identifiers, c classes, h kinds
(combinations of sensitive values), s sensitive columns, v cells of a histogram, p combinations of labels.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.classes.conditions import DISTINCT, KIND, first_failing

PASSES, FAILS, FAILS_BELOW = range(3)  # the last: so does every part of the class


@kernel
def make_classes(code, number, at, labels, weight, number_of, class_of, some_cell, size):
    """Number the classes of a node in ascending order of their labels; return how many there are.

    (q, u) codes -> (u,) class_of, (c,) some_cell, (c,) size in place. In column j, the label of code x has the number
    number[at[j] + x], below labels[j]; number_of (p,) is scratch, -1 everywhere.
    """
    for cell in range(weight.size):
        key = np.int64(0)
        for j in range(at.size):
            key = key * labels[j] + number[at[j] + code[j, cell]]
        class_of[cell] = key
        number_of[key] = 0
    found = 0
    for key in range(number_of.size):
        if number_of[key] == 0:
            number_of[key] = found
            size[found] = 0
            found += 1
    for cell in range(weight.size):
        c = number_of[class_of[cell]]
        class_of[cell] = c
        some_cell[c] = cell
        size[c] += weight[cell]
    return found


@kernel
def merge_cells(code, number, at, labels, kind, kinds, weight, slot_of, key_of, number_of, some_cell, size):
    """Number cells that have the same labels, by first appearance, where combinations are too many for a place each.

    As make_classes, with (u,) keys of what is found besides. Cells of different `kind`, where `kinds` is above 1, are
    not the same. slot_of is scratch: -1 everywhere, its length a power of two above u.
    """
    mask = np.int64(slot_of.size - 1)
    found = 0
    for cell in range(weight.size):
        key = np.int64(0)
        for j in range(at.size):
            key = key * labels[j] + number[at[j] + code[j, cell]]
        if kinds > 1:
            key = key * kinds + kind[cell]
        mixed = key * np.int64(-7046029254386353131)  # as in number_keys
        slot = (mixed ^ (mixed >> 32)) & mask
        while slot_of[slot] >= 0 and key_of[slot_of[slot]] != key:
            slot = (slot + 1) & mask
        if slot_of[slot] < 0:
            slot_of[slot] = found
            key_of[found] = key
            some_cell[found] = cell
            size[found] = 0
            found += 1
        number_of[cell] = slot_of[slot]
        size[slot_of[slot]] += weight[cell]
    return found


@kernel
def judge_classes(conditions, class_of, kind_of, weight, histogram_of, size, order, histogram, verdict):
    """Set the verdict on each class.  (u,), (u,), (u,), (h, s), (c,) -> (c,) in place; order (u,) is scratch."""
    start = np.zeros(size.size + 1, dtype=np.int64)
    for cell in range(class_of.size):
        start[class_of[cell] + 1] += 1
    for c in range(size.size):
        start[c + 1] += start[c]
    for cell in range(class_of.size):
        order[start[class_of[cell]]] = cell
        start[class_of[cell]] += 1
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
