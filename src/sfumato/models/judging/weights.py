"""Counting rows of a release that may hold equal ones once: each row counts as often as its weight says.

Sizes: n rows held. Weights are (n,), or None where each row stands for itself.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.release import Release
from sfumato.errors import DataError

Integers: TypeAlias = NDArray[np.int64]


def row_weights(release: Release) -> Integers | None:
    """Return the weights of a release, one of at least 1 for each row, or raise."""
    weights = release.weights
    if weights is None:
        return None
    if weights.shape != (release.n_rows,) or weights.dtype != np.int64 or int(weights.min(initial=1)) < 1:
        raise DataError(
            f"The release holds {release.n_rows:,} rows with weights that are not a whole number of at least 1 each.\n"
            "Weigh it again: `release.weighted()`."
        )
    return weights


def tally(number_of: NDArray[Any], n_numbers: int, weights: Integers | None) -> Integers:
    """Return how many rows have each number, shape (n_numbers,).

    >>> tally(np.array([0, 2, 2]), 3, None).tolist(), tally(np.array([0, 2, 2]), 3, np.array([5, 1, 3])).tolist()
    ([1, 0, 2], [5, 0, 4])
    """
    if weights is None:
        return np.bincount(number_of, minlength=n_numbers).astype(np.int64)
    counts = np.zeros(n_numbers, dtype=np.int64)
    np.add.at(counts, number_of, weights)
    return counts


def tally_keys(keys: Integers, weights: Integers | None) -> tuple[Integers, Integers]:
    """Return the different keys, ascending, and how many rows have each; unlike `tally`, keys may be far apart.

    >>> [found.tolist() for found in tally_keys(np.array([70, 9, 70]), np.array([5, 1, 3]))]
    [[9, 70], [1, 8]]
    """
    if weights is None:
        return np.unique(keys, return_counts=True)
    found, number_of = np.unique(keys, return_inverse=True)
    return found, tally(number_of, found.size, weights)


def rows_in(chosen: NDArray[np.bool_], weights: Integers | None) -> int:
    """Return how many rows the chosen ones stand for."""
    return int(chosen.sum() if weights is None else weights[chosen].sum())
