"""Coded columns, their losses, and distinct rows counted once."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data import dataset
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset, as_arrow, as_numpy, distinct_codes, distinct_rows
from sfumato.data.schema import Kind, Role, Schema
from sfumato.errors import DataError


def column(codes, n_labels, **more):
    return CodedColumn(
        name="a",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.CATEGORY,
        codes=np.array(codes, dtype=np.int32),
        labels=tuple(map(str, range(n_labels))),
        **more,
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20))
def test_distinct_rows_equal_a_plain_tally(rows):
    distinct = distinct_rows([column([row[at] for row in rows], 4) for at in (0, 1)], len(rows))

    tally = Counter(rows)
    assert [tuple(cell) for cell in distinct.codes.tolist()] == sorted(tally)
    assert distinct.weight.tolist() == [tally[each] for each in sorted(tally)]
    assert [tuple(distinct.codes[cell].tolist()) for cell in distinct.distinct_of] == rows


def test_without_columns_all_rows_are_one():
    assert distinct_rows([], 3).weight.tolist() == [3]
    assert distinct_rows([], 0).weight.tolist() == []


def test_interval_loss_of_numbers_goes_by_width():
    values = np.array([0.0, 1.0, 10.0, np.nan])
    numbers = column([0], 4, values=values, missing=3)
    loss = numbers.interval_loss(np.array([0, 0, 1, 3, 2]), np.array([0, 1, 2, 3, 3]))
    assert loss.tolist() == [0.0, 0.1, 0.9, 0.0, 1.0]


def test_interval_loss_of_others_goes_by_count():
    assert column([0], 5).interval_loss(np.array([0, 1]), np.array([4, 2])).tolist() == [1.0, 0.25]
    assert column([0], 1).interval_loss(np.array([0]), np.array([0])).tolist() == [0.0]


def test_a_column_without_hierarchy_has_no_nodes():
    assert column([0], 1).tree is None
    with pytest.raises(DataError, match="has no hierarchy"):
        column([0], 1).node_loss()


def test_a_column_is_asked_for_by_name():
    sets = CodedSets(
        name="s", role=Role.ITEMS, items=np.array([0, 1, 1], np.int32), start=np.array([0, 2, 3]), labels=("x", "y")
    )
    dataset = Dataset(
        schema=Schema(), columns={"a": column([0, 0], 1), "s": sets}, carried=None, n_rows=2, order=("a", "s")
    )
    assert dataset.column("a").labels == ("0",)
    assert dataset.quasi_identifiers == (dataset.columns["a"],)
    assert [sets.cell(row) for row in (0, 1)] == [("x", "y"), ("y",)]
    with pytest.raises(DataError, match="holds sets"):
        dataset.column("s")
    with pytest.raises(DataError, match="not among"):
        dataset.column("b")


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()])
def test_arrays_go_between_arrow_and_numpy(kind):
    array = pa.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1], kind) if kind != pa.bool_() else pa.array([True, False] * 5)
    for part in (array, array[3:], array[2:5], array[:0]):
        assert as_numpy(part).tolist() == part.to_pylist()
        assert as_arrow(as_numpy(part)).equals(part)
    absent = np.array([True, False] * 5)
    assert as_arrow(as_numpy(array), absent).to_pylist() == [
        None if gone else value for gone, value in zip(absent, array.to_pylist(), strict=True)
    ]


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(*(st.integers(0, most - 1) for most in (3, 1, 5, 2, 7))), max_size=60),
    few=st.sampled_from([1, 4, 12, 1 << 22]),
    dense=st.sampled_from([1, 20, 1 << 27]),
    step=st.sampled_from([1, 7, 1 << 16]),
)
def test_distinct_codes_are_the_sorted_ones_however_columns_are_taken_together(rows, few, dense, step):
    columns = [(np.array([row[at] for row in rows], np.int8), most) for at, most in enumerate((3, 1, 5, 2, 7))]
    weights = np.arange(1, len(rows) + 1)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_FEW", few), ("_DENSE", dense), ("STEP", step)):
            patch.setattr(dataset, name, value)
        distinct = distinct_codes(columns, len(rows), weights)

    expected = sorted(set(rows))
    assert list(map(tuple, distinct.codes.tolist())) == expected
    assert [expected[each] for each in distinct.distinct_of.tolist()] == rows
    assert distinct.weight.tolist() == [
        sum(weight for row, weight in zip(rows, weights.tolist(), strict=True) if row == each) for each in expected
    ]
