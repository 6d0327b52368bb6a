"""Several requirements in one plan: every pair of stages, all of them at once, and what is refused."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import PlanError
from sfumato.generators import hospital
from sfumato.generators.hospital import PAYERS, SENSITIVE_DRUGS, THERAPIES, knowledge_rows
from sfumato.generators.patients import JOBS

ROWS = 400
COLUMNS = {
    "name": {"role": "identifier"},
    "diagnosis": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10, 20, 40]}},
    "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "zip": {"role": "quasi-identifier", "kind": "category", "hierarchy": {"prefix": 5}},
    "admission": {"role": "quasi-identifier", "hierarchy": {"dates": ["month", "quarter"]}},
    "ward": {"role": "other"},
    "therapy": {"role": "other"},
    "payer": {"role": "other"},
    "symptoms": {"role": "other"},
    "drugs": {"role": "other"},
    "job": {"role": "other"},
    "household": {"role": "other"},
}
FAMILIES = {
    "classes": (
        {"ward": {"role": "sensitive"}},
        [
            {"model": "k-anonymity", "k": 4},
            {"model": "l-diversity", "sensitive": "ward", "l": 2, "kind": "entropy"},
            {"model": "t-closeness", "sensitive": "ward", "t": 0.7},
        ],
    ),
    "masks": (
        {
            "therapy": {"role": "sensitive", "hierarchy": {name: list(values) for name, values in THERAPIES.items()}},
            "payer": {"role": "sensitive", "hierarchy": {name: list(values) for name, values in PAYERS.items()}},
        },
        [{"model": "multi-diversity", "sensitive": ["therapy", "payer"], "alpha_qi": 0.6, "alpha_sa": 0.6}],
    ),
    "terms": (
        {"symptoms": {"role": "quasi-sensitive", "kind": "set"}},
        [{"model": "qs-closeness", "column": "symptoms", "t": 0.5}],
    ),
    "items": (
        {"drugs": {"role": "items", "kind": "set", "sensitive_items": list(SENSITIVE_DRUGS)}},
        [{"model": "rho-uncertainty", "column": "drugs", "rho": "0.5"}],
    ),
    "cells": (
        {
            "job": {
                "role": "sensitive-quasi-identifier",
                "domain": [job for group in JOBS.values() for job in group],
            },
            "household": {"role": "sensitive-quasi-identifier", "domain": ["1", "2", "3", "4", "5 or more"]},
        },
        [{"model": "sensitive-qid-diversity", "l": {"job": 3, "household": 2}}],
    ),
}


@pytest.fixture(scope="module")
def table():
    return hospital(ROWS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("public")
    rows = "".join(f"{name},{symptoms}\n" for name, symptoms in knowledge_rows())
    (path / "diagnoses.csv").write_text(f"diagnosis,symptoms\n{rows}", encoding="utf-8")
    return path


def plan_of(families, folder: Path, **changes):
    document = {"columns": dict(COLUMNS), "require": []}
    for name in families:
        columns, requirements = FAMILIES[name]
        document["columns"] |= columns
        document["require"] += requirements
    if "terms" in families:
        document["knowledge"] = {
            "path": "diagnoses.csv",
            "label": "diagnosis",
            "terms": "symptoms",
            "separator": "|",
        }
    return sf.Plan.from_dict(document | changes, base=folder)


@pytest.mark.parametrize("families", list(combinations(FAMILIES, 2)), ids="+".join)
def test_two_stages_leave_each_other_s_promises_alone(families, table, folder):
    plan = plan_of(families, folder)

    run = sf.anonymize(table, plan, seed=3)

    assert [verdict.satisfied for verdict in run.verdicts] == [True] * len(plan.policy.requirements)
    assert run.release.data.num_rows == ROWS  # no step drops rows, which would move shares that others rely on


def test_every_kind_of_column_in_one_plan(table, folder):
    plan = plan_of(FAMILIES, folder)

    run = sf.anonymize(table, plan, seed=3)

    assert [step["anonymizer"] for step in run.facts["steps"]] == [
        "mondrian",
        "masking",
        "term-suppression",
        "partial-suppression",
        "randomization",
    ]
    assert all(verdict.satisfied for verdict in run.verdicts)
    assert {exposure.attack for exposure in run.exposures} >= {"linking", "knowledge-linking"}
    for exposure in run.exposures:
        assert exposure.after.worst <= exposure.before.worst + 1e-12


def test_joined_classes_keep_what_was_promised_of_their_parts(table, folder):
    document = {"model": "qs-closeness", "column": "symptoms", "t": 0.12}
    plan = plan_of(("classes", "terms"), folder, require=[*FAMILIES["classes"][1], document])

    run = sf.anonymize(table, plan, seed=3)

    (terms,) = [step for step in run.facts["steps"] if step["anonymizer"] == "term-suppression"]
    assert terms["facts"]["symptoms"]["groups_merged"] > 0
    assert all(verdict.satisfied for verdict in run.verdicts)


@pytest.mark.parametrize("first", ["local-recoding", "masking"])
def test_groups_of_labels_that_no_removal_protects_are_joined_as_well(first, table, folder):
    terms = {"model": "qs-closeness", "column": "symptoms", "t": 0.12}
    earlier = FAMILIES["classes" if first == "local-recoding" else "masks"][1]
    named = [{**earlier[0], "anonymizer": first}, *earlier[1:]]
    family = "classes" if first == "local-recoding" else "masks"
    plan = plan_of((family, "terms"), folder, require=[*named, terms])

    run = sf.anonymize(table, plan, seed=3)

    assert [step["anonymizer"] for step in run.facts["steps"]] == [first, "term-suppression"]
    assert run.facts["steps"][1]["facts"]["symptoms"]["groups_merged"] > 0
    assert all(verdict.satisfied for verdict in run.verdicts)


@pytest.mark.parametrize(
    ("maker", "kept"),
    [("local-recoding", {"x", "y"}), ("mondrian", {"*"})],  # which cut q first, so r goes with it
)
def test_classes_in_which_no_mask_is_enough_are_joined(maker, kept):
    """Each value of q has one value of s; only together are both as likely as they may be."""
    flat = {"hierarchy": {"flat": True}}
    plan = sf.Plan.from_dict(
        {
            "columns": {
                "q": {"role": "quasi-identifier", **flat},
                "r": {"role": "quasi-identifier", **flat},
                "s": {"role": "sensitive", **flat},
            },
            "require": [
                {"model": "k-anonymity", "k": 2, "anonymizer": maker},
                {"model": "alpha-diversity", "sensitive": "s", "alpha": 0.5, "reading": "true"},
            ],
        }
    )
    people = pa.table({"q": list("aabb" * 2), "r": list("xxxxyyyy"), "s": list("ppqq" * 2)})

    run = sf.anonymize(people, plan, seed=1)

    assert all(verdict.satisfied for verdict in run.verdicts)
    assert run.release.data.column("s").to_pylist().count("*") == 0
    assert set(run.release.data.column("q").to_pylist()) == {"*"}
    assert set(run.release.data.column("r").to_pylist()) == kept


def test_masks_get_classes_as_large_as_they_need_whoever_makes_them():
    plan = sf.Plan.from_dict(
        {
            "columns": {
                "q": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
                "u": {"role": "sensitive"},
                "s": {"role": "sensitive", "hierarchy": {"flat": True}},
            },
            "require": [
                {"model": "t-closeness", "sensitive": "u", "t": 1},
                {"model": "alpha-diversity", "sensitive": "s", "alpha": 0.5},
            ],
        }
    )

    run = sf.anonymize(pa.table({"q": list("abcd"), "u": list("wxyz"), "s": list("pqpq")}), plan, seed=1)

    assert all(verdict.satisfied for verdict in run.verdicts)
    assert "2 rows or more" in run.facts["steps"][0]["why"]


@pytest.mark.parametrize("model", [{"model": "l-diversity", "l": 2}, {"model": "t-closeness", "t": 0.5}])
def test_what_counts_values_is_refused_on_a_column_that_is_masked(model, folder):
    require = [*FAMILIES["masks"][1], {**model, "sensitive": "therapy"}]

    with pytest.raises(PlanError, match="therapy"):
        plan_of(("masks",), folder, require=require)


def test_one_column_cannot_be_in_two_families(folder):
    with pytest.raises(PlanError, match="'drugs', whose role is items"):
        plan_of(("items",), folder, require=[{"model": "l-diversity", "sensitive": "drugs", "l": 2}])


@pytest.mark.parametrize("anonymizer", ["full-domain", "local-recoding", "mondrian"])
def test_later_stages_protect_the_rows_that_are_kept(anonymizer, table, folder):
    k = 4 if anonymizer == "full-domain" else 25
    if anonymizer != "full-domain":  # three who are unlike all others
        ages = pa.array([90 if row in (5, 70, 300) else 30 + row % 2 for row in range(ROWS)])
        table = table.set_column(table.column_names.index("age"), "age", ages)
    require = [{"model": "k-anonymity", "k": k, "anonymizer": anonymizer}, *FAMILIES["masks"][1]]
    require += FAMILIES["terms"][1] + FAMILIES["items"][1]
    plan = plan_of(
        ("classes", "masks", "terms", "items"),
        folder,
        require=require,
        anonymizers={anonymizer: {"drop_rows": 0.1}},
    )

    run = sf.anonymize(table, plan, seed=3)

    assert [verdict.satisfied for verdict in run.verdicts] == [True] * len(require)
    assert 0.9 * ROWS <= run.release.data.num_rows < ROWS
    dropped = ROWS - run.release.data.num_rows
    assert run.facts["steps"][0]["facts"]["rows_dropped"] == dropped
    assert run.release.description["rows_dropped"] == dropped
