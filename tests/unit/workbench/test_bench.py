"""Questions about a plan and its table, as both are now."""

from __future__ import annotations

import os
from dataclasses import asdict

import pytest

import sfumato as sf
from house import ROOT
from sfumato.data.files import digest
from sfumato.editing import PlanDocument
from sfumato.errors import DataError, PlanError, PolicyError, SfumatoError
from sfumato.workbench.bench import Workbench
from sfumato.workbench.reach import State


@pytest.fixture
def bench(plan):
    return Workbench(plan)


def edited(plan, place, value):
    document = PlanDocument.open(plan)
    before = digest(plan)
    document.set(place, value)
    document.save(plan, expected=before)


def test_columns_say_what_they_are_and_what_they_look_like(bench):
    name, age, town, job = bench.columns()

    assert (name.number, name.name, name.role, name.guess) == (0, "name", "identifier", "identifier")
    assert (age.kind, age.distinct, age.missing, age.hierarchy) == ("number", 3, 0, "complete")
    assert (town.shortest, town.longest, town.hierarchy) == (4, 5, "complete")
    assert (job.role, job.missing, job.hierarchy) == ("sensitive", 0.2, "none")
    assert all(each.reason and each.warning for each in (name, age, town, job))
    assert not any(cell in str(asdict(job)) for cell in ("nurse", "cook"))


def test_values_are_shown_one_column_at_a_time(bench):
    assert bench.looks(["job"]) == {"job": ["nurse", "cook"]}
    assert bench.values("town", most=1) == {"values": [["Bern", 2]], "more": 2, "missing": 0}
    assert bench.values("job")["missing"] == 1
    with pytest.raises(DataError, match="no column"):
        bench.looks(["jobb"])


def test_a_column_that_another_one_tells_is_said_to_be_known(bench, plan):
    (plan.parent / "people.csv").write_text(
        "name,age,town,job\n"
        + "a,31,Bern,nurse\nb,32,Chur,cook\nc,32,Chur,cook\nd,33,Basel,cook\ne,31,Bern,nurse\nf,33,Basel,cook\n",
        encoding="utf-8",
    )

    assert bench.known_by("job") == ["age", "town"]
    assert bench.known_by("age") == ["town"]


def test_a_trial_says_what_a_run_would_cost(bench, plan):
    edited(plan, ("require", 0, "anonymizer"), "mondrian")
    edited(plan, ("require", 1, "anonymizer"), "mondrian")

    found = bench.trial().as_dict()

    assert (found["made"], found["rows"], found["people"], found["sampled"]) == (True, 5, 5, False)
    assert found["losses"][0]["title"] == "Detail lost"
    assert not any(cell in str(found) for cell in ("nurse", "cook", "Ann"))
    edited(plan, ("require", 1, "l"), 5)
    assert not bench.trial().made


def test_uniqueness_counts_people_whatever_the_roles(bench):
    assert asdict(bench.uniqueness(["age", "town"])) == {"people": 5, "unique": 1, "without": {"age": 1, "town": 1}}
    assert bench.uniqueness(["name"]).unique == 5


def test_a_broken_hierarchy_is_said_to_be_so_beside_the_other_columns(bench, plan):
    (plan.parent / "towns.csv").unlink()

    assert [each.hierarchy for each in bench.columns()] == ["none", "complete", "broken", "none"]


def test_reach_follows_the_plan_as_it_is_edited(bench, plan):
    assert [each.state for each in bench.reach()] == [State.POSSIBLE, State.POSSIBLE]

    edited(plan, ("require", 0, "k"), 6)
    edited(plan, ("require", 1, "l"), 3)
    k, l = bench.reach()

    assert (k.state, k.asked, k.best) == (State.IMPOSSIBLE, 6, 5)
    assert (l.state, l.best) == (State.EMPTY, 3)  # a missing value is one of its own

    edited(plan, ("columns", "job", "role"), "quasi-identifier")
    with pytest.raises(PlanError):
        bench.reach()
    assert bench.columns()[3].role == "quasi-identifier"  # a plan with problems can still be looked at


STARS = "name,age,town,job\nAnn,31,Bern,*\nBob,31,Bern,cook\n"
WEIGHTS = "name,age,town,job,w\nAnn,31,Bern,cook,one\nBob,31,Bern,nurse,2\n"
TERMS = "name,age,town,job,t\nAnn,31,Bern,cook,rash\nBob,31,Bern,nurse,ache\n"
TERMED = """
[columns.t]
role = "quasi-sensitive"
kind = "set"
[knowledge]
path = "known.csv"
label = "label"
terms = "terms"
[[require]]
model = "qs-closeness"
column = "t"
t = 0.5
"""
BASKETS = """
[columns.b]
role = "items"
kind = "set"
sensitive_items = ["wine"]
[[require]]
model = "rho-uncertainty"
column = "b"
rho = 0.5
"""
DRAWN = """
[columns.home]
role = "sensitive-quasi-identifier"
domain = ["a", "b", "c"]
[[require]]
model = "sensitive-qid-diversity"
l = { home = 2 }
"""


@pytest.mark.parametrize(
    ("text", "tables", "expected"),
    [
        ("[population]\nsize = 4\n", {}, "4 people, but the table is about 5"),
        ("", {"people": STARS}, "which holds '\\*'"),
        ('[columns.w]\nrole = "other"\n[source]\nweight = "w"\n', {"people": WEIGHTS}, "1 row\\(s\\) do not"),
        (TERMED, {"people": TERMS, "known": "label,terms\nflu,ache\n"}, "explains too little"),
        (BASKETS, {"people": "name,age,town,job,b\nAnn,31,Bern,cook,milk\nBob,31,Bern,nurse,tea\n"}, "are sensitive"),
        (DRAWN, {"people": "name,age,town,job,home\nAnn,31,Bern,cook,\nBob,31,Bern,nurse,a\n"}, "missing values"),
    ],
)
def test_who_checks_a_plan_hears_what_a_run_would_say_before_it_decides_anything(bench, plan, text, tables, expected):
    source, sep, more = text.rpartition("[source]\n")
    given = plan.read_text(encoding="utf-8").replace("[source]\n", f"[source]\n{more}" if sep else "[source]\n")
    plan.write_text(given + (source if sep else text), encoding="utf-8")
    for name, cells in tables.items():
        (plan.parent / f"{name}.csv").write_text(cells, encoding="utf-8")

    with pytest.raises(DataError, match=expected):
        bench.reach(strict=True)
    with pytest.raises(DataError, match=expected):
        sf.run(sf.Plan.load(plan), plan.parent / "run")
    assert not (plan.parent / "run").exists()


@pytest.mark.parametrize("name", ["local-recoding", "full-domain"])
def test_who_checks_a_plan_hears_of_hierarchies_that_an_anonymizer_needs(bench, plan, name):
    text = plan.read_text(encoding="utf-8").replace("hierarchy = { widths = [5] }\n", "")
    plan.write_text(text.replace("k = 2\n", f'k = 2\nanonymizer = "{name}"\n'), encoding="utf-8")

    with pytest.raises(DataError, match="have none: 'age'"):
        bench.reach(strict=True)


@pytest.mark.parametrize("name", ["local-recoding", "full-domain", "mondrian"])
def test_who_checks_a_plan_hears_what_a_run_says_of_people_of_a_population(bench, plan, name):
    people = plan.parent / "people.csv"
    asked = f'[[require]]\nmodel = "k-map"\nk = 2\npopulation = "{people.name}"\nanonymizer = "{name}"\n'
    text = plan.read_text(encoding="utf-8").partition("[[require]]")[0] + asked
    plan.write_text(text, encoding="utf-8")
    assert [each.state for each in bench.reach(strict=True)] == ["possible"]

    plan.write_text(f"{text}[anonymizers.{name}]\ndrop_rows = 0.1\n", encoding="utf-8")
    if name == "full-domain":
        assert bench.reach(strict=True)
    else:
        with pytest.raises(PolicyError, match="drops nobody"):
            bench.reach(strict=True)


MASKED = '[[require]]\nmodel = "multi-diversity"\nsensitive = ["job"]\nalpha_sa = 0.9\n'
CLOSE = DRAWN.replace("diversity", "closeness").replace("l = { home = 2 }", "t = { home = 0.5 }")
CROWDED = BASKETS.replace("rho-uncertainty", "km-anonymity").replace("rho = 0.5", "k = 2\nm = 2")
NO_WINE = "name,age,town,job,b\nAnn,31,Bern,cook,milk\nBob,31,Bern,nurse,tea\n"
WINE = NO_WINE.replace("milk", "wine|milk").replace("tea", "wine|tea")
HOMES = "name,age,town,job,home\nAnn,31,Bern,cook,{}\nBob,31,Bern,nurse,a\n"
WRONG_TREE = 'hierarchy = "towns.csv"\nsensitive_items = ["wine"]'


@pytest.mark.parametrize(
    ("name", "text", "people", "expected"),
    [
        ("rating", DRAWN, HOMES.format(""), "missing values"),
        ("rating", DRAWN.replace("home = 2", "home = 3"), HOMES.format("b"), "which has 3 value"),
        ("pram", CLOSE, HOMES.format(""), "missing values"),
        ("drop-sensitive", BASKETS, NO_WINE, "are sensitive"),
        ("global-suppression", BASKETS, NO_WINE, "are sensitive"),
        ("permutation", BASKETS, NO_WINE, "are sensitive"),
        ("permutation", BASKETS, WINE, "a sensitive item is in 2 of 2 records"),
        ("td-control", BASKETS, NO_WINE, "are sensitive"),
        ("td-control", BASKETS.replace('sensitive_items = ["wine"]', WRONG_TREE), WINE, "not cover|lacks"),
        ("item-generalization", CROWDED.replace('sensitive_items = ["wine"]', WRONG_TREE), WINE, "not cover|lacks"),
        ("apriori-anonymization", CROWDED.replace('sensitive_items = ["wine"]', WRONG_TREE), WINE, "not cover|lacks"),
    ],
)
def test_who_checks_a_plan_hears_what_each_anonymizer_refuses(bench, plan, name, text, people, expected):
    only = plan.read_text(encoding="utf-8").partition('[[require]]\nmodel = "l-diversity"')[0]
    asked = text.replace("[[require]]\n", f'[[require]]\nanonymizer = "{name}"\n')
    plan.write_text(only + asked, encoding="utf-8")
    (plan.parent / "people.csv").write_text(people, encoding="utf-8")

    for work in (lambda: bench.reach(strict=True), lambda: sf.run(sf.Plan.load(plan), plan.parent / "run")):
        with pytest.raises(SfumatoError, match=expected):
            work()


def test_masking_asks_for_hierarchies_of_quasi_identifiers_only_where_it_makes_the_classes(bench, plan):
    tree = 'role = "sensitive"\nhierarchy = { flat = true }\n'
    text = plan.read_text(encoding="utf-8").replace("hierarchy = { widths = [5] }\n", "")
    text = text.replace('role = "sensitive"\n', tree).partition("[[require]]")[0] + MASKED
    plan.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="have none: 'age'"):
        bench.reach(strict=True)

    of_classes = '[[require]]\nmodel = "k-anonymity"\nk = 2\nanonymizer = "mondrian"\n'
    plan.write_text(text + of_classes, encoding="utf-8")
    assert bench.reach(strict=True)
    assert sf.run(sf.Plan.load(plan), plan.parent / "run").verdicts


@pytest.mark.parametrize("key", ["weight", "household"])
def test_people_whose_rows_differ_in_what_is_one_of_a_person_are_refused_before_work(bench, plan, key):
    text = plan.read_text(encoding="utf-8").replace("[source]\n", f'[source]\nperson = "name"\n{key} = "w"\n')
    plan.write_text(f'{text}[columns.w]\nrole = "other"\n[release]\npersons = "numbered"\n', encoding="utf-8")
    rows = ["Ann,31,Bern,cook,1", "Ann,31,Bern,cook,2", "Bob,31,Bern,nurse,3", "Bob,31,Bern,nurse,3"]
    table = plan.parent / "people.csv"
    table.write_text("\n".join(["name,age,town,job,w", *rows]), encoding="utf-8")

    for work in (lambda: bench.reach(strict=True), lambda: sf.run(sf.Plan.load(plan), plan.parent / "run")):
        with pytest.raises(DataError, match=f"{key} names 'w', in which 1 people have rows that differ"):
            work()
    table.write_text("\n".join(["name,age,town,job,w", rows[0], rows[0], *rows[2:]]), encoding="utf-8")
    os.utime(table, ns=(1, 1))
    assert sf.run(sf.Plan.load(plan), plan.parent / "run").verdicts[0].satisfied


def test_a_changed_table_is_read_again_and_an_unchanged_one_is_not(bench, plan, monkeypatch):
    table = plan.parent / "people.csv"
    assert bench.uniqueness(["age"]).people == 5
    monkeypatch.setattr("sfumato.workbench.bench.read_table", None)
    assert bench.uniqueness(["age"]).unique == 1
    monkeypatch.undo()

    table.write_text(table.read_text(encoding="utf-8") + "Flo Orr,70,Chur,cook\n", encoding="utf-8")
    os.utime(table, ns=(1, 1))

    assert asdict(bench.uniqueness(["age"]))["people"] == 6
    table.unlink()
    with pytest.raises(DataError, match="not where the plan says"):
        bench.columns()


def test_people_are_counted_where_rows_are_put_together():
    bench = Workbench(ROOT / "examples" / "omop" / "plan.toml")

    assert bench.uniqueness(["zip"]).people == 1000
    assert {each.name for each in bench.columns()} >= {"conditions", "visits"}
    assert all(each.state is State.POSSIBLE for each in bench.reach())
