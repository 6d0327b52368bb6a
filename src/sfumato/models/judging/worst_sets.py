"""How far a published set can move a belief at most: over all sets of a size, exactly or by a bound that is safe.

An intruder knows how common each value is (A) and sees a set Z. With m = A(Z), the belief afterwards differs from A by

    D(Z) = (1 - rho) / (m + rho (1 - m)) * K(Z),    K(Z) = sum over edges of weight * |A(edge and Z) - m A(edge)|

for every distance that is a path length in a tree, whose edges each cut some of the values off: one edge for each value
(equal), for each prefix (ordered), or for each node below the root (hierarchical).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.hierarchy import Hierarchy

SETS = 5_000_000  # up to so many sets of a size, each is tried
SUMS = 2e10  # words of work up to which masses of sets are found exactly
GRID = 8192  # steps that masses are divided into where sets are not tried one by one
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a tree over d values: which values lie behind each, and its length."""

    behind: NDArray[np.bool_]  # (e, d)
    length: NDArray[np.float64]  # (e,)


def ordered_edges(d: int) -> Edges:
    """Return the edges between neighbours in an order of values."""
    return Edges(np.tri(d - 1, d, dtype=np.bool_), np.full(d - 1, 1 / (d - 1)))


def hierarchical_edges(hierarchy: Hierarchy, domain: tuple[str, ...]) -> Edges:
    """Return the edges of a hierarchy over the values of a domain; a value that it lacks hangs from the root."""
    behind: dict[int | str, NDArray[np.bool_]] = {}
    length: dict[int | str, float] = {}
    height = max(hierarchy.height, 1)
    for place, value in enumerate(domain):
        node = hierarchy.node_of.get(value, -1)
        if node < 0:
            behind[value], length[value] = np.arange(len(domain)) == place, 0.5
            continue
        while hierarchy.parent[node] >= 0:
            behind.setdefault(node, np.zeros(len(domain), dtype=np.bool_))[place] = True
            above = hierarchy.parent[node]
            length[node] = (hierarchy.level[above] - hierarchy.level[node]) / (2 * height)
            node = above
    return Edges(np.array(list(behind.values())), np.array([length[node] for node in behind]))


def equal_distance(counts: NDArray[np.int64], eta: int, rho: Fraction) -> Fraction:
    """Return the largest distance that any set of `eta` values reaches, exactly unless the domain is huge.

    D = (1 - rho) m (1 - m) / (m + rho (1 - m)) has one maximum in m, so the worst mass is a neighbour of that place.

    >>> equal_distance(np.array([1, 1, 2]), 1, Fraction(0))
    Fraction(3, 4)
    """
    n = int(counts.sum())
    top = math.sqrt(rho) / (1 + math.sqrt(rho))

    def distance(mass: Fraction) -> Fraction:
        if mass == 0:
            return Fraction(0)
        return (1 - rho) * mass * (1 - mass) / (mass + rho * (1 - mass))

    rising = sorted(int(count) for count in counts)
    least, most = sum(rising[:eta]), sum(rising[len(rising) - eta :])
    if len(rising) ** 2 * n / 64 > SUMS:  # any mass between the extremes may occur
        inside = min(max(Fraction(top), Fraction(least, n)), Fraction(most, n))
        return distance(inside)
    sums = _sums(rising, eta)
    place = int(top * n)
    below = sums & ((1 << (place + 1)) - 1)
    above = sums >> (place + 1)
    near = [below.bit_length() - 1] if below else []
    near += [place + 1 + (above & -above).bit_length() - 1] if above else []
    return max(distance(Fraction(mass, n)) for mass in near)


def _sums(counts: list[int], size: int) -> int:
    """Return the sums of all choices of so many counts, as a number whose bits are the sums."""
    reachable = [1] + [0] * size
    for done, count in enumerate(counts):
        for chosen in range(min(size, done + 1), 0, -1):
            reachable[chosen] |= reachable[chosen - 1] << count
    return reachable[size]


def tree_distance(counts: NDArray[np.int64], eta: int, rho: float, edges: Edges) -> tuple[float, bool]:
    """Return the largest distance that any set of `eta` values reaches, or a bound on it, and whether it is exact."""
    share = counts / counts.sum()
    if rho >= 1:
        return 0.0, True
    if math.comb(counts.size, eta) <= SETS:
        return max(_distances(sets, share, rho, edges) for sets in _all_sets(counts.size, eta)), True
    return _bound(share, eta, rho, edges), False


def _all_sets(d: int, size: int) -> Iterator[NDArray[np.float64]]:
    """Yield all sets of a size as rows of zeros and ones, some thousand at a time."""
    if d <= 24:
        packed = np.arange(1 << d, dtype=np.uint32)
        packed = packed[np.bitwise_count(packed) == size]
        for first in range(0, packed.size, _CHUNK):
            part = packed[first : first + _CHUNK, None]
            yield ((part >> np.arange(d, dtype=np.uint32)) & 1).astype(np.float64)
        return
    # Beyond that only very small or very large sets are few enough.
    few = min(size, d - size)
    chosen = np.fromiter((item for one in combinations(range(d), few) for item in one), dtype=np.int64)
    for part in np.array_split(chosen.reshape(-1, few), -(-math.comb(d, few) // _CHUNK)):
        sets = np.zeros((len(part), d))
        np.put_along_axis(sets, part, 1.0, axis=1)
        yield sets if few == size else 1 - sets


def _distances(sets: NDArray[np.float64], share: NDArray[np.float64], rho: float, edges: Edges) -> float:
    mass = sets @ share
    behind = (edges.behind * share).T
    moved = np.abs(sets @ behind - mass[:, None] * behind.sum(axis=0)) @ edges.length
    possible = mass > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (1 - rho) * moved / (mass + rho * (1 - mass))
    return float(distance[possible].max(initial=0.0))


def _bound(share: NDArray[np.float64], eta: int, rho: float, edges: Edges) -> float:
    """Return more than any set reaches: each edge at its worst, mass by mass, rounded outwards on a fine grid."""
    rising = np.sort(share)
    grid = np.linspace(rising[:eta].sum(), rising[share.size - eta :].sum(), GRID + 1)
    low, high = grid[:-1, None], grid[1:, None]
    behind = edges.behind @ share
    moved = np.maximum(
        np.minimum(behind * (1 - low), high * (1 - behind)), np.minimum(behind * high, (1 - low) * (1 - behind))
    )
    least = np.maximum(low[:, 0], 1e-300)
    return float(((1 - rho) * (moved @ edges.length) / (least + rho * (1 - least))).max())
