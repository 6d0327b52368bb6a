"""Audits, metrics and attacks count with weights: the same is found whether equal rows are held once or each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from families import plan_in
from judging import ILLNESSES, JOBS, REQUIREMENTS, release_of
from sfumato.attacks import attack_all
from sfumato.attacks.base import as_if_published
from sfumato.data.dataset import CodedSets
from sfumato.data.encoding import encode
from sfumato.data.files import read_table
from sfumato.data.once import held_once
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.metrics import measure_all
from sfumato.models import PRIVACY_MODELS
from sfumato.models.judging.classes import classes_of
from sfumato.pipeline.case import Case
from sfumato.pipeline.known import Gathering

BASKETS = ("", "bread", "bread|milk", "bread|wine", "milk|wine", "bread|milk|wine", "pills|wine", "milk|pills")
SYMPTOMS = ("", "cough", "cough|fever", "fever|sore throat", "headache|nausea", "fever|headache|nausea", "hiccups")


def test_every_model_is_reached():
    assert {model.name for model in REQUIREMENTS} == set(PRIVACY_MODELS)


@st.composite
def rows(draw):
    """Return a row as it is published, and the values behind its masks and sets."""
    illness, father = (draw(st.sampled_from([*ILLNESSES, None])) for _ in range(2))
    job = draw(st.sampled_from(JOBS))
    shown = {
        "age": draw(st.sampled_from(["20-29", "30-39", None])),
        "town": draw(st.sampled_from(["north", "*"])),
        "illness": draw(st.sampled_from(ILLNESSES[illness] if illness else [None, "*"])),
        "father": draw(st.sampled_from(ILLNESSES[father] if father else [None, "*"])),
        "pay": draw(st.sampled_from(["1000", "1500", "1500.0", "9e3", None])),
        "ward": draw(st.sampled_from([*ILLNESSES, None])),
        "symptoms": draw(st.sampled_from(SYMPTOMS)),
        "basket": draw(st.sampled_from(BASKETS)),
        "job": "|".join(sorted({job, draw(st.sampled_from([other for other in JOBS if other != job]))})),
        "note": draw(st.sampled_from(["n", "m"])),
    }
    return shown, illness, father, job


@st.composite
def releases(draw):
    """Return a release in which rows occur several times."""
    different = draw(st.lists(rows(), min_size=1, max_size=6))
    chosen = [different[i] for i in draw(st.lists(st.integers(0, len(different) - 1), max_size=30))]
    shown, illnesses, fathers, jobs = zip(*chosen, strict=True) if chosen else ((), (), (), ())
    return release_of(shown, illnesses=illnesses, fathers=fathers, jobs=draw(st.sampled_from([jobs, None])), p=0.5)


def verdict_on(release, model):
    try:
        return model.audit(release, name_items=True).as_dict()
    except DataError as error:  # such as base rates by which nothing ever occurs
        return {"refused": str(error)}


def same(found, wanted):
    """Compare verdicts: floats up to the order in which they were added up, all else exactly."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same(found[key], value) for key, value in wanted.items())
    if isinstance(wanted, float):
        return found == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return type(found) is type(wanted) and found == wanted


@pytest.mark.slow
@pytest.mark.parametrize("model", REQUIREMENTS, ids=lambda model: model.name)
@settings(max_examples=40, deadline=None)
@given(release=releases())
def test_verdicts_are_the_same_with_and_without_weights(model, release):
    weighted = release.weighted()

    assert weighted.total == release.n_rows
    assert same(verdict_on(weighted, model), verdict_on(release, model))


@pytest.mark.slow
@pytest.mark.parametrize("model", REQUIREMENTS, ids=lambda model: model.name)
def test_an_audit_that_left_weights_out_would_be_found(model):
    release = release_of([{"basket": "bread|wine"}, {}, {}, {"illness": "cold"}, {"illness": "cold"}])
    weighted = release.weighted()
    counted_once = replace(weighted, weights=np.ones_like(weighted.weights))

    assert weighted.weights.tolist() == [1, 2, 2]
    assert not same(verdict_on(counted_once, model), verdict_on(weighted, model))


@pytest.mark.slow
@pytest.mark.parametrize("weights", [[1, 2], [1, 0, 2], [1, -1, 2], [1.0, 2.0, 2.0]])
@pytest.mark.parametrize("model", REQUIREMENTS, ids=lambda model: model.name)
def test_weights_that_cannot_be_counted_with_are_refused(model, weights):
    release = release_of([{"basket": "bread|wine"}, {}, {"illness": "cold"}])

    with pytest.raises(DataError, match="weights"):
        model.audit(replace(release, weights=np.array(weights)))


def in_parts_by_class(release, parts):
    """Return parts with all rows of some classes, each with how common values are in the whole."""
    class_of = classes_of(release).class_of
    table = release.table()
    specs = {column.name: column.spec for column in release.columns.values() if isinstance(column, ReleasedColumn)}
    specs |= {
        column.name: ColumnSpec(name=column.name, role=column.role, kind=Kind.SET, separator=column.separator)
        for column in release.columns.values()
        if isinstance(column, CodedSets) and column.role in (Role.ITEMS, Role.QUASI_SENSITIVE)
    }
    schema = Schema(columns=specs, missing=("",))
    whole = {
        name: Release.from_table(table.select([name]), Schema(columns={name: schema.columns[name]}, missing=("",)))
        for name, column in release.columns.items()
        if isinstance(column, ReleasedColumn) and column.role is Role.SENSITIVE
    }
    for part in range(parts):
        rows = np.flatnonzero(class_of % parts == part)
        if rows.size:
            shown = table.select(list(schema.columns)).take(rows)
            yield replace(Release.from_table(shown, schema), public=release.public, whole=whole)


APART = [model for model in REQUIREMENTS if model.judges_apart]


def test_models_of_classes_are_judged_apart():
    names = ("k-anonymity", "l-diversity", "t-closeness", "beta-likeness", "delta-disclosure", "multi-diversity")
    assert {*names, "qs-diversity", "qs-closeness"} <= {model.name for model in APART}


@pytest.mark.slow
@pytest.mark.parametrize("model", APART, ids=lambda model: model.name)
@settings(max_examples=40, deadline=None)
@given(release=releases(), parts=st.integers(1, 4))
def test_verdicts_on_parts_by_class_add_up_to_the_verdict_on_the_whole(model, release, parts):
    if not release.n_rows:
        return
    try:
        wanted = model.audit(release)
    except DataError:
        return
    found = [model.audit(part) for part in in_parts_by_class(release, parts)]
    merged = found[0]
    for each in found[1:]:
        merged = merged.merged(each)
    assert merged.satisfied == wanted.satisfied
    if len({each.measure for each in (*found, wanted)}) > 1:  # several things fail, and parts see only some of them
        assert not wanted.satisfied
        return
    told, known = (
        {name: fact for name, fact in each.as_dict().items() if name != "facts"} for each in (merged, wanted)
    )
    if not wanted.satisfied and model.name == "multi-diversity":  # it ends with what it finds first
        return
    assert same(told, known)
    of_one_group = ("worst", "items_of_first")  # which one that is may differ
    equal = {name: fact for name, fact in wanted.facts.items() if not name.startswith(of_one_group)}
    assert same({name: fact for name, fact in merged.facts.items() if name in equal}, equal)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["classes", "masks", "values"])
def test_measures_and_attacks_are_the_same_with_and_without_weights(family, tmp_path):
    plan = sf.Plan.load(plan_in(tmp_path, family))
    table = read_table(plan.source).select([spec.name for spec in plan.schema if spec.role is not Role.OTHER])
    table = pa.concat_tables([table, table.slice(0, table.num_rows // 3)])
    plan = replace(
        plan, schema=replace(plan.schema, columns={name: plan.schema.columns[name] for name in table.column_names})
    )
    dataset = encode(table, plan.schema)
    made = Case(plan, table).make(seed=3, measure=False, attack=False).release
    release = replace(made, public=Gathering(plan, lambda: dataset).known().public)
    once, weighted = held_once(dataset, dataset.n_rows), release.weighted()
    assert once.n_rows < dataset.n_rows
    assert weighted.n_rows < release.n_rows

    each, those = measure_all(dataset, release), measure_all(once, weighted)
    assert [found.name for found in those] == [found.name for found in each]
    for found, wanted in zip(those, each, strict=True):
        assert same(found.as_dict(), wanted.as_dict()), found.name

    originals = [replace(as_if_published(table), public=release.public) for table in (dataset, once)]
    each = attack_all(release, originals[0], required=plan.policy)
    those = attack_all(weighted, originals[1], required=plan.policy)
    assert [found.attack for found in those] == [found.attack for found in each]
    for found, wanted in zip(those, each, strict=True):
        assert same(found.as_dict(), wanted.as_dict()), found.attack
