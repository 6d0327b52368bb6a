"""Laws that hold for every anonymizer, written once and run over the list: what is listed and not reached fails."""

from __future__ import annotations

import threading
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anonymizing import JOBS
from in_parts import may_publish
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.mondrian import growth
from sfumato.anonymizers.term_suppression import search as term_search
from sfumato.data import keystream
from sfumato.data.builders import Given, Widths
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import Unsatisfiable
from sfumato.metrics.cover import cover
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy

# Those who share their work out. The others run on one thread, whatever they are given.
THREADED = {"mondrian", "partial-suppression", "pram", "randomization", "term-suppression"}
RECODERS = [name for name, anonymizer in ANONYMIZERS.items() if KAnonymity in anonymizer.aims_at]
TREE = Hierarchy.from_nested({"north": {"coast": ["a", "b"], "hills": ["c"]}, "south": ["d", "e", "f"]})
ILLS = Hierarchy.from_nested({"mild": ["cold", "flu"], "grave": ["stroke", "cancer"]})
SCHEMA = Schema(
    columns={
        "place": ColumnSpec(name="place", role=Role.QUASI_IDENTIFIER, hierarchy=Given(TREE)),
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, hierarchy=Widths((5, 10, 20))),
        "sex": ColumnSpec(name="sex", role=Role.QUASI_IDENTIFIER, hierarchy=Given(Hierarchy.flat(["x", "y"]))),
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE, hierarchy=Given(ILLS)),
        "pay": ColumnSpec(name="pay", role=Role.SENSITIVE, kind=Kind.NUMBER),
    },
    missing=("?",),
)
WITHOUT_HIERARCHIES = Schema(
    columns={
        **SCHEMA.columns,
        **{name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in ("place", "age", "sex")},
    },
    missing=("?",),
)

MODELS = (
    KAnonymity(k=2),
    KAnonymity(k=4),
    LDiversity(sensitive="ill", l=2),
    LDiversity(sensitive="ill", l=2, kind="entropy"),
    LDiversity(sensitive="ill", l="1.5", kind="frequency"),
    LDiversity(sensitive="ill", l=2, kind="recursive", c=2),
    LDiversity(sensitive="pay", l=2),
    TCloseness(sensitive="ill", t="0.4"),
    TCloseness(sensitive="ill", t="0.4", distance="hierarchical"),
    TCloseness(sensitive="pay", t="1/3", distance="ordered"),
    BetaLikeness(sensitive="ill", beta=1),
    BetaLikeness(sensitive="pay", beta="1.5", kind="enhanced"),
    DeltaDisclosure(sensitive="ill", delta="0.7"),
)

rows = st.lists(
    st.tuples(
        st.sampled_from("abcdef?"),
        st.sampled_from(["18", "21", "22", "35", "36", "64", "?"]),
        st.sampled_from("xxy"),
        st.sampled_from(["cold", "flu", "flu", "stroke", "cancer"]),
        st.sampled_from(["1", "2", "3", "?"]),
    ),
    min_size=1,
    max_size=60,
)
policies = st.lists(st.sampled_from(MODELS), min_size=1, max_size=4, unique=True).map(tuple)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def table_of(records):
    return pa.table({name: [record[at] for record in records] for at, name in enumerate(SCHEMA.columns)})


def released(name, records, models, schema=SCHEMA):
    dataset = encode(table_of(records), schema)
    recoding = ANONYMIZERS[name]().anonymize(dataset, Policy(models), Recoding(), Workplace())
    return dataset, publish(dataset, recoding, [])


def judged(release, models, schema=SCHEMA):
    seen = Release.from_table(release.table(), schema)
    return [model.audit(seen) for model in models]


def whole_table_holds(records, models):
    """Whether everybody in one class would satisfy the models: then a release exists."""
    table = table_of(records)
    one_class = table
    for at, name in enumerate(("place", "age", "sex")):
        one_class = one_class.set_column(at, name, pa.array(["*"] * table.num_rows))
    return all(verdict.satisfied for verdict in judged_table(one_class, models))


def judged_table(table, models):
    return [model.audit(Release.from_table(table, SCHEMA)) for model in models]


def test_there_is_a_job_for_every_anonymizer_and_every_model_that_it_meets():
    reached = {(job.anonymizer, type(model)) for job in JOBS for model in job.met}
    listed = {
        (name, model)
        for name, anonymizer in ANONYMIZERS.items()
        for model in (*anonymizer.aims_at, *anonymizer.also_meets)
    }
    assert reached == listed


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=str)
def test_every_release_is_accepted_by_every_audit(job):
    decided = job.decisions()[-1]
    release = job.release(decided)
    verdicts = [model.audit(release) for model in job.models]

    assert release.n_rows == job.dataset.n_rows
    # Anonymizers that promise nothing, or leave nothing to judge, are there for comparison: no audit lets them pass.
    if may_publish(job):
        assert all(verdict.satisfied for verdict in verdicts), [str(found) for found in verdicts]
    elif job.anonymizer in ("permutation", "drop-sensitive"):
        assert not any(verdict.satisfied for verdict in verdicts), [str(found) for found in verdicts]


@pytest.fixture
def in_small_parts(monkeypatch):
    """Parts of a few rows, so that several threads have work to do; the threads that were started."""
    begun = []
    start = threading.Thread.start

    def noted(thread):
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", noted)
    monkeypatch.setattr(growth, "LARGE", 8)
    monkeypatch.setattr(keystream, "ROWS", 40)
    monkeypatch.setattr(term_search, "_ROWS_AT_A_TIME", 16)
    return begun


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=str)
def test_the_number_of_threads_does_not_change_the_release(job, in_small_parts):
    one = job.release(job.decisions(threads=1)[-1]).table()
    three = job.release(job.decisions(threads=3)[-1]).table()

    assert three.equals(one)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANONYMIZERS)
def test_who_can_share_work_out_does_so_and_nobody_else(name, in_small_parts):
    used = set()
    for job in JOBS:
        names = [step.anonymizer.name for step in job.steps]
        if name in names:
            at = names.index(name)
            before = job.decisions(first=at)[-1] if at else Recoding()
            in_small_parts.clear()
            job.steps[at].carry_out(job.dataset, before, job.workplace(threads=3))
            used.add(len(in_small_parts))

    assert (max(used) > 1) == (name in THREADED)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECODERS)
@pytest.mark.parametrize("schema", [SCHEMA, WITHOUT_HIERARCHIES], ids=["hierarchies", "bare"])
@quick
@given(records=rows, models=policies)
def test_releases_of_any_small_table_are_accepted(name, schema, records, models):
    if name not in ("mondrian", "microaggregation") and schema is WITHOUT_HIERARCHIES:
        return  # labels of hierarchies only, which is said
    try:
        dataset, release = released(name, records, models, schema)
    except Unsatisfiable:
        assert not whole_table_holds(records, models)
        return
    assert release.n_rows == dataset.n_rows
    for verdict in judged(release, models, schema):
        assert verdict.satisfied, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECODERS)
@quick
@given(records=rows)
def test_every_published_label_covers_the_original_value(name, records):
    models = (KAnonymity(k=2),)
    if len(records) < 2:
        return
    dataset, release = released(name, records, models)
    for column in dataset.quasi_identifiers:
        published = release.column(column.name)
        spans = release.description["columns"][column.name].get("spans", {})
        covered = cover(published, column, spans=spans).members(published.codes)
        assert covered[column.codes, np.arange(dataset.n_rows)].all()


@pytest.mark.slow
@pytest.mark.parametrize("name", RECODERS)
@quick
@given(records=rows, models=policies, data=st.data())
def test_one_planted_violation_of_k_is_caught_and_counted(name, records, models, data):
    models = (KAnonymity(k=2), *models)
    try:
        _, release = released(name, records, models)
    except Unsatisfiable:
        return
    table = release.table()
    row = data.draw(st.integers(0, table.num_rows - 1))
    places = table.column("place").to_pylist()
    places[row] = "somewhere else"
    spoiled = table.set_column(0, "place", pa.array(places))

    verdict = judged_table(spoiled, [KAnonymity(k=2)])[0]

    assert not verdict.satisfied
    assert verdict.reached == 1
    assert verdict.failing >= 1


@pytest.mark.slow
def test_all_combinations_of_two_models_work_together():
    rng = np.random.default_rng(4)
    records = [
        (
            rng.choice(list("abcdef")),
            str(rng.integers(18, 70)),
            rng.choice(["x", "y"]),
            rng.choice(["cold", "flu", "stroke", "cancer"]),
            str(rng.integers(1, 4)),
        )
        for _ in range(300)
    ]
    for name, first, second in product(RECODERS, MODELS, MODELS):
        _, release = released(name, records, (first, second))
        assert all(verdict.satisfied for verdict in judged(release, (first, second)))
