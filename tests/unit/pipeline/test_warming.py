"""Compiling ahead: every model has made-up patients, and a run after it compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.anonymizers.choosing import aiming_at
from sfumato.errors import PolicyError
from sfumato.generators import hospital
from sfumato.generators.requirements import REQUIREMENTS, ROWS, plan_for
from sfumato.models import PRIVACY_MODELS
from sfumato.pipeline import warming
from sfumato.pipeline.warming import _jobs, warm

PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "sensitive-quasi-identifier"
bins = [20, 30, 40, 50, 60]
[[require]]
model = "sensitive-qid-diversity"
l = { age = 2 }
"""


def test_every_model_has_a_requirement_that_made_up_patients_can_meet():
    assert set(REQUIREMENTS) == set(PRIVACY_MODELS)


@pytest.mark.slow
@pytest.mark.parametrize("model", REQUIREMENTS)
def test_made_up_patients_meet_it(model, tmp_path):
    plan = sf.Plan.from_dict(plan_for({model: None}, tmp_path), tmp_path)
    assert all(verdict.satisfied for verdict in sf.anonymize(hospital(ROWS), plan, seed=1).verdicts)


def test_without_a_plan_every_default_anonymizer_has_its_turn(tmp_path):
    turns = {step.anonymizer.name for _, plan, _ in _jobs(None, tmp_path) for step in plan.steps()}
    assert turns >= {aiming_at(model)[0] for _, plan, _ in _jobs(None, tmp_path) for model in plan.policy}
    assert {"local-recoding", "mondrian"} <= turns


def test_with_a_plan_its_anonymizers_and_options_are_taken(tmp_path):
    document = plan_for({"k-anonymity": "mondrian", "l-diversity": "mondrian"}, tmp_path)
    plan = sf.Plan.from_dict(document | {"anonymizers": {"mondrian": {"cut": "width"}}}, tmp_path)

    ((title, made_up, options),) = _jobs(plan, tmp_path)

    assert title == "k-anonymity, l-diversity"
    assert [step.anonymizer.name for step in made_up.steps()] == ["mondrian"]
    assert options["mondrian"].cut == "width"


def test_options_that_do_not_suit_the_patients_give_way_to_the_usual_ones(tmp_path, monkeypatch):
    plan = sf.Plan.from_dict(plan_for({"sensitive-qid-diversity": None}, tmp_path), tmp_path)
    tried = []

    def make(case, seed):
        tried.append(dict(case.plan.options))
        if case.plan.options:
            raise PolicyError("no such column")

    monkeypatch.setattr(warming.Case, "make", make)
    options = {step.anonymizer.name: step.anonymizer for step in plan.steps()}
    warm(replace(plan, options=options))
    assert tried == [options, {}]


@pytest.mark.slow
def test_a_run_after_it_compiles_nothing(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "people.csv").write_text(
        "age\n" + "".join(f"{20 + row % 40}\n" for row in range(200)), encoding="utf-8"
    )

    def sfumato(*words):
        return subprocess.run(
            [sys.executable, "-m", "sfumato", *words],
            cwd=tmp_path,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "store"), "NO_COLOR": "1"},
            capture_output=True,
            encoding="utf-8",
        )

    first = sfumato("warm", "plan.toml", "--json")
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["compiled"]
    assert json.loads(first.stdout)["kept"]
    assert "Compiling" in first.stderr
    second = sfumato("warm", "plan.toml")
    assert "there already" in second.stdout
    run = sfumato("anonymize", "plan.toml", "--out", "out")
    assert run.returncode == 0, run.stderr
    assert "Compiling" not in run.stderr
