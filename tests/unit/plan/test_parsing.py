"""The plan: everything wrong with it is said at once, with the nearest valid word."""

from __future__ import annotations

import pytest

from sfumato.data.schema import Kind, Role
from sfumato.errors import PlanError
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.plan import Plan

GOOD = {
    "source": {"path": "people.csv", "missing": ["?", ""]},
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "kind": "number"},
        "job": {"role": "quasi-identifier", "hierarchy": {"office": ["clerk", "boss"], "field": ["farmer", "miner"]}},
        "disease": {"role": "sensitive"},
    },
    "require": [
        {"model": "k-anonymity", "k": 5},
        {"model": "l-diversity", "sensitive": "disease", "l": 3},
        {"model": "t-closeness", "sensitive": "disease", "t": 0.3, "anonymizer": "mondrian"},
    ],
    "anonymizers": {"mondrian": {"strict": False}},
    "release": {"format": "parquet", "shuffle": False},
    "measure": {"target": "disease"},
}


def changed(**parts):
    return {**GOOD, **parts}


def problems_of(document):
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(document).searchable()
    return caught.value.problems


def test_a_good_plan_becomes_objects():
    plan = Plan.from_dict(GOOD)

    assert plan.schema.named(Role.QUASI_IDENTIFIER) == ("age", "job")
    assert plan.schema.columns["age"].kind is Kind.NUMBER
    assert plan.schema.missing == ("?", "")
    assert [type(model) for model in plan.policy] == [KAnonymity, LDiversity, TCloseness]
    assert plan.release.format == "parquet"
    assert not plan.release.shuffle
    assert plan.source is not None
    assert plan.source.path.name == "people.csv"


def test_every_problem_is_listed_not_only_the_first():
    problems = problems_of(
        {
            "sorce": {},
            "columns": {
                "age": {"role": "quasi-identifer"},
                "zip": {"role": "sensitive", "kind": "numbr", "hierachy": "zip.csv"},
            },
            "require": [{"model": "k-anonimity", "k": 5}, {"model": "l-diversity", "sensitiv": "zip", "l": 1}],
            "release": {"format": "cvs"},
        }
    )
    text = "\n".join(problem.text for problem in problems)

    for expected in (
        "'source'",
        "'quasi-identifier'",
        "'number'",
        "'hierarchy'",
        "'k-anonymity'",
        "'sensitive'",
        "'csv'",
    ):
        assert f"Did you mean {expected}?" in text, expected
    assert len(problems) >= 8


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (changed(require=[]), "it requires nothing"),
        (changed(require=[{"model": "k-anonymity"}]), "needs 'k'"),
        (changed(require=[{"model": "k-anonymity", "k": 0}]), "k"),
        (changed(require=[{"model": "k-anonymity", "k": "five"}]), "k"),
        (changed(require=[{"k": 5}]), "has no model"),
        (changed(require=[{"model": "l-diversity", "sensitive": "diseas", "l": 2}]), "Did you mean 'disease'?"),
        (changed(require=[{"model": "l-diversity", "sensitive": "age", "l": 2}]), "It must be sensitive"),
        (changed(require=[{"model": "t-closeness", "sensitive": "disease", "t": 2}]), "t"),
        (
            changed(require=[{"model": "t-closeness", "sensitive": "disease", "t": 0.2, "distance": "hierarchical"}]),
            "needs a hierarchy",
        ),
        (
            changed(
                require=[
                    {"model": "k-anonymity", "k": 2, "anonymizer": "mondrian"},
                    {"model": "k-anonymity", "k": 3, "anonymizer": "local-recoding"},
                ]
            ),
            "different anonymizers",
        ),
        (changed(columns={"disease": {"role": "sensitive"}}), 'no column has the role "quasi-identifier"'),
        (changed(columns={"age": {}}), "has no role"),
        (changed(columns={"age": "quasi-identifier"}), "must be a table"),
        (changed(columns={"age": {"role": "quasi-identifier", "kind": "ordered"}}), "in which order"),
        (changed(columns={"age": {"role": "quasi-identifier", "kind": "set"}}), "holds sets"),
        (changed(columns={**GOOD["columns"], "tags": {"role": "items", "kind": "set"}}), "no requirement protects it"),
        (changed(anonymizers={"mondrain": {}}), "Did you mean 'mondrian'?"),
        (changed(anonymizers={"mondrian": {"stric": True}}), "Did you mean 'strict'?"),
        (changed(release={"shuffle": "yes"}), "true or false"),
        (changed(measure={"target": "diseas"}), "Did you mean 'disease'?"),
        (
            changed(columns={**GOOD["columns"], "name": {"role": "identifier"}}, measure={"target": "name"}),
            "target names 'name', an identifier, which is not published",
        ),
        (
            changed(columns={**GOOD["columns"], "name": {"role": "identifier"}}, measure={"tables": [["name"]]}),
            "tables names 'name', an identifier, which is not published",
        ),
        (changed(source={"path": "x.csv", "missing": 3}), "missing of [source] must be a text or a list of texts"),
    ],
)
def test_a_wrong_plan_is_refused_with_what_to_do(document, expected):
    assert any(expected in problem.text for problem in problems_of(document)), problems_of(document)


def test_labels_are_the_default_where_every_quasi_identifier_has_a_hierarchy():
    columns = {"job": GOOD["columns"]["job"]}
    require = [{"model": "k-anonymity", "k": 2}]

    (step,) = Plan.from_dict({"columns": columns, "require": require}).steps()
    assert step.anonymizer.name == "local-recoding"

    (step,) = Plan.from_dict({"columns": {**columns, "age": {"role": "quasi-identifier"}}, "require": require}).steps()
    assert step.anonymizer.name == "mondrian"
    assert "age" in step.why


def test_a_requirement_goes_to_the_anonymizer_that_it_names():
    columns = {"job": GOOD["columns"]["job"]}
    require = [{"model": "k-anonymity", "k": 2, "anonymizer": "mondrian"}]

    (step,) = Plan.from_dict({"columns": columns, "require": require}).steps()

    assert (step.anonymizer.name, step.why) == ("mondrian", "chosen in the plan")


def test_an_anonymizer_that_cannot_meet_a_requirement_is_refused_with_those_that_can():
    require = [{"model": "k-anonymity", "k": 2, "anonymizer": "term-suppression"}]

    with pytest.raises(PlanError, match=r"term-suppression, which cannot meet it. Use 'local-recoding', 'mondrian'"):
        Plan.from_dict({"columns": {"job": GOOD["columns"]["job"]}, "require": require}).searchable()


def test_two_anonymizers_for_one_stage_are_refused():
    require = [
        {"model": "k-anonymity", "k": k, "anonymizer": name} for k, name in ((2, "mondrian"), (3, "local-recoding"))
    ]

    with pytest.raises(PlanError, match="different anonymizers"):
        Plan.from_dict({"columns": {"job": GOOD["columns"]["job"]}, "require": require}).searchable()
