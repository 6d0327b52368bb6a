from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.files.columns import Apart, Columns, TextLists, Texts, common_types
from sfumato.data.files.vocabulary import Vocabulary
from sfumato.errors import DataError

words = st.none() | st.sampled_from(["a", "b", "c", ""])
HERE = Path("parts")


def fed(column, chunks, kind):
    for number, chunk in enumerate(chunks):
        array = pa.array(chunk, kind)
        if number % 2 and pa.types.is_string(kind):  # a dictionary of its own, in an order of its own
            array = array.dictionary_encode()
        column.add(array)
    return column.finish()


@given(chunks=st.lists(st.lists(words, max_size=5), min_size=1, max_size=4))
def test_text_in_chunks_is_the_text_of_the_whole(chunks):
    whole = fed(Texts(), chunks, pa.string())

    assert whole.to_pylist() == [cell for chunk in chunks for cell in chunk]
    assert len(set(whole.dictionary.to_pylist())) == len(whole.dictionary)


@given(chunks=st.lists(st.lists(words, max_size=5), max_size=30))
def test_text_that_hardly_repeats_needs_no_dictionary_and_gives_the_same_column(chunks):
    chunks = [[f"unlike {number}" for number in range(4)], *chunks]
    column, plain, apart = Texts(), Texts(), Apart()
    for chunk in chunks:
        column.add(pa.array(chunk, pa.string()))
        plain.add(pa.array(chunk, pa.string()).dictionary_encode())
        apart.add(pa.array(chunk, pa.string()))
    assert column.as_found > 0 or len(chunks) > 7 or any(None in chunk for chunk in chunks)

    whole = column.finish()

    assert whole == plain.finish()
    assert whole.type == pa.dictionary(pa.int8(), pa.string())
    assert apart.finish().to_pylist() == whole.to_pylist()


def test_chunks_of_one_dictionary_are_looked_up_once(monkeypatch):
    looked_up = []
    numbers = Vocabulary.numbers
    monkeypatch.setattr(
        Vocabulary, "numbers", lambda self, values: looked_up.append(len(values)) or numbers(self, values)
    )
    whole = pa.array(["a", "b", None, "b"] * 10).dictionary_encode()
    column = Texts()
    for start in range(0, 40, 4):
        column.add(whole.slice(start, 4))

    assert column.finish().to_pylist() == whole.to_pylist()
    assert looked_up == [2]


def test_a_dictionary_that_lists_no_value_gives_cells_without_one():
    column = Texts()
    column.add(pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1], pa.uint64()), pa.array(["a", None])))

    found = column.finish()

    assert found.to_pylist() == ["a", None, None, None]
    assert found.dictionary.to_pylist() == ["a"]


@given(chunks=st.lists(st.lists(st.none() | st.lists(words, max_size=3), max_size=4), min_size=1, max_size=4))
def test_lists_in_chunks_are_the_lists_of_the_whole(chunks):
    whole = fed(TextLists(), chunks, pa.list_(pa.string()))

    assert whole.to_pylist() == [cell for chunk in chunks for cell in chunk]


@pytest.mark.parametrize(("values", "width"), [(128, pa.int8()), (129, pa.int16()), (40_000, pa.int32())])
def test_codes_are_as_narrow_as_their_number_allows(values, width):
    column = Texts()
    column.add(pa.array(map(str, range(values))))

    assert column.finish().type.index_type == width


def test_batches_become_one_table_with_the_types_that_are_asked_for():
    kinds = {"n": pa.int64(), "t": pa.string()}
    columns = Columns(kinds, HERE)
    columns.add(pa.record_batch({"t": ["x"], "n": pa.array([1], pa.int8())}))
    columns.add(pa.record_batch({"t": ["y"], "n": pa.array([300], pa.int16())}))

    table = columns.finish()

    assert table.column_names == ["n", "t"]
    assert table.to_pydict() == {"n": [1, 300], "t": ["x", "y"]}
    assert table.schema.field("n").type == pa.int64()


def test_columns_without_rows_are_refused():
    with pytest.raises(DataError, match="columns but no rows"):
        Columns({"n": pa.int64()}, HERE).finish()


def test_parts_agree_on_the_wider_type_and_any_text_is_text():
    narrow = pa.schema([("n", pa.int8()), ("t", pa.dictionary(pa.int8(), pa.string()))])
    wide = pa.schema([("n", pa.int32()), ("t", pa.large_string())])

    assert common_types([narrow, wide], ["n", "t"], HERE) == {"n": pa.int32(), "t": pa.string()}


def test_parts_that_cannot_agree_are_refused_by_name():
    with pytest.raises(DataError, match="type of column 'n'"):
        common_types([pa.schema([("n", pa.int8())]), pa.schema([("n", pa.string())])], ["n"], HERE)


@given(chunks=st.lists(st.lists(st.none() | st.integers(0, 2), min_size=1, max_size=30), min_size=1, max_size=4))
def test_numbers_that_repeat_are_kept_as_codes_of_a_byte_and_the_same_in_batches_of_any_size(chunks):
    batches = [pa.record_batch({"x": pa.array([0] * 20 + chunk, pa.int64())}) for chunk in chunks]
    columns = Columns({"x": pa.int64()}, HERE, as_codes=True)
    for batch in batches:
        columns.add(batch)
    found = columns.finish().column("x")

    assert found.type == pa.dictionary(pa.int8(), pa.int64())
    assert found.to_pylist() == [value for batch in batches for value in batch.column("x").to_pylist()]


def test_numbers_that_all_differ_stay_as_they_are():
    columns = Columns({"x": pa.int64()}, HERE, as_codes=True)
    columns.add(pa.record_batch({"x": pa.array(range(100))}))
    assert columns.finish().column("x").type == pa.int64()


INTEGERS = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_whole_numbers_of_every_width_come_back_at_both_ends_of_what_they_hold(kind):
    bits, signed = kind.bit_width, str(kind).startswith("int")
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    for values in ([least, least + 2, least], [most, most - 3, most], [least, most], [0, 100, 3], [5]):
        column = Texts()
        for _ in range(2):
            column.add(pa.array(values * 70, kind))
        found = column.finish()
        assert found.type.value_type == kind
        assert found.to_pylist() == values * 140


def test_of_batches_that_are_lent_nothing_is_kept():
    batch = pa.record_batch({"n": [1, 2], "t": ["x", "y"]})
    lent = {buffer.address for column in batch.columns for buffer in column.buffers() if buffer is not None}
    columns = Columns({"n": pa.int64(), "t": pa.string()}, HERE, lent=True)
    columns.add(batch)
    columns.add(batch)

    table = columns.finish()

    assert table.to_pydict() == {"n": [1, 2, 1, 2], "t": ["x", "y", "x", "y"]}
    held = [table.column("n").chunks, [chunk.dictionary for chunk in table.column("t").chunks]]
    assert not lent & {b.address for part in held for array in part for b in array.buffers() if b is not None}
