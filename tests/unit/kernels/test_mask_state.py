"""The entries and groups of a class, beside a plain tally of the same rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.masks import state as loops
from sfumato.kernels.masks.state import GROUP, HERE, ROWS, SIZE, Secrets, make_state

LEAVES, LABELS = 3, 4  # of both columns: three values, and one label above them


def plain(loop):
    return getattr(loop, "py_func", loop)


def secrets() -> Secrets:
    label = np.zeros((2, LABELS, 8), dtype=np.int64)
    label[:, :, 0] = [LEAVES] * LEAVES + [-1]
    return Secrets(
        label=label,
        loss=np.zeros((2, LABELS)),
        leaf=np.ones((2, LEAVES, 5), dtype=np.int64),
        bound=np.ones((2, 2, LEAVES)),
        risky=np.empty(0, dtype=np.int64),
        asked=np.ones(2, dtype=np.int64),
        leaves=np.full(2, LEAVES),
    )


tuples = st.tuples(st.integers(0, LABELS - 1), st.integers(0, LABELS - 1))


@pytest.mark.parametrize("take", [lambda loop: loop, plain], ids=["compiled", "plain"])
@given(
    classes=st.lists(st.lists(st.tuples(tuples, st.integers(1, 5)), min_size=1, max_size=12), min_size=1, max_size=3)
)
def test_a_class_holds_the_rows_that_were_put_in_and_none_of_the_class_before(take, classes):
    known = secrets()
    state = make_state(known, LABELS * LABELS)
    for rows in classes:
        take(loops.clear)(state)
        tally: Counter[tuple[int, int]] = Counter()
        for labels, count in rows:
            entry = take(loops.entry_of)(state, np.array(labels))
            take(loops.add_rows)(state, entry, count)
            tally[labels] += count
        for labels, count in tally.items():
            entry = take(loops.entry_of)(state, np.array(labels))
            assert state.entry[entry, ROWS, 0] == count
            for column in (0, 1):
                others = {pair: n for pair, n in tally.items() if pair[1 - column] == labels[1 - column]}
                group = state.entry[entry, GROUP, column]
                assert group == take(loops.find_group)(state, np.array(labels), column)
                assert state.group[group, SIZE] == sum(others.values())
                assert state.group[column, SIZE] == tally.total()
                shown = sum(n for pair, n in tally.items() if pair[column] == labels[column])
                assert state.tally[column, labels[column], HERE] == shown
                if labels[column] < LEAVES:
                    assert take(loops.visible_rows)(state, group, labels[column]) == count
                inner = sum(n for pair, n in others.items() if pair[column] >= LEAVES)
                assert take(loops.collect)(state, known, group) == (inner > 0)
                assert state.inner[LEAVES, 2] == inner
