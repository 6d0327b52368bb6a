"""Laws over all engines: their releases are accepted by the audits of this machine, and come again from a seed."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from anonymizing import JOBS
from families import FAMILIES, PEOPLE, ROOT, plan_in
from in_parts import K, in_parts, may_publish, plan_for, plan_of, written_in_files
from sfumato.engines import ENGINES, SparkEngine, comparing
from sfumato.engines.base import Engine
from sfumato.engines.local import LocalEngine
from sfumato.errors import DataError, Unsatisfiable
from sfumato.estimators import ESTIMATORS
from sfumato.parameters import parameters_of
from sfumato.pipeline import elsewhere, judging
from sfumato.plan.values import EngineOptions

MAKERS = {"local": LocalEngine, "local in 7 parts": lambda: in_parts(150)}
OF_ITS_OWN = {SparkEngine.name: "tests/system/test_spark_cluster.py"}  # it takes a cluster
every_engine = pytest.mark.parametrize("engine", MAKERS)
IN_PARTS = [family for family in FAMILIES if family != PEOPLE]
every_family = pytest.mark.parametrize("family", IN_PARTS)


def made_by(engine: str) -> Engine:
    return MAKERS[engine]()


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_engine_is_reached_here_or_by_a_test_of_its_own():
    here = {type(made_by(engine)) for engine in MAKERS}

    assert {name for name, engine in ENGINES.items() if engine not in here} == set(OF_ITS_OWN)
    for name, test in OF_ITS_OWN.items():
        assert ENGINES[name].__name__ in (ROOT / test).read_text(encoding="utf-8")


def test_a_plan_can_name_every_engine():
    (name,) = (key for key in parameters_of(EngineOptions) if key.name == "name")
    assert name.choices == tuple(ENGINES)


@pytest.mark.slow
@every_engine
@every_family
def test_every_release_of_every_engine_is_accepted_here(engine, family, tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, family))
    sf.run(plan, tmp_path / "run", seed=5, engine=made_by(engine), measure=False, attack=False)

    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("job", JOBS, ids=str)
def test_every_anonymizer_holds_its_promises_on_every_engine(engine, job, tmp_path):
    plan, run = plan_for(job, tmp_path), tmp_path / "run"
    if not may_publish(job):
        with pytest.raises(Unsatisfiable, match="audit"):
            sf.run(plan, run, seed=5, engine=made_by(engine), measure=False, attack=False)
        return
    made = sf.run(plan, run, seed=5, engine=made_by(engine), measure=False, attack=False)
    assert job.anonymizer in [step["anonymizer"] for step in made.facts["steps"]]
    assert all(verdict.satisfied for verdict in sf.audit(run, plan))


@pytest.mark.slow
@every_engine
def test_the_same_seed_gives_the_same_release(engine, tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, "hospital"))
    for name in ("one", "two"):
        sf.run(plan, tmp_path / name, seed=5, engine=made_by(engine), measure=False, attack=False)

    one, two = (contents(tmp_path / run / "release") for run in ("one", "two"))
    assert one
    assert one == two


@pytest.fixture(scope="module", params=IN_PARTS)
def run_in_parts(request, tmp_path_factory):
    """A run whose release lies in parts, and its plan."""
    folder = tmp_path_factory.mktemp("asked")
    plan = sf.Plan.load(plan_in(folder, request.param))
    sf.run(plan, folder / "run", seed=5, engine=in_parts(150), measure=False, attack=False)
    return plan, folder / "run"


def told(verdicts):
    return [verdict.as_dict() for verdict in verdicts]


@pytest.mark.slow
def test_an_audit_in_parts_says_what_one_machine_says(run_in_parts):
    plan, run = run_in_parts
    here, there = sf.audit(run, plan), sf.audit(run, plan, engine=in_parts(150))
    assert told(there) == told(here)
    assert [verdict.notes for verdict in there] == [verdict.notes for verdict in here]
    assert sorted(path.name for path in run.parent.iterdir() if path.name.startswith(".")) == []


@pytest.mark.slow
def test_what_is_measured_and_attacked_in_parts_is_what_one_machine_finds(tmp_path):
    plan, run = sf.Plan.load(plan_in(tmp_path, "classes")), tmp_path / "run"
    sf.run(plan, run, seed=5, engine=in_parts(150), measure=False, attack=False)
    for ask in (sf.measure, sf.attack):
        here, there = (ask(run, plan, **where) for where in ({}, {"engine": in_parts(150)}))
        assert [each.as_dict() for each in there] == [each.as_dict() for each in here]


@pytest.fixture(scope="module")
def randomized(tmp_path_factory):
    folder = tmp_path_factory.mktemp("randomized")
    plan = sf.Plan.load(plan_in(folder, "cells"))
    sf.run(plan, folder / "run", seed=5, engine=in_parts(150), measure=False, attack=False)
    return folder / "run"


@pytest.mark.slow
@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("where", [{}, {"household": "2"}])
def test_a_table_is_computed_back_in_parts_as_on_one_machine(method, where, randomized):
    columns = ["job"] if where else ["job", "household", "ward"]
    here = sf.reconstruct(randomized, columns, where=where, method=method)
    there = sf.reconstruct(randomized, columns, where=where, method=method, engine=in_parts(150))
    assert np.allclose(there.counts, here.counts, rtol=1e-9, atol=1e-9)
    assert np.allclose(there.std_error, here.std_error, rtol=1e-9, atol=1e-9)
    assert there.expected == here.expected


def test_columns_that_a_release_lacks_are_named(randomized):
    with pytest.raises(DataError, match="'jobb'"):
        sf.reconstruct(randomized, ["jobb"], engine=in_parts(150))
    with pytest.raises(DataError, match="fewer columns"):
        sf.reconstruct(randomized, ["job", "household"], engine=in_parts(150, distinct_here=3))


@pytest.mark.slow
def test_files_of_any_tool_are_judged_in_parts(tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, "classes"))
    sf.run(plan, tmp_path / "run", seed=5, engine=in_parts(150), measure=False, attack=False)
    shutil.copytree(tmp_path / "run" / "release" / "data.parquet", tmp_path / "files")
    assert told(sf.audit(tmp_path / "files", plan, engine=in_parts(150))) == told(sf.audit(tmp_path / "files", plan))
    one = sorted((tmp_path / "files").iterdir())[0]
    found = pa_parquet.read_table(one)
    pa_parquet.write_table(found.slice(1), one)
    assert told(sf.audit(tmp_path / "files", plan, engine=in_parts(150))) == told(sf.audit(tmp_path / "files", plan))


def figures(found):
    """What was found, by what: without words and facts about rows that are not counted there."""
    told = {}
    for each in found:
        as_dict = each.as_dict()
        name = as_dict.get("attack") or as_dict["name"]
        if name in ("suppression", "classification"):  # sets are not among its columns; random folds of other rows
            continue
        told[name, as_dict["title"]] = {
            key: as_dict.get(key) for key in ("value", "before", "worst", "after", "control")
        }
    return told


def nearly(one, two):
    """Whether two figures are equal but for the order in which they were added up."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(nearly(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(nearly, one, two))
    return one == two or (isinstance(one, float) and one == pytest.approx(two, rel=1e-9, abs=1e-12))


@pytest.mark.slow
@pytest.mark.parametrize("ask", [sf.measure, sf.attack])
def test_what_is_counted_in_parts_beside_all_single_rows_is_what_one_machine_finds(ask, run_in_parts, monkeypatch):
    plan, run = run_in_parts
    here = figures(ask(run, plan))
    monkeypatch.setattr(elsewhere, "ROWS_HERE", 10)  # so that nobody reads every row here
    there = figures(ask(run, plan, engine=in_parts(150)))
    assert there.keys() == here.keys()
    assert [name for name in here if not nearly(there[name], here[name])] == []


@pytest.mark.slow
def test_what_needs_single_rows_is_told_of_a_part_of_them(tmp_path, monkeypatch):
    plan, run = sf.Plan.load(plan_in(tmp_path, "hospital")), tmp_path / "run"
    sf.run(plan, run, seed=5, engine=in_parts(150), measure=False, attack=False)
    monkeypatch.setattr(elsewhere, "ROWS_HERE", 10)
    monkeypatch.setattr(comparing, "ROWS_DRAWN", 60)
    measured = {each.name: each for each in sf.measure(run, plan, engine=in_parts(150))}
    assert "sample" not in measured["ncp"].facts
    assert measured["term-loss"].facts["sample"]["of"] == 150
    assert "drawn at random" in measured["term-loss"].note
    exposed = {each.attack: each for each in sf.attack(run, plan, engine=in_parts(150))}
    assert exposed["linking"].after.people == 150
    assert "Tried on a part" not in exposed["linking"].intruder
    assert exposed["knowledge-linking"].after.people < 150
    assert "of 150" in exposed["knowledge-linking"].intruder


@pytest.mark.slow
def test_survey_weights_and_households_of_too_many_rows_are_refused_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "table").mkdir()
    folder, run = written_in_files(tmp_path / "table"), tmp_path / "run"
    plan = plan_of(folder, K, source={"path": str(folder), "household": "note"})
    sf.run(plan, run, seed=5, engine=in_parts(150), measure=False, attack=False)
    monkeypatch.setattr(judging, "ROWS_HERE", 10)
    with pytest.raises(DataError, match=r"households(.|\n)*takes 10(.|\n)*sample"):
        sf.measure(run, plan, engine=in_parts(150))


def test_people_with_rows_in_many_parts_are_refused_with_what_to_do(tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, PEOPLE))

    with pytest.raises(DataError, match=r"People(.|\n)*Gather them first, or use --engine local"):
        sf.run(plan, tmp_path / "run", seed=5, engine=in_parts(150))
    assert not (tmp_path / "run").exists()


def test_a_table_in_memory_is_no_business_of_a_cluster(tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, "classes"))
    with pytest.raises(DataError, match="in memory"):
        sf.audit(pa.table({"age": ["1"]}), plan, engine=in_parts(150))
