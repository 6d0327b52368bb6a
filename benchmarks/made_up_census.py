"""A made-up census: many columns of few values that depend on one another through hidden kinds of households."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS = 2_458_285, 68
LEAST, MOST = 2, 18  # values of a column


@dataclass(frozen=True, eq=False)
class CensusColumn:
    """One column: codes and how many values it can have."""

    name: str
    codes: NDArray[np.int32]  # (rows,)
    d: int


def census(rows: int = ROWS, columns: int = COLUMNS, *, kinds: int = 40, seed: int = 0) -> list[CensusColumn]:
    """Return a table of the size of the US Census 1990 sample, column by column.

    Every record is of one of some hidden kinds; each kind has its own distribution of every column.

    >>> [(column.name, column.codes.size, int(column.codes.max()) < column.d) for column in census(100, 2)]
    [('c00', 100, True), ('c01', 100, True)]
    """
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(rows, rng.dirichlet(np.full(kinds, 0.6)))
    found = []
    for number in range(columns):
        d = int(rng.integers(LEAST, MOST + 1))
        common = rng.dirichlet(np.full(d, 0.7))
        parts = [rng.choice(d, size, p=rng.dirichlet(4 * common + 0.02)).astype(np.int32) for size in sizes]
        found.append(CensusColumn(f"c{number:02}", np.concatenate(parts), d))
    return found
