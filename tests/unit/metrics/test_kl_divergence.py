from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics.kl_divergence import KlDivergence, kl_divergence


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_it_is_the_divergence_from_labels_spread_evenly_over_the_domain(tables, data):
    example = data.draw(tables.examples())

    measured = KlDivergence().measure(example.dataset, example.release)

    by_column = []
    for name in tables.QIS:
        values, n_rows = example.values(name), len(example.before)
        divergence = 0.0
        for value in values:
            place = Decimal(value) if name == "age" and value else value
            read = example.n_dropped / len(example.domain(name))
            for row in example.after:
                left = example.open(name, row[name])
                read += (place in left) / len(left)
            share = sum(row[name] == value for row in example.before) / n_rows
            divergence += share * math.log(share / (read / n_rows))
        by_column.append(divergence)
    assert [column["divergence"] for column in measured.facts["columns"]] == pytest.approx(by_column, abs=1e-12)
    assert measured.value == pytest.approx(sum(by_column) / 4, abs=1e-12)
    assert all(column["values_unseen"] == 0 for column in measured.facts["columns"])


def test_stars_make_everything_even(pair_of):
    measured = KlDivergence().measure(*pair_of({"sex": ["f"] * 3 + ["m"]}, {"sex": ["*"] * 4}))

    assert measured.value == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_it_stays_finite_when_a_value_was_replaced_everywhere(pair_of):
    measured = KlDivergence().measure(*pair_of({"sex": ["f", "m"]}, {"sex": ["f", "f"]}))

    assert math.isfinite(measured.value)
    assert measured.facts["columns"][0]["values_unseen"] == 1


def test_no_rows_diverge_by_nothing():
    assert kl_divergence(np.zeros(0, dtype=np.int64), np.zeros(0)) == (0.0, 0)
