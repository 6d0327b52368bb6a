from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.bins import Bins
from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.encoding import encode
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.sets import encode_sets
from sfumato.errors import DataError, PolicyError


@pytest.mark.parametrize(
    "bins", [[], [1], [1, 1], [3, 2], [[1, 5], [5, 9]], [[4, 2]], ["a", "b"], "x", [1, float("nan")], [[1, 2], [0, 0]]]
)
def test_bins_that_overlap_or_are_none_are_refused(bins):
    with pytest.raises(PolicyError):
        Bins.of(bins)


def test_numbers_fall_into_their_bin_and_nothing_else_does():
    bins = Bins.of([[0, 9], [20, 29.5]])
    assert bins.labels == ("[0, 9]", "[20, 29.5]")
    assert bins.place(np.array([-1, 0, 9, 9.5, 15, 20, 29.5, 30])).tolist() == [-1, 0, 0, -1, -1, 1, 1, -1]


def test_open_ends_take_everything():
    bins = Bins.of([float("-inf"), 0, float("inf")])
    assert bins.labels == ("[-inf, 0)", "[0, inf]")
    assert bins.place(np.array([-1e300, 0.0, 1e300])).tolist() == [0, 1, 1]


def schema(**about):
    bins = about.get("bins")
    domain = bins.labels if bins else about.pop("domain", None)
    spec = ColumnSpec(name="age", role=Role.SENSITIVE_QUASI_IDENTIFIER, domain=domain, **about)
    return Schema({"age": spec}, missing=("?",))


def test_numbers_are_coded_by_bin_with_missing_last():
    table = pa.table({"age": ["18", "5", "?", "21", "5.0"]})
    column = encode(table, schema(bins=Bins.of([0, 10, 20, 30, 40]))).column("age")
    assert column.kind is Kind.ORDERED
    assert column.labels == ("[0, 10)", "[10, 20)", "[20, 30)", "?")
    assert column.codes.tolist() == [1, 0, 3, 2, 0]


def test_numbers_outside_all_bins_are_counted_and_not_shown():
    with pytest.raises(DataError, match="1 distinct number") as error:
        encode(pa.table({"age": [5, 77, 8]}), schema(bins=Bins.of([0, 10])))
    assert "77" not in str(error.value)


sets = st.lists(st.sets(st.integers(0, 129)), max_size=20)


@given(sets, st.sampled_from([130, 200]))
def test_bit_sets_hold_the_members_of_each_set(rows, d):
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    items = np.array([item for row in rows for item in sorted(row)], dtype=np.int32)
    column = BitSets(
        name="x",
        role=Role.SENSITIVE_QUASI_IDENTIFIER,
        packed=bit_sets_of(items, start, d),
        labels=tuple(map(str, range(d))),
    )
    assert column.items.tolist() == items.tolist()
    size = np.diff(column.start)
    shares = np.repeat(1 / np.maximum(size, 1), size)
    assert np.allclose(column.parts(), np.bincount(items, shares, minlength=len(column.labels)))
    assert column.start.tolist() == start.tolist()
    assert column.size.tolist() == [len(row) for row in rows]
    assert [set(column.cell(row)) for row in range(len(rows))] == [{str(item) for item in row} for row in rows]


@pytest.mark.parametrize("d", [2, 8, 9, 16, 17, 32, 33, 64, 65])
def test_bit_sets_are_as_short_as_the_domain_allows(d):
    packed = bit_sets_of(np.array([0, d - 1]), np.array([0, 2]), d)
    assert packed.nbytes == next(size for size in (1, 2, 4, 8, 16) if 8 * size >= d)
    assert int(np.bitwise_count(packed).sum()) == 2


@pytest.mark.parametrize("as_lists", [False, True])
def test_cells_are_read_over_the_domain_and_their_order_is_noticed(as_lists):
    spec = ColumnSpec(name="x", role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=("b", "a", "c"))

    def read(*cells):
        values = [cell.split("|") for cell in cells] if as_lists else list(cells)
        return encode_sets(pa.chunked_array([pa.array(values)]), spec, ("",))

    column = read("b|a", "a|c", "b|a")
    assert isinstance(column, BitSets)
    assert column.labels == ("b", "a", "c")
    assert column.packed.ravel().tolist() == [3, 6, 3]
    assert column.in_order
    assert not read("b|a", "a|b").in_order
    assert not read("b|a", "a|a").in_order
    with pytest.raises(DataError, match="outside the domain"):
        read("b|x")
