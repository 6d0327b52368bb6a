"""A random part of a table, for whoever needs single rows of one that is too large: how it is drawn, and said.

Mostly all rows of some classes are drawn, so that a class that is looked at is whole; single rows where classes are so
few or so large that some of them are no fair part of the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ALL = 2**64 - 1


@dataclass(frozen=True)
class Draw:
    """Which rows are drawn: those whose number, or that of whose class, is small."""

    share: float  # of rows, in the mean
    by_class: bool = True

    def takes(self, number_of: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which rows are drawn, given numbers that look like chance.

        >>> Draw(0.5).takes(np.array([0, 2**62, 2**63 + 1, 2**64 - 1], dtype=np.uint64)).tolist()
        [True, True, False, False]
        """
        return np.asarray(number_of <= np.uint64(min(int(self.share * _ALL), _ALL)))


@dataclass(frozen=True)
class Drawn:
    """What rows are a random part of.

    >>> str(Drawn(1000, 250000)), str(Drawn(1000, 250000, by_class=False))
    ('of all rows of some classes, drawn at random: 1,000 of 250,000', 'of rows drawn at random: 1,000 of 250,000')
    """

    rows: int
    of: int  # rows of the table
    by_class: bool = True

    def __str__(self) -> str:
        which = "all rows of some classes, drawn at random" if self.by_class else "rows drawn at random"
        return f"of {which}: {self.rows:,} of {self.of:,}"

    def as_dict(self) -> dict[str, int | bool]:
        """Return it as plain data."""
        return {"rows": self.rows, "of": self.of, "whole_classes": self.by_class}
