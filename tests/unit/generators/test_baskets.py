from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.generators import baskets


def test_baskets_are_sorted_sets_of_known_items():
    start, items = baskets(500, 30, mean_length=4, longest=9, seed=3)

    assert start.size == 501
    assert start[-1] == items.size
    for first, last in itertools.pairwise(start):
        assert (np.diff(items[first:last]) > 0).all()
    assert np.diff(start).max() <= 9
    assert items.max() < 30


def test_skew_makes_some_items_popular():
    alike, skewed = (
        np.sort(np.bincount(baskets(2000, 50, mean_length=3, skew=skew, seed=1)[1], minlength=50)) for skew in (0, 1)
    )

    assert skewed[-1] > 2 * alike[-1]


def test_the_same_seed_gives_the_same_baskets():
    one, two = (baskets(50, 20, seed=4)[1].tolist() for _ in range(2))

    assert one == two


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0)])
def test_nothing_cannot_be_drawn(sizes):
    with pytest.raises(PolicyError):
        baskets(*sizes)
