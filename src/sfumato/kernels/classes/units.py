"""What local recoding works on: distinct rows with weights, and all hierarchies in one numbering.

Sizes: n rows, q quasi-identifiers, u units, m nodes of all trees together.

A unit is a pattern of rows that share their quasi-identifiers, present in some number of copies; copies are what is
moved. When rows may be told apart by their sensitive values, a pattern is one row with its sensitive values. When rows
with equal quasi-identifiers must stay together, a pattern is all of them at once, in one copy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

LEAF, VALUES, LEVELS, AT, AXIS = range(5)  # columns of Trees.column
PARENT, LOW, HIGH = range(3)  # columns of Trees.node


class Units(NamedTuple):
    """Distinct rows, in ascending order of their codes."""

    code: NDArray[np.int32]  # (u, q)
    size: NDArray[np.int64]  # (u,) rows in one copy
    bar_start: NDArray[np.int64]  # (u + 1,)
    bar: NDArray[np.int64]  # (x, 2): a copy of u adds count bar[i, 1] to bar[i, 0] for i in bar_start[u:u + 2]
    kind: NDArray[np.int32]  # (u,) units of single rows with equal sensitive values are of one kind; else -1


class Trees(NamedTuple):
    """The trees of all quasi-identifiers in one numbering, and their levels.

    Of quasi-identifier j, the node of code c is column[j, LEAF] + c, and its node at level l is
    at_level[column[j, AT] + l * column[j, VALUES] + c].
    """

    column: NDArray[np.int64]  # (q, 5): LEAF, VALUES, LEVELS, AT; columns with the same AXIS change levels together
    node: NDArray[np.int64]  # (m, 3): PARENT (-1 for roots), and the codes below, LOW to HIGH
    loss: NDArray[np.float64]  # (m,)
    at_level: NDArray[np.int64]


@kernel
def number_keys(keys, slot_of, number_of, distinct):
    """Number keys by first appearance; return how many differ.  (n,) -> (n,), (n,) in place.

    slot_of is scratch: -1 everywhere, its length a power of two and larger than the number of different keys.
    """
    last_slot = np.int64(slot_of.size - 1)
    found = 0
    for row in range(keys.size):
        key = keys[row]
        mixed = key * np.int64(-7046029254386353131)  # an odd number without pattern; the product wraps around
        slot = (mixed ^ (mixed >> 32)) & last_slot
        while slot_of[slot] >= 0 and distinct[slot_of[slot]] != key:
            slot = (slot + 1) & last_slot
        if slot_of[slot] < 0:
            slot_of[slot] = found
            distinct[found] = key
            found += 1
        number_of[row] = slot_of[slot]
    return found
