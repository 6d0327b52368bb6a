"""Who is alone with what some columns say, beside slow code."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.workbench.uniqueness import Uniqueness, uniqueness

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=12)


def alone(rows):
    return sum(count == 1 for count in Counter(rows).values())


@settings(max_examples=30, deadline=None)
@given(ROWS)
def test_people_are_counted_as_by_hand_also_without_each_column(rows):
    columns = {str(at): (np.array([row[at] for row in rows], dtype=np.int32), 4) for at in range(3)}

    found = uniqueness(columns, len(rows))

    assert found.people == len(rows)
    assert found.unique == alone(rows)
    assert found.without == {str(at): alone([row[:at] + row[at + 1 :] for row in rows]) for at in range(3)}


def test_columns_with_very_many_values_are_combined_as_well():
    codes = np.arange(6, dtype=np.int32) // 2

    found = uniqueness({name: (codes if name != "d" else np.arange(6, dtype=np.int32), 1 << 30) for name in "abcd"}, 6)

    assert (found.unique, found.without) == (6, {"a": 6, "b": 6, "c": 6, "d": 0})


def test_without_any_column_nobody_is_alone_unless_there_is_nobody_else():
    assert uniqueness({}, 3) == Uniqueness(3, 0, {})
    assert uniqueness({}, 1).unique == 1
    assert asdict(uniqueness({"age": (np.array([0, 1], np.int32), 2)}, 2)) == {
        "people": 2,
        "unique": 2,
        "without": {"age": 0},
    }
