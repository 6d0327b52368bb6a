from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.attacks import ATTACKS, Asked, FewColumns, attack_all
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema

NAMES = ("a", "b", "c")
SCHEMA = Schema({name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in NAMES})


def release(rows):
    return Release.from_table(pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))), SCHEMA)


@given(
    rows=st.lists(st.tuples(*[st.sampled_from("xyz")] * 3), min_size=1, max_size=15),
    most=st.integers(1, 3),
    threshold=st.sampled_from([0.0, 0.3, 0.5]),
)
@settings(deadline=None)
def test_the_best_few_columns_are_known_of_everybody(rows, most, threshold):
    found = FewColumns(most=most, threshold=threshold).on(release(rows))

    crowds = []
    for row in rows:
        sets = [chosen for size in range(1, most + 1) for chosen in combinations(range(3), size)]
        crowds.append(min(sum(all(row[c] == other[c] for c in chosen) for other in rows) for chosen in sets))
    assert found.exposed == sum(1 / crowd > threshold for crowd in crowds)
    assert found.worst == 1 / min(crowds)
    assert found.mean == pytest.approx(sum(1 / crowd for crowd in crowds) / len(rows))


def test_columns_say_in_how_many_sets_they_are():
    found = FewColumns(most=2).on(release([("x", "y", "z"), ("x", "x", "z"), ("y", "x", "z")]))

    assert found.facts["columns"] == {"a": 2, "b": 2, "c": 0}
    assert found.facts["unique"] == 3


def test_it_runs_on_demand_and_with_fewer_columns_than_there_are():
    table = release([("x", "y", "z"), ("x", "x", "z")])

    assert next(FewColumns.suited_to(table, Asked())).most == 2
    assert ATTACKS["few-columns"].on_demand
    assert "few-columns" not in {found.attack for found in attack_all(table, on_demand=False)}


def test_equal_rows_that_are_held_once_count_as_often_as_they_occur():
    table = release([("x", "y", "z"), ("x", "y", "z"), ("y", "x", "z")])

    assert FewColumns().on(table.weighted()).as_dict() == FewColumns().on(table).as_dict()
