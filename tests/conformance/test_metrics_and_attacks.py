"""Every metric and every attack is reached by a run of some family, and says no more than it may.

A member that is listed but suited to none of these runs fails here: give it a run that it suits.
"""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import chain

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

alone = pytest.mark.parametrize("family", ALONE)


@cache
def plan_of(family):
    return sf.Plan.load(KEPT / family / "plan.toml")


@cache
def measured(family):
    return sf.measure(KEPT / family / "run", plan_of(family))


@cache
def attacked(family):
    return sf.attack(KEPT / family / "run", plan_of(family))


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


def secrets_of(family):
    """Return every value of every column that must not show."""
    plan = plan_of(family)
    columns = encode(read_table(plan.source), plan.schema).columns.values()
    return {label for column in columns if column.role in SECRET_ROLES for label in column.labels if label}


@cache
def sampled():
    """Return the original of a sample of people in households, with its plan."""
    people = pa.table({"age": ["20", "20", "30", "30"], "sex": list("fmfm"), "home": list("1122"), "w": [9, 4, 3, 7]})
    told = {name: {"role": "quasi-identifier"} for name in ("age", "sex")}
    document = {
        "source": {"weight": "w", "household": "home"},
        "columns": {**told, "home": {"role": "other"}, "w": {"role": "other"}},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
    return people, sf.Plan.from_dict(document)


@pytest.mark.slow
def test_every_metric_is_reached():
    people, plan = sampled()
    others = sf.measure(people, plan, original=people)

    assert {found.name for family in ALONE for found in measured(family)} | {found.name for found in others} == set(
        METRICS
    )
    assert all(finite(found.as_dict()) for found in others)


def test_the_summary_shows_the_papers_own_measures():
    shown = "".join(summary({"measurements": [found.as_dict() for found in measured(family)]}, 140) for family in ALONE)

    titles = ("Terms lost", "Change of belief", "Distortion", "Items lost from", "Error of reconstructed tables")
    assert [title for title in titles if title not in shown] == []


def test_the_models_that_answer_an_attack_are_there_and_its_columns_too():
    for attack in ATTACKS.values():
        assert set(attack.answered_by) <= set(PRIVACY_MODELS)
    for family in ALONE:
        for found in attacked(family):
            assert set(found.about) <= {spec.name for spec in plan_of(family).schema}


def test_every_attack_is_reached(tmp_path):
    reached = {found.attack for family in ALONE for found in attacked(family)}
    name = pa.table({"name": ["a", "b"], "age": [30, 30]})
    plan = sf.Plan.from_dict(
        {
            "columns": {"name": {"role": "identifier"}, "age": {"role": "quasi-identifier"}},
            "require": [{"model": "k-anonymity", "k": 2}],
        }
    )
    (tmp_path / "diseases.csv").write_text("d,s\nflu,cough\nflu,fever\ngout,joint pain\n", encoding="utf-8")
    strange = pa.table({"age": ["20", "20"], "symptoms": ["cough|fever", "cough|joint pain"]})
    looked_up = sf.Plan.from_dict(
        {
            "columns": {"age": {"role": "quasi-identifier"}, "symptoms": {"role": "quasi-sensitive", "kind": "set"}},
            "knowledge": {"path": "diseases.csv", "label": "d", "terms": "s"},
            "require": [{"model": "qs-diversity", "column": "symptoms", "c": 1, "l": 2}],
        },
        base=tmp_path,
    )
    bought = pa.table({"age": ["20", "20"], "basket": ["bread|wine", "bread"]})
    baskets = sf.Plan.from_dict(
        {
            "columns": {
                "age": {"role": "quasi-identifier"},
                "basket": {"role": "items", "kind": "set", "sensitive_items": ["wine"]},
            },
            "require": [{"model": "rho-uncertainty", "column": "basket", "rho": "0.5"}],
        }
    )
    tables = ((name, plan), (strange, looked_up), (bought, baskets), sampled())
    others = [found for table, asked in tables for found in sf.attack(table, asked)]
    assert reached | {found.attack for found in others} == set(ATTACKS)


@alone
def test_measurements_are_finite_plain_and_say_what_they_are_about(family):
    for found in measured(family):
        facts = found.as_dict()
        assert finite(facts)
        assert json.loads(json.dumps(facts)) == facts
        assert (facts["about"], facts["main"]) == (METRICS[found.name].about, METRICS[found.name].main)
        assert found.title
        assert found.explanation.endswith(".")
        if About(facts["about"]) is About.LOSS:  # whoever weighs losses needs to know which way is better
            assert found.better in ("lower", "higher")


@alone
def test_findings_of_attacks_are_finite_plain_and_within_bounds(family):
    for exposure in attacked(family):
        facts = exposure.as_dict()
        assert finite(facts)
        assert json.loads(json.dumps(facts)) == facts
        assert exposure.title
        assert exposure.intruder.endswith(".")
        assert exposure.control is not None  # without a guess beside it, a figure says nothing
        for finding in (exposure.before, exposure.after, exposure.control):
            assert 0 <= finding.exposed <= finding.people
            assert 0 <= finding.worst <= 1
            assert finding.mean is None or finding.mean <= finding.worst + 1e-12


@alone
def test_attacks_show_no_value_of_a_secret_column(family):
    secrets = secrets_of(family)
    said = [leaf for exposure in attacked(family) for leaf in leaves(exposure.as_dict()) if isinstance(leaf, str)]

    assert secrets
    assert not secrets & set(said)
    assert not [secret for secret in secrets if len(secret) > 4 and any(secret in words for words in said)]


@alone
def test_the_report_lists_or_draws_whatever_was_measured(family):
    facts = {"measurements": [found.as_dict() for found in measured(family)]}
    lost = PARTS["losses"].content(facts)
    named = [row["title"] for row in lost["measures"]] if lost else []
    page = render(facts)

    assert named == [found.title for found in measured(family) if found.about is About.LOSS]
    assert all(found.explanation.replace(" %", "%").split("'")[0] in page for found in measured(family))


# What these promise is of another kind than what an attack counts: whether a person is in the table at all, and how
# many values a cell could mean, however unlikely some are.
ANSWER_NO_ATTACK = {"delta-presence", "sensitive-qid-diversity"}


def test_every_model_answers_an_attack_or_stands_here_with_its_reason():
    answering = {name for attack in ATTACKS.values() for name in attack.answered_by}

    assert set(PRIVACY_MODELS) - answering == ANSWER_NO_ATTACK
