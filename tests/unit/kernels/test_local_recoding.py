"""The units of local recoding: distinct rows numbered as plain Python would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.classes.units import combine, distinct_keys, number_keys


@pytest.mark.parametrize("kernel", [number_keys, number_keys.py_func], ids=["compiled", "plain"])
@settings(deadline=None)
@given(keys=st.lists(st.integers(0, 2**62), max_size=40))
def test_keys_are_numbered_by_first_appearance(kernel, keys):
    number_of = np.empty(len(keys), dtype=np.int32)
    distinct = np.empty(len(keys), dtype=np.int64)

    with np.errstate(over="ignore"):
        found = kernel(np.array(keys, dtype=np.int64), np.full(128, -1, dtype=np.int32), number_of, distinct)

    first_seen = list(dict.fromkeys(keys))
    assert distinct[:found].tolist() == first_seen
    assert number_of.tolist() == [first_seen.index(key) for key in keys]


@settings(deadline=None)
@given(keys=st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_distinct_keys_stand_in_ascending_order(keys):
    distinct, number_of = distinct_keys(np.array(keys, dtype=np.int64))

    assert distinct.tolist() == sorted(set(keys))
    assert distinct[number_of].tolist() == keys


@settings(deadline=None)
@given(rows=st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=40), huge=st.booleans())
def test_combinations_of_codes_are_told_apart_also_when_keys_would_overflow(rows, huge):
    columns = [np.array([row[at] for row in rows], dtype=np.int32) for at in range(3)]
    values = [2**31 - 1] * 3 if huge else [4] * 3

    some_row, number_of = combine(columns, values, len(rows))

    found = [rows[at] for at in some_row]
    assert found == sorted(set(rows)) or huge
    assert sorted(set(found)) == sorted(set(rows))
    assert [found[number] for number in number_of] == rows
