"""Individual risk against sdcMicro's printed figures, and against the sum that defines it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics.individual_risk import household_risk, individual_risk, unique_match

# francdat of sdcMicro 5.7.9 (after Capobianchi, Polettini and Lucarelli): Key1 to Key4, w; and what the reference of
# freqCalc and indivRisk prints for them.
KEYS = [(1, 2, 5, 1), (1, 2, 1, 1), (1, 2, 1, 1), (3, 3, 1, 5), (4, 3, 1, 4), (4, 3, 1, 1), (6, 2, 1, 5), (1, 2, 5, 1)]
WEIGHTS = [18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0]
ROWS = [2, 2, 2, 1, 1, 1, 1, 2]
PEOPLE = [110.0, 84.5, 84.5, 17.0, 541.0, 8.0, 5.0, 110.0]
RISK = [0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426]


def test_sdcmicros_example_comes_out_as_printed():
    rows = [KEYS.count(key) for key in KEYS]
    people = [sum(w for other, w in zip(KEYS, WEIGHTS, strict=True) if other == key) for key in KEYS]

    assert (rows, people) == (ROWS, PEOPLE)
    assert individual_risk(np.array(rows), np.array(people)).round(8).tolist() == RISK


@given(st.one_of(st.integers(1, 60), st.just(400)), st.floats(0.02, 0.98))
@settings(max_examples=80, deadline=None)
def test_risk_is_the_expected_share_of_a_negative_binomial_crowd(rows, rate):
    slow, log, crowd = 0.0, rows * math.log(rate), rows
    while log > -45 or crowd < rows / rate:
        slow += math.exp(log) / crowd
        log += math.log(crowd / (crowd - rows + 1)) + math.log1p(-rate)
        crowd += 1

    assert individual_risk(np.array([rows]), np.array([rows / rate]))[0] == pytest.approx(slow, rel=1e-9)


def test_what_sdcmicro_takes_for_more_than_two_rows_is_near():
    rows = np.array([3, 5, 20, 100])
    for rate in (0.01, 0.1, 0.5):
        near = rate / (rows - (1 - rate))
        assert individual_risk(rows, rows / rate) == pytest.approx(near, rel=0.15)


def test_rows_that_stand_for_themselves_or_less_are_the_whole_population():
    assert individual_risk(np.array([1, 4]), np.array([1.0, 2.0])).tolist() == [1.0, 0.25]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.1, 0.5, 1.0])), min_size=1))
def test_a_household_is_found_unless_nobody_of_it_is(people):
    home_of, risk = (np.array(part) for part in zip(*people, strict=True))
    found = household_risk(risk.astype(float), home_of.astype(np.int64))

    for row, home in enumerate(home_of):
        assert found[row] == pytest.approx(1 - math.prod(1 - risk[other] for other in np.flatnonzero(home_of == home)))


def test_a_unique_match_is_right_for_sure_where_everybody_is_in_the_table():
    assert unique_match(3, 5, 1.0) == 1.0
    assert unique_match(0, 5, 0.5) == 0.0
    assert unique_match(2, 1, 0.5) == 0.5
