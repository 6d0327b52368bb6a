from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PolicyError
from sfumato.metrics.column_distributions import MISSING, ColumnDistributions


def column_of(dataset, release, name, **options):
    columns = ColumnDistributions(**options).measure(dataset, release).facts["columns"]
    return next(column for column in columns if column["name"] == name)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_labels_are_spread_over_what_they_cover(tables, data):
    example = data.draw(tables.examples())

    measured = ColumnDistributions().measure(example.dataset, example.release)

    columns = {column["name"]: column for column in measured.facts["columns"]}
    for name in (*tables.QIS, "illness"):
        found = dict(zip(columns[name]["bins"], columns[name]["after"], strict=True))
        before = dict(zip(columns[name]["bins"], columns[name]["before"], strict=True))
        for value in example.values(name):
            read = 0.0
            for row in example.after:
                covered = example.covered(name, row[name]) if name != "illness" else {row[name]}
                read += (value in covered) / len(covered)
            assert found[value or MISSING] == pytest.approx(read, abs=1e-5)
            assert before[value or MISSING] == sum(row[name] == value for row in example.before)
    for term, before, after in zip(*(columns["terms"][key] for key in ("bins", "before", "after")), strict=True):
        assert before == sum(term in row["terms"] for row in example.before)
        assert after == sum(term in row["terms"] for row in example.after)


def test_numbers_fall_into_bins_of_round_width(pair_of):
    ages = list(range(17, 91))

    column = column_of(*pair_of({"age": ages}, {"age": [str(age) for age in ages]}), "age", most_bins=10)

    assert column["bins"][:2] == ["[10, 20)", "[20, 30)"]
    assert column["edges"] == [float(edge) for edge in range(10, 101, 10)]
    assert column["before"] == [3, *[10] * 7, 1]
    assert column["after"] == column["before"]


@given(
    values=st.lists(
        st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6),
        min_size=40,
        max_size=60,
        unique=True,
    ),
    missing=st.booleans(),
    most=st.integers(3, 30),
)
@settings(max_examples=15, deadline=None)
def test_every_number_is_between_the_edges_of_its_bin(pair_of, values, missing, most):
    texts = [repr(value) for value in values] + [""] * missing
    spec = ColumnSpec(name="a", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER)

    column = column_of(*pair_of({"a": texts}, {"a": texts}, specs={"a": spec}), "a", most_bins=most)

    assert len(column["bins"]) <= most
    assert (column["bins"][-1] == MISSING) == missing
    expected = np.histogram(values, column["edges"])[0].tolist()
    assert column["before"] == expected + [1] * missing


def test_numbers_that_differ_in_their_last_digits_only_have_bins_as_well(pair_of):
    numbers = [str(2**61 + step) for step in range(40)]

    column = column_of(*pair_of({"n": numbers}, {"n": numbers}), "n", most_bins=10)

    assert len(column["bins"]) == 10
    assert column["before"] == column["after"] == [1] * 9 + [31]


def test_rare_categories_share_a_bin(pair_of):
    letters = [letter for position, letter in enumerate("abcdef") for _ in range(position + 1)]

    column = column_of(*pair_of({"a": letters}, {"a": letters}), "a", most_bins=3)

    assert column["bins"] == ["f", "e", "(4 others)"]
    assert column["before"] == [6, 5, 10]
    assert column["others"] == 4
    assert column["moved"] == 0.0


def test_ordered_columns_stay_in_order(pair_of):
    spec = ColumnSpec(name="a", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDERED, domain=("low", "mid", "high", "top"))
    values = ["low", "mid", "high", "high", "top", "top", "top"]

    column = column_of(*pair_of({"a": values}, {"a": values}, specs={"a": spec}), "a", most_bins=3)

    assert column["bins"] == ["high", "top", "(2 others)"]


def test_published_sets_share_out_their_record(pair_of):
    domain = ("x", "y", "z")
    spec = ColumnSpec(name="a", role=Role.SENSITIVE_QUASI_IDENTIFIER, domain=domain)
    dataset, _ = pair_of({"a": ["x", "y"]}, {"a": ["x", "y"]}, specs={"a": spec})
    release = Release.from_table(pa.table({"a": [["x", "y"], ["x", "z"]]}), dataset.schema)

    column = column_of(dataset, release, "a")

    assert column["bins"] == ["x", "y", "(1 values that did not occur)"]
    assert column["before"] == [1, 1, 0]
    assert column["after"] == [1.0, 0.5, 0.5]
    assert column["moved"] == pytest.approx(0.25)
    assert column["published_as_sets"]


def test_mass_that_moved_is_between_nothing_and_everything(pair_of):
    assert column_of(*pair_of({"a": ["x", "y"]}, {"a": ["x", "x"]}), "a")["moved"] == 0.5
    assert column_of(*pair_of({"a": ["x", "y"]}, {"a": pa.array([], pa.string())}), "a")["moved"] == 1.0


def test_two_bins_are_refused():
    with pytest.raises(PolicyError, match="most_bins"):
        ColumnDistributions(most_bins=2)


def test_many_dates_are_put_together_by_month():
    days = [f"2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 28)]
    schema = Schema({"day": ColumnSpec(name="day", role=Role.QUASI_IDENTIFIER)})
    dataset = encode(pa.table({"day": days}), schema)

    found = column_of(dataset, Release.from_table(pa.table({"day": days}), schema), "day")

    assert found["bins"] == [f"2024-{month:02}" for month in range(1, 13)]
    assert found["before"] == found["after"] == [27] * 12
