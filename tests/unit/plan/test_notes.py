"""Every problem of a plan says where it is, so that an editor or a form can point at it."""

from __future__ import annotations

import pytest

from sfumato.errors import PlanError, Problem
from sfumato.models import MultiDiversity, SensitiveQidDiversity
from sfumato.models.base import columns_named
from sfumato.plan import Plan
from wrong_plans import WRONG, asking, masked, plan


@pytest.mark.parametrize(("document", "place"), WRONG, ids=[f"{i}-{place}" for i, (_, place) in enumerate(WRONG)])
def test_a_problem_carries_its_place(document, place):
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(document).searchable()

    problems = caught.value.problems
    assert place in [problem.place for problem in problems], problems
    assert len(set(problems)) == len(problems)
    assert all(problem.place and problem.text.endswith((".", "?")) for problem in problems), problems
    assert all(f"- {problem.text}" in str(caught.value) for problem in problems)


def test_what_is_wrong_with_one_requirement_is_told_at_once():
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(asking({"model": "l-diversity", "sensitive": 3, "l": 0, "kind": "distnct", "anonymiser": "x"}))

    places = {problem.place for problem in caught.value.problems}
    assert {f"require[2].{key}" for key in ("sensitive", "l", "kind", "anonymiser")} <= places


def test_a_member_does_not_know_where_its_table_stands():
    assert Problem(".k", "too small").within("require[3]").place == "require[3].k"
    assert Problem("columns.x", "unknown").within("require[3]").place == "columns.x"


def test_a_column_is_found_where_a_requirement_names_it_however_it_is_given():
    two = {"a": "sensitive", "b": "sensitive"}
    assert columns_named(MultiDiversity, {"sensitive": ["a", "b"]}) == two
    assert columns_named(MultiDiversity, vars(MultiDiversity(sensitive=["a", "b"], alpha_sa=0.5))) == two
    assert columns_named(SensitiveQidDiversity, {"l": {"a": 0, "b": "x"}}) == {"a": "l.a", "b": "l.b"}
    for wrong in (3, "a", ["a"], None):
        assert columns_named(SensitiveQidDiversity, {"l": wrong}) == {}
    for wrong in (3, {"a": 2}, [3, ["a"]], None):
        assert columns_named(MultiDiversity, {"sensitive": wrong}) == {}


def test_columns_that_a_requirement_names_are_looked_at_whatever_else_is_wrong_with_it():
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(asking({"model": "l-diversity", "sensitive": "il", "l": 0}, masked(["age", "il"], alpha=2)))

    found = [(problem.place, "names the column" in problem.text) for problem in caught.value.problems]
    assert sorted(found) == [
        ("require[2].l", False),
        ("require[2].sensitive", True),
        ("require[3].alpha", False),
        ("require[3].sensitive", True),
        ("require[3].sensitive", True),
    ]


def test_what_is_wrong_with_gathering_is_told_though_nobody_knows_whose_rows_they_are():
    gather = {"columns": {"age": "lst"}, "events": [{"path": "x.csv", "columns": {"n": 3}}]}
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(plan(gather=gather, source={"path": "p.csv", "person": 3}))

    places = {"gather.columns.age", "gather.events[1].columns.n", "source.person"}
    assert {problem.place for problem in caught.value.problems} == places
