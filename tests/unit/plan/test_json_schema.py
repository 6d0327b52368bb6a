"""The schema of the plan: what it refuses the parser refuses, and what is right it lets pass."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sfumato.anonymizers import ANONYMIZERS
from sfumato.errors import PlanError
from sfumato.models import PRIVACY_MODELS
from sfumato.parameters import parameters_of
from sfumato.plan import Plan
from sfumato.plan.json_schema import json_schema, schema_text
from sfumato.plan.keys import TABLES
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


def sample(parameter, value):
    if value is None and parameter.takes.startswith("column"):
        value = "ill"
    return {"ill": value} if parameter.per_column else value
