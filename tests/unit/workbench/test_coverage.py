"""Whether a hierarchy knows the values of a column, before it takes the place of another."""

from __future__ import annotations

import pytest

from sfumato.errors import HierarchyError
from sfumato.workbench.bench import Workbench


@pytest.fixture
def bench(plan):
    return Workbench(plan)


def test_a_hierarchy_is_checked_before_it_takes_the_place_of_another(bench, plan):
    (plan.parent / "other.csv").write_text("Bern;west;*\nBasell;west;*\n", encoding="utf-8")

    now, then = bench.coverage("town"), bench.coverage("town", "other.csv")

    assert (now.state, now.values, now.covered, now.unknown, now.rows) == ("complete", 3, 3, 1, 5)
    assert (then.state, then.missing, then.examples, then.near) == (
        "misses",
        2,
        ("Chur", "Basel"),
        {"Basel": "Basell"},
    )
    assert bench.coverage("job", {"flat": True}).as_dict() | {"paths": ()} == {
        "state": "complete",
        "values": 2,
        "covered": 2,
        "missing": 0,
        "examples": (),
        "near": {},
        "unknown": 0,
        "rows": 4,
        "rows_missing": 1,
        "paths": (),
    }
    assert bench.coverage("age", {"widths": [2]}).paths[1] == ("32", "[32, 33]", "*")
    assert bench.coverage("job").state == "none"
    with pytest.raises(HierarchyError):
        bench.coverage("town", "nowhere.csv")


def test_numbers_are_known_in_any_spelling(bench):
    assert bench.coverage("age", {"young": [31.0, 32], "old": [33]}).state == "complete"
    assert bench.coverage("age", {"young": [31], "old": [40]}).examples == ("33", "32")
