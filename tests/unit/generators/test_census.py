from __future__ import annotations

import numpy as np

from sfumato.generators import census
from sfumato.generators.census import LEAST, MOST


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
