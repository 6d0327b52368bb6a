"""Whether a group of rows satisfies what a policy asks: one compiled test for every class-based model.

A group is a size (its rows) and a histogram: the counts of every sensitive column, one column after the other in one
int64 array. `Conditions` holds what is asked, as plain arrays with one entry per condition:

    kind          asks of the counts c of one column, in a group of N rows
    DISTINCT      at least l values with c > 0
    ENTROPY       entropy of c/N >= ln l; l may be a real number
    RECURSIVE     largest count < a/b * (l-th largest + all smaller ones), strictly (Machanavajjhala et al. 2007)
    FREQUENCY     a/b * largest count <= N
    EQUAL         total variation between c/N and the reference <= a/b
    ORDERED       sum of |cumulative difference| to the reference / (values - 1) <= a/b
    HIERARCHICAL  sum over the edges of a tree of weight * |difference of mass below| / (2 * height) <= a/b

and the size itself must be at least k. The reference is the whole table.

The test errs on one side only. Comparisons are made on integers when both sides fit into 63 bits, which is settled
once, up front, for groups up to the size of the table (`exact`). Otherwise, and for entropy, they are made on floats
with a margin: a near-tie counts as failed, unless it is an exact tie that integers can prove. So a group that passes
here also passes an exact audit.

Every kind is convex in the histogram: the union of two groups that pass is a group that passes, and the number of
equal rows that can be added to a passing group before it fails is one interval from zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import kernel, parallel_kernel

DISTINCT, ENTROPY, RECURSIVE, FREQUENCY, EQUAL, ORDERED, HIERARCHICAL = range(7)

MARGIN = 1e-9  # closer than this, floats do not decide; rounding errors stay far below it
LARGEST = 2**62  # both sides of an integer comparison stay below


# Columns of `Conditions.table`.
(
    KIND,
    FIRST,  # the condition's column is histogram[FIRST:LAST]
    LAST,
    WHOLE,  # l of DISTINCT and RECURSIVE; l of ENTROPY if it is a whole number, else 0
    A,  # the fraction A/B, where it fits
    B,
    EXACT,  # 1: compare integers
    SCALE,  # distances: what the sum of differences is divided by
    EDGE_FIRST,  # the condition's tree is edges[EDGE_FIRST:EDGE_LAST]
    EDGE_LAST,
) = range(10)
WIDTH = 10


class Conditions(NamedTuple):
    """What every group must satisfy. Sizes: q conditions, v cells of the histogram, e edges of all trees together."""

    k: int
    rows: int  # rows of the whole table
    table: NDArray[np.int64]  # (q, WIDTH)
    real: NDArray[np.float64]  # (q,) ln l for ENTROPY, else the fraction as a float
    edges: NDArray[np.int64]  # (e, 3): the cells below the edge, from and to, and the levels that it spans
    reference: NDArray[np.int64]  # (v,) the histogram of the whole table

    @property
    def cells(self) -> int:
        """The length of a histogram."""
        return int(self.reference.size)

    @property
    def size_only(self) -> bool:
        """Whether nothing is asked beyond k rows."""
        return self.real.size == 0


class Condition(NamedTuple):
    """One condition on one sensitive column; `bound` is l of ENTROPY, c of RECURSIVE, l of FREQUENCY, t of the rest."""

    kind: int
    column: int
    l: int = 0  # DISTINCT, RECURSIVE
    bound: Fraction | float = Fraction(0)
    parent: Sequence[int] = ()  # HIERARCHICAL: a tree over the column's values, its leaves first, the root last
    level: Sequence[int] = ()


def make_conditions(k: int, rows: int, counts: Sequence[Any], wanted: Sequence[Condition]) -> Conditions:
    """Return the arrays for `wanted`, given how often each value of each sensitive column occurs in the whole table."""
    offset = np.concatenate([[0], np.cumsum([len(column) for column in counts])]).astype(np.int64)
    table = np.zeros((len(wanted), WIDTH), dtype=np.int64)
    real = np.zeros(len(wanted))
    edges: list[tuple[int, int, int]] = []
    for i, condition in enumerate(wanted):
        first, last = int(offset[condition.column]), int(offset[condition.column + 1])
        bound = Fraction(condition.bound)
        scale = {EQUAL: 2, ORDERED: max(last - first - 1, 1)}.get(condition.kind, 0)
        edge_first = len(edges)
        if condition.kind == HIERARCHICAL:
            scale = 2 * max(int(condition.level[-1]), 1)
            edges += [(first + low, first + high, levels) for low, high, levels in _edges(condition)]
        if condition.kind == ENTROPY:
            real[i] = math.log(bound)
            whole = bound.numerator if bound.denominator == 1 else 0
        else:
            real[i] = float(bound)
            whole = condition.l
        growth = 2 * (scale + 1) * rows**2 if scale else rows
        exact = condition.kind != ENTROPY and max(bound.numerator, bound.denominator) * max(growth, 1) < LARGEST
        terms = (bound.numerator, bound.denominator) if exact else (0, 0)
        table[i] = (condition.kind, first, last, whole, *terms, exact, scale, edge_first, len(edges))
    cells = [np.asarray(column, dtype=np.int64) for column in counts]
    return Conditions(
        k=int(k),
        rows=int(rows),
        table=table,
        real=real,
        edges=np.array(edges, dtype=np.int64).reshape(-1, 3),
        reference=np.concatenate(cells) if cells else np.zeros(0, dtype=np.int64),
    )


def _edges(condition: Condition) -> list[tuple[int, int, int]]:
    """Return (first leaf, last leaf + 1, levels spanned) of every edge of the condition's tree."""
    parent, level = condition.parent, condition.level
    nodes = len(parent)
    low = [node if level[node] == 0 else nodes for node in range(nodes)]
    high = [node + 1 if level[node] == 0 else 0 for node in range(nodes)]
    for node in range(nodes - 1):  # children come before their parents
        low[parent[node]] = min(low[parent[node]], low[node])
        high[parent[node]] = max(high[parent[node]], high[node])
    return [(low[node], high[node], int(level[parent[node]]) - int(level[node])) for node in range(nodes - 1)]


@kernel
def holds(conditions, histogram, size):
    """Return whether a group of `size` rows with this histogram passes.  (v,) -> bool."""
    if size < conditions.k:
        return False
    for i in range(conditions.table.shape[0]):
        kind = conditions.table[i, KIND]
        if kind == DISTINCT:
            passes = _distinct(conditions, i, histogram)
        elif kind == ENTROPY:
            passes = _entropy(conditions, i, histogram, size)
        elif kind == RECURSIVE:
            passes = _recursive(conditions, i, histogram, size)
        elif kind == FREQUENCY:
            passes = _frequency(conditions, i, histogram, size)
        else:
            passes = _close(conditions, i, histogram, size)
        if not passes:
            return False
    return True


@kernel
def _distinct(conditions, i, histogram):
    """Return whether enough values occur."""
    missing = conditions.table[i, WHOLE]
    for cell in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
        if histogram[cell] > 0:
            missing -= 1
    return missing <= 0


@kernel
def _entropy(conditions, i, histogram, size):
    """Return whether the entropy is clearly large enough, or ties exactly: `whole` values, all equally frequent."""
    total = 0.0
    distinct = 0
    largest = np.int64(0)
    even = True
    for cell in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
        count = histogram[cell]
        if count > 0:
            total += count * math.log(count)
            distinct += 1
            if largest != 0 and count != largest:
                even = False
            largest = max(largest, count)
    entropy = math.log(size) - total / size
    if entropy >= conditions.real[i] + MARGIN:
        return True
    return even and distinct == conditions.table[i, WHOLE]


@kernel
def _recursive(conditions, i, histogram, size):
    """Return whether the largest count stays strictly below a/b times the tail from the l-th largest on."""
    rest = size
    largest = np.int64(0)
    above = np.int64(2**62)
    skip = conditions.table[i, WHOLE] - 1  # the l - 1 largest counts do not belong to the tail
    first_pass = True
    while skip > 0 or first_pass:
        # The largest count below `above`, and how many values have it: one pass for each different count.
        count = np.int64(0)
        ties = 0
        for cell in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
            if histogram[cell] < above:
                if histogram[cell] > count:
                    count = histogram[cell]
                    ties = 1
                elif histogram[cell] == count:
                    ties += 1
        if first_pass:
            largest = count
            first_pass = False
        if count == 0:
            break
        rest -= count * max(min(ties, skip), 0)
        skip -= ties
        above = count
    if conditions.table[i, EXACT] == 1:
        return conditions.table[i, B] * largest < conditions.table[i, A] * rest
    return largest < conditions.real[i] * rest * (1.0 - MARGIN)


@kernel
def _frequency(conditions, i, histogram, size):
    """Return whether no value is more frequent than one in a/b."""
    largest = np.int64(0)
    for cell in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
        largest = max(largest, histogram[cell])
    if conditions.table[i, EXACT] == 1:
        return conditions.table[i, A] * largest <= conditions.table[i, B] * size
    return conditions.real[i] * largest <= size * (1.0 - MARGIN)


@kernel
def _close(conditions, i, histogram, size):
    """Return whether the distance to the reference is small enough."""
    if size == conditions.rows:
        return True  # the whole table is at distance zero, whatever the margin
    if conditions.table[i, EXACT] == 1:
        distance = _whole_distance(conditions, i, histogram, size)
        return (
            conditions.table[i, B] * distance
            <= conditions.table[i, A] * conditions.table[i, SCALE] * size * conditions.rows
        )
    return _real_distance(conditions, i, histogram, size) <= conditions.real[i] - MARGIN


@kernel
def _whole_distance(conditions, i, histogram, size):
    """Return the distance times scale, group size and table size: a whole number."""
    reference = conditions.reference
    rows = conditions.rows
    distance = np.int64(0)
    if conditions.table[i, KIND] == HIERARCHICAL:
        for edge in range(conditions.table[i, EDGE_FIRST], conditions.table[i, EDGE_LAST]):
            difference = np.int64(0)
            for cell in range(conditions.edges[edge, 0], conditions.edges[edge, 1]):
                difference += histogram[cell] * rows - reference[cell] * size
            distance += conditions.edges[edge, 2] * abs(difference)
        return distance
    ordered = conditions.table[i, KIND] == ORDERED
    cumulative = np.int64(0)
    for cell in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
        difference = histogram[cell] * rows - reference[cell] * size
        cumulative += difference
        distance += abs(cumulative) if ordered else abs(difference)
    return distance


@kernel
def _real_distance(conditions, i, histogram, size):
    """Return the distance as a float."""
    reference = conditions.reference
    rows = conditions.rows
    distance = 0.0
    if conditions.table[i, KIND] == HIERARCHICAL:
        for edge in range(conditions.table[i, EDGE_FIRST], conditions.table[i, EDGE_LAST]):
            difference = 0.0
            for cell in range(conditions.edges[edge, 0], conditions.edges[edge, 1]):
                difference += histogram[cell] / size - reference[cell] / rows
            distance += conditions.edges[edge, 2] * abs(difference)
        return distance / conditions.table[i, SCALE]
    ordered = conditions.table[i, KIND] == ORDERED
    cumulative = 0.0
    for cell in range(conditions.table[i, FIRST], conditions.table[i, LAST]):
        difference = histogram[cell] / size - reference[cell] / rows
        cumulative += difference
        distance += abs(cumulative) if ordered else abs(difference)
    return distance / conditions.table[i, SCALE]


@kernel
def count_group(cell_of, order, low, high, histogram):
    """Add the rows order[low:high] to a histogram.  (s, n), (n,) -> (v,) in place."""
    for position in range(low, high):
        row = order[position]
        for column in range(cell_of.shape[0]):
            histogram[cell_of[column, row]] += 1


@parallel_kernel
def groups_hold(conditions, cell_of, order, start, passes):
    """Test many groups: group g is the rows order[start[g]:start[g + 1]].  (s, n), (n,), (g + 1,) -> (g,) in place.

    cell_of[column, row] is the row's cell in the histogram: its code plus the cells of the columns before.
    """
    groups = start.size - 1
    chunks = min(groups, 64)
    for chunk in numba.prange(chunks):
        histogram = np.zeros(conditions.reference.size, dtype=np.int64)
        for group in range(chunk * groups // chunks, (chunk + 1) * groups // chunks):
            count_group(cell_of, order, start[group], start[group + 1], histogram)
            passes[group] = holds(conditions, histogram, start[group + 1] - start[group])
            for position in range(start[group], start[group + 1]):
                for column in range(cell_of.shape[0]):
                    histogram[cell_of[column, order[position]]] = 0


def cells_of(codes: Sequence[NDArray[np.int32]], sizes: Sequence[int], rows: int) -> NDArray[np.int32]:
    """Return each row's cell in the histogram for each sensitive column, shape (columns, rows)."""
    offset = np.concatenate([[0], np.cumsum(sizes)]) if len(sizes) else np.zeros(1, dtype=np.int64)
    cell_of = np.empty((len(codes), rows), dtype=np.int32)
    for column, values in enumerate(codes):
        cell_of[column] = values + offset[column]
    return cell_of


def failing_groups(
    conditions: Conditions, cell_of: NDArray[np.int32], class_of: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the classes that fail, given each row's class."""
    groups = int(class_of.max()) + 1 if class_of.size else 0
    order = np.argsort(class_of, kind="stable").astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(class_of, minlength=groups))]).astype(np.int64)
    passes = np.zeros(groups, dtype=np.bool_)
    groups_hold(conditions, cell_of, order, start, passes)
    return np.flatnonzero(~passes)
