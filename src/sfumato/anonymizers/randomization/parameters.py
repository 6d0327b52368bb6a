"""How many values to show and how often the true one is among them: the least noise that the requirements allow.

Showing eta of d values, the true one surely with probability p, is judged by rho = (1 - p) / (1 - p + p d / eta): how
much less likely a set is when the true value is outside it. A set Z of mass m moves a belief by lambda(m, rho) K(Z), so
each set asks for some rho at least; p follows from the largest such rho, without any search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.hierarchy import Hierarchy
from sfumato.kernels.cells.randomization import largest_ratio

SETS = 5_000_000  # up to so many sets of a size, each is tried
SUMS = 5e9  # words of work up to which masses of sets are found exactly
GRID = 2048  # steps that masses are divided into where sets are not tried one by one
STEPS = 10_000  # p is published with four decimals, rounded down


@dataclass(frozen=True)
class Parameters:
    """How the cells of a column are drawn."""

    d: int
    eta: int
    p: Fraction

    @property
    def g(self) -> Fraction:
        """The probability that a cell shows the true value."""
        return self.p + (1 - self.p) * Fraction(self.eta, self.d)

    @property
    def in_clear(self) -> bool:
        """Whether the true values themselves are published."""
        return self.eta == 1 and self.p == 1

    @property
    def epsilon(self) -> float | None:
        """The local differential privacy of a cell; None when there is none because p is 1."""
        if self.eta == self.d:
            return 0.0
        return None if self.p == 1 else math.log(1 + float(self.p * self.d / (self.eta * (1 - self.p))))

    def expected_l2(self, n_rows: int) -> float | None:
        """Return how far the unbiased estimate of all shares will be off, root mean square; None when it is no help."""
        if self.eta == self.d or self.p == 0 or not n_rows:
            return None
        noise = Fraction(self.d - 1, 1) * self.eta / (self.p**2 * (self.d - self.eta)) - 1
        return math.sqrt(noise * (self.d - 1) / (self.d * n_rows))


@dataclass(frozen=True, eq=False)
class Closeness:
    """One requirement of closeness on a column: t, and the distance as intervals of values behind the edges of a tree.

    `counts` is how often each value occurs, in the order of the tree's leaves; None stands for any prior at all.
    """

    t: Fraction
    counts: NDArray[np.int64] | None
    edges: Edges | None = None  # None: the distance is `equal`

    def ratios(self, d: int) -> list[Fraction | float]:
        """Return for each number of values, 1 to d - 1, the least rho that keeps all sets within t."""
        if self.counts is None:
            return [((1 - self.t) / (1 + self.t)) ** 2] * (d - 1)
        if not self.counts.sum():
            return [Fraction(0)] * (d - 1)
        if self.edges is None:
            return list(_equal_ratios(self.counts, self.t))
        return [_tree_ratio(self.counts, self.edges, eta, float(self.t)) for eta in range(1, d)]


@dataclass(frozen=True)
class LocalPrivacy:
    """One requirement of local differential privacy on a column."""

    epsilon: Fraction

    def ratios(self, d: int) -> list[Fraction | float]:
        """Return for each number of values, 1 to d - 1, the least rho: e^-epsilon, and a little more for rounding."""
        return [min(math.exp(-float(self.epsilon)) * (1 + 1e-12), 1.0)] * (d - 1)


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a tree: those leaves behind each, first to last - 1 in the order of `leaves`, and its length."""

    leaves: NDArray[np.int64]  # (d,): the values in the order of the tree
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    length: NDArray[np.float64]


def ordered(d: int) -> Edges:
    """Return the edges between neighbours in the order of the domain."""
    last = np.arange(1, d)
    return Edges(np.arange(d), np.zeros(d - 1, dtype=np.int64), last, np.full(d - 1, 1 / (d - 1)))


def hierarchical(hierarchy: Hierarchy, domain: Sequence[str]) -> Edges:
    """Return the edges of a hierarchy over the domain; values that it lacks hang from its root."""
    known = [place for place, value in enumerate(domain) if value in hierarchy.node_of]
    known.sort(key=lambda place: hierarchy.node_of[domain[place]])
    others = [place for place in range(len(domain)) if domain[place] not in hierarchy.node_of]
    leaves = [*known, *others]
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, place in enumerate(known):
        node = hierarchy.node_of[domain[place]]
        while hierarchy.parent[node] >= 0:
            first.setdefault(node, position)
            last[node] = position + 1
            node = hierarchy.parent[node]
    height = max(hierarchy.height, 1)
    length = [(hierarchy.level[hierarchy.parent[node]] - hierarchy.level[node]) / (2 * height) for node in first]
    alone = range(len(known), len(leaves))
    return Edges(
        np.array(leaves, dtype=np.int64),
        np.array([*first.values(), *alone], dtype=np.int64),
        np.array([*(last[node] for node in first), *(position + 1 for position in alone)], dtype=np.int64),
        np.array([*length, *(0.5 for _ in alone)]),
    )


def choose(d: int, least: int, asked: Sequence[Closeness | LocalPrivacy]) -> Parameters:
    """Return the parameters with the least expected error, showing at least so many of d values.

    The whole domain is shown only when nothing else is allowed.
    """
    if least >= d:
        return Parameters(d, d, Fraction(0))
    if not asked:
        return Parameters(d, least, Fraction(1))  # more values, or less of p, only add noise
    ratios = [each.ratios(d) for each in asked]
    best = Parameters(d, d, Fraction(0))
    noise: Fraction | None = None
    for eta in range(max(least, 1), d):
        rho = max(Fraction(each[eta - 1]) for each in ratios)
        p = _rounded_down((1 - rho) / (1 - rho + rho * Fraction(d, eta)))
        if p == 0:
            continue
        here = eta / (p * p * (d - eta))
        if noise is None or here < noise:
            best, noise = Parameters(d, eta, p), here
    return best


def _rounded_down(p: Fraction) -> Fraction:
    return Fraction(math.floor(p * STEPS), STEPS)


def _equal_ratios(counts: NDArray[np.int64], t: Fraction) -> list[Fraction]:
    """Return the least rho for each number of values: the worst set is the one whose mass is nearest to (1 - t) / 2.

    Which masses occur is kept as the bits of one long number for each size.
    """
    n, d = int(counts.sum()), counts.size
    c, c_plus = (1 - t) / 2, (1 + t) / 2
    target = c * n
    if d * d * n / 64 > SUMS:
        rising = np.sort(counts)
        least, most = np.cumsum(rising)[:-1].tolist(), np.cumsum(rising[::-1])[:-1].tolist()
        gaps = [max(low - target, target - high, 0) for low, high in zip(least, most, strict=True)]
    else:
        gaps = [_nearest(sums, target) for sums in _masses([int(count) for count in counts])[1:]]
    found = []
    for gap in gaps:
        y2 = (gap / n) ** 2
        found.append((c * c - y2) / (c_plus * c_plus - y2) if y2 < c * c else Fraction(0))
    return found


def _masses(counts: list[int]) -> list[int]:
    """Return for each size below d the sums of all sets of that size, as the bits of a number."""
    d = len(counts)
    sums = [1] + [0] * (d - 1)
    for done, count in enumerate(counts):
        for size in range(min(d - 1, done + 1), 0, -1):
            sums[size] |= sums[size - 1] << count
    return sums


def _nearest(sums: int, target: Fraction) -> Fraction:
    """Return how far the nearest sum is from a target."""
    place = math.floor(target)
    below = (sums & ((1 << (place + 1)) - 1)).bit_length() - 1
    above = sums >> (place + 1)
    gaps = [target - below] if below >= 0 else []
    gaps += [place + (above & -above).bit_length() - target] if above else []
    return min(gaps)


def _tree_ratio(counts: NDArray[np.int64], edges: Edges, eta: int, t: float) -> float:
    """Return the least rho for sets of `eta` values: exact while they can all be tried, else a little more."""
    share = counts[edges.leaves] / counts.sum()
    if math.comb(share.size, eta) <= SETS:
        exact = float(largest_ratio(share, edges.first, edges.last, edges.length, eta, t))
        return min(exact * (1 + 1e-12), 1.0)  # floats round either way
    rising = np.sort(share)
    grid = np.linspace(rising[:eta].sum(), rising[share.size - eta :].sum(), GRID + 1)
    low, high = grid[:-1, None], grid[1:, None]
    before = np.concatenate([[0.0], np.cumsum(share)])
    behind = before[edges.last] - before[edges.first]
    # Behind an edge lies at most all, and at least none, of what a set of this mass can hold there.
    moved = np.maximum(
        np.minimum(behind * (1 - low), high * (1 - behind)), np.minimum(behind * high, (1 - low) * (1 - behind))
    )
    moved = moved @ edges.length
    ratio = (moved - t * low[:, 0]) / (moved + t * (1 - low[:, 0]))
    return min(max(float(ratio.max()), 0.0) * (1 + 1e-12), 1.0)
