"""A plan as a whole: what is allowed but deserves a second look. What is refused is in test_notes."""

from __future__ import annotations

import pytest

from sfumato.errors import PlanError
from sfumato.plan import Plan
from wrong_plans import CELLS, COLUMNS, FLAT, REQUIRE, asking, plan

MASKED = {"role": "sensitive", "hierarchy": FLAT}
CELLS_ASKED = {"model": "sensitive-qid-diversity", "l": {"x": 2}}
DIVERSE = {"model": "l-diversity", "sensitive": "ill", "l": 2}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (plan(), "No requirement judges the sensitive column(s) 'ill'"),
        (plan(), "Add one that does: l-diversity, t-closeness, beta-likeness, delta-disclosure, alpha-diversity, "),
        (plan(release={"shuffle": False}), "Rows keep their order"),
        (plan(columns={**COLUMNS, "*": {"role": "other"}}), "are published as they are"),
        (plan(anonymizers={"local-recoding": {}}), "[anonymizers.local-recoding] is set, but mondrian does the work."),
        (asking(CELLS_ASKED, x={**CELLS, "domain": "data"}), "The domain of 'x' is taken from the data"),
        (
            asking({"model": "multi-diversity", "sensitive": ["ill"], "alpha_sa": 0.5}),
            "multi-diversity names one column only, 'ill'",
        ),
        (
            asking({"model": "multi-diversity", "sensitive": ["ill", "x"], "alpha_sa": 0.4, "alpha_qi": 0.5}, x=MASKED),
            "alpha_qi above alpha_sa",
        ),
    ],
)
def test_what_deserves_a_second_look_is_said(document, words):
    assert any(words in warning for warning in Plan.from_dict(document).warnings())


def test_a_role_without_a_requirement_lists_only_the_models_that_fit():
    document = plan(columns={**COLUMNS, "bought": {"role": "items"}})

    with pytest.raises(PlanError) as caught:
        Plan.from_dict(document)

    (said,) = [str(problem) for problem in caught.value.problems if problem.place == "columns.bought.role"]
    assert said.endswith("Models for this role: 'rho-uncertainty', 'km-anonymity', 'hkp-coherence'.")


def test_a_model_for_a_column_of_another_role_lists_only_the_models_that_fit():
    columns = {**COLUMNS, "bought": {"role": "items"}}

    for require, said in (
        ({**DIVERSE, "sensitive": "bought"}, "Models for items: 'rho-uncertainty', 'km-anonymity', 'hkp-coherence'."),
        ({**DIVERSE, "sensitive": "age"}, "It must be sensitive."),  # no model names quasi-identifiers
    ):
        with pytest.raises(PlanError) as caught:
            Plan.from_dict(plan(columns=columns, require=[require]))
        (found,) = [str(each) for each in caught.value.problems if each.place == "require[1].sensitive"]
        assert found.endswith(said)


def test_an_unknown_anonymizer_lists_only_the_anonymizers_that_fit_the_model():
    require = {"model": "km-anonymity", "column": "bought", "k": 2, "m": 2, "anonymizer": "nothing-like-it"}

    with pytest.raises(PlanError) as caught:
        Plan.from_dict(plan(columns={**COLUMNS, "bought": {"role": "items"}}, require=[require]))

    (found,) = [str(each) for each in caught.value.problems if each.place == "require[1].anonymizer"]
    assert found.endswith("Known: 'apriori-anonymization', 'item-generalization'.")


def test_a_plan_without_such_things_has_no_warning():
    assert Plan.from_dict(asking(DIVERSE, CELLS_ASKED, x=CELLS)).warnings() == ()


def test_masked_columns_are_those_whose_requirements_say_so():
    asked = asking({"model": "alpha-diversity", "sensitive": ["ill", "x"], "alpha": 0.5}, x=MASKED)

    assert Plan.from_dict(asked).masked_columns == ("ill", "x")
    assert Plan.from_dict(asking(DIVERSE)).masked_columns == ()


MASKED = {"role": "sensitive", "kind": "category", "hierarchy": {"flat": True}}
ITEMS = {"role": "items", "kind": "set", "sensitive_items": ["x"]}


@pytest.mark.parametrize(
    ("columns", "require", "place"),
    [
        (
            {"age": {"role": "quasi-identifier"}, "ill": MASKED, "job": MASKED},
            [
                {"model": "k-anonymity", "k": 2},
                {"model": "alpha-diversity", "sensitive": "ill", "alpha": 0.5, "reading": "prior"},
                {"model": "alpha-diversity", "sensitive": "job", "alpha": 0.5, "reading": "uniform"},
            ],
            "require[3].reading",
        ),
        (
            {"drugs": ITEMS},
            [{"model": "rho-uncertainty", "column": "drugs", "rho": 0.5, "within": "classes"}],
            "require[1].within",
        ),
        (
            {"drugs": ITEMS},
            [
                {"model": "rho-uncertainty", "column": "drugs", "rho": 0.5},
                {"model": "km-anonymity", "column": "drugs", "k": 2, "m": 1, "within": "table"},
            ],
            "require[2].model",
        ),
        (  # behind one that nobody understands
            {"age": {"role": "quasi-identifier"}},
            [{"model": "k-anonymty", "k": 2}, {"model": "l-diversity", "sensitive": "nowhere", "l": 2}],
            "require[2].sensitive",
        ),
    ],
)
def test_a_problem_of_a_requirement_stands_where_that_stands(columns, require, place):
    with pytest.raises(PlanError) as refused:
        Plan.from_dict({"columns": columns, "require": require}).searchable()

    places = [problem.place for problem in refused.value.problems]
    assert place in places
    assert not {"require", "within", "require[1].sensitive"} & set(places)


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ({"lab_*": {"role": "items"}}, "columns.lab_*.role"),
        ({"lab_*": {"role": "items"}, "lab_1": {"role": "other"}}, "columns.lab_*.role"),
        ({"lab_*": {"role": "other"}, "lab_1": {"role": "items"}}, "columns.lab_1.role"),
    ],
)
def test_a_problem_of_a_column_stands_where_the_plan_speaks_of_it(tmp_path, written, place):
    (tmp_path / "people.csv").write_text("age,lab_1,lab_2\n1,a,b\n", encoding="utf-8")
    columns = {"age": {"role": "quasi-identifier"}, **written}
    with pytest.raises(PlanError) as refused:
        Plan.from_dict({"source": {"path": "people.csv"}, "columns": columns, "require": REQUIRE}, tmp_path)

    assert {problem.place for problem in refused.value.problems} == {place}
