"""Columns of sets: cut, trimmed, sorted."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from columns_in_codes import cells, coded
from sfumato.data import distinct
from sfumato.data import sets as sets_module
from sfumato.data.schema import Kind, Role
from sfumato.errors import DataError


def test_set_cells_are_cut_trimmed_and_sorted():
    sets = coded(["b| a |b", "", None, "?", "c", "|"], Kind.SET, missing=("?", ""), sensitive_items=("c", "z"))
    assert cells(sets) == [("a", "b"), (), (), (), ("c",), ()]
    assert sets.labels == ("a", "b", "c")
    assert sets.sensitive.tolist() == [False, False, True]
    assert coded(["b, a"], Kind.SET, separator=",").labels == ("a", "b")


def test_cells_in_chunks_are_cut_where_they_are():
    chunks = [["b|a", "?", "b|a"], [None, "c|b"], [], ["b|a", ""]]
    apart = pa.chunked_array([pa.array(chunk, pa.string()).dictionary_encode() for chunk in chunks])
    sets = coded(apart, Kind.SET, missing=("?",), sensitive_items=("c",))
    assert cells(sets) == [("a", "b"), (), ("a", "b"), (), ("b", "c"), ("a", "b"), ()]
    assert cells(coded(pa.chunked_array([], pa.string()), Kind.SET)) == []


@pytest.mark.parametrize(
    "type",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_view(pa.string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_lists_are_sets(type):  # noqa: A002
    values = [["b", "a", "b"], [], None, [None, "", "c", " a"]]
    array = pa.array(values, type)
    sets = coded(pa.chunked_array([array, array[1:]]), role=Role.ITEMS)
    assert cells(sets) == [("a", "b"), (), (), ("a", "c"), (), (), ("a", "c")]
    assert sets.items.dtype == np.int32
    assert sets.start.dtype == np.int64


def test_lists_are_not_single_values():
    with pytest.raises(DataError, match="declared as number but holds lists"):
        coded([["a"]], Kind.NUMBER)
    with pytest.raises(DataError, match="Column 'a'"):
        coded([[{"x": 1}]])


def test_numbers_in_lists_keep_their_type():
    assert coded([[3, 1], [2]]).type == pa.int64()


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.none() | st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=8),
    st.sampled_from([1, 4, 1 << 20]),
)
def test_sets_equal_plain_sets(rows, step):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "STEP", step)
        patch.setattr(sets_module, "STEP", step)
        listed = coded(pa.chunked_array([pa.array(rows, pa.list_(pa.string()))]), Kind.SET)
        joined = coded(
            pa.chunked_array([pa.array([None if row is None else "|".join(row) for row in rows], pa.string())]),
            Kind.SET,
        )
    plain = [tuple(sorted(set(row or ()))) for row in rows]
    assert cells(listed) == plain
    assert cells(joined) == plain
