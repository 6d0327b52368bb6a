from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics.ncp import Ncp


def loss_of(example, name, label):
    """Iyengar (2002): (M_P - 1) / (M - 1) over the leaves. Xu et al. (2006): the width left open over that of all."""
    left, domain = example.open(name, label), example.domain(name)
    if name != "age":
        return (len(left) - 1) / max(len(domain) - 1, 1)
    if "" in left and len(left) > 1:
        return 1.0
    left, domain = left - {""}, domain - {""}
    width = max(domain, default=0) - min(domain, default=0)
    return float((max(left, default=0) - min(left, default=0)) / (width or 1))


def loss_of_occurring(example, name, label):
    """The same over the values that occur, which searches minimize."""
    covered, values = example.covered(name, label), example.values(name)
    if name != "age":
        return (len(covered) - 1) / max(len(values) - 1, 1)
    if "" in covered and len(covered) > 1:
        return 1.0
    numbers = [float(value) for value in covered - {""}]
    everything = [float(value) for value in values - {""}]
    width = max(everything, default=0) - min(everything, default=0)
    return (max(numbers, default=0) - min(numbers, default=0)) / (width or 1)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_loss_is_the_mean_over_columns_and_records(tables, data):
    example = data.draw(tables.examples())

    measured = Ncp().measure(example.dataset, example.release)

    by_column, of_occurring = [], []
    for name in tables.QIS:
        for definition, means in ((loss_of, by_column), (loss_of_occurring, of_occurring)):
            losses = [definition(example, name, row[name]) for row in example.after] + [1.0] * example.n_dropped
            means.append(sum(losses) / max(len(losses), 1))
    assert measured.value == pytest.approx(sum(by_column) / 4)
    assert [column["loss"] for column in measured.facts["columns"]] == pytest.approx(by_column)
    assert [column["loss_of_occurring"] for column in measured.facts["columns"]] == pytest.approx(of_occurring)
    assert measured.facts["loss_of_occurring"] == pytest.approx(sum(of_occurring) / 4)
    assert measured.facts["rows_dropped"] == example.n_dropped


def test_an_unchanged_release_loses_nothing_and_a_starred_one_everything(pair_of):
    columns = {"age": [20, 30, 45], "job": ["cook", "nurse", "cook"]}
    starred = {"age": ["*"] * 3, "job": ["*"] * 3}

    assert Ncp().measure(*pair_of(columns, columns)).value == 0.0
    assert Ncp().measure(*pair_of(columns, starred)).value == 1.0


def test_a_dropped_record_loses_everything(pair_of):
    measured = Ncp().measure(*pair_of({"age": [20, 30, 45, 50]}, {"age": [20, 30, 45]}))

    assert measured.value == 0.25
    assert measured.facts["columns"][0]["loss_of_kept"] == 0.0


def test_numbers_that_never_occurred_are_counted_and_told(pair_of):
    measured = Ncp().measure(*pair_of({"age": [20, 30], "zip": [1, 2]}, {"age": ["25", "30"], "zip": [1, 2]}))

    assert [column["labels_outside"] for column in measured.facts["columns"]] == [1, 0]
    assert measured.value == 0.0
    assert "what 'age' shows and the original lacks" in str(measured)
    assert Ncp().measure(*pair_of({"age": [20, 30]}, {"age": ["[20, 30]"] * 2})).note == ""


def test_quasi_identifiers_that_keep_next_to_nothing_are_warned_about(pair_of):
    ages = {"age": [str(age) for age in range(20, 40)]}
    nearly, half = (Ncp().measure(*pair_of(ages, {"age": ["*"] * stars + ages["age"][stars:]})) for stars in (19, 10))

    assert nearly.warning == "Next to nothing is left of the quasi-identifiers: 95 % is lost."
    assert half.warning == ""
