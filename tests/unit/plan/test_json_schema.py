"""The schema of the plan: what it refuses the parser refuses, and what is right it lets pass."""

from __future__ import annotations

import json
import math
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sfumato.anonymizers import ANONYMIZERS
from sfumato.errors import PlanError
from sfumato.models import PRIVACY_MODELS
from sfumato.parameters import parameters_of
from sfumato.plan import Plan
from sfumato.plan.json_schema import json_schema, schema_text
from sfumato.plan.keys import COLUMN, TABLES
from wrong_plans import COLUMNS, REQUIRE, SHAPES, TOGETHER, plan

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").rglob("*.toml"))
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "```toml" in page.read_text(encoding="utf-8")]
VALIDATOR = Draft202012Validator(json_schema())


def faults(document):
    return [f"{list(fault.absolute_path)}: {fault.message}" for fault in VALIDATOR.iter_errors(document)]


def test_the_schema_is_one():
    Draft202012Validator.check_schema(json_schema())
    assert json.loads(schema_text()) == json_schema()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_example_plans_pass(path):
    assert not faults(tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_plans_in_the_documentation_pass(page):
    for block in page.read_text(encoding="utf-8").split("```toml")[1:]:
        part = tomllib.loads(block.split("```", 1)[0])
        assert not faults({"columns": COLUMNS, "require": REQUIRE, **part}), block


@pytest.mark.parametrize(("document", "place"), SHAPES, ids=[place for _, place in SHAPES])
def test_what_is_wrong_in_itself_is_refused(document, place):
    assert faults(document), place


@pytest.mark.parametrize(("document", "place"), TOGETHER, ids=[place for _, place in TOGETHER])
def test_what_does_not_go_together_is_left_to_the_parser(document, place):
    assert not faults(document), place


def test_every_key_is_in_it_with_its_words():
    schema = json_schema()

    assert set(schema["properties"]) == set(TABLES)
    assert set(schema["properties"]["anonymizers"]["properties"]) == set(ANONYMIZERS)
    members = {name: (model, schema["$defs"][name]) for name, model in PRIVACY_MODELS.items()}
    members |= {
        name: (ANONYMIZERS[name], made) for name, made in schema["properties"]["anonymizers"]["properties"].items()
    }
    for member, described in members.values():
        found = described["properties"]
        for parameter in parameters_of(member):
            assert found[parameter.name]["title"] == parameter.title
            assert found[parameter.name]["description"] == parameter.help


@pytest.mark.parametrize("model", PRIVACY_MODELS.values(), ids=list(PRIVACY_MODELS))
def test_bounds_are_those_of_the_parser(model):
    """Just outside a range both refuse, at the examples both agree."""
    given = {parameter.name: sample(parameter, parameter.example) for parameter in parameters_of(model)}
    given = {name: value for name, value in given.items() if value is not None}
    assert not faults(plan(require=[{"model": model.name, **given}]))
    for parameter in parameters_of(model):
        for bound, beyond in ((parameter.least, -1), (parameter.above, 0), (parameter.most, 1), (parameter.below, 0)):
            if bound is not None:
                wrong = {**given, parameter.name: sample(parameter, bound + beyond)}
                assert faults(plan(require=[{"model": model.name, **wrong}])), parameter.name
                with pytest.raises(PlanError) as caught:
                    Plan.from_dict(plan(require=[{"model": model.name, **wrong}]))
                place = f"require[1].{parameter.name}" + (".ill" if parameter.per_column else "")
                assert place in [problem.place for problem in caught.value.problems]


ODD = [
    *(True, False, 0, 1, -1, 10**30, 0.0, 0.5, 2.5, 1e-300, math.inf, math.nan),
    *("", " ", "age", "1/3", "0.5", "-1", "1_0", "\u0663"),
    *(
        [],
        [1],
        [2, 1],
        [0, 20],
        [[0, 19], [20, 39]],
        [0.5],
        ["a"],
        ["a", "b"],
        ["1", "2"],
        [""],
        [True],
        [["age"]],
        [[]],
    ),
    *({}, {"a": 1}, {"a": "b"}, {"age": 2}, {"a": ["b", 2.5, False]}, {"a": {"b": []}}, {"a": {"b": ["c"], "d": {}}}),
    *({"prefix": 2}, {"prefix": [3, 2]}, {"prefix": ["a"]}, {"prefix": ["a"], "b": ["c"]}, {"flat": True}, {"flat": 1}),
    *({"widths": 5}, {"widths": "0.1"}, {"widths": ["5"], "origin": "1"}, {"edges": [0, "5"]}, {"edges": [["0", 5]]}),
    *({"dates": "month"}, {"dates": ["month", "year"]}, {"share": 1}, {"share": 0.5, "seed": -1}, {"a": {"set": "b"}}),
    *(
        [{"path": "x.csv", "columns": {}}],
        [{"path": "x.csv", "columns": {"n": "count"}}],
        [{"columns": {"n": "count"}}],
    ),
]


def odd_plans():
    """Yield plans in which one key has a value that hardly anybody would write."""
    knowledge = {"path": "k.csv", "label": "illness", "terms": "symptoms"}
    for table, key in ((table, key.name) for table, about in TABLES.items() for key in about.keys):
        beside = {"source": {"path": "x.csv", "person": "id"}} if table == "gather" else {}
        given = knowledge if table == "knowledge" else {}
        yield from (plan(**beside, **{table: {**given, key: value}}) for value in ODD)
    for role in ("quasi-identifier", "sensitive", "other"):
        for key in COLUMN.keys:
            yield from (plan(columns={**COLUMNS, "x": {"role": role, key.name: value}}) for value in ODD)
    for model in PRIVACY_MODELS.values():
        given = {each.name: sample(each, each.example) for each in parameters_of(model) if each.required}
        for key in parameters_of(model):
            for value in ODD:
                each = {"ill": value} if key.per_column else value
                yield plan(require=[*REQUIRE, {"model": model.name, **given, key.name: each}])
    for name, anonymizer in ANONYMIZERS.items():
        for key in parameters_of(anonymizer):
            yield from (plan(anonymizers={name: {key.name: value}}) for value in ODD)
    for table in TABLES:
        yield from (plan(**{table: value}) for value in ODD)


@pytest.mark.slow
def test_what_the_parser_takes_passes(tmp_path):
    refused, taken = [], 0
    for document in odd_plans():
        with suppress(PlanError):
            Plan.from_dict(document, tmp_path)
            taken += 1
            refused += faults(document)
    assert taken > 400
    assert not refused


def sample(parameter, value):
    if value is None and parameter.takes.startswith("column"):
        value = "ill"
    return {"ill": value} if parameter.per_column else value
