"""Masking of one class in the published two-step greedy search, corrected: from the bottom, whole labels at a time."""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.masks.raising import row_excess
from sfumato.kernels.masks.state import (
    COLUMN,
    FOLLOWING,
    GROUPS,
    HEAD,
    HERE,
    LABEL,
    ROWS,
    SIZE,
    SUB,
    UP,
    WHOLE,
    add_rows,
    clear,
    entry_of,
    worst_leaf,
)


@kernel
def mask_from_below(state, secrets, labels, rows):
    """Raise labels of a class until all bounds hold; return the cost.  labels: (tuples, m), in place."""
    n, m = labels.shape
    while True:
        clear(state)
        cost = 0.0
        for at in range(n):
            add_rows(state, entry_of(state, labels[at]), rows[at])
            for i in range(m):
                cost += rows[at] * secrets.loss[i, labels[at, i]]
        worst, height, worst_group = -1, 0.0, -1
        for g in range(state.number[GROUPS]):
            leaf, excess = worst_leaf(state, secrets, g)
            if leaf >= 0 and excess / state.group[g, SIZE] > height:
                worst, height, worst_group = leaf, excess / state.group[g, SIZE], g
        if worst < 0:
            return cost
        i = state.group[worst_group, COLUMN]
        level = np.int64(WHOLE if worst_group < m else SUB)
        most, chosen = 0.0, -1
        at = state.group[worst_group, HEAD] if worst_group >= m else worst
        while at >= 0:
            if worst_group >= m:
                label, held = state.entry[at, LABEL, i], state.entry[at, ROWS, 0]
                at = state.entry[at, FOLLOWING, i]
            else:  # only labels above the leaf add to it
                label, held, at = at, state.tally[i, at, HERE], secrets.label[i, at, UP]
            added = held * row_excess(secrets, level, i, worst, label)
            last = worst_group < m and added == most and chosen >= 0  # of labels that add as much, the last
            if (added > most or last) and secrets.label[i, label, UP] >= 0:
                most, chosen = added, label
        if chosen < 0:
            return np.inf
        parent = secrets.label[i, chosen, UP]
        company, fewest = -1, np.int64(0)
        for label in range(secrets.loss.shape[1]):
            held = state.tally[i, label, HERE]
            if (
                label != chosen
                and held > 0
                and secrets.label[i, label, UP] == parent
                and (company < 0 or held < fewest)
            ):
                company, fewest = label, held
        for at in range(n):
            if labels[at, i] == chosen or labels[at, i] == company:
                labels[at, i] = parent
