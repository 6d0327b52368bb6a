"""Values that are numbered as they come, beside a plain dictionary of Python's."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.files import vocabulary
from sfumato.data.files.vocabulary import Vocabulary

texts = st.text("ab\0é", max_size=12) | st.sampled_from(["", "1234567", "12345678", "x" * 2_000])


def numbered(kind, parts):
    """Return the numbers of all values, and the values, from a vocabulary."""
    known = Vocabulary(kind)
    numbers = [known.numbers(pa.array(part, kind)).tolist() for part in parts]
    return numbers, known.values().to_pylist()


def plainly(parts):
    number_of = {}
    return [[number_of.setdefault(value, len(number_of)) for value in part] for part in parts], list(number_of)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@given(parts=st.lists(st.lists(texts, max_size=20), max_size=5))
def test_texts_are_numbered_in_the_order_in_which_they_first_occur(kind, parts):
    assert numbered(kind, parts) == plainly(parts)


@given(parts=st.lists(st.lists(st.text("abc", min_size=7, max_size=10), max_size=20), max_size=5))
def test_texts_with_the_same_digest_stay_apart(parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "_FEW", -1)
        patch.setattr(
            vocabulary, "text_digests", lambda texts, halves: np.full((halves, len(texts)), 2**64 - 1, dtype=np.uint64)
        )
        assert numbered(pa.string(), parts) == plainly(parts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.date32()], ids=str)
@given(parts=st.lists(st.lists(st.integers(-100, 100), max_size=20), max_size=5))
def test_numbers_and_days_are_numbered_as_well(kind, parts):
    parts = [pa.array(part, pa.int32()).cast(kind).to_pylist() for part in parts]
    assert numbered(kind, parts) == plainly(parts)


def test_a_part_of_an_array_is_looked_up_as_if_it_stood_alone():
    known, whole = Vocabulary(pa.string()), pa.array(["no", "a", "longer than that", "b", "no"])
    assert known.numbers(whole.slice(1, 3)).tolist() == [0, 1, 2]
    assert known.values().to_pylist() == ["a", "longer than that", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{:05}", "number {:09}"])
def test_many_texts_take_a_quarter_of_what_a_hash_table_of_arrow_takes(form):
    rows = 300_000
    parts = [pa.array([form.format(row) for row in range(start, start + 20_000)]) for start in range(0, rows, 20_000)]
    known = Vocabulary(pa.string())
    pool = pa.system_memory_pool()
    before, most = pool.bytes_allocated(), 0
    for part in parts:
        known.numbers(part)
        most = max(most, pool.bytes_allocated() - before)
    beside = known._value_at.nbytes + known._key_of.nbytes

    assert beside <= 24 * rows
    assert most < 1 << 16  # nothing is left behind by looking up
    assert known.values().equals(pa.concat_arrays(parts))


def test_texts_beyond_what_their_type_can_hold_are_refused():
    known = Vocabulary(pa.string())
    known.numbers(pa.array(["a"]))
    known._content.size = 2**31 - 3
    with pytest.raises(pa.ArrowCapacityError):
        known._add(pa.array(["abcdef"]), np.zeros(1, dtype=np.uint64))
