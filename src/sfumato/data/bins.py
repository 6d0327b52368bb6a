"""Bins: the declared ranges that numbers are cut into before anything else is done with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError

HELP = "Give edges such as bins = [0, 20, 40, 60], or ranges such as bins = [[0, 19], [20, 39]]."


@dataclass(frozen=True)
class Bins:
    """Ranges of numbers in rising order, apart from one another: `lower` belongs to each, `upper` only where `closed`.

    >>> Bins.of([0, 20, 65]).labels, Bins.of([[0, 19], [20, 64]]).labels
    (('[0, 20)', '[20, 65]'), ('[0, 19]', '[20, 64]'))
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    closed: tuple[bool, ...]

    @classmethod
    def of(cls, given: Any) -> Bins:
        """Return the bins that a plan declares, as edges or as pairs of first and last number; raise if they overlap.

        Edges make ranges that begin with one edge and end before the next; the last range holds both its edges.
        """
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise PolicyError(f"bins must be a list of numbers or of pairs of numbers.\n{HELP}")
        if all(isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2 for pair in given):
            lower, upper = ([_number(pair[side]) for pair in given] for side in (0, 1))
            closed = [True] * len(lower)
            if any(first > last for first, last in zip(lower, upper, strict=True)):
                raise PolicyError(f"bins has a range that ends before it begins.\n{HELP}")
            if any(upper[at] >= lower[at + 1] for at in range(len(lower) - 1)):
                raise PolicyError(f"bins has ranges that overlap or are not in rising order.\n{HELP}")
            return cls(tuple(lower), tuple(upper), tuple(closed))
        edges = [_number(edge) for edge in given]
        if len(edges) < 2 or any(first >= last for first, last in pairwise(edges)):
            raise PolicyError(f"bins has edges that do not rise, so that ranges would overlap.\n{HELP}")
        return cls(tuple(edges[:-1]), tuple(edges[1:]), (*(False for _ in edges[2:]), True))

    @property
    def labels(self) -> tuple[str, ...]:
        """What is published for each bin."""
        ends = zip(self.lower, self.upper, self.closed, strict=True)
        return tuple(f"[{_text(first)}, {_text(last)}{']' if closed else ')'}" for first, last, closed in ends)

    def place(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of each number, -1 where it lies in none.

        >>> Bins.of([0, 20, 65]).place(np.array([0.0, 20.0, 65.0, 66.0])).tolist()
        [0, 1, 1, -1]
        """
        found = np.searchsorted(np.array(self.lower), numbers, side="right") - 1
        upper, closed = np.array(self.upper)[found], np.array(self.closed)[found]
        inside = (found >= 0) & ((numbers < upper) | (closed & (numbers == upper)))
        return np.where(inside, found, -1)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise PolicyError(f"bins holds something that is no number.\n{HELP}")
    return float(value)


def _text(number: float) -> str:
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)
