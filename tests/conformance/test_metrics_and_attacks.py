"""Every metric and every attack is reached by a run of some family, and says no more than it may.

A member that is listed but suited to none of these runs fails here: give it a run that it suits.
"""

from __future__ import annotations

import json
import math
import tempfile
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from families import ALONE, KEPT
from sfumato.attacks import ATTACKS
from sfumato.data.encoding import encode
from sfumato.data.files import read_table
from sfumato.data.schema import SECRET_ROLES
from sfumato.metrics import METRICS, About
from sfumato.models import PRIVACY_MODELS
from sfumato.report.page import PARTS, render
from sfumato.report.text import summary

QUASI_IDENTIFIER = {"role": "quasi-identifier"}
# Tables of a few rows for what the families of models give no occasion to: their columns, what is required of them, and
# further parts of a plan.
FEW: dict[str, tuple[dict[str, list[Any]], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a sample of households": (
        {
            "age": ["20", "20", "30", "30"],
            "sex": list("fmfm"),
            "home": list("1122"),
            "w": [9, 4, 3, 7],
            "ill": ["gout", "angina", "gout", "cold"],
        },
        {"age": QUASI_IDENTIFIER, "sex": QUASI_IDENTIFIER, "ill": {"role": "sensitive"}, "*": {"role": "other"}},
        {"model": "k-anonymity", "k": 2},
        {"source": {"weight": "w", "household": "home"}},
    ),
    "names": (
        {"name": ["Ann", "Bob"], "age": [30, 30]},
        {"name": {"role": "identifier"}, "age": QUASI_IDENTIFIER},
        {"model": "k-anonymity", "k": 2},
        {},
    ),
    "terms that no label explains": (
        {"age": ["20", "20"], "symptoms": ["cough|fever", "cough|joint pain"]},
        {"age": QUASI_IDENTIFIER, "symptoms": {"role": "quasi-sensitive", "kind": "set"}},
        {"model": "qs-diversity", "column": "symptoms", "c": 1, "l": 2},
        {"knowledge": {"path": "diseases.csv", "label": "d", "terms": "s"}},
    ),
    "drawn cells of classes": (
        {"age": ["20"] * 20 + ["30"] * 20, "illness": ["gout", "angina"] * 20},
        {"age": QUASI_IDENTIFIER, "illness": {"role": "sensitive-quasi-identifier", "domain": ["angina", "gout"]}},
        {"model": "sensitive-qid-closeness", "t": {"illness": 0.2}},
        {},
    ),
    "near salaries": (
        {
            "age": ["20"] * 4 + ["30"] * 4,
            "pay": [str(pay) for pay in (30100, 30200, 30300, 30400, 1, 20000, 40000, 60000)],
        },
        {"age": QUASI_IDENTIFIER, "pay": {"role": "sensitive"}},
        {"model": "k-anonymity", "k": 2},
        {},
    ),
    "baskets of classes": (
        {"age": ["20", "20"], "basket": ["bread|wine", "bread"]},
        {"age": QUASI_IDENTIFIER, "basket": {"role": "items", "kind": "set", "sensitive_items": ["wine"]}},
        {"model": "rho-uncertainty", "column": "basket", "rho": "0.5"},
        {},
    ),
}
DISEASES = "d,s\nflu,cough\nflu,fever\ngout,joint pain\n"
PUBLIC = tempfile.TemporaryDirectory()  # there until the tests end
every_case = pytest.mark.parametrize("case", [*ALONE, *FEW])


@cache
def asked(case):
    """Return the plan of a case, what is looked at, and the original where it is no file."""
    if case in ALONE:
        return sf.Plan.load(KEPT / case / "plan.toml"), KEPT / case / "run", {}
    columns, told, required, more = FEW[case]
    (Path(PUBLIC.name) / "diseases.csv").write_text(DISEASES, encoding="utf-8")
    plan = sf.Plan.from_dict({"columns": told, "require": [required], **more}, base=Path(PUBLIC.name))
    table = pa.table(columns)
    drawn = "drawn" in case  # such tables are judged with what the release says of them
    return plan, sf.anonymize(table, plan).release if drawn else table, {"original": table}


@cache
def measured(case):
    plan, looked_at, given = asked(case)
    return () if case == "names" else sf.measure(looked_at, plan, **given)  # no table that publishes them is measured


@cache
def attacked(case):
    plan, looked_at, given = asked(case)
    return sf.attack(looked_at, plan, **given)


def leaves(data):
    """Yield everything in plain data that is no container; keys too, and what JSON does not have raises."""
    if isinstance(data, dict):
        yield from chain.from_iterable(leaves(part) for pair in data.items() for part in pair)
    elif isinstance(data, list):
        yield from chain.from_iterable(map(leaves, data))
    else:
        assert data is None or type(data) in (str, int, float, bool), type(data)
        yield data


def finite(data):
    return all(math.isfinite(leaf) for leaf in leaves(data) if isinstance(leaf, int | float))


def secrets_of(case):
    """Return every value of every column that must not show."""
    plan, _, given = asked(case)
    if given:
        table = given["original"]
        secret = [spec.name for spec in plan.schema if spec.role in SECRET_ROLES]
        return {value for name in secret for cell in table.column(name).to_pylist() for value in cell.split("|")}
    columns = encode(read_table(plan.source), plan.schema).columns.values()
    return {label for column in columns if column.role in SECRET_ROLES for label in column.labels if label}


@pytest.mark.slow
def test_every_metric_is_reached():
    assert {found.name for case in (*ALONE, *FEW) for found in measured(case)} == set(METRICS)


def test_every_attack_is_reached():
    assert {found.attack for case in (*ALONE, *FEW) for found in attacked(case)} == set(ATTACKS)


def test_the_summary_shows_the_papers_own_measures():
    shown = "".join(summary({"measurements": [found.as_dict() for found in measured(case)]}, 140) for case in ALONE)

    titles = ("Terms lost", "Change of belief", "Distortion", "Items lost from", "Error of reconstructed tables")
    assert [title for title in titles if title not in shown] == []


def test_the_models_that_answer_an_attack_are_there_and_its_columns_too():
    for attack in ATTACKS.values():
        assert set(attack.answered_by) <= set(PRIVACY_MODELS)
    for case in (*ALONE, *FEW):
        for found in attacked(case):
            assert set(found.about) <= {spec.name for spec in asked(case)[0].schema}


@every_case
def test_measurements_are_finite_plain_and_say_what_they_are_about(case):
    for found in measured(case):
        facts = found.as_dict()
        assert finite(facts)
        assert json.loads(json.dumps(facts)) == facts
        assert (facts["about"], facts["main"]) == (METRICS[found.name].about, METRICS[found.name].main)
        assert found.title
        assert found.explanation.endswith(".")
        if About(facts["about"]) is About.LOSS:  # whoever weighs losses needs to know which way is better
            assert found.better in ("lower", "higher")


@every_case
def test_findings_of_attacks_are_finite_plain_and_within_bounds(case):
    for exposure in attacked(case):
        facts = exposure.as_dict()
        assert finite(facts)
        assert json.loads(json.dumps(facts)) == facts
        assert exposure.title
        assert exposure.intruder.endswith(".")
        # Without a guess beside it, a figure says nothing; but to read a name is none.
        assert (exposure.control is None) == (exposure.attack == "plain-sight")
        for finding in filter(None, (exposure.before, exposure.after, exposure.control)):
            assert 0 <= finding.exposed <= finding.people
            assert 0 <= finding.worst <= 1
            assert finding.mean is None or finding.mean <= finding.worst + 1e-12


@every_case
def test_attacks_show_no_value_of_a_secret_column(case):
    secrets = secrets_of(case)
    said = [leaf for exposure in attacked(case) for leaf in leaves(exposure.as_dict()) if isinstance(leaf, str)]

    assert secrets
    assert not secrets & set(said)
    assert not [secret for secret in secrets if len(secret) > 4 and any(secret in words for words in said)]


@every_case
def test_the_report_lists_or_draws_whatever_was_measured(case):
    facts = {"measurements": [found.as_dict() for found in measured(case)]}
    lost = PARTS["losses"].content(facts)
    named = [row["title"] for row in lost["measures"]] if lost else []
    page = render(facts)

    assert named == [found.title for found in measured(case) if found.about is About.LOSS]
    assert all(found.explanation.replace(" %", "%").split("'")[0] in page for found in measured(case))


@pytest.mark.slow
def test_every_part_of_the_page_is_reached_and_can_be_shown():
    reached = set()
    for family in ("classes", "masks", "cells"):
        plan = asked(family)[0]
        facts = sf.anonymize(read_table(plan.source), plan, seed=1).facts
        reached |= {name for name, part in PARTS.items() if part.content(facts)}
        assert "could not be shown" not in render(facts)

    assert reached == set(PARTS)


# What these promise is of another kind than what an attack counts: whether a person is in the table at all, and how
# many values a cell could mean, however unlikely some are.
ANSWER_NO_ATTACK = {"delta-presence", "sensitive-qid-diversity"}


def test_every_model_answers_an_attack_or_stands_here_with_its_reason():
    answering = {name for attack in ATTACKS.values() for name in attack.answered_by}

    assert set(PRIVACY_MODELS) - answering == ANSWER_NO_ATTACK
