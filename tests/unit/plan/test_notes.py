"""Every problem of a plan says where it is, so that an editor or a form can point at it."""

from __future__ import annotations

import pytest

from sfumato.errors import PlanError, Problem
from sfumato.models import MultiDiversity, QSCloseness
from sfumato.models.base import place_of
from sfumato.plan import Plan
from wrong_plans import WRONG, asking


@pytest.mark.parametrize(("document", "place"), WRONG, ids=[f"{i}-{place}" for i, (_, place) in enumerate(WRONG)])
def test_a_problem_carries_its_place(document, place):
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(document)

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


def test_a_column_is_found_where_a_requirement_names_it():
    assert place_of(MultiDiversity(sensitive=["a", "b"], alpha_sa=0.5), "b") == ".sensitive"
    assert place_of(QSCloseness(column="a", t=0.3), "a") == ".column"
