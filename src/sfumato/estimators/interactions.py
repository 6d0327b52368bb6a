"""Estimate how two randomized columns depend on each other, as far as the noise of randomization allows to tell.

The score of a value in a record says how much more likely the published cell is for this value than for the table. Sums
of products of scores are linear in the true table, and for independent columns their noise is known and, after both
sides are whitened, the same in all directions. Real dependence lies in a few of these directions, the singular vectors
with the largest singular values; noise lies in all of them. So singular values below the largest one that pure noise
has are removed, and the others are reduced by what noise adds to them.

Source of the shrinkage: Gavish and Donoho (2017), "Optimal Shrinkage of Singular Values", Frobenius loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.estimators.base import Table
from sfumato.estimators.records import Cells, Records

WIDEST = 600  # values of a column up to which dependence is estimated from scores: its time grows with their cube
BLOCK = 1 << 16  # patterns whose scores are held at a time
LEAST = 1e-3  # part of the count under independence that every cell keeps
EDGE = 1.1  # times the largest singular value that noise has in large tables: small ones have larger ones by chance
FLAT = 1e-9  # share of the largest eigenvalue below which a direction cannot be estimated at all


@dataclass(frozen=True, eq=False)
class Dependence:
    """The scores of the records of two columns, beside the estimated shares of each column."""

    records: Records
    shares: tuple[NDArray[np.float64], NDArray[np.float64]]

    def estimate(self, weight: NDArray[np.float64]) -> tuple[Table, bool]:
        """Return shares of all cells from patterns of these weights, and whether dependence could be told from noise.

        The table has the shares of the single columns only approximately.
        """
        n_rows = float(weight.sum())
        if not n_rows:
            return np.outer(*self.shares), False
        left, right = self._whitening
        products, means = (
            np.zeros([share.size for share in self.shares]),
            [np.zeros(share.size) for share in self.shares],
        )
        for begin in range(0, weight.size, BLOCK):
            part = slice(begin, begin + BLOCK)
            first, second = (
                scores[self.records.patterns.sets[part, column]] for column, scores in enumerate(self._scores)
            )
            products += (first * weight[part, None]).T @ second
            means[0] += weight[part] @ first
            means[1] += weight[part] @ second
        centred = products / n_rows - np.outer(means[0], means[1]) / n_rows**2
        whitened, told = shrunk(left @ centred @ right, 1 / math.sqrt(n_rows))
        independent = np.outer(*self.shares)
        return np.maximum(independent + left @ whitened @ right, LEAST * independent), told

    @cached_property
    def _scores(self) -> tuple[Table, Table]:
        first, second = (_scores(cells, share) for cells, share in zip(self.records.cells, self.shares, strict=True))
        return first, second

    @cached_property
    def _whitening(self) -> tuple[Table, Table]:
        """The inverse square roots of the covariances of both columns' scores."""
        found = []
        for cells, scores in zip(self.records.cells, self._scores, strict=True):
            count = np.bincount(cells.set_of, weights=self.records.weights, minlength=len(scores))
            values, vectors = np.linalg.eigh((scores * count[:, None]).T @ scores / count.sum())
            kept = values > FLAT * values[-1]
            found.append((vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T)
        return found[0], found[1]


def _scores(cells: Cells, shares: NDArray[np.float64]) -> Table:
    """Return how much more likely each distinct cell is for each value than for the whole column, (cells, values)."""
    axis, n_sets = cells.axis, cells.start.size - 1
    likelihood = np.zeros((n_sets, axis.d))
    likelihood[np.repeat(np.arange(n_sets), np.diff(cells.start)), cells.members] = 1
    if axis.p < 1:
        likelihood = likelihood * axis.ratio + 1
    scores: Table = likelihood / np.maximum(likelihood @ shares, 1e-300)[:, None]
    return scores


def shrunk(table: Table, noise: float) -> tuple[Table, bool]:
    """Return a table of a few strong patterns without its noise of this standard deviation, and whether any is left.

    Rows and columns are centred, so each side has one dimension less than values.

    >>> shrunk(np.array([[3.0, -3.0], [-3.0, 3.0]]), 0.01)[0].round(3).tolist()
    [[3.0, -3.0], [-3.0, 3.0]]
    >>> shrunk(np.array([[0.01, -0.01], [-0.01, 0.01]]), 0.01)
    (array([[0., 0.],
           [0., 0.]]), False)
    """
    fewer, more = sorted(max(size - 1, 1) for size in table.shape)
    ratio, unit = fewer / more, noise * math.sqrt(more)
    left, values, right = np.linalg.svd(table, full_matrices=False)
    scaled = values / unit
    inside = np.maximum((scaled**2 - ratio - 1) ** 2 - 4 * ratio, 0)
    above = scaled > EDGE * (1 + math.sqrt(ratio))
    kept = np.where(above, np.sqrt(inside) / np.maximum(scaled, 1e-300), 0) * unit
    return (left * kept) @ right + 0.0, bool(above.any())
