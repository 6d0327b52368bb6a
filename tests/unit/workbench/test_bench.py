"""Questions about a plan and its table, as both are now."""

from __future__ import annotations

import os

import pytest

from house import ROOT
from sfumato.editing import PlanDocument
from sfumato.errors import DataError, PlanError
from sfumato.workbench.bench import Workbench
from sfumato.workbench.reach import State


@pytest.fixture
def bench(plan):
    return Workbench(plan)


def edited(plan, place, value):
    document = PlanDocument.open(plan)
    before = document.digest
    document.set(place, value)
    document.save(plan, expected=before)


def test_columns_say_what_they_are_and_what_they_look_like(bench):
    name, age, town, job = bench.columns()

    assert (name.number, name.name, name.role, name.guess) == (0, "name", "identifier", "identifier")
    assert (age.kind, age.distinct, age.missing, age.hierarchy) == ("number", 3, 0, "complete")
    assert (town.shortest, town.longest, town.hierarchy) == (4, 5, "complete")
    assert (job.role, job.missing, job.hierarchy) == ("sensitive", 0.2, "none")
    assert all(each.reason and each.warning for each in (name, age, town, job))
    assert not any(cell in str(job.as_dict()) for cell in ("nurse", "cook"))


def test_values_are_shown_one_column_at_a_time(bench):
    assert bench.looks(["job"]) == {"job": ["nurse", "cook"]}
    assert bench.values("town", most=1) == {"values": [["Bern", 2]], "more": 2, "missing": 0}
    assert bench.values("job")["missing"] == 1
    with pytest.raises(DataError, match="no column"):
        bench.looks(["jobb"])


def test_a_column_that_another_one_tells_is_said_to_be_known(bench, plan):
    (plan.parent / "people.csv").write_text(
        "name,age,town,job\n"
        + "a,31,Bern,nurse\nb,32,Chur,cook\nc,32,Chur,cook\nd,33,Basel,cook\ne,31,Bern,nurse\nf,33,Basel,cook\n"
    )

    assert bench.known_by("job") == ["age", "town"]
    assert bench.known_by("age") == ["town"]


def test_a_trial_says_what_a_run_would_cost(bench, plan):
    edited(plan, ("require", 0, "anonymizer"), "mondrian")
    edited(plan, ("require", 1, "anonymizer"), "mondrian")

    found = bench.trial().as_dict()

    assert (found["made"], found["rows"], found["people"], found["sampled"]) == (True, 5, 5, False)
    assert found["losses"][0]["title"] == "Detail lost"
    assert not any(cell in str(found) for cell in ("nurse", "cook", "Ann"))
    edited(plan, ("require", 1, "l"), 5)
    assert not bench.trial().made


def test_uniqueness_counts_people_whatever_the_roles(bench):
    assert bench.uniqueness(["age", "town"]).as_dict() == {"people": 5, "unique": 1, "without": {"age": 1, "town": 1}}
    assert bench.uniqueness(["name"]).unique == 5


def test_a_broken_hierarchy_is_said_to_be_so_beside_the_other_columns(bench, plan):
    (plan.parent / "towns.csv").unlink()

    assert [each.hierarchy for each in bench.columns()] == ["none", "complete", "broken", "none"]


def test_reach_follows_the_plan_as_it_is_edited(bench, plan):
    assert [each.state for each in bench.reach()] == [State.POSSIBLE, State.POSSIBLE]

    edited(plan, ("require", 0, "k"), 6)
    edited(plan, ("require", 1, "l"), 3)
    k, l = bench.reach()

    assert (k.state, k.asked, k.best) == (State.IMPOSSIBLE, 6, 5)
    assert (l.state, l.best) == (State.EMPTY, 3)  # a missing value is one of its own

    edited(plan, ("columns", "job", "role"), "quasi-identifier")
    with pytest.raises(PlanError):
        bench.reach()
    assert bench.columns()[3].role == "quasi-identifier"  # a plan with problems can still be looked at


def test_a_changed_table_is_read_again_and_an_unchanged_one_is_not(bench, plan, monkeypatch):
    table = plan.parent / "people.csv"
    assert bench.uniqueness(["age"]).people == 5
    monkeypatch.setattr("sfumato.workbench.bench.read_table", None)
    assert bench.uniqueness(["age"]).unique == 1
    monkeypatch.undo()

    table.write_text(table.read_text(encoding="utf-8") + "Flo Orr,70,Chur,cook\n", encoding="utf-8")
    os.utime(table, ns=(1, 1))

    assert bench.uniqueness(["age"]).as_dict()["people"] == 6
    table.unlink()
    with pytest.raises(DataError, match="not where the plan says"):
        bench.columns()


def test_people_are_counted_where_rows_are_put_together():
    bench = Workbench(ROOT / "examples" / "omop" / "plan.toml")

    assert bench.uniqueness(["zip"]).people == 1000
    assert {each.name for each in bench.columns()} >= {"conditions", "visits"}
    assert all(each.state is State.POSSIBLE for each in bench.reach())
