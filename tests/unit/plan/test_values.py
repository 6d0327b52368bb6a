"""A plan as values: read from a file, or made of the same structure in Python."""

from __future__ import annotations

import hashlib
import pickle
import textwrap

import pytest

from sfumato.data.schema import Role
from sfumato.errors import PlanError
from sfumato.models import KAnonymity
from sfumato.plan import Plan

TOML = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[[require]]
model = "k-anonymity"
k = 3
"""


def test_a_toml_plan_means_the_same_as_the_structure_in_python(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        textwrap.dedent(
            """
            [source]
            path = "people.csv"
            [columns.age]
            role = "quasi-identifier"
            hierarchy = { widths = [5, 10] }
            [columns."*"]
            role = "other"
            [[require]]
            model = "k-anonymity"
            k = 3
            """
        )
    )

    plan = Plan.load(path)

    assert plan.source is not None
    assert plan.source.path == tmp_path / "people.csv"
    assert plan.schema.spec("anything").role is Role.OTHER
    assert plan.policy.requirements == (KAnonymity(k=3),)
    assert plan.sha256 is not None


def test_a_missing_file_names_the_plans_beside_it(tmp_path):
    (tmp_path / "plan.toml").write_text("")

    with pytest.raises(PlanError, match=r"Did you mean 'plan.toml'\?"):
        Plan.load(tmp_path / "plam.toml")


@pytest.mark.parametrize(("content", "expected"), [(b"[source", "not valid TOML"), (b"x = '\xff'", "not UTF-8")])
def test_a_broken_file_says_how(tmp_path, content, expected):
    path = tmp_path / "plan.toml"
    path.write_bytes(content)

    with pytest.raises(PlanError, match=expected):
        Plan.load(path)


def test_a_plan_keeps_its_text_to_the_letter(tmp_path):
    written = f"# Größe\r\n{TOML}".encode()
    (tmp_path / "plan.toml").write_bytes(written)

    plan = Plan.load(tmp_path / "plan.toml")

    assert plan.text is not None
    assert plan.text.encode() == written
    assert plan.sha256 == hashlib.sha256(written).hexdigest()


def test_a_plan_of_python_has_no_text():
    plan = Plan.from_dict({"columns": {"age": {"role": "quasi-identifier"}}, "require": [KAnonymity(k=2)]})

    assert (plan.text, plan.sha256, plan.path, plan.source) == (None, None, None, None)


def test_problems_travel_to_other_processes():
    with pytest.raises(PlanError) as caught:
        Plan.from_dict({})
    again = pickle.loads(pickle.dumps(caught.value))

    assert again.problems == caught.value.problems
    assert str(again) == str(caught.value)
