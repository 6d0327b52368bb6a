from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.release import Release
from sfumato.metrics.suppression import Suppression


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_it_counts_what_is_no_longer_shown(tables, data):
    example = data.draw(tables.examples())

    measured = Suppression().measure(example.dataset, example.release)
    columns = {column["name"]: column for column in measured.facts["columns"]}

    assert measured.value == (example.n_dropped / len(example.before) if example.before else 0.0)
    for name in tables.QIS:
        shown = Counter(row[name] for row in example.after if row[name] in example.values(name))
        generalized = len(example.after) - shown.total()
        surplus = shown - Counter(row[name] for row in example.before)
        assert columns[name]["generalized"] == generalized
        assert columns[name]["replaced"] == surplus.total() == 0
    before, after = (sum(len(row["terms"]) for row in rows) for rows in (example.before, example.after))
    assert (columns["terms"]["items_before"], columns["terms"]["items"]) == (before, after)
    assert columns["terms"]["changed"] == pytest.approx(1 - after / before if before else 0.0)


def test_replaced_values_show_where_one_became_more_frequent(pair_of):
    dataset, release = pair_of({"a": ["x", "x", "y", "z"]}, {"a": ["x", "x", "x", "*"]})

    column = Suppression().measure(dataset, release).facts["columns"][0]

    assert column == {
        "name": "a",
        "role": "quasi-identifier",
        "kind": "category",
        "generalized": 1,
        "replaced": 1,
        "changed": 0.5,
    }


def test_several_values_where_there_was_one_count_as_generalized(pair_of):
    dataset, _ = pair_of({"a": ["x", "y"]}, {"a": ["x", "y"]}, roles={"a": "sensitive-quasi-identifier"})
    release = Release.from_table(pa.table({"a": [["x", "y"], ["y"]]}), dataset.schema)

    column = Suppression().measure(dataset, release).facts["columns"][0]

    assert (column["generalized"], column["changed"]) == (1, 0.5)
