"""The units of local recoding: distinct rows numbered as plain Python would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.classes.units import number_keys


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
