"""l-diversity and t-closeness for who knows other sensitive columns, against tables in which these identify."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import PlanError, PolicyError, Unsatisfiable
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import describe

MODELS = (
    LDiversity(sensitive="ill", l=2, known=["pay"]),
    LDiversity(sensitive="ill", l="3/2", kind="entropy", known="pay"),
    LDiversity(sensitive="ill", l="3/2", kind="frequency", known=["pay", "job"]),
    LDiversity(sensitive="ill", l=2, kind="recursive", c=3, known=["job"]),
    TCloseness(sensitive="ill", t="0.4", known=["pay"]),
)


def some_people(rng, n=60):
    return pa.table(
        {
            "ward": rng.choice(["a", "b", "c"], n),
            "ill": rng.choice(["flu", "gout", "hiv"], n),
            "pay": rng.choice(["low", "high"], n),
            "job": rng.choice(["cook", "clerk"], n),
        }
    )


def schema(*identifying):
    roles = dict.fromkeys(("ill", "pay", "job"), Role.SENSITIVE) | dict.fromkeys(identifying, Role.QUASI_IDENTIFIER)
    return Schema(
        {name: ColumnSpec(name=name, role=role) for name, role in {"ward": Role.QUASI_IDENTIFIER, **roles}.items()}
    )


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_known_columns_are_judged_as_quasi_identifiers_would_be(model):
    rng = np.random.default_rng(3)
    found = set()
    for n in (12, 20, 40, 60, 200):
        table = some_people(rng, n)
        alone = {name: value for name, value in vars(model).items() if name != "known"}
        expected = type(model)(**alone).audit(Release.from_table(table, schema(*model.known)))
        verdict = model.audit(Release.from_table(table, schema()))
        assert (verdict.satisfied, verdict.reached, verdict.groups, verdict.failing, verdict.failing_rows) == (
            expected.satisfied,
            expected.reached,
            expected.groups,
            expected.failing,
            expected.failing_rows,
        )
        found.add(verdict.satisfied)
    assert found == {True, False}


def test_a_class_that_is_diverse_may_not_be_for_who_knows_more():
    table = pa.table(
        {
            "ward": ["a"] * 4,
            "ill": ["flu", "flu", "hiv", "hiv"],
            "pay": ["low", "low", "high", "high"],
            "job": ["cook"] * 4,
        }
    )
    release = Release.from_table(table, schema())
    assert LDiversity(sensitive="ill", l=2).audit(release).satisfied
    assert not LDiversity(sensitive="ill", l=2, known="pay").audit(release).satisfied
    assert LDiversity(sensitive="ill", l=2, known="job").audit(release).satisfied


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_mondrian_reaches_it(model):
    rng = np.random.default_rng(8)
    table = some_people(rng, 300).append_column("age", pa.array(rng.integers(20, 60, 300)))
    require = [{"model": "k-anonymity", "k": 3}, describe(model)]
    plan = sf.Plan.from_dict({"columns": COLUMNS, "require": require})
    run = sf.anonymize(table, plan, seed=1)
    assert all(verdict.satisfied for verdict in run.verdicts)
    assert run.facts["steps"][0]["anonymizer"] == "mondrian"
    assert run.facts["steps"][0]["facts"]["classes"] > 2


COLUMNS = {
    "ward": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10]}},
    **{name: {"role": "sensitive"} for name in ("ill", "pay", "job")},
}


def test_what_no_class_can_have_is_refused():
    rng = np.random.default_rng(1)
    table = some_people(rng).append_column("age", pa.array(rng.integers(20, 60, 60)))
    table = table.set_column(table.column_names.index("pay"), "pay", table["ill"])
    plan = sf.Plan.from_dict(
        {"columns": COLUMNS, "require": [{"model": "l-diversity", "sensitive": "ill", "l": 2, "known": ["pay"]}]}
    )
    with pytest.raises(Unsatisfiable, match="known columns"):
        sf.anonymize(table, plan, seed=1)


def test_a_column_is_not_known_and_secret_at_once():
    with pytest.raises(PolicyError, match="this very column"):
        LDiversity(sensitive="ill", l=2, known=["ill"])


def test_who_cannot_look_at_it_is_refused():
    require = [{"model": "l-diversity", "sensitive": "ill", "l": 2, "known": ["pay"], "anonymizer": "local-recoding"}]
    with pytest.raises(PlanError, match="mondrian"):
        sf.Plan.from_dict({"columns": COLUMNS, "require": require}).searchable()


def test_columns_without_it_say_nothing_of_it():
    assert LDiversity(sensitive="ill", l=2).known is None
    assert KAnonymity(k=2).judged_columns == ()
