"""What benchmarks draw their tables from: as large as asked for, the same for the same seed."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest

import made_up_baskets
import made_up_census
import made_up_terms
from made_up_baskets import baskets
from made_up_census import LEAST, MOST, census
from sfumato.errors import PolicyError


@pytest.mark.parametrize("module", [made_up_baskets, made_up_census, made_up_terms])
def test_their_examples_hold(module):
    assert doctest.testmod(module).attempted
    assert not doctest.testmod(module).failed


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
def test_no_baskets_cannot_be_drawn(sizes):
    with pytest.raises(PolicyError):
        baskets(*sizes)


def test_a_census_has_the_size_that_is_asked_for_and_few_values_a_column():
    table = census(300, 5, seed=2)

    assert [column.name for column in table] == ["c00", "c01", "c02", "c03", "c04"]
    for column in table:
        assert column.codes.shape == (300,)
        assert LEAST <= column.d <= MOST
        assert 0 <= column.codes.min() <= column.codes.max() < column.d


def test_the_same_seed_gives_the_same_people_and_another_gives_others():
    first, again, other = (census(300, 3, seed=seed) for seed in (1, 1, 2))

    assert all(np.array_equal(one.codes, two.codes) for one, two in zip(first, again, strict=True))
    assert not all(np.array_equal(one.codes, two.codes) for one, two in zip(first, other, strict=True))


def test_columns_depend_on_one_another_through_kinds():
    one, other = census(20_000, 2, kinds=3, seed=5)
    joint = np.zeros((one.d, other.d))
    np.add.at(joint, (one.codes, other.codes), 1)
    alone = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / joint.sum()

    # Were they independent, the statistic would be about its degrees of freedom.
    statistic = ((joint - alone) ** 2 / np.maximum(alone, 1e-9)).sum()
    assert statistic > 5 * (one.d - 1) * (other.d - 1)
