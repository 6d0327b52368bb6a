"""A knowledge table and the data of a plan: what each knows of the other, said without a spelling of the data."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import DataError, PlanError
from sfumato.knowledge import Build, check
from sfumato.plan import Plan

PLAN = """\
[source]
path = "visits.csv"
[columns.age]
role = "quasi-identifier"
[columns.symptoms]
role = "quasi-sensitive"
kind = "set"
[knowledge]
path = "diseases.csv"
label = "d"
terms = "s"
[[require]]
model = "qs-diversity"
column = "symptoms"
c = 1
l = 2
"""
SYMPTOMS = ["cough|fever"] * 6 + ["Fever"] * 5 + ["coughh"] * 2 + ["rash"] * 3


@pytest.fixture
def folder(tmp_path):
    lines = [f"{20 + place},{cell}" for place, cell in enumerate(SYMPTOMS)]
    (tmp_path / "visits.csv").write_text("\n".join(["age,symptoms", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "diseases.csv").write_text(
        "d,s\nflu,cough\nflu,fever\ncold,cough\nHIV,rash\nHIV,fever\n", encoding="utf-8"
    )
    Build(source=tmp_path / "diseases.csv", label="d", terms="s").make().write(tmp_path / "knowledge" / "own.csv")
    return tmp_path


def checked(folder, name, *more):
    done = CliRunner().invoke(
        app, ["knowledge", "check", name, "--plan", str(folder / "plan.toml"), *map(str, more), "--json"]
    )
    return done.exit_code, json.loads(done.stdout)


def test_coverage_is_counted_both_ways(folder):
    exit_code, found = checked(folder, "own")

    assert exit_code == 1  # a run would end and ask: 7 of 16 records match nothing
    assert found["coverage"]["unexplained"] == 7
    assert (found["coverage"]["terms"], found["coverage"]["unknown_terms"]) == (5, 2)
    assert found["reach"] == {
        "terms": 3,
        "terms_seen": 3,
        "labels": 3,
        "labels_reached": 2,  # nobody has a cough alone
        "records": 16,
        "pinned": 9,
        "telling_terms": 1,
    }
    assert found["looking_up"]["after"]["exposed"] == 9
    assert not found["changed"]


def test_spellings_of_the_data_are_in_the_merge_list_alone(folder):
    path = folder / "aliases.csv"

    _, found = checked(folder, "own", "--merge", path)

    assert path.read_text(encoding="utf-8") == "spelling,term\nFever,fever\n"  # two records are too few to be listed
    assert found["merges"] == 1
    assert "Fever" not in json.dumps(found)
    assert "coughh" not in json.dumps(found)


def test_a_table_that_was_built_with_the_merge_list_knows_these_spellings(folder):
    checked(folder, "own", "--merge", folder / "aliases.csv")
    source = folder / "diseases.csv"
    built = Build(source=source, label="d", terms="s", aliases=folder / "aliases.csv").make()
    built.write(folder / "knowledge" / "mended.csv")

    found = check("mended", Plan.load(folder / "plan.toml"))

    assert found.covered.unexplained == 2
    assert found.covered.spelled_twice == 0  # both names are in the same rows
    assert not found.merges


def test_a_table_that_changed_since_is_told(folder):
    with (folder / "knowledge" / "own.csv").open("a", encoding="utf-8") as file:
        file.write("gout,joint pain,1\n")

    assert "changed since" in " ".join(check("own", Plan.load(folder / "plan.toml")).sentences())


def test_a_table_that_nobody_built_is_read_as_the_plan_says(folder):
    plan = folder / "plan.toml"
    plan.write_text(PLAN.replace('terms = "s"', 'terms = "s"\nunlinked = "forbid"'), encoding="utf-8")

    found = check(str(folder / "diseases.csv"), Plan.load(plan))

    assert found.provenance is None
    assert not found.covered.asks
    assert "Nothing beside the table" in " ".join(found.sentences())
    with pytest.raises(DataError, match="there is no such file"):
        check("other", Plan.load(plan))


def test_a_plan_that_looks_nothing_up_is_refused(folder):
    plan = PLAN[: PLAN.index("[columns.symptoms]")] + '[columns."*"]\nrole = "other"\n'
    (folder / "plan.toml").write_text(plan + '[[require]]\nmodel = "k-anonymity"\nk = 2\n', encoding="utf-8")

    with pytest.raises(PlanError, match=r"has no \[knowledge\]"):
        check("own", Plan.load(folder / "plan.toml"))
