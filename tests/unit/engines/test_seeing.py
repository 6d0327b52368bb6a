"""A written release seen by tasks: as distinct rows, or in parts by class, with the verdicts of one machine."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import anonymizing
import sfumato as sf
from anonymizing import RHO, Job
from in_parts import ROWS, Here, K, T, in_parts, plan_for, plan_of, written_in_files
from sfumato.data.files.release import read_release
from sfumato.engines.seeing import SPARE, release_seen
from sfumato.errors import DataError
from sfumato.generators.hospital import SENSITIVE_DRUGS
from sfumato.models import KmAnonymity, KMap
from sfumato.models.base import Policy
from sfumato.models.judging.classes import classes_of
from sfumato.pipeline import judging
from sfumato.pipeline.known import Known

BETA = {"model": "beta-likeness", "sensitive": "illness", "beta": 3}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "table").mkdir()
    plan = plan_of(written_in_files(tmp_path / "table"), K, T, BETA)
    sf.run(plan, tmp_path / "run", seed=3, engine=in_parts(ROWS), measure=False, attack=False)
    return plan, tmp_path / "run" / "release"


def seen(run, tmp_path, most):
    plan, folder = run
    room = tmp_path / f"room-{most}"
    room.mkdir()
    return release_seen(Here(), room, folder, plan.schema, plan.policy, most)


def verdicts(release, plan):
    return [verdict.as_dict() for verdict in judging.judge(release, plan.policy, Known(release.public))]


@pytest.mark.slow
@pytest.mark.parametrize("most", [10, 60, 10**6])
def test_parts_by_class_are_judged_as_the_whole_is(run, tmp_path, most):
    found = seen(run, tmp_path, most)
    assert (found.parts is None) == (most == 10**6)
    wanted = verdicts(read_release(run[1], run[0].schema), run[0])
    for one, two in zip(verdicts(found, run[0]), wanted, strict=True):
        one["facts"].pop("worst_class_rows")  # of several worst classes, the first
        two["facts"].pop("worst_class_rows")
        assert one == two


@pytest.mark.slow
def test_no_class_is_in_two_parts(run, tmp_path):
    parts = list(seen(run, tmp_path, 10).parts)
    assert len(parts) > 3
    assert sum(part.total for part in parts) == ROWS
    whole = classes_of(read_release(run[1], run[0].schema)).size.size
    assert sum(classes_of(part).size.size for part in parts) == whole


@pytest.mark.slow
def test_a_class_that_breaks_a_promise_is_found_in_its_part_and_the_changed_file_named(run, tmp_path):
    plan, folder = run
    path = folder / "data.parquet" / "part-00001.parquet"
    table = pa_parquet.read_table(path)
    ages = pa.array(["17", *table.column("age").cast(pa.string()).to_pylist()[1:]])
    pa_parquet.write_table(table.set_column(table.column_names.index("age"), "age", ages), path)
    found = judging.judge(seen(run, tmp_path, 10), plan.policy, Known(read_release(folder).public))
    assert not found[0].satisfied
    assert found[-1].model.name == "nothing-else"
    assert not found[-1].satisfied


@pytest.mark.slow
def test_what_must_be_judged_at_once_is_refused_where_it_is_too_much(run, tmp_path):
    plan, folder = run
    (tmp_path / "room").mkdir()
    population = KMap(k=2, population="people.csv")
    classes = len(classes_of(read_release(folder, plan.schema)).size)
    with pytest.raises(DataError, match=r"k-map looks at all of them(.|\n)*--distinct-on-driver"):
        release_seen(Here(), tmp_path / "room", folder, plan.schema, Policy((population,)), (classes - 1) // SPARE)


@pytest.mark.slow
def test_files_with_rows_in_common_are_as_large_as_all_their_distinct_rows(run, tmp_path):
    plan, folder = run
    whole = read_release(folder, plan.schema)
    classes = len(classes_of(whole).size)
    most = -(-classes // SPARE)
    (tmp_path / "room").mkdir()
    policy = Policy((KMap(k=2, population="people.csv"),))
    found = release_seen(Here(), tmp_path / "room", folder, plan.schema, policy, most)
    counted = [pa_parquet.read_metadata(path).num_rows for path in (folder / "data.parquet").iterdir()]
    assert min(counted) > SPARE * most  # so that one file alone has to be held once
    assert set(found.columns) == {"age", "region"}
    assert found.n_rows == classes
    assert sorted(found.weights) == sorted(classes_of(whole).size)


@pytest.mark.slow
@pytest.mark.parametrize("models", [(RHO,), (RHO, anonymizing.K), (anonymizing.L, RHO, anonymizing.K)])
def test_items_are_judged_by_distinct_records_where_rows_are_too_many(models, tmp_path):
    plan = plan_for(Job("partial-suppression" if models[0] is RHO else "local-recoding", models), tmp_path)
    sf.run(plan, tmp_path / "run", seed=3, engine=in_parts(160), measure=False, attack=False)
    folder = tmp_path / "run" / "release"
    (tmp_path / "room").mkdir()
    found = release_seen(Here(), tmp_path / "room", folder, plan.schema, plan.policy, 37)
    assert (found.parts is None) == (len(models) == 1)
    assert set(found.columns) == {"drugs"}
    for one, two in zip(verdicts(found, plan), verdicts(read_release(folder, plan.schema), plan), strict=True):
        one["facts"].pop("worst_class_rows", None)
        two["facts"].pop("worst_class_rows", None)
        assert one == two


KM = KmAnonymity(column="drugs", k=2, m=1)


@pytest.fixture
def sets_in_classes(tmp_path):
    plan = plan_for(Job("item-generalization", (KM, anonymizing.K)), tmp_path)
    sf.run(plan, tmp_path / "run", seed=3, engine=in_parts(160), measure=False, attack=False)
    return plan, tmp_path / "run" / "release"


@pytest.mark.slow
def test_sets_within_classes_are_judged_in_parts_by_class(sets_in_classes, tmp_path):
    found = seen(sets_in_classes, tmp_path, 10)
    assert len(list(found.parts)) > 2
    plan, folder = sets_in_classes
    for one, two in zip(verdicts(found, plan), verdicts(read_release(folder, plan.schema), plan), strict=True):
        one["facts"].pop("worst_class_rows", None)
        two["facts"].pop("worst_class_rows", None)
        assert one == two
        assert one["satisfied"]


@pytest.mark.slow
def test_a_set_that_too_few_hold_is_found_in_the_part_of_its_class(sets_in_classes, tmp_path):
    plan, folder = sets_in_classes
    path = folder / "data.parquet" / "part-00001.parquet"
    table = pa_parquet.read_table(path)
    rows = table.column("drugs").to_pylist()
    planted = pa.array([[*(rows[0] or []), "only here"], *rows[1:]], table.schema.field("drugs").type)
    pa_parquet.write_table(table.set_column(table.column_names.index("drugs"), "drugs", planted), path)
    found = judging.judge(seen(sets_in_classes, tmp_path, 10), plan.policy, Known(read_release(folder).public))
    assert not found[0].satisfied
    assert found[0].failing == 1
    assert found[0].reached == 1
    assert found[0].facts["records"] == 160


@pytest.fixture
def terms_in_classes(tmp_path):
    job = Job("term-suppression", (anonymizing.DIVERSE, anonymizing.CLOSE, anonymizing.K))
    plan = plan_for(job, tmp_path)
    sf.run(plan, tmp_path / "run", seed=3, engine=in_parts(160), measure=False, attack=False)
    return plan, tmp_path / "run"


def planted(run, terms):
    """Give one row other terms."""
    path = run / "release" / "data.parquet" / "part-00001.parquet"
    table = pa_parquet.read_table(path)
    rows = table.column("symptoms").to_pylist()
    new = pa.array([terms, *rows[1:]], table.schema.field("symptoms").type)
    pa_parquet.write_table(table.set_column(table.column_names.index("symptoms"), "symptoms", new), path)


@pytest.mark.slow
@pytest.mark.parametrize("terms", [None, ["no such term"], ["blurred vision", "frequent urination"]])
@pytest.mark.parametrize("unlinked", ["linked", "forbid"])
def test_terms_are_judged_in_parts_by_class_as_at_once(terms, unlinked, terms_in_classes, tmp_path):
    plan, run = terms_in_classes
    if terms is not None:
        planted(run, terms)
    plan = replace(plan, knowledge=replace(plan.knowledge, unlinked=unlinked))
    (tmp_path / "room").mkdir()
    parts = release_seen(Here(), tmp_path / "room", run / "release", plan.schema, plan.policy, 130).parts
    assert len(list(parts)) > 1
    at_once, apart = (sf.audit(run, plan, engine=in_parts(160, distinct_here=most)) for most in (10**6, 130))
    for one, two in zip(at_once, apart, strict=True):
        if terms == ["no such term"] and unlinked == "forbid" and one.model.judged_columns:
            assert not one.satisfied
            assert not two.satisfied  # which classes hold beside is not told then
            continue
        told = [verdict.as_dict() for verdict in (one, two)]
        for each in told:
            each["facts"].pop("worst_group_rows", None)
        assert told[0] == told[1]
        assert one.notes == two.notes
    assert all(verdict.satisfied for verdict in at_once) == (terms is None)


@pytest.mark.slow
def test_a_rule_that_is_too_sure_is_found_among_distinct_records_and_too_many_of_these_are_refused(tmp_path):
    plan = plan_for(Job("partial-suppression", (RHO, anonymizing.K)), tmp_path)
    sf.run(plan, tmp_path / "run", seed=3, engine=in_parts(160), measure=False, attack=False)
    folder = tmp_path / "run" / "release"
    path = folder / "data.parquet" / "part-00001.parquet"
    table = pa_parquet.read_table(path)
    rows = table.column("drugs").to_pylist()
    planted = pa.array([["only here", SENSITIVE_DRUGS[0]], *rows[1:]], table.schema.field("drugs").type)
    pa_parquet.write_table(table.set_column(table.column_names.index("drugs"), "drugs", planted), path)
    (tmp_path / "room").mkdir()
    found = release_seen(Here(), tmp_path / "room", folder, plan.schema, plan.policy, 37)
    judged = {verdict.model.name: verdict for verdict in judging.judge(found, plan.policy, Known(found.public))}
    assert not judged["rho-uncertainty"].satisfied
    assert judged["k-anonymity"].satisfied
    assert not judged["nothing-else"].satisfied
    (tmp_path / "other").mkdir()
    with pytest.raises(DataError, match=r"rho-uncertainty looks at all of them"):
        release_seen(Here(), tmp_path / "other", folder, plan.schema, plan.policy, 2)
