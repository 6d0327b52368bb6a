"""A plan as values: read from a file, or made of the same structure in Python."""

from __future__ import annotations

import hashlib
import pickle
import textwrap

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
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
        ),
        encoding="utf-8",
    )

    plan = Plan.load(path)

    assert plan.source is not None
    assert plan.source.path == tmp_path / "people.csv"
    assert plan.schema.spec("anything").role is Role.OTHER
    assert plan.policy.requirements == (KAnonymity(k=3),)
    assert plan.sha256 is not None


def test_a_missing_file_names_the_plans_beside_it(tmp_path):
    (tmp_path / "plan.toml").write_text("", encoding="utf-8")

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


WIDE = {
    "columns": {
        "id": {"role": "identifier"},
        "q7": {"role": "other"},
        "q*": {"role": "quasi-identifier", "kind": "category", "hierarchy": {"flat": True}},
        "*": {"role": "sensitive"},
    },
    "require": [{"model": "k-anonymity", "k": 2}],
}


def test_a_pattern_stands_for_the_columns_of_the_table_that_it_fits():
    plan = sf.Plan.from_dict(WIDE).over(["id", "q1", "q2", "q7", "ill"])
    assert plan.schema.named(Role.QUASI_IDENTIFIER) == ("q1", "q2")
    assert plan.schema.columns["q7"].role is Role.OTHER
    assert plan.schema.spec("ill").role is Role.SENSITIVE
    assert plan.schema.spec("q3").role is Role.SENSITIVE  # the table has no such column


def test_patterns_are_told_by_the_header_of_the_source_or_by_the_frame(tmp_path):
    answers = {"id": [1, 2, 3, 4], "q1": ["a", "a", "b", "b"], "q2": ["x", "x", "y", "y"], "q7": [1, 2, 3, 4]}
    table = pa.table({**answers, "ill": ["no", "no", "yes", "yes"]})
    pa_csv.write_csv(table, tmp_path / "t.csv")
    named = sf.Plan.from_dict({**WIDE, "source": {"path": "t.csv"}}, tmp_path)
    assert named.schema.named(Role.QUASI_IDENTIFIER) == ("q1", "q2")
    run = sf.anonymize(table, sf.Plan.from_dict(WIDE), seed=1)
    assert run.release.data.column_names == ["q1", "q2", "q7", "ill"]
    assert sorted(set(run.release.data["q1"].to_pylist())) == ["a", "b"]
    again = sf.run(named, tmp_path / "run", seed=1)
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", named))
    assert again.release.data.column_names == run.release.data.column_names


def test_what_a_pattern_brings_in_is_checked():
    document = {
        **WIDE,
        "columns": {"id": {"role": "identifier"}, "s*": {"role": "items"}, "q": {"role": "quasi-identifier"}},
    }
    with pytest.raises(PlanError, match="no requirement protects it"):
        sf.Plan.from_dict(document).over(["id", "s1", "q"])


def test_a_place_without_a_name_is_named_all_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError, match=r"Plan '\.' has a problem"):
        Plan.load(".")
