"""Distinct values of every type, however a column is cut into chunks."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from columns_in_codes import coded
from sfumato.data import distinct
from sfumato.data.distinct import carry, text_codes, unify
from sfumato.errors import DataError

SECRET = "Xylophonist"


DAY = datetime.date(2024, 5, 31)


@pytest.mark.parametrize(
    ("array", "labels"),
    [
        (pa.array([3, 1, 3], pa.int8()), ("1", "3")),
        (pa.array([3, 1, 3], pa.uint64()), ("1", "3")),
        (pa.array([0.1, 1e20, 3.0]), ("0.1", "3", "1e+20")),
        (pa.array([1.5, 0.1], pa.float32()), ("0.1", "1.5")),
        (pa.array([True, False]), ("false", "true")),
        (pa.array([DAY]), ("2024-05-31",)),
        (pa.array([datetime.datetime(2024, 5, 31, 12)]), ("2024-05-31 12:00:00.000000",)),
        (pa.array([datetime.time(12, 30)]), ("12:30:00.000000",)),
        (pa.array([decimal.Decimal("1.50")]), ("1.50",)),
        (pa.array([decimal.Decimal("1.50")], pa.decimal32(5, 2)), ("1.50",)),
        (pa.array(["b", "a"], pa.large_string()), ("a", "b")),
        (pa.array(["b", "a"], pa.string_view()), ("a", "b")),
        (pa.array([b"b", b"a"]), ("a", "b")),
        (pa.array(pd.Categorical(["b", "a"], categories=["z", "b", "a"])), ("a", "b")),
        (pa.array(pd.Categorical([20, 3])), ("3", "20")),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", "a", None])), ("a", "")),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_type_has_labels(array, labels):
    column = coded(pa.chunked_array([array, array[:1]]))
    assert column.labels == labels
    assert len(column.codes) == len(array) + 1


@pytest.mark.parametrize("array", [pa.array([{"x": SECRET}]), pa.array([b"\xff\xfe"])], ids=["struct", "bytes"])
def test_types_without_labels_are_refused(array):
    with pytest.raises(DataError, match="Column 'a': Values of type"):
        coded(pa.chunked_array([array]))


def test_codes_do_not_depend_on_how_a_column_is_cut():
    values = ["b", "a", None, "c", "a", "b"]
    whole = coded(values)
    for kind in (pa.string(), pa.dictionary(pa.int8(), pa.string())):
        pieces = [pa.array(values[at : at + 2], pa.string()) for at in range(0, 6, 2)]
        pieces = [piece.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else piece for piece in pieces]
        cut = coded(pa.chunked_array(pieces))
        assert cut.labels == whole.labels
        assert cut.codes.tolist() == whole.codes.tolist()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "?", None]), max_size=6), max_size=4),
    st.sampled_from([1, 3, 1 << 20]),
)
def test_text_codes_equal_a_plain_walk(chunks, step):
    array = pa.chunked_array(
        [pa.array(chunk, pa.string()).dictionary_encode() for chunk in chunks], pa.dictionary(pa.int32(), pa.string())
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "STEP", step)
        codes, labels, has_missing = text_codes(array, ("?",))
    cells = [cell for chunk in chunks for cell in chunk]
    assert [labels[code] if code < len(labels) else None for code in codes] == [
        None if cell == "?" else cell for cell in cells
    ]
    assert set(labels) == set(cells) - {None, "?"}
    assert has_missing == any(cell in (None, "?") for cell in cells)
    assert codes.flags.writeable


@pytest.mark.slow
def test_many_distinct_numbers_are_coded_at_once():
    values = np.random.default_rng(1).permutation(200_000)
    column = coded(pa.chunked_array([pa.array(values)]))
    assert np.array_equal(column.values[column.codes], values)
    assert column.codes.dtype == np.int32


def test_dictionaries_with_nulls_are_unified():
    shared, places = unify([pa.array(["a", None]), pa.array(["b", "a"])])
    assert [[shared[int(at)].as_py() for at in place] for place in places] == [["a", None], ["b", "a"]]
    assert unify([])[1] == []


def test_carried_text_says_nothing_of_its_order_or_of_what_is_gone():
    array = pa.chunked_array(
        [pa.DictionaryArray.from_arrays(pa.array([3, 1, None], pa.int8()), pa.array(["q", "c", "p", "d"]))]
    )
    carried = carry(array)
    assert carried.to_pylist() == ["d", "c", None]
    assert carried.chunk(0).dictionary.to_pylist() == ["c", "d"]
    assert carry(pa.chunked_array([pa.array(["", None])])).to_pylist() == ["", None]
    assert carry(pa.chunked_array([[1, 2]])).type == pa.int64()
    assert carry(pa.chunked_array([pa.array([5, 6]).dictionary_encode()])).type == pa.int64()
    lists = pa.array([["a"], None]).cast(pa.list_(pa.dictionary(pa.int32(), pa.string())))
    assert carry(pa.chunked_array([lists])).type == pa.large_list(pa.string())


def test_no_dictionary_inside_a_carried_column_brings_along_what_no_row_shows():
    letters = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0], pa.int8()), pa.array(["a", SECRET, "c"]))
    numbers = pa.array([5, 6, 7, 5]).dictionary_encode()
    absent = pa.array([False, True, False, False])
    struct = pa.StructArray.from_arrays([letters, numbers], names=["x", "y"], mask=absent)
    deep = pa.ListArray.from_arrays(pa.array([0, 1, None, 4], pa.int32()), struct)
    deeper = pa.array([{"s": row} for row in deep.to_pylist()], pa.struct([("s", deep.type)]))
    for array in (struct, deep, struct[1:], deep[1:], deeper):
        carried = carry(pa.chunked_array([array, array[:1]]))
        assert carried.to_pylist() == [*array.to_pylist(), *array[:1].to_pylist()]
        assert "dictionary" not in str(carried.type)
        assert not any(SECRET.encode() in buffer for chunk in carried.chunks for buffer in chunk.buffers() if buffer)


@pytest.mark.parametrize("values", [["b", "a", "b"], ["b", None, "?"], [str(number) for number in range(300)] + ["7"]])
@pytest.mark.parametrize("index", [pa.int8(), pa.int16(), pa.uint8()])
def test_narrow_codes_are_the_same_as_wide_ones(values, index):
    if len(values) > 127 and index != pa.int16():
        index = pa.int16()
    column = pa.chunked_array([pa.array(values).dictionary_encode().cast(pa.dictionary(index, pa.string()))])
    before = column.to_pylist()
    wide, narrow = text_codes(column, ("?",)), text_codes(column, ("?",), narrow=True)
    assert narrow[0].tolist() == wide[0].tolist()
    assert narrow[1:] == wide[1:]
    assert column.to_pylist() == before
