"""Equal rows held once: nothing of a table is lost, and rows get what was decided about theirs in their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.encoding import encode
from sfumato.data.once import dealt_out, held_once, seen_once
from sfumato.data.schema import ColumnSpec, Role, Schema

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=40)


def table_of(rows):
    return encode(pa.table({"x": [row[0] for row in rows], "y": [row[1] for row in rows]}), Schema(rest=Role.SENSITIVE))


@settings(max_examples=50, deadline=None)
@given(rows=ROWS)
def test_every_row_is_still_there(rows):
    table = table_of(rows)
    once = held_once(table, len(rows))
    shown = [tuple(once.column(name).codes[once.entry_of].tolist()) for name in ("x", "y")]

    assert shown == [tuple(table.column(name).codes.tolist()) for name in ("x", "y")]
    assert once.n_rows == len(set(rows))
    assert once.total == len(rows)
    assert once.weights.tolist() == np.bincount(once.entry_of).tolist()
    assert once.column("x").occurrences.tolist() == table.column("x").occurrences.tolist()


def test_a_table_whose_rows_differ_is_left_as_it_is():
    assert held_once(table_of([("a", 1), ("b", 2), ("c", 3)]), 2) is None


@settings(max_examples=50, deadline=None)
@given(rows=ROWS, seed=st.integers(0, 99))
def test_rows_get_the_pieces_of_theirs_in_their_order(rows, seed):
    once = held_once(table_of(rows), len(rows))
    rng = np.random.default_rng(seed)
    cuts = [np.diff([0, *sorted(rng.integers(0, weight + 1, 2)), weight]) for weight in once.weights]
    pieces, owner = np.concatenate(cuts), np.repeat(np.arange(once.n_rows), 3)
    found = dealt_out(once, pieces)

    assert np.bincount(found, minlength=pieces.size).tolist() == pieces.tolist()
    assert owner[found].tolist() == once.entry_of.tolist()
    for entry in range(once.n_rows):
        assert np.all(np.diff(found[once.entry_of == entry]) >= 0)


@pytest.mark.parametrize("repeat", [1, 3])
def test_narrow_codes_are_taken_as_they_are(repeat):
    table = table_of([("a", 1), ("b", 2), ("a", 1)] * repeat)
    narrow = {name: column.codes.astype(np.int8) for name, column in table.columns.items()}
    once = held_once(replace(table, columns={n: replace(c, codes=narrow[n]) for n, c in table.columns.items()}), 9)
    assert once.weights.tolist() == [2 * repeat, repeat]
    assert once.column("x").codes.dtype == np.int32


def test_equal_rows_of_a_release_are_seen_once_where_all_columns_are_of_single_values():
    table = pa.table({"x": ["a", "b", "a", "a"], "y": [1, 2, 1, 1]})
    plain = Schema({name: ColumnSpec(name=name, role=Role.SENSITIVE) for name in "xy"})
    carried = Schema(plain.columns | {"y": ColumnSpec(name="y", role=Role.OTHER)})

    once, each = (seen_once(table, schema, {}) for schema in (plain, carried))

    assert (once.n_rows, once.weights.tolist(), once.total) == (2, [3, 1], 4)
    assert (each.n_rows, each.weights) == (4, None)
