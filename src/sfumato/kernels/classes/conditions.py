"""Whether a group of rows satisfies what a policy asks: one compiled test for every class-based model.

A group is a size (its rows) and a histogram: the counts of every sensitive column, one column after the other in one
int64 array. `Conditions` holds what is asked, as plain arrays with one entry per condition:

    kind          asks of the counts c of one column, in a group of N rows
    DISTINCT      at least l values with c > 0
    ENTROPY       entropy of c/N >= ln l; l may be a real number
    RECURSIVE     largest count < a/b * (l-th largest + all smaller ones), strictly (Machanavajjhala et al. 2007)
    FREQUENCY     a/b * largest count <= N
    LIMITED       the share of every value stays between two limits of its own
    EQUAL         total variation between c/N and the reference <= a/b
    ORDERED       sum over the steps from value to value of |difference of mass up to there| / steps <= a/b
    HIERARCHICAL  sum over the edges of a tree of levels spanned * |difference of mass below| / (2 * height) <= a/b

and the size itself must be at least k. The reference is the whole table.

The test errs on one side only. Comparisons are made on whole numbers: those below 2**53 are exact in a float, and
whether all of them stay below is settled once, up front, for groups up to the size of the table (EXACT). Otherwise,
and for entropy, a near-tie counts as failed, unless it is an exact tie that counts can prove. So a group that passes
here also passes an exact audit.

Every kind is convex in the histogram: the union of two groups that pass is a group that passes, and the number of
equal rows that can be added to a passing group before it fails is one interval from zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import lean_kernel

DISTINCT, ENTROPY, RECURSIVE, FREQUENCY, LIMITED, EQUAL, ORDERED, HIERARCHICAL = range(8)

MARGIN = 1e-9  # closer than this, floats do not decide; rounding errors stay far below it
LARGEST = 2**53  # whole numbers up to here are exact in a float
N_LOG_N = np.array([n * math.log(n) if n > 1 else 0.0 for n in range(1024)])  # most counts are small


# Columns of `Conditions.table`.
(
    KIND,
    FIRST,  # the condition's column is histogram[FIRST:LAST]
    LAST,
    WHOLE,  # l of DISTINCT and RECURSIVE; l of ENTROPY if it is a whole number, else 0
    EXACT,  # 1: all terms of the comparison are whole numbers below 2**53
    SCALE,  # distances: what the sum over edges is divided by
    EDGE_FIRST,  # distances: edges[EDGE_FIRST:EDGE_LAST]; LIMITED: limits[EDGE_FIRST:EDGE_LAST], one for each bar
    EDGE_LAST,
) = range(8)
WIDTH = 8
LOW, HIGH, UNIT = range(3)  # columns of `Conditions.limits`: LOW * N <= UNIT * c <= HIGH * N


class Conditions(NamedTuple):
    """What every group must satisfy. Sizes: q conditions, v bars of a histogram, e edges, x limits."""

    k: int
    rows: int  # rows of the whole table
    table: NDArray[np.int64]  # (q, WIDTH)
    bound: NDArray[np.float64]  # (q, 2): a and b of the fraction a/b, or its value and 1; for ENTROPY ln l and 1
    edges: NDArray[np.int64]  # (e, 3): first and last bar (exclusive) whose mass crosses the edge, its weight;
    #   ORDERED: the bars before count as well
    limits: NDArray[np.float64]  # (x, 3): whole numbers where these are exact, else a unit of 1 and a margin inside
    reference: NDArray[np.int64]  # (v,) the histogram of the whole table

    @property
    def bars(self) -> int:
        """The length of a histogram."""
        return int(self.reference.size)

    @property
    def size_only(self) -> bool:
        """Whether nothing is asked beyond k rows."""
        return self.table.size == 0


class Condition(NamedTuple):
    """One condition on one sensitive column; `bound` is l of ENTROPY, c of RECURSIVE, l of FREQUENCY, t of the rest."""

    kind: int
    column: int
    l: int = 0  # DISTINCT, RECURSIVE
    bound: Fraction | float = Fraction(0)
    rank: Sequence[int] = ()  # ORDERED: the place of each value among all that count, occurring or not
    places: int = 0  # ORDERED: how many count
    shares: Sequence[tuple[Fraction | float, Fraction | float]] = ()  # LIMITED: lowest and highest of each value
    parent: Sequence[int] = ()  # HIERARCHICAL: a tree over the column's values, its leaves first, the root last
    level: Sequence[int] = ()


def make_conditions(k: int, rows: int, counts: Sequence[Any], wanted: Sequence[Condition]) -> Conditions:
    """Return the arrays for `wanted`, given how often each value of each sensitive column occurs in the whole table."""
    offset = np.concatenate([[0], np.cumsum([len(column) for column in counts])]).astype(np.int64)
    table = np.zeros((len(wanted), WIDTH), dtype=np.int64)
    bounds = np.ones((len(wanted), 2))
    edges: list[tuple[int, int, int]] = []
    limits: list[tuple[float, float, float]] = []
    for i, condition in enumerate(wanted):
        first, last = int(offset[condition.column]), int(offset[condition.column + 1])
        bound = Fraction(condition.bound)
        scale, crossed = _edges(condition, last - first)
        listed: list[Any] = limits if condition.kind == LIMITED else edges
        edge_first = len(listed)
        edges += [(first + low, first + high, weight) for low, high, weight in crossed]
        limits += [_limit(low, high, rows) for low, high in condition.shares]
        growth = 2 * (scale + 1) * rows**2 if scale else rows
        exact = condition.kind != ENTROPY and max(bound.numerator, bound.denominator) * max(growth, 1) < LARGEST
        whole = condition.l
        if exact:
            bounds[i] = bound.numerator, bound.denominator
        elif condition.kind == ENTROPY:
            bounds[i, 0] = math.log(bound)
            whole = bound.numerator if bound.denominator == 1 else 0
        else:
            bounds[i, 0] = float(bound)
        table[i] = (condition.kind, first, last, whole, exact, scale, edge_first, len(listed))
    bars = [np.asarray(column, dtype=np.int64) for column in counts]
    return Conditions(
        k=int(k),
        rows=int(rows),
        table=table,
        bound=bounds,
        edges=np.array(edges, dtype=np.int64).reshape(-1, 3),
        limits=np.array(limits, dtype=np.float64).reshape(-1, 3),
        reference=np.concatenate(bars) if bars else np.zeros(0, dtype=np.int64),
    )


def _limit(low: Fraction | float, high: Fraction | float, rows: int) -> tuple[float, float, float]:
    """Return lowest and highest share of a value as a row of `Conditions.limits`."""
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        unit = math.lcm(low.denominator, high.denominator)
        if max(Fraction(unit), high * unit) * max(rows, 1) < LARGEST:
            return float(low * unit), float(high * unit), float(unit)
    return float(low) * (1 + MARGIN), float(high) * (1 - MARGIN), 1.0


def _edges(condition: Condition, values: int) -> tuple[int, list[tuple[int, int, int]]]:
    """Return what the distance's sum is divided by, and (first value, last value + 1, weight) of every edge."""
    if condition.kind == EQUAL:
        return 2, [(value, value + 1, 1) for value in range(values)]
    if condition.kind == ORDERED:
        in_order = sorted(range(values), key=condition.rank.__getitem__)
        steps = np.diff([condition.rank[value] for value in in_order]).tolist()
        pairs = zip(in_order, steps, strict=False)  # behind the last value all mass is the same
        return max(condition.places - 1, 1), [(value, value + 1, step) for value, step in pairs]
    if condition.kind != HIERARCHICAL:
        return 0, []
    parent, level = condition.parent, condition.level
    nodes = len(parent)
    low = [node if node < values else nodes for node in range(nodes)]
    high = [node + 1 if node < values else 0 for node in range(nodes)]
    for node in range(nodes - 1):  # children come before their parents
        low[parent[node]] = min(low[parent[node]], low[node])
        high[parent[node]] = max(high[parent[node]], high[node])
    spans = [(low[node], high[node], int(level[parent[node]]) - int(level[node])) for node in range(nodes - 1)]
    return 2 * max(int(level[-1]), 1), spans


@lean_kernel
def holds(conditions, histogram, size):
    """Return whether a group of `size` rows with this histogram passes.  (v,) -> bool."""
    everything = conditions.table.shape[0]
    return size >= conditions.k and first_failing(conditions, np.int64(0), everything, histogram, size) < 0


@lean_kernel
def first_failing(conditions, low, high, histogram, size):
    """Return the first of the conditions low to high - 1 that a group of at least one row fails, k aside; else -1."""
    table = conditions.table
    for i in range(low, high):
        kind = table[i, KIND]
        first = table[i, FIRST]
        last = table[i, LAST]
        whole = table[i, WHOLE]
        exact = table[i, EXACT] == 1
        a = conditions.bound[i, 0]
        b = conditions.bound[i, 1]
        if kind >= LIMITED and size == conditions.rows:
            continue  # the whole table is at distance zero, whatever the margin
        if kind == LIMITED:
            limit = table[i, EDGE_FIRST]
            for bar in range(first, last):
                found = float(histogram[bar]) * conditions.limits[limit, UNIT]
                if found > conditions.limits[limit, HIGH] * size or found < conditions.limits[limit, LOW] * size:
                    return i
                limit += 1
            continue
        if kind >= EQUAL:
            rows = conditions.rows
            # All sums are the distance times scale, group size and table size: whole numbers.
            keep = 1.0 if kind == ORDERED else 0.0  # whether masses add up from edge to edge
            distance = 0.0
            mass = 0.0
            for edge in range(table[i, EDGE_FIRST], table[i, EDGE_LAST]):
                mass *= keep
                for bar in range(conditions.edges[edge, 0], conditions.edges[edge, 1]):
                    mass += float(histogram[bar]) * rows - float(conditions.reference[bar]) * size
                distance += conditions.edges[edge, 2] * abs(mass)
            unit = float(size) * rows * table[i, SCALE]
            if b * distance > (a if exact else a - MARGIN * b) * unit:
                return i
            continue
        distinct = 0
        largest = np.int64(0)
        even = True
        for bar in range(first, last):
            count = histogram[bar]
            if count > 0:
                even = even and (distinct == 0 or count == largest)
                if count > largest:
                    largest = count
                distinct += 1
        if kind == DISTINCT:
            if distinct < whole:
                return i
        elif kind == ENTROPY:
            if not (even and distinct == whole):
                total = 0.0
                for bar in range(first, last):
                    count = histogram[bar]
                    total += N_LOG_N[count] if count < N_LOG_N.size else count * math.log(count)
                if math.log(size) - total / size < a + MARGIN:
                    return i
        elif kind == FREQUENCY:
            if a * largest > b * size * (1.0 if exact else 1.0 - MARGIN):
                return i
        else:
            tail = size
            count = largest
            skip = whole - 1  # the l - 1 largest counts do not belong to the tail
            while skip > 0 and count > 0:
                # One pass for each different count: how many values have it, and which count is next.
                ties = 0
                below = np.int64(0)
                for bar in range(first, last):
                    if histogram[bar] == count:
                        ties += 1
                    elif below < histogram[bar] < count:
                        below = histogram[bar]
                tail -= count * (ties if ties < skip else skip)
                skip -= ties
                count = below
            if b * largest >= a * tail * (1.0 if exact else 1.0 - MARGIN):
                return i
    return -1
