"""Judging all classes of a node of the lattice of levels: for full-domain generalization.

Sizes: u cells (distinct rows at the node, told apart by sensitive values), c classes, h kinds (combinations of
sensitive values), s sensitive columns, v cells of a histogram.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.classes.conditions import DISTINCT, KIND, first_failing

PASSES, FAILS, FAILS_BELOW = range(3)  # the last: so does every part of the class


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
