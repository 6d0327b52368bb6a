"""The order of work, and that it fails closed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Anonymizer, Phase
from sfumato.anonymizers.choosing import Step
from sfumato.data.recoding import Recoding
from sfumato.errors import DataError, PlanError, SfumatoError, Unsatisfiable
from sfumato.models import KAnonymity
from sfumato.models.base import Policy
from sfumato.pipeline import Case, Seen, read_facts
from sfumato.pipeline.judging import judge
from sfumato.pipeline.known import Known
from sfumato.plan import Plan

PEOPLE = "name,age,zip,ill\n" + "".join(f"p{i},{20 + i % 7},{'ab'[i % 2]},{'xyz'[i % 3]}\n" for i in range(60))


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    return Plan.from_dict(
        {
            "source": {"path": "people.csv"},
            "columns": {
                "name": {"role": "identifier"},
                "age": {"role": "quasi-identifier"},
                "zip": {"role": "quasi-identifier"},
                "ill": {"role": "sensitive"},
            },
            "require": [{"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "sensitive": "ill", "l": 2}],
        },
        base=tmp_path,
    )


def page(facts):
    return f"{len(facts['verdicts'])} verdicts"


def audit(path, plan):
    return Case(plan).audit(Seen.at(path, plan))


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "people.csv")


def test_a_run_leaves_release_and_private_and_nothing_else(plan, tmp_path):
    outcome = Case(plan).make_folder(tmp_path / "out", page)

    found = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert found == [
        "private/report.html",
        "private/run.json",
        "release/README.md",
        "release/data.csv",
        "release/release.json",
    ]
    assert leftovers(tmp_path) == ["out"]
    if os.name == "posix":
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out" / "private").iterdir()} == {0o600}
    assert (tmp_path / "out" / "private" / "report.html").read_text(encoding="utf-8") == "2 verdicts"
    assert all(verdict.satisfied for verdict in outcome.verdicts)
    assert read_facts(tmp_path / "out") == json.loads(json.dumps(outcome.facts))
    assert {"read", "encode", "publish", "write", "audit", "measure"} <= {
        timing["step"] for timing in outcome.facts["timings"]
    }


def test_the_facts_hold_no_seed_and_no_machine_path(plan, tmp_path):
    outcome = Case(plan).make_folder(tmp_path / "out", page, seed=987654321)
    text = json.dumps(outcome.facts)

    assert "987654321" not in text
    assert str(tmp_path) not in text


@dataclass(frozen=True)
class Careless(Anonymizer):
    """Publishes everything as it is."""

    name: ClassVar[str] = "careless"
    phase: ClassVar[Phase] = Phase.CLASSES
    aims_at: ClassVar[tuple[type, ...]] = (KAnonymity,)

    def anonymize(self, dataset, policy, before, workplace):
        return Recoding()


def careless(self):
    return (Step(anonymizer=Careless(), policy=self.policy, why="a test"),)


def test_a_release_that_fails_its_audit_is_not_written(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(Plan, "steps", careless)

    with pytest.raises(Unsatisfiable, match="1 of 2 requirements do not hold"):
        Case(plan).make_folder(tmp_path / "out", page)

    assert leftovers(tmp_path) == []


def test_an_audit_that_breaks_counts_as_failed(plan, tmp_path, monkeypatch):
    def broken(self, release, *, name_items):
        raise ZeroDivisionError

    monkeypatch.setattr(KAnonymity, "audit", broken)

    with pytest.raises(SfumatoError, match="audit of k-anonymity broke") as caught:
        Case(plan).make_folder(tmp_path / "out", page)

    assert caught.value.exit_code == 3
    assert leftovers(tmp_path) == []


def test_whoever_judges_a_table_beside_no_source_is_told(plan, tmp_path):
    table = Case(plan).make(seed=1, measure=False, attack=False).release.table()
    gone = "The source that the plan names is not there: nothing could be counted in it."
    here = sf.audit(table, plan)
    (tmp_path / "people.csv").unlink()

    assert not any(gone in verdict.notes for verdict in here)
    assert all(gone in verdict.notes for verdict in sf.audit(table, plan))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_whatever_goes_wrong_late_leaves_nothing(plan, tmp_path, error):
    def failing_page(facts):
        raise error

    with pytest.raises(error):
        Case(plan).make_folder(tmp_path / "out", failing_page)

    assert leftovers(tmp_path) == []


def test_a_plan_without_data_can_only_be_used_with_a_frame(plan, tmp_path):
    without = Plan(schema=plan.schema, policy=plan.policy)

    with pytest.raises(PlanError, match="names no data"):
        Case(without).make_folder(tmp_path / "out", page)


def test_no_rows_and_no_quasi_identifier_are_said(plan):
    with pytest.raises(DataError, match="no rows"):
        Case(plan, pa.table({name: pa.array([], pa.string()) for name in ("name", "age", "zip", "ill")})).make()


def test_audits_read_the_release_of_a_run(plan, tmp_path):
    Case(plan).make_folder(tmp_path / "out", page)

    assert all(verdict.satisfied for verdict in audit(tmp_path / "out", plan))
    assert not all(verdict.satisfied for verdict in audit(tmp_path / "people.csv", plan))


def test_judge_asks_every_model(plan):
    people = pa.table({"age": [1, 1], "zip": ["a", "a"], "ill": ["x", "y"], "name": ["p", "q"]})
    release = Case(two(plan), people).make().release
    verdicts = judge(release, Policy((KAnonymity(k=2), KAnonymity(k=3))), Known(release.public))

    assert [verdict.model.name for verdict in verdicts] == ["k-anonymity", "k-anonymity"]
    assert [verdict.satisfied for verdict in verdicts] == [True, False]


def two(plan):
    return Plan(schema=plan.schema, policy=Policy((KAnonymity(k=2),)))


@pytest.mark.parametrize("content", [None, "{", "[]", '{"format": 99}'])
def test_a_folder_that_is_no_run_is_said(tmp_path, content):
    (tmp_path / "private").mkdir()
    if content is not None:
        (tmp_path / "private" / "run.json").write_text(content, encoding="utf-8")

    with pytest.raises(DataError):
        read_facts(tmp_path)


def warned(k, *also):
    columns = {"age": {"role": "quasi-identifier"}, "job": {"role": "sensitive"}}
    plan = Plan.from_dict({"columns": columns, "require": [{"model": "k-anonymity", "k": k}, *also]})
    table = pa.table({"age": list(range(20, 60)), "job": ["nurse", "cook", "clerk", "guard"] * 10})
    return Case(plan, table).make(seed=1).facts["warnings"]


def test_a_release_that_keeps_nothing_is_announced_with_what_would_have_to_change():
    *_, nothing, change = warned(k=30)

    assert nothing == "Nothing is left of the quasi-identifiers: every row shows the same."
    assert change.startswith("To keep more, ask for less, above all of k-anonymity (smallest class 40, at least 30")
    assert "sfumato sweep" in change
    assert not {nothing, change} & set(warned(k=5))


def test_what_would_have_to_change_names_no_requirement_that_one_class_meets_whatever_it_asks():
    whatever = {"model": "t-closeness", "sensitive": "job", "t": 0.5}, {"model": "k-anonymity", "k": 2}

    assert warned(30, *whatever)[-1] == warned(30)[-1]
