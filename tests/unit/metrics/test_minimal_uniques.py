"""Minimal sample uniques and scores: against every set of columns, and against published examples."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.dataset import distinct_codes
from sfumato.metrics.individual_risk import unique_match
from sfumato.metrics.minimal_uniques import calibrated_scores, largest_size, minimal_uniques

# Templ (2017), "Statistical Disclosure Control for Microdata", as in sdcMicro's test "suda2 book example".
BOOK = [
    ("20s", "male", "50k+", "highschool"), ("20s", "male", "50k+", "highschool"),
    ("20s", "male", "50k-", "highschool"), ("20s", "male", "50k-", "highschool"),
    ("20s", "female", "50k-", "university"), ("20s", "female", "50k-", "highschool"),
    ("20s", "female", "50k-", "middleschool"), ("60s", "male", "50k-", "university"),
]  # fmt: skip
# Benschop, Machingauta and Welch, "Statistical Disclosure Control: A Practice Guide" (World Bank), table 4.5;
# sdcMicro's test "suda2 sdc guideline" has the same scores.
GUIDE = [
    ("Urban", "Female", "Secondary incomplete", "Employed"), ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"), ("Urban", "Male", "Secondary complete", "Employed"),
    ("Rural", "Female", "Secondary complete", "Unemployed"), ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"), ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"), ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]  # fmt: skip


def distinct_in(rows):
    columns = [pa.array([str(number) for number in column]).dictionary_encode() for column in zip(*rows, strict=True)]
    return distinct_codes([(column.indices.to_numpy(), len(column.dictionary)) for column in columns], len(rows))


def scores_of(rows, size=None):
    distinct = distinct_in(rows)
    return minimal_uniques(distinct, size).scores[distinct.distinct_of].tolist()


def slowly(rows, size):
    """Return for each row its minimal uniques, by trying every set of columns, and the smallest crowd."""
    found, crowds = [], []
    for row in rows:
        sets, crowd = [], len(rows)
        for chosen in (s for k in range(1, size + 1) for s in combinations(range(len(row)), k)):
            alike = sum(all(other[c] == row[c] for c in chosen) for other in rows)
            crowd = min(crowd, alike)
            if alike == 1 and not any(set(known) <= set(chosen) for known in sets):
                sets.append(chosen)
        found.append(sets)
        crowds.append(crowd)
    return found, crowds


@pytest.mark.slow
@given(st.data(), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=120, deadline=None)
def test_it_finds_what_trying_every_set_finds(data, columns, values):
    row = st.tuples(*[st.integers(0, values)] * columns)
    rows = data.draw(st.lists(row, min_size=1, max_size=20))
    size = data.draw(st.integers(1, columns))
    distinct = distinct_in(rows)
    found = minimal_uniques(distinct, size)
    sets, crowds = slowly(rows, size)

    for at, number in enumerate(distinct.distinct_of.tolist()):
        assert found.number[number].tolist() == [sum(len(s) == k for s in sets[at]) for k in range(1, size + 1)]
        assert found.smallest[number] == min(map(len, sets[at]), default=0)
        assert found.crowd[number] == crowds[at]
    for column in range(columns):
        holding = [s for each in sets for s in each if column in s]
        assert found.by_column[column].tolist() == [sum(len(s) == k for s in holding) for k in range(1, size + 1)]


def test_only_cells_that_are_not_told_apart_yet_are_visited():
    rows = np.random.default_rng(1).integers(0, 40, (300, 5))
    distinct = distinct_codes([(column.astype(np.int32), 40) for column in rows.T], 300)

    expected = 0
    for chosen in (s for k in range(1, 6) for s in combinations(range(5), k)):
        parent = distinct.codes[:, chosen[1:]]  # it was made by adding the smallest column
        _, group_of, size = np.unique(parent, axis=0, return_inverse=True, return_counts=True)
        expected += int((size[group_of] > 1).sum())
    assert minimal_uniques(distinct).visits == expected
    assert expected < 0.6 * 300 * (2**5 - 1)


def test_the_scores_of_the_book_come_out():
    assert scores_of(BOOK) == [0, 0, 0, 0, 4, 2, 6, 8]


def test_the_scores_of_the_practice_guide_come_out():
    assert scores_of(GUIDE, 3) == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_the_practice_guides_chances_come_out():
    """Its table holds DIS-SUDA of the scores of the first implementation (IHSN), at a fraction of 0.01."""
    size_1, size_2 = (2**3 - 1) * 6 / 24, (2**2 - 1) * 2 * 2 / 24
    scores = np.array([0, size_1, size_1 + 3 * size_2, size_1, size_1 + 2 * size_2])

    found = calibrated_scores(scores, unique_match(4, 3, 0.01), 4, 4)

    assert found.round(4).tolist() == [0, 0.0051, 0.0107, 0.0051, 0.0088]


def test_no_score_is_no_chance():
    assert calibrated_scores(np.zeros(3), 0.5, 3, 4).tolist() == [0, 0, 0]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0)])
def test_sdcmicros_contributions_come_out_in_any_order(order):
    rows = [(2, 0, 0), (1, 3, 6), (1, 0, 0)]  # sdcMicro's tests "suda2 simple example contribution" 1 to 4
    distinct = distinct_in([tuple(row[column] for column in order) for row in rows])

    shown = minimal_uniques(distinct).contributions

    assert shown.tolist() == [[0.5, 0.375, 0.375][column] for column in order]


def test_sets_are_kept_within_limits():
    assert largest_size(0, 10) == 0
    assert largest_size(200, 10**9) == 1
    assert largest_size(10, 1_000) == 10
    assert largest_size(11, 1_000) == 5
