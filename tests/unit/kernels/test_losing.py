"""How many rows a class has to lose, against all ways to lose some."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato.kernels.classes.conditions import (
    DISTINCT,
    ENTROPY,
    EQUAL,
    FREQUENCY,
    HIERARCHICAL,
    LIMITED,
    ORDERED,
    RECURSIVE,
    Condition,
    first_failing,
    make_conditions,
)
from sfumato.kernels.classes.losing import find_furthest, rows_to_lose

WHOLE = [9, 6, 4, 1]
CONDITIONS = [
    Condition(DISTINCT, 0, l=3),
    Condition(ENTROPY, 0, bound=Fraction(5, 2)),
    Condition(RECURSIVE, 0, l=2, bound=Fraction(3, 2)),
    Condition(RECURSIVE, 0, l=3, bound=Fraction(2)),
    Condition(FREQUENCY, 0, bound=Fraction(2)),
    Condition(LIMITED, 0, shares=[(Fraction(1, 5), Fraction(3, 5)), *[(Fraction(0), Fraction(1, 2))] * 3]),
    Condition(EQUAL, 0, bound=Fraction(1, 5)),
    Condition(ORDERED, 0, bound=Fraction(1, 6), rank=[0, 1, 2, 3], places=4),
    Condition(HIERARCHICAL, 0, bound=Fraction(1, 5), parent=[4, 4, 5, 5, 6, 6, -1], level=[0, 0, 0, 0, 1, 1, 2]),
]


def least_loss(conditions, counts):
    """Return how many rows go at least before what is left passes, all of them if nothing does."""
    everything = len(conditions.table)
    lost = [
        sum(counts) - sum(left)
        for left in product(*(range(count + 1) for count in counts))
        if sum(left) and first_failing(conditions, 0, everything, np.array(left), sum(left)) < 0
    ]
    return min(lost, default=sum(counts))


@pytest.mark.parametrize("kernel", [rows_to_lose, rows_to_lose.py_func], ids=["compiled", "plain"])
@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: f"{condition.kind}-{condition.l}")
def test_never_more_is_said_than_what_has_to_go(kernel, condition):
    conditions = make_conditions(1, sum(WHOLE), [WHOLE], [condition])
    furthest = np.zeros(1)
    find_furthest(conditions, np.zeros(4, dtype=np.int64), furthest)
    rng, said, true = np.random.default_rng(1), 0.0, 0
    for _ in range(40):
        counts = rng.integers(0, [7, 5, 4, 2])
        if not counts.sum() or first_failing(conditions, 0, 1, counts, counts.sum()) < 0:
            continue
        lost, least = kernel(conditions, furthest, counts, counts.sum()), least_loss(conditions, counts.tolist())
        assert 1 <= lost <= least, counts
        said, true = said + lost, true + least
    assert said > true / 4  # it says something


@pytest.mark.parametrize("kernel", [rows_to_lose, rows_to_lose.py_func], ids=["compiled", "plain"])
@pytest.mark.parametrize(
    ("condition", "counts", "lost"),
    [
        (Condition(RECURSIVE, 0, l=2, bound=Fraction(3, 2)), [7, 2, 1, 0], 3),  # 4 < 3/2 (2 + 1)
        (Condition(RECURSIVE, 0, l=3, bound=Fraction(2)), [7, 3, 2, 0], 3),  # 7 - 2 x 2: the third value alone counts
        (Condition(RECURSIVE, 0, l=3, bound=Fraction(2)), [8, 3, 3, 1], 1),  # one of two equal ones counts
        (Condition(FREQUENCY, 0, bound=Fraction(2)), [7, 2, 1, 0], 4),  # 3 of 6
        (Condition(DISTINCT, 0, l=3), [7, 2, 0, 0], 9),  # all of them
        (Condition(DISTINCT, 0, l=3), [7, 2, 1, 0], 1),  # it does not fail, and a number is one at least
    ],
)
def test_what_has_to_go_of_the_most_frequent_value_is_said_to_the_row(kernel, condition, counts, lost):
    conditions = make_conditions(1, sum(WHOLE), [WHOLE], [condition])

    assert kernel(conditions, np.zeros(1), np.array(counts), sum(counts)) == lost
