from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.errors import DataError
from sfumato.metrics.comparison import Comparison


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_classes_are_the_rows_with_equal_labels(tables, data):
    example = data.draw(tables.examples())
    comparison = Comparison(example.dataset, example.release)

    assert sorted(comparison.distinct_before.weight) == sorted(example.classes(example.before).values())
    assert sorted(comparison.distinct_after.weight) == sorted(example.classes(example.after).values())
    assert comparison.n_dropped == example.n_dropped


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_leaves_no_trace(tables, data):
    example = data.draw(tables.examples())
    mixed = tables.Example(example.before, data.draw(st.permutations(example.after)))

    one, other = (Comparison(side.dataset, side.release) for side in (example, mixed))

    assert one.distinct_after.codes.tolist() == other.distinct_after.codes.tolist()
    assert [pair.released.labels for pair in one.quasi_identifiers] == [
        pair.released.labels for pair in other.quasi_identifiers
    ]


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_an_unchanged_column_keeps_its_codes(tables, data):
    example = data.draw(tables.examples(changed=False))

    for release in (example.release, publish(example.dataset, Recoding(), [])):
        for pair in Comparison(example.dataset, release).quasi_identifiers:
            assert pair.released.codes.tolist() == pair.original.codes.tolist()
            assert pair.released.labels == pair.original.labels
            assert pair.cover.value_of.tolist() == list(range(len(pair.original.labels)))


def test_a_column_that_was_left_out_tells_nothing(pair_of):
    dataset, release = pair_of({"a": ["x", "y"], "b": ["1", "2"]}, {"a": ["x", "y"], "b": ["1", "2"]})
    without = replace(release, columns={"a": release.columns["a"]}, order=("a",))

    pair = Comparison(dataset, without).pair("b")

    assert pair.released.labels == ("*",)
    assert pair.cover.size.tolist() == [2]


def test_carried_columns_can_be_compared(pair_of):
    dataset, release = pair_of({"a": ["x", "y", "y"]}, {"a": ["y", "", "x"]}, roles={"a": "other"})

    pair = Comparison(dataset, release).pair("a")

    assert pair.original.labels == ("x", "y")
    assert pair.shown_by[pair.cover.size == 2].tolist() == [1]  # the blank number


def test_sets_are_no_single_labels(pair_of):
    dataset, _ = pair_of({"a": ["x", "y"]}, {"a": ["x", "y"]})
    sets = Release.from_table(pa.table({"a": [["x", "y"], ["x"]]}), dataset.schema)

    with pytest.raises(DataError, match="published as sets"):
        Comparison(dataset, sets).pair("a")


def test_labels_that_no_row_shows_are_forgotten(pair_of):
    dataset, release = pair_of({"a": ["x", "y"]}, {"a": ["x", "y"]})
    column = release.columns["a"]
    spare = replace(column, labels=("?", *column.labels), codes=column.codes + np.int32(1))

    pair = Comparison(dataset, replace(release, columns={"a": spare})).pair("a")

    assert pair.released.labels == ("x", "y")
    assert pair.released.codes.tolist() == [0, 1]
