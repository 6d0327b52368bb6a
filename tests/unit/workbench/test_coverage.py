"""Whether a hierarchy knows the values of a column, before it takes the place of another."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import HierarchyError
from sfumato.workbench.bench import Workbench
from sfumato.workbench.coverage import groups_of


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
    assert asdict(bench.coverage("job", {"flat": True})) | {"paths": ()} == {
        "state": "complete",
        "values": 2,
        "covered": 2,
        "missing": 0,
        "examples": (),
        "near": {},
        "unknown": 0,
        "rows": 4,
        "all_rows": 5,
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


def test_groups_have_values_that_do_not_occur_and_those_with_one_value(bench):
    """As the file has them: who edits it by hand loses nothing of it."""
    assert bench.groups("town") == {
        "values": [["Bern", 2], ["Chur", 2], ["Basel", 1], ["Genf", 0]],
        "above": {"Bern": "west", "Basel": "west", "Chur": "east", "Genf": "west"},
        "more": 0,
    }
    assert bench.groups("job") == {"values": [["nurse", 2], ["cook", 2]], "above": {}, "more": 0}
    assert bench.groups("age", {"widths": [2]})["above"] == {"32": "[32, 33]", "33": "[32, 33]", "31": "[30, 31]"}
    assert bench.groups("town", most=3) == {"values": [], "above": {}, "more": 4}


@pytest.mark.parametrize(
    "paths",
    [
        [("a", "g", "h"), ("b", "h")],
        [("a", "g", "h", "i"), ("b", "i")],
        [("a", "g", "all"), ("b", "g", "all"), ("c", "all")],
        [("a", "g", "low", "all"), ("b", "h", "low", "all")],
        [("a", "g", "top"), ("b", "g", "top"), ("c",)],
    ],
)
def test_groups_are_those_that_were_declared(paths):
    above = groups_of(Hierarchy.from_paths(paths))

    for path in paths:
        for below, group in zip(path, (*path[1:], "*"), strict=True):
            assert above[below] == group
