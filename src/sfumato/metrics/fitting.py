"""Counting weighted distinct rows that fit, wholly or in part, many predicates at once.

c distinct rows over d columns, q predicates. A predicate gives each label of a column a number in 0..1: how far it
fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, DistinctRows

BlockWeight = Callable[[int, int], NDArray[Any]]

_BLOCK = 1 << 17  # numbers that are multiplied at a time: what stays in a core's cache


def project(distinct: DistinctRows, columns: Sequence[int], sizes: Sequence[int]) -> tuple[Codes, NDArray[Any]]:
    """Return the distinct rows of some columns with weights; `sizes` says how many labels each of these columns has.

    Equal ones are added up where that is cheaper than carrying them along.
    """
    codes = distinct.codes[:, list(columns)]
    n_keys = math.prod(sizes)
    if n_keys > 4 * distinct.weight.size:
        return codes, distinct.weight
    key = np.zeros(distinct.weight.size, dtype=np.int64)
    for position, size in enumerate(sizes):
        key = key * size + codes[:, position]
    # Counts are whole numbers far below 2**53, so their sums in floating point are exact; survey weights need not be.
    weight = np.bincount(key, weights=distinct.weight, minlength=n_keys).astype(distinct.weight.dtype)
    found = np.flatnonzero(weight)
    projected = np.empty((found.size, len(sizes)), dtype=np.int32)
    rest = found
    for position in range(len(sizes) - 1, -1, -1):
        rest, projected[:, position] = np.divmod(rest, sizes[position])
    return projected, weight[found]


def fitting(
    codes: Codes, weight: NDArray[Any] | BlockWeight, tables: Sequence[NDArray[np.float64]], n_predicates: int
) -> NDArray[np.float64]:
    """Return for each predicate the sum over distinct rows of weight times the product of its numbers, shape (q,).

    `tables[column]` has shape (labels, q). `weight` has shape (c,); where it differs between predicates, it is a
    function that returns the weights (distinct rows, q) of those from the first to, but not including, the last.

    >>> half_fits = np.array([[1.0], [0.5]])
    >>> fitting(np.array([[0, 1], [1, 1]], np.int32), np.array([3, 4]), [half_fits, half_fits], 1).tolist()
    [2.5]
    """
    total = np.zeros(n_predicates)
    step = max(1, _BLOCK // max(n_predicates, 1))
    for at in range(0, codes.shape[0], step):
        block = codes[at : at + step]
        product = tables[0].take(block[:, 0], axis=0) if tables else np.ones((block.shape[0], n_predicates))
        for column in range(1, len(tables)):
            product *= tables[column].take(block[:, column], axis=0)
        # einsum rather than @: the blocks are small, and threads that wait for the next one burn a second core.
        if isinstance(weight, np.ndarray):
            total += np.einsum("c,cq->q", weight[at : at + step], product)
        else:
            product *= weight(at, at + block.shape[0])
            total += product.sum(axis=0)
    return total
