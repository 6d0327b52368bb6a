"""The loss of terms, against the sum that its definition writes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.metrics.base import Asked
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.term_loss import TermLoss


def worth(rows):
    return sum(Fraction(1, n) for row in rows for n in range(1, len(row["terms"]) + 1))


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=30)
def test_it_is_the_share_of_the_worth_that_is_gone(tables, data):
    example = data.draw(tables.examples())

    found = TermLoss().measure(example.dataset, example.release)

    before, after = worth(example.before), worth(example.after)
    assert found.value == pytest.approx(float(1 - after / before) if before else 0.0)
    assert found.facts["terms_before"] == sum(len(row["terms"]) for row in example.before)
    assert found.facts["terms_after"] == sum(len(row["terms"]) for row in example.after)


def test_the_last_term_costs_most(pair_of, tables):
    row = {"age": "20", "job": "cook", "colour": "red", "size": "S", "illness": "flu"}
    both, one, none = (row | {"terms": frozenset(terms)} for terms in (("cough", "fever"), ("fever",), ()))

    losses = [
        TermLoss().measure(example.dataset, example.release).value
        for example in (tables.Example([both], [after]) for after in (both, one, none))
    ]

    assert losses == pytest.approx([0, 1 / 3, 1])


def test_without_terms_there_is_nothing_to_lose(pair_of):
    comparison = Comparison(*pair_of({"age": [20]}, {"age": [20]}))

    assert list(TermLoss.suited_to(comparison, Asked())) == []
    with pytest.raises(DataError, match="quasi-sensitive"):
        TermLoss().of(comparison)


def test_nothing_is_lost_to_the_last_digit_by_another_order_of_rows(tables):
    row = {"age": "20", "job": "cook", "colour": "red", "size": "S", "illness": "flu"}
    terms = ("cough", "fever", "pain")
    rows = [row | {"terms": frozenset(terms[: n % 4])} for n in range(60)]

    example = tables.Example(rows, sorted(rows, key=lambda each: -len(each["terms"])))

    assert TermLoss().measure(example.dataset, example.release).value == 0
