"""The units of local recoding: combinations of codes told apart as plain Python would."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymizers.local_recoding.units import combine, distinct_keys


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
