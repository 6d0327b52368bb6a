"""Labels that never overlap: whom they cover, what they lose beside all other ways to cut, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymizers import ANONYMIZERS, disjoint
from sfumato.anonymizers.base import Workplace
from sfumato.data.builders import Flat, Given, Widths
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.models import DeltaPresence, KAnonymity, KMap, LDiversity, QSCloseness
from sfumato.models.base import Policy
from sfumato.models.judging.population import covered_people

QI = Role.QUASI_IDENTIFIER
TREE = {"north": ["a", "b"], "south": {"coast": ["c", "d"], "hills": ["e"]}}
LABELLED = Schema(
    {
        "age": ColumnSpec(name="age", role=QI, hierarchy=Widths((2, 4))),
        "place": ColumnSpec(name="place", role=QI, hierarchy=Given(Hierarchy.from_nested(TREE))),
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE),
    }
)
BARE = Schema(
    {
        "age": ColumnSpec(name="age", role=QI, kind=Kind.NUMBER),
        "place": ColumnSpec(name="place", role=QI, kind=Kind.CATEGORY),
        "day": ColumnSpec(name="day", role=QI, kind=Kind.DATE),
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE),
    }
)
ANY = st.fractions(min_value=Fraction(1, 10), max_value=1, max_denominator=10)


def table_of(people, schema):
    names = [name for name in schema.columns if name != "ill"]
    columns = {name: [person[name] for person in people] for name in names}
    return pa.table({**columns, "ill": ["flu" if number % 3 else "gout" for number in range(len(people))]})


def crowd(rng, n, *, missing=False):
    day = np.datetime64("2024-01-01")
    return [
        {
            "age": None if missing and rng.random() < 0.1 else int(rng.integers(20, 30)),
            "place": None if missing and rng.random() < 0.1 else str(rng.choice(list("abcde"))),
            "day": str(day + int(rng.integers(0, 200))),
        }
        for _ in range(n)
    ]


def made(name, people, taken, models, schema, **options):
    """Return a release of those who were taken, with the population beside it."""
    everybody = Schema({key: spec for key, spec in schema.columns.items() if spec.role is QI}, missing=schema.missing)
    population = encode(table_of(people, schema).select(list(everybody.columns)), everybody)
    public = PublicInputs(populations={"p.csv": population})
    dataset = encode(table_of([people[number] for number in taken], schema), schema)
    recoding = ANONYMIZERS[name](**options).anonymize(dataset, Policy(models), Recoding(), Workplace(public=public))
    return replace(Release.from_table(publish(dataset, recoding, []).table(), schema), public=public), recoding


MODELS = st.one_of(
    st.integers(1, 12).map(lambda k: KMap(k=k, population="p.csv")),
    ANY.map(lambda high: DeltaPresence(high=high, population="p.csv")),
    st.tuples(ANY, ANY).map(lambda ends: DeltaPresence(low=min(ends), high=max(ends), population="p.csv")),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "schema"),
    [("full-domain", LABELLED), ("local-recoding", LABELLED), ("mondrian", LABELLED), ("mondrian", BARE)],
)
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.one_of(st.integers(1, 6), st.integers(1, 80)),
    share=st.floats(0.1, 1),
    models=st.lists(MODELS, min_size=1, max_size=2),
    more=st.sampled_from([(), (KAnonymity(k=3),), (LDiversity(sensitive="ill", l=2),)]),
)
def test_every_release_holds_and_nobody_is_covered_twice(name, schema, seed, n, share, models, more):
    rng = np.random.default_rng(seed)
    people = crowd(rng, n, missing=True)
    taken = np.sort(rng.choice(n, max(1, int(share * n)), replace=False))
    try:
        release, _ = made(name, people, taken, (*models, *more), schema)
    except Unsatisfiable:  # then not even all of them together hold
        n_taken, ills = len(taken), {"flu" if number % 3 else "gout" for number in range(len(taken))}
        assert (
            any(n < model.k for model in models if isinstance(model, KMap))
            or any(
                not model.exact_low * n <= n_taken <= model.exact_high * n
                for model in models
                if isinstance(model, DeltaPresence)
            )
            or (more and (n_taken < 3 if isinstance(more[0], KAnonymity) else len(ills) < 2))
        )
        return
    for model in (*models, *more):
        verdict = model.audit(release)
        assert verdict.satisfied, str(verdict)
    covered = covered_people(release, "p.csv", models[0])
    assert covered.overlap == 0
    assert covered.people.sum() + covered.elsewhere == n
    assert covered.classes.size.sum() == len(taken)


# All ways to cut, by other code.

PATHS = {"place": {"a": ("north",), "b": ("north",), "c": ("coast", "south"), "d": ("coast", "south"), "e": ("south",)}}


def labels_above(name, value, values):
    """The labels of a value from itself up, each as the set of the population's values below it; no two equal."""
    if name == "age":
        groups = [{other for other in values if other // width == value // width} for width in (1, 2, 4, 1000)]
    else:
        groups = [{value}]
        groups += [{other for other in values if label in PATHS["place"][other]} for label in PATHS["place"][value]]
        groups.append(set(values))
    return list(dict.fromkeys(map(frozenset, groups)))


def least_loss(rows, people, holds, domains):
    """The least loss of all ways to take labels apart, region by region."""
    names = list(domains)
    known = {}

    def lost(box):
        return sum((_width(name, group, domains)) for name, group in zip(names, box, strict=True))

    def inside(some, box):
        return [each for each in some if all(each[name] in group for name, group in zip(names, box, strict=True))]

    def best(box):
        if box in known:
            return known[box]
        mine = inside(rows, box)
        found = len(mine) * lost(box)
        for at, name in enumerate(names):
            if len(box[at]) == 1:
                continue
            below = set()
            for value in box[at]:
                groups = labels_above(name, value, domains[name])
                below.add(max((group for group in groups if group < box[at]), key=len))
            parts = [(*box[:at], group, *box[at + 1 :]) for group in below]
            if all(holds(len(inside(rows, part)), len(inside(people, part))) for part in parts):
                found = min(found, sum(best(part) for part in parts if inside(rows, part)))
        known[box] = found
        return found

    return best(tuple(frozenset(domains[name]) for name in names))


def _width(name, group, domains):
    if name == "age":
        return (max(group) - min(group)) / max(max(domains[name]) - min(domains[name]), 1)
    return (len(group) - 1) / max(len(domains[name]) - 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_no_way_to_cut_loses_less(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    people = crowd(rng, n)
    taken = rng.choice(n, max(2, n // 2), replace=False)
    k, high = int(rng.integers(2, 6)), Fraction(int(rng.integers(6, 11)), 10)
    models = (KMap(k=k, population="p.csv"), DeltaPresence(high=high, population="p.csv"))
    release, _ = made("local-recoding", people, taken, models, LABELLED)
    rows = [people[number] for number in taken]
    domains = {name: sorted({person[name] for person in people}) for name in ("age", "place")}
    best = least_loss(rows, people, lambda size, there: not size or (there >= k and size <= high * there), domains)
    covered = covered_people(release, "p.csv", models[0])
    assert covered.overlap == 0
    lost = 0.0
    for labels in zip(*(release.table()[name].to_pylist() for name in ("age", "place")), strict=True):
        for name, label in zip(("age", "place"), labels, strict=True):
            lost += _width(name, values_of(name, label, domains[name]), domains)
    assert lost == pytest.approx(best)


def values_of(name, label, values):
    """The values of the population that a label stands for."""
    if label == "*":
        return set(values)
    if name == "age":
        low, high = ([int(end) for end in label[1:-1].split(",")] * 2)[:2] if "[" in label else (int(label),) * 2
        return {value for value in values if low <= value <= high}
    return {value for value in values if value == label or label in PATHS["place"][value]}


def test_where_more_can_be_reached_than_is_looked_at_cuts_are_greedy_and_still_hold(monkeypatch):
    rng = np.random.default_rng(4)
    people = crowd(rng, 300)
    taken = rng.choice(300, 120, replace=False)
    models = (KMap(k=5, population="p.csv"),)
    best, _ = made("local-recoding", people, taken, models, LABELLED)
    monkeypatch.setattr(disjoint, "REACHED", 0)
    greedy, recoding = made("local-recoding", people, taken, models, LABELLED)
    assert models[0].audit(greedy).satisfied
    assert covered_people(greedy, "p.csv", models[0]).overlap == 0
    assert 1 < recoding.facts["classes"] <= 2 * covered_people(best, "p.csv", models[0]).people.size


# What overlapping labels leave open.


def test_labels_that_overlap_do_not_pass_for_what_they_cover():
    people = [{"age": age, "place": "a", "day": "2024-01-01"} for age in (20, 21, 22, 23)]
    schema = Schema({name: LABELLED.columns[name] for name in ("age", "place")})
    population = encode(table_of(people, schema).select(["age", "place"]), schema)
    rows = pa.table({"age": ["[20, 22]"] * 3 + ["[20, 23]"], "place": ["a"] * 4})
    release = replace(Release.from_table(rows, schema), public=PublicInputs(populations={"p.csv": population}))
    verdict = KMap(k=2, population="p.csv").audit(release)
    assert (verdict.satisfied, verdict.reached) == (False, 1)  # the fourth row is about the fourth person
    assert verdict.facts["classes_that_overlap"] == 2
    assert not DeltaPresence(high="0.9", population="p.csv").audit(release).satisfied
    assert DeltaPresence(high=1, population="p.csv").audit(release).satisfied


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 6))
def test_what_the_audit_counts_is_open_whatever_other_classes_rule_out(seed, n):
    rng = np.random.default_rng(seed)
    ages = rng.integers(20, 26, n).tolist()
    taken = rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist()
    ranges = [(ages[each] - int(rng.integers(0, 3)), ages[each] + int(rng.integers(0, 3))) for each in taken]
    schema = Schema({"age": ColumnSpec(name="age", role=QI, kind=Kind.NUMBER)})
    population = encode(pa.table({"age": ages}), schema)
    labels = [f"[{low}, {high}]" for low, high in ranges]
    release = Release.from_table(pa.table({"age": labels}), schema)
    release = replace(release, public=PublicInputs(populations={"p.csv": population}))
    covered = covered_people(release, "p.csv", KMap(k=1, population="p.csv"))
    possible = [set() for _ in taken]
    for world in permutations(range(n), len(taken)):
        if all(low <= ages[person] <= high for person, (low, high) in zip(world, ranges, strict=True)):
            for row, person in enumerate(world):
                possible[row].add(person)
    for row, open_to in enumerate(possible):
        assert len(open_to) >= covered.surely[covered.classes.class_of[row]]


# What is refused.


@pytest.mark.parametrize("name", ["local-recoding", "mondrian"])
def test_what_cannot_be_done_is_refused(name):
    people = crowd(np.random.default_rng(1), 20)
    model = KMap(k=2, population="p.csv")
    with pytest.raises(PolicyError, match=r"drop_rows = 0\.1"):
        made(name, people, range(9), (model,), LABELLED, drop_rows=0.1)
    with pytest.raises(Unsatisfiable, match="20 people"):
        made(name, people, range(9), (KMap(k=21, population="p.csv"),), LABELLED)
    with pytest.raises(DataError, match="2 populations"):
        made(name, people, range(9), (model, KMap(k=2, population="q.csv")), LABELLED)
    with pytest.raises(DataError, match="occur more often in the table"):
        made(name, people[:5], [0, 0, 0, 0, 0, 0], (model,), LABELLED)
    assert ANONYMIZERS[name]().whole_only(Policy((model,))) is not None


def test_terms_and_people_are_not_met_in_one_search():
    people = crowd(np.random.default_rng(1), 20)
    models = (KMap(k=2, population="p.csv"), QSCloseness(column="s", t="0.4"))
    with pytest.raises(PolicyError, match="qs-closeness together with k-map"):
        made("mondrian", people, range(9), models, LABELLED)


def test_a_hierarchy_of_one_level_is_enough():
    schema = Schema({"sex": ColumnSpec(name="sex", role=QI, hierarchy=Flat()), "ill": LABELLED.columns["ill"]})
    people = [{"sex": "f"}] * 5 + [{"sex": "m"}] * 2
    release, _ = made("local-recoding", people, [0, 1, 5], (KMap(k=2, population="p.csv"),), schema)
    assert sorted(release.table()["sex"].to_pylist()) == ["f", "f", "m"]
    release, _ = made("local-recoding", people, [0, 1, 5], (KMap(k=3, population="p.csv"),), schema)
    assert set(release.table()["sex"].to_pylist()) == {"*"}
