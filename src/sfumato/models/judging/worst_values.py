"""How far a published value can move a belief at most, where each cell shows one value drawn by a matrix.

An intruder knows how common each value is (A) and sees the value j. It is the true one with probability p, else it was
drawn with its share w_j. By Bayes' rule the belief afterwards is the prior, pulled towards j:

    lambda_j (all on j) + (1 - lambda_j) A,    lambda_j = p A_j / (p A_j + (1 - p) w_j)

so it lies lambda_j times as far from A as certainty does, whatever the distance. With w = A, lambda_j is p.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.models.judging.worst_sets import Edges


def replaced_distance(
    counts: NDArray[np.int64], p: Fraction, shares: Sequence[Fraction], edges: Edges | None
) -> Fraction | float:
    """Return the largest distance that any value reaches that can be shown; edges None: the distance is `equal`.

    >>> replaced_distance(np.array([3, 1]), Fraction(1, 2), [Fraction(3, 4), Fraction(1, 4)], None)
    Fraction(3, 8)
    """
    n = int(counts.sum())
    common = [Fraction(int(count), n) for count in counts]
    far = [1 - share for share in common] if edges is None else _certainty(counts / n, edges)
    found: list[Fraction | float] = [Fraction(0)]
    for value, (known, share) in enumerate(zip(common, shares, strict=True)):
        shown = p * known + (1 - p) * share
        if shown:
            pulled = p * known / shown
            found.append(pulled * far[value] if edges is None else float(pulled) * far[value])
    return max(found)


def _certainty(share: NDArray[np.float64], edges: Edges) -> list[float]:
    """Return how far certainty of each value is from what is known, (d,)."""
    behind = edges.behind @ share
    distance: NDArray[np.float64] = edges.length @ np.abs(edges.behind - behind[:, None])
    return [float(each) for each in distance]
