"""What a plan says of people with several rows, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.data.files import Source
from sfumato.data.gathering import Events, Gather, Gathered, How
from sfumato.data.schema import Role
from sfumato.errors import PlanError
from sfumato.plan import Plan

EVENTS = {"path": "events.csv", "separator": ";", "columns": {"codes": {"set": "code"}, "visits": "count"}}


def plan_of(person="id", **gather):
    document = {
        "source": {"path": "people.csv", "missing": ["?"]} | ({"person": person} if person else {}),
        "columns": {"age": {"role": "quasi-identifier"}, "codes": {"role": "other"}, "visits": {"role": "other"}},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
    return Plan.from_dict(document | {"gather": gather})


def test_a_plan_that_gathers_is_read():
    plan = plan_of(columns={"age": "last"}, order="day", events=[EVENTS])

    assert plan.gather == Gather(
        person="id",
        columns=(Gathered(name="age", how=How.LAST, column="age"),),
        order="day",
        events=(
            Events(
                source=Source(Path("events.csv"), ";", ("?",)),
                person="id",
                columns=(
                    Gathered(name="codes", how=How.SET, column="code"),
                    Gathered(name="visits", how=How.COUNT, column=None),
                ),
            ),
        ),
    )
    assert plan.schema.columns["id"].role is Role.IDENTIFIER
    assert plan.files == {"gather.events[1].path": Path("events.csv")}


def test_columns_of_people_are_those_of_the_source_and_what_is_made():
    plan = plan_of(columns={"age": {"max": "age_then"}}, events=[EVENTS])

    assert plan.names_over(["id", "age_then", "sex"]) == ["id", "sex", "age", "codes", "visits"]


@pytest.mark.parametrize(
    ("person", "gather", "place"),
    [
        (None, {}, "source.person"),
        ("age", {}, "columns.age.role"),
        ("id", {"columns": {"age": "newest"}}, "gather.columns.age"),
        ("id", {"columns": {"age": {"last": 3}}}, "gather.columns.age"),
        ("id", {"columns": {"age": {"last": "a", "min": "a"}}}, "gather.columns.age"),
        ("id", {"columns": 3}, "gather.columns"),
        ("id", {"order": 3}, "gather.order"),
        ("id", {"events": {}}, "gather.events"),
        ("id", {"events": [{"columns": {}}]}, "gather.events[1]"),
        ("id", {"events": [EVENTS | {"colums": 1}]}, "gather.events[1].colums"),
        ("id", {"event": []}, "gather.event"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(person, gather, place):
    with pytest.raises(PlanError) as refused:
        plan_of(person, **gather)
    assert place in [problem.place for problem in refused.value.problems]
