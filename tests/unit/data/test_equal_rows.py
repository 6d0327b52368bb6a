"""Equal rows of a release, held once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.bit_sets import BitSets
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema

DOMAIN = tuple(f"value {number}" for number in range(70))  # two words of bits
SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "items": ColumnSpec(name="items", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("b",)),
        "job": ColumnSpec(name="job", role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=DOMAIN),
        "note": ColumnSpec(name="note", role=Role.OTHER),
        "when": ColumnSpec(name="when", role=Role.OTHER),
        "list": ColumnSpec(name="list", role=Role.OTHER),
    }
)
TYPES = {
    "age": pa.string(),
    "items": pa.list_(pa.string()),
    "job": pa.list_(pa.string()),
    "note": pa.string(),
    "when": pa.float64(),
    "list": pa.list_(pa.int64()),
}
rows = st.tuples(
    st.sampled_from(["1", "2", None]),
    st.sampled_from([(), ("a",), ("a", "b"), ("b",)]),
    st.sampled_from([("value 0",), ("value 0", "value 69"), ("value 3", "value 69")]),
    st.sampled_from(["x", None]),
    st.sampled_from([1.5, None]),
    st.sampled_from([(1, 2), (1,), None]),
)


def released(table, *, chunks=1):
    columns = {}
    for place, (name, kind) in enumerate(TYPES.items()):
        values = [row[place] for row in table]
        size = -(-len(values) // chunks) or 1
        parts = [pa.array(values[at : at + size], kind) for at in range(0, len(values), size)]
        columns[name] = pa.chunked_array(parts, kind)
    return Release.from_table(pa.table(columns), SCHEMA)


def rows_of(release):
    """Return the rows that a release holds, as they were given."""
    columns = []
    for name in release.order:
        column = release.columns.get(name)
        if column is None:
            carried = release.carried.column(name).to_pylist()
            columns.append([tuple(value) if isinstance(value, list) else value for value in carried])
        elif hasattr(column, "codes"):
            columns.append([None if code == column.missing else column.labels[code] for code in column.codes.tolist()])
        else:
            columns.append([column.cell(row) for row in range(release.n_rows)])
    return list(zip(*columns, strict=True))


tables = st.lists(rows, max_size=12).flatmap(
    lambda some: st.lists(st.sampled_from(some), max_size=40) if some else st.just([])
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(table=tables, chunks=st.sampled_from([1, 3]))
def test_a_weighted_release_holds_each_row_once_in_the_order_of_their_first(table, chunks):
    release = released(table, chunks=chunks)
    weighted = release.weighted()
    counts = Counter(table)

    assert rows_of(weighted) == list(counts)
    assert weighted.weights.tolist() == list(counts.values())
    assert weighted.weights.dtype == np.int64
    assert weighted.total == release.total == len(table)
    assert isinstance(weighted.columns["job"], BitSets)


def test_weights_add_up_when_a_weighted_release_is_weighted_again():
    row = ("1", (), ("value 0",), "x", 1.5, None)
    once = released([row, row, ("2", *row[1:])]).weighted()
    again = once.weighted()

    assert again.weights.tolist() == once.weights.tolist() == [2, 1]
    assert rows_of(again) == rows_of(once)


def test_a_weighted_release_cannot_be_published():
    weighted = released([("1", (), ("value 0",), "x", 1.5, None)] * 2).weighted()

    with pytest.raises(AssertionError, match="counted, not published"):
        weighted.table()
