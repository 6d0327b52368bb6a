"""Rating against the definition, and what a release of it says to audits, attacks, analysts and its holder."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.published.rating import group_of_values
from sfumato.attacks.random_sets import Intersection, SetInference
from sfumato.data.base_rates import BaseRates
from sfumato.data.files.release import schema_for
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.errors import DataError, PlanError, Unsatisfiable
from sfumato.models import SensitiveQidDiversity
from sfumato.report.randomized import content

JOBS, TOWNS = tuple("abcdefg"), tuple("stuvw")


def plan_of(l, **more):
    domains = {"job": JOBS, "town": TOWNS}
    return sf.Plan.from_dict(
        {
            "columns": {
                **{
                    name: {"role": "sensitive-quasi-identifier", "domain": list(domain)}
                    for name, domain in domains.items()
                    if name in l
                },
                "*": {"role": "other"},
            },
            "require": [{"model": "sensitive-qid-diversity", "l": l, "anonymizer": "rating", **more}],
        }
    )


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"job": rng.choice(JOBS, n), "town": rng.choice(TOWNS, n)})


def described(run):
    """The release as an outsider gets it."""
    description = run.release.description
    return Release.from_table(run.release.data, schema_for(description, None), description)


@pytest.mark.slow
@given(d=st.integers(2, 60), least=st.integers(1, 60))
def test_groups_are_neighbours_and_none_is_too_small(d, least):
    group_of = group_of_values(d, min(least, d))
    size = np.bincount(group_of)
    assert (np.diff(group_of) >= 0).all()
    assert size.min() >= min(least, d)
    assert (size[:-1] == min(least, d)).all()
    assert size.size == max(d // min(least, d), 1)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), l=st.tuples(st.integers(2, 6), st.integers(2, 4)))
def test_every_cell_shows_the_group_of_its_value_and_every_class_of_combinations_is_diverse(seed, n, l):
    table = people(n, seed)
    run = sf.anonymize(table, plan_of({"job": l[0], "town": l[1]}), seed=seed)
    shown = run.release.data.to_pydict()
    groups = {name: about["groups"] for name, about in run.release.description["columns"].items()}
    rows = list(zip(shown["job"], shown["town"], strict=True))
    assert all(list(cell) in groups[name] for row in rows for name, cell in zip(("job", "town"), row, strict=True))
    assert sorted(map(str, rows)) == sorted(
        str(tuple(next(group for group in groups[name] if value in group) for name, value in row.items()))
        for row in table.to_pylist()
    )
    expanded = [combination for row in rows for combination in product(*row)]
    for place, least in enumerate(l):
        classes = {}
        for combination in expanded:
            classes.setdefault(combination[1 - place], []).append(combination[place])
        for values in classes.values():
            assert max(map(values.count, values)) * least <= len(values)
    assert all(verdict.satisfied for verdict in run.verdicts)


@pytest.mark.parametrize(
    ("cell", "wrong"),
    [(["a"], "none of its groups"), (["a", "b"], "none of its groups"), (["a", "d", "e"], "none of its groups")],
)
def test_a_cell_that_is_no_group_fails_however_large_it_is(cell, wrong):
    run = sf.anonymize(people(), plan_of({"job": 3}))
    table = run.release.data
    jobs = [cell, *table["job"].to_pylist()[1:]]
    spoiled = table.set_column(0, "job", pa.array(jobs, table["job"].type))
    description = run.release.description
    verdict = SensitiveQidDiversity(l={"job": 3}).audit(
        Release.from_table(spoiled, schema_for(description, None), description)
    )
    assert not verdict.satisfied
    assert wrong in str(verdict)


def test_groups_smaller_than_asked_fail():
    run = sf.anonymize(people(), plan_of({"job": 2}))
    assert not SensitiveQidDiversity(l={"job": 5}).audit(described(run)).satisfied
    assert SensitiveQidDiversity(l={"job": 2}, kind="entropy").audit(described(run)).satisfied


@pytest.mark.parametrize(("small", "groups"), [("suppress", [list(TOWNS)]), ("lower", [list(TOWNS)])])
def test_small_domains_are_refused_unless_the_plan_says_what_to_do(small, groups):
    with pytest.raises(Unsatisfiable, match="small_domain"):
        sf.anonymize(people(), plan_of({"town": 9}))
    run = sf.anonymize(people(), plan_of({"town": 9}, small_domain=small))
    assert run.release.description["columns"]["town"]["groups"] == groups
    with pytest.raises(DataError, match="nothing can be told"):
        sf.reconstruct(run.release, ["town"])


def test_closeness_cannot_be_asked_of_it_in_the_same_plan():
    with pytest.raises(PlanError, match="rating, which cannot meet sensitive-qid-closeness"):
        sf.Plan.from_dict(
            {
                "columns": {"job": {"role": "sensitive-quasi-identifier", "domain": list(JOBS)}},
                "require": [
                    {"model": "sensitive-qid-diversity", "l": {"job": 2}, "anonymizer": "rating"},
                    {"model": "sensitive-qid-closeness", "t": {"job": 0.3}},
                ],
            }
        ).searchable()


def test_columns_that_give_one_another_away_are_refused():
    table = people().append_column("again", people()["job"])
    with pytest.raises(Unsatisfiable, match=r"\[anonymizers.rating\] dependence"):
        sf.anonymize(table, plan_of({"job": 3}))


def test_an_analyst_lets_the_values_of_a_group_share_its_records():
    run = sf.anonymize(people(), plan_of({"job": 3, "town": 2}))
    rows = list(zip(*run.release.data.to_pydict().values(), strict=True))
    slow = np.zeros((len(JOBS), len(TOWNS)))
    for jobs, towns in rows:
        for job, town in product(jobs, towns):
            slow[JOBS.index(job), TOWNS.index(town)] += 1 / (len(jobs) * len(towns))
    found = sf.reconstruct(run.release, ["job", "town"])
    assert found.method == "value-adding"
    assert found.counts == pytest.approx(slow)
    # Every record of a group may have one and the same value: no estimate can be further off than the error says.
    truth = np.zeros(slow.shape)
    for row in people().to_pylist():
        truth[JOBS.index(row["job"]), TOWNS.index(row["town"])] += 1
    assert (np.abs(found.counts - truth) <= found.std_error + 1e-9).all()
    assert np.sqrt(((found.counts - truth) ** 2).sum()) / len(rows) <= found.expected.l2
    with pytest.raises(DataError, match="value-adding"):
        sf.reconstruct(run.release, ["job"], method="inverse")


def test_an_intruder_believes_what_base_rates_say_within_a_group():
    table = people(200)
    run = sf.anonymize(table, plan_of({"job": 3, "town": 2}))
    counts = {job: table["job"].to_pylist().count(job) for job in JOBS}
    groups = run.release.description["columns"]["job"]["groups"]
    surest = max(counts[job] / sum(counts[other] for other in group) for group in groups for job in group)
    rates = {"job": BaseRates(weight=counts)}
    release = replace(described(run), public=PublicInputs(base_rates=rates))
    found = SetInference(column="job").on(release)
    assert found.worst == pytest.approx(surest)
    together = Intersection(columns=("job", "town")).on(release)
    assert together.worst >= found.mean - 1e-9


def test_the_report_lists_groups():
    run = sf.anonymize(people(), plan_of({"job": 3, "town": 2}))
    shown = content(run.facts)
    assert shown["rows"] == [["job", "7", "2", "3 to 4", "groups"], ["town", "5", "2", "2 to 3", "groups"]]
    assert any(measurement.name == "cross-tables" for measurement in run.measurements)
