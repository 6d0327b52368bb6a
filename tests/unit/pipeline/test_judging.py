"""Audits and attacks look at the whole of what is published, not only at the columns that requirements name."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from pyarrow import feather

import sfumato as sf
from commands import told
from judging import release_of
from sfumato.errors import DataError
from sfumato.models import BetaLikeness, KAnonymity
from sfumato.models.base import Policy
from sfumato.pipeline import Case, Seen, judging
from sfumato.pipeline.known import Known
from sfumato.plan import Plan

PLAN = """
[source]
path = "people.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "people.csv").write_text(
        "name,age,ill\n" + "".join(f"p{i},{20 + i % 9},{i % 3}\n" for i in range(60)), encoding="utf-8"
    )
    return Plan.load(tmp_path / "plan.toml")


@pytest.fixture
def run(plan, tmp_path):
    Case(plan).make_folder(tmp_path / "run", lambda facts: "")
    return tmp_path / "run"


def strays(verdicts):
    assert all(verdict.satisfied for verdict in verdicts if verdict.model.name != "nothing-else")
    return [
        (stray["name"], stray["rows"])
        for verdict in verdicts
        if verdict.model.name == "nothing-else"
        for stray in verdict.facts["strays"]
    ]


def safe(**more):
    return {"age": ["[20, 29]"] * 6, "ill": list("xyzxyz"), **more}


def test_a_table_with_identifiers_fails_and_the_columns_are_named(plan, tmp_path):
    rows = "".join(f"Alice{i},40,x\n" for i in range(6))
    (tmp_path / "third.csv").write_text("name,age,ill\n" + rows, encoding="utf-8")

    found = told("audit", tmp_path / "third.csv", "--plan", tmp_path / "plan.toml")

    assert not found["satisfied"]
    assert [verdict["satisfied"] for verdict in found["verdicts"]] == [True, False]
    assert strays(sf.audit(tmp_path / "third.csv", plan)) == [("name", 6)]
    line = str(sf.audit(tmp_path / "third.csv", plan)[-1])
    assert line == "nothing-else FAILS: 'name' is a column that the plan drops as an identifier (6 rows)"
    assert "Alice" not in json.dumps(found)


def test_the_same_is_said_of_frames(plan):
    assert strays(sf.audit(pa.table(safe()), plan)) == []
    assert strays(sf.audit(pa.table(safe(name=list("abcdef"))), plan)) == [("name", 6)]
    assert strays(sf.audit(pa.table(safe(phone=list("123456"))), plan)) == [("phone", 6)]


def test_the_original_is_judged_by_every_model_and_its_identifiers_are_named(plan, tmp_path):
    original = pa.table({"name": list("abc"), "age": [1, 2, 3], "ill": list("xyz")})

    names = [(verdict.model.name, verdict.satisfied) for verdict in sf.audit(original, plan)]

    assert names == [("k-anonymity", False), ("nothing-else", False)]


def test_a_run_as_it_was_made_holds(plan, run):
    assert [verdict.model.name for verdict in sf.audit(run, plan)] == ["k-anonymity"]
    assert json.loads((run / "release" / "release.json").read_text(encoding="utf-8"))["files"].keys() == {
        "data.csv",
        "README.md",
    }


def test_files_beside_the_data_are_named(plan, run, tmp_path):
    shutil.copy(tmp_path / "people.csv", run / "release" / "people.csv")

    assert strays(sf.audit(run, plan)) == [("people.csv", 0)]
    assert strays(sf.audit(run / "release" / "data.csv", plan)) == [("people.csv", 0)]


def pasted(run, name):
    data = run / "release" / "data.csv"
    head, *rows = data.read_text(encoding="utf-8").splitlines()
    data.write_text(
        "\n".join([f"{head},{name}", *(f"{row},p{i}" for i, row in enumerate(rows))]) + "\n", encoding="utf-8"
    )


def test_names_pasted_into_a_release_are_found_as_column_and_by_digest(plan, run):
    pasted(run, "name")

    assert strays(sf.audit(run, plan)) == [("name", 60), ("data.csv", 60)]


def test_a_column_that_the_description_does_not_name_is_found_where_the_plan_allows_others(plan, run, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN + '[columns."*"]\nrole = "other"\n', encoding="utf-8")
    description = json.loads((run / "release" / "release.json").read_text(encoding="utf-8"))
    del description["files"]  # as in releases of earlier versions
    (run / "release" / "README.md").unlink()
    (run / "release" / "release.json").write_text(json.dumps(description), encoding="utf-8")
    assert strays(sf.audit(run, Plan.load(tmp_path / "plan.toml"))) == []
    pasted(run, "note")

    assert strays(sf.audit(run, Plan.load(tmp_path / "plan.toml"))) == [("note", 60)]


def test_one_changed_cell_is_found_by_the_digest(plan, run):
    data = run / "release" / "data.csv"
    data.write_text(data.read_text(encoding="utf-8")[:-2] + "9\n", encoding="utf-8")

    assert strays(sf.audit(run, plan)) == [("data.csv", 60)]


def test_whoever_can_read_names_exposes_everybody(plan, run):
    attacks = {exposure.attack: exposure for exposure in sf.attack(run, plan)}
    assert "plain-sight" not in attacks
    pasted(run, "name")

    found = {exposure.attack: exposure for exposure in sf.attack(run, plan)}["plain-sight"]

    assert (found.after.exposed, found.after.people, found.after.worst) == (60, 60, 1.0)
    assert found.before.exposed == 0  # the original without its identifiers
    assert "'name'" in found.title


def test_what_is_judged_says_what_came_along(plan, run):
    (run / "release" / "notes.txt").write_text("x", encoding="utf-8")

    assert [stray.name for stray in Seen.at(run, plan).release.strays] == ["notes.txt"]


@pytest.mark.parametrize("gather", [{"gather": {"columns": {"age": "last"}}}, {"release": {"persons": "numbered"}}])
def test_verdicts_and_measures_speak_of_people_where_people_are_counted(gather):
    table = pa.table({"pid": ["a", "a", "b", "c", "c", "d"], "age": [20, 20, 30, 40, 40, 50]})
    roles = {"pid": {"role": "identifier"}, "age": {"role": "quasi-identifier"}}
    asked = {"columns": roles, "require": [{"model": "k-anonymity", "k": 2}]}
    run = sf.anonymize(table, sf.Plan.from_dict({**asked, "source": {"person": "pid"}, **gather}), attack=False)
    measured = {each["name"]: each for each in run.facts["measurements"]}
    apart = pa.table({"age": ["20", "30", "30"]})
    (verdict,) = sf.audit(apart, sf.Plan.from_dict(asked))

    assert measured["average-class-size"]["unit"] == measured["class-sizes"]["unit"] == "people"
    assert measured["suppression"]["title"] == "People dropped"
    assert run.facts["verdicts"][0]["people"] is True
    assert str(verdict).endswith("1 row)")
    assert str(replace(verdict, people=True)).endswith("1 person)")
    assert str(replace(verdict, people=True, failing_rows=3)).endswith("3 people)")


def test_of_people_with_items_nothing_says_records():
    chance = np.random.default_rng(5)
    people = np.repeat(np.arange(60), 3)
    table = pa.table(
        {
            "pid": people,
            "age": 20 + 10 * (people % 3),
            "bought": chance.choice(["tea", "milk", "bread", "pills"], people.size, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    roles = {
        "pid": {"role": "identifier"},
        "age": {"role": "quasi-identifier"},
        "bought": {"role": "items", "kind": "set", "sensitive_items": ["pills"]},
    }
    gather = {"source": {"person": "pid"}, "gather": {"columns": {"age": "last", "bought": "set"}}}
    for model in ({"model": "km-anonymity", "k": 2, "m": 2}, {"model": "rho-uncertainty", "rho": 0.7}):
        asked = {
            "columns": roles,
            "require": [{"model": "k-anonymity", "k": 2}, {**model, "column": "bought"}],
            **gather,
        }
        run = sf.anonymize(table, sf.Plan.from_dict(asked))
        facts = run.facts
        said = [str(run), *(attack[word] for attack in facts["attacks"] for word in ("title", "intruder"))]
        said += [f"{each['title']} {each['explanation']}" for each in facts["measurements"]]
        said += [each[word] for each in facts["verdicts"] for word in ("text", "promise", "limit", "measure")]

        assert any("person by" in words and "'bought'" in words for words in said)
        assert any("people who fit" in words or "item of theirs" in words for words in said)
        assert not [words for words in said if "record" in words]


def test_names_of_columns_stay_where_a_verdict_speaks_of_people():
    (verdict,) = sf.audit(
        pa.table({"age": ["20", "20"]}),
        sf.Plan.from_dict(
            {"columns": {"age": {"role": "quasi-identifier"}}, "require": [{"model": "k-anonymity", "k": 2}]}
        ),
    )
    verdict = replace(verdict, measure="fewest records", finding="2 records of 'my records'")

    told = verdict.of_people()

    assert (told.measure, told.finding) == ("fewest people", "2 people of 'my records'")


def test_a_file_is_read_as_a_file_though_the_source_is_a_table_of_a_database(plan, tmp_path):
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as base:
        base.execute("create table people (name, age, ill)")
        base.executemany("insert into people values (?, ?, ?)", [(f"p{i}", 20 + i % 9, i % 3) for i in range(60)])
        base.commit()
    asked = PLAN.replace('path = "people.csv"', 'database = "people.sqlite"\ntable = "people"')
    plan = Plan.from_text(asked, tmp_path / "plan.toml")
    sf.run(plan, tmp_path / "run", seed=1)
    shutil.copy(tmp_path / "run/release/data.csv", tmp_path / "alone.csv")

    found = [sf.audit(tmp_path / place, plan)[0] for place in ("run", "alone.csv")]

    assert found[0].satisfied
    assert found[0].as_dict() == found[1].as_dict()


def test_rows_of_a_file_count_by_the_weights_that_the_plan_names(tmp_path):
    rows = "".join(f"{20 + i % 9},{'xyz'[i % 3]},{1 + i % 7}\n" for i in range(90))
    (tmp_path / "people.csv").write_text("age,ill,w\n" + rows, encoding="utf-8")
    asked = PLAN.replace('[columns.name]\nrole = "identifier"', '[columns.w]\nrole = "other"')
    plan = Plan.from_text(asked.replace("[source]", '[source]\nweight = "w"'), tmp_path / "plan.toml")
    run = sf.run(plan, tmp_path / "run", seed=1)
    without = sf.measure(run.release.data.drop_columns("w"), plan)

    values = [
        {found.name: found.value for found in sf.measure(table, plan)} for table in (run.release, run.release.data)
    ]

    assert values[0] == values[1]
    assert values[0] != {found.name: found.value for found in without}  # and where they are not there, one by one


def test_a_run_keeps_codes_as_they_are_spelled_where_numbers_have_commas(tmp_path):
    rows = "".join(f"{'1,50' if i % 2 else '2,50'};{i},25\n" for i in range(40))
    (tmp_path / "people.csv").write_text("code;amount\n" + rows, encoding="utf-8")
    columns = '[columns.code]\nrole = "quasi-identifier"\nkind = "category"\n[columns.amount]\nrole = "other"\n'
    asked = f'[source]\npath = "people.csv"\n{columns}[[require]]\nmodel = "k-anonymity"\nk = 2\n'

    run = sf.run(Plan.from_text(asked, tmp_path / "plan.toml"), tmp_path / "run", seed=1)

    assert set(run.release.data["code"].to_pylist()) == {"1,50", "2,50"}


def test_who_counts_rows_judges_no_people():
    people = release_of(
        [{"age": age} for age in ("20-29", "30-39") for _ in range(4)], persons=[0, 0, 1, 1, 2, 2, 3, 3]
    )

    verdict, *_ = judging.judge(people, Policy((KAnonymity(k=2),)), Known(people.public))
    assert (verdict.satisfied, verdict.reached) == (True, 2)
    with pytest.raises(DataError, match="beta-likeness counts rows"):
        judging.judge(
            people, Policy((KAnonymity(k=2), BetaLikeness(sensitive="illness", beta=1))), Known(people.public)
        )


# Identifiers that came along where a plan takes all other columns.

OPEN = {
    "columns": {
        "name": {"role": "identifier"},
        "card_*": {"role": "identifier"},
        "age": {"role": "quasi-identifier"},
        "ill": {"role": "sensitive"},
        "note_*": {"role": "other"},
        "*": {"role": "other"},
    },
    "require": [{"model": "k-anonymity", "k": 3}],
}


@pytest.mark.parametrize(
    "header",
    ["NAME", " name", "Na me", "na\u200bme", "\uff2e\uff41\uff4d\uff45", "name\u00a0", "Card_1", "AGE", "Ill "],
)
def test_a_column_named_as_a_protected_one_is_found_however_its_name_is_written(header):
    verdicts = sf.audit(pa.table(safe(**{header: list("abcdef")})), Plan.from_dict(OPEN))

    assert strays(verdicts) == [(header, 6)]
    assert "a column whose name differs from that of a protected column" in str(verdicts[-1])


def test_a_column_that_the_plan_declares_itself_is_published_whatever_others_are_called():
    columns = {**OPEN["columns"], "Name": {"role": "other"}}

    assert strays(sf.audit(pa.table(safe(Name=list("abcdef"))), Plan.from_dict({**OPEN, "columns": columns}))) == []
    assert strays(sf.audit(pa.table(safe(names=list("abcdef"), note_1=list("abcdef"))), Plan.from_dict(OPEN))) == []


def test_a_source_with_such_a_column_is_refused_and_the_column_is_named():
    people = pa.table({"name": list("abcdef"), "Name ": list("abcdef"), "age": range(6), "ill": list("xyzxyz")})
    with pytest.raises(
        DataError, match=r"1 column\(s\) whose names differ from names in the plan.*'Name ' \(as 'name'\)"
    ):
        sf.anonymize(people, Plan.from_dict(OPEN), seed=1)


# What files, frames and descriptions hold beside the table.


def test_names_in_the_metadata_of_a_frame_are_counted():
    about_ages = pa.field("age", pa.string(), metadata={"about": "Ann is 21"})
    table = pa.table(safe(), pa.schema([about_ages, pa.field("ill", pa.string())], metadata={"people": "Ann, Bob"}))

    verdict = sf.audit(table, Plan.from_dict(OPEN))[-1]

    assert (
        str(verdict)
        == "nothing-else FAILS: 'the frame' is a file or frame with metadata that its table does not need (2)"
    )
    assert "Ann" not in json.dumps(verdict.as_dict())


def test_names_in_the_metadata_of_a_file_are_counted(plan, tmp_path):
    table = pa.table(safe()).replace_schema_metadata({"people": "Ann, Bob"})
    pa_parquet.write_table(table, tmp_path / "third.parquet")
    feather.write_feather(table, tmp_path / "third.feather")

    for name in ("third.parquet", "third.feather"):
        found = told("audit", tmp_path / name, "--plan", tmp_path / "plan.toml")
        assert [verdict["satisfied"] for verdict in found["verdicts"]] == [True, False]
        assert strays(sf.audit(tmp_path / name, plan)) == [(name, 0)]
        assert "Ann" not in json.dumps(found)


def spoil(described, place, value):
    *above, last = place
    for key in above:
        described = described[key]
    described[last] = value


NAMES = {"Ann Roth": 1}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("notes",), "Ann is 21"),
        (("columns", "age", "notes"), NAMES),
        (("columns", "age", "legend"), {"Ann": {"level": 1}}),
        (("columns", "age", "legend"), {"[20, 28]": {"level": 1, "members": ["Ann"]}}),
        (("columns", "age", "legend"), {"[20, 28]": {"level": 1, "seen": "Ann"}}),
        (("columns", "age", "legend"), {"[20, 28]": {"level": "Ann"}}),
        (("columns", "age", "spans"), {"Ann": {"21": 3}}),
        (("columns", "age", "domain"), ["Ann"]),
        (("columns", "age", "shows"), "Ann"),
        (("columns", "age", "margin"), "Ann"),
        (("columns", "ill", "base_rates"), {"values": {"x": 1}, "missing": 0, "Ann": 1}),
        (("columns", "Ann"), {"role": "other"}),
        (("models",), [{"model": "k-anonymity", "k": 3, "people": "Ann"}]),
        (("models",), [{"model": "Ann"}]),
        (("models",), [{"model": "l-diversity", "sensitive": "Ann", "l": 2}]),
        (("files", "Ann"), "0" * 64),
        (("prior",), {"Ann": 1}),
        (("weight",), "Ann"),
        (("test_only",), "Ann"),
        (("table",), {"people": "Ann"}),
    ],
    ids=str,
)
def test_entries_of_a_description_that_nobody_here_writes_are_counted(plan, run, place, value):
    path = run / "release" / "release.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    spoil(described, place, value)
    path.write_text(json.dumps(described), encoding="utf-8")

    verdicts = sf.audit(run / "release", plan)

    assert [name.split()[0] for name, _ in strays(verdicts)] == ["release.json"]
    assert "Ann" not in json.dumps([verdict.as_dict() for verdict in verdicts])


@pytest.mark.parametrize("given", [None, "value,count\nx,2\ny,1\nz,1\nrare,1\n"])
def test_base_rates_that_a_run_writes_are_expected_in_a_description(tmp_path, given):
    if given is not None:
        (tmp_path / "rates.csv").write_text(given, encoding="utf-8")
    document = {
        "source": {"path": str(tmp_path / "letters.csv")},
        "columns": {
            "ill": {
                "role": "sensitive-quasi-identifier",
                "domain": ["x", "y", "z", "rare"],
                **({"base_rates": "rates.csv"} if given is not None else {}),
            }
        },
        "require": [{"model": "sensitive-qid-closeness", "t": {"ill": 0.4}}],
        "release": {"publish_base_rates": True},
    }
    (tmp_path / "letters.csv").write_text("ill\n" + "x\ny\nz\n" * 20, encoding="utf-8")
    drawn = Plan.from_dict(document, base=tmp_path)

    sf.run(drawn, tmp_path / "drawn", seed=1)

    described = json.loads((tmp_path / "drawn/release/release.json").read_text(encoding="utf-8"))
    assert "base_rates" in described["columns"]["ill"]
    assert strays(sf.audit(tmp_path / "drawn/release", drawn)) == []


# Nothing to judge.


def all_missing():
    return pa.table({"age": ["[20, 29]"] * 6, "ill": pa.array([None] * 6, pa.string())})


CLOSE = {**OPEN, "require": [{"model": "t-closeness", "sensitive": "ill", "t": 0.2}]}
BASKETS = {
    "columns": {"basket": {"role": "items", "kind": "set", "sensitive_items": ["lithium"]}},
    "require": [{"model": "rho-uncertainty", "column": "basket", "rho": "0.5"}],
}
COHERENT = {**BASKETS, "require": [{"model": "hkp-coherence", "column": "basket", "h": 0.5, "k": 2, "p": 1}]}
CROWDED = {**BASKETS, "require": [{"model": "km-anonymity", "column": "basket", "k": 2, "m": 1}]}
MASKED = {
    "columns": {
        **OPEN["columns"],
        "ill": {"role": "sensitive", "hierarchy": {"flat": True}, "base_rates": "rates.csv"},
    },
    "require": [{"model": "alpha-diversity", "sensitive": "ill", "alpha": 0.5}],
}
ALL_MASKED = pa.table({"age": ["[20, 29]"] * 6, "ill": ["*"] * 6})


@pytest.mark.parametrize(
    ("document", "table", "why"),
    [
        (OPEN, pa.table(safe()).slice(0, 0), "no row"),
        (CLOSE, all_missing(), "every cell of 'ill'"),
        (MASKED, ALL_MASKED, "every cell of 'ill'"),
        (BASKETS, pa.table({"basket": ["lithum|tea"] * 4}), "shows an item that the plan calls sensitive"),
        (COHERENT, pa.table({"basket": ["lithum|tea"] * 4}), "shows an item that the plan calls sensitive"),
        (CROWDED, pa.table({"basket": [""] * 4}), "every cell of 'basket'"),
    ],
    ids=["no row", "missing", "masked", "misspelt", "misspelt, coherence", "suppressed"],
)
def test_an_audit_that_judged_nothing_says_so_and_does_not_hold(document, table, why, tmp_path):
    (tmp_path / "rates.csv").write_text("value,weight\nx,1\ny,1\nz,1\n", encoding="utf-8")
    (verdict,) = sf.audit(table, Plan.from_dict(document, tmp_path))

    assert not verdict.satisfied
    assert why in verdict.nothing_to_judge
    assert "NOTHING TO JUDGE" in str(verdict)
    assert verdict.as_dict()["nothing_to_judge"] == verdict.nothing_to_judge


def test_a_release_that_leaves_nothing_to_judge_is_not_made():
    plan = Plan.from_dict({**BASKETS, "require": [{**BASKETS["require"][0], "rho": "0.001"}]})
    with pytest.raises(sf.Unsatisfiable, match=r"nothing left to judge for 1 of 1(?s:.*)or drop the column"):
        sf.anonymize(pa.table({"basket": ["lithium|tea", "lithium|tea", "tea", "tea"]}), plan, seed=1)


# What only a search needs.


@pytest.mark.parametrize(
    ("require", "place"),
    [
        ([*BASKETS["require"], *CROWDED["require"]], "require[2].model"),
        ([*COHERENT["require"], *CROWDED["require"]], "require[1].model"),
        ([{**BASKETS["require"][0], "anonymizer": "mondrian"}], "require[1].anonymizer"),
    ],
)
def test_an_audit_needs_no_search_that_meets_all_requirements(require, place, tmp_path):
    plan = Plan.from_dict({**BASKETS, "require": require})
    table = pa.table({"basket": ["a|b", "a|b", "a|lithium", "a|lithium"]})

    assert len(sf.audit(table, plan)) == len(require)
    assert sf.attack(table, plan)
    for search in (
        lambda: sf.anonymize(table, plan),
        lambda: sf.run(plan, tmp_path / "run"),
        lambda: sf.sweep(plan, {"column": ["basket"]}, frame=table),
        plan.explain,
        plan.searchable,
    ):
        with pytest.raises(sf.PlanError) as refused:
            search()
        assert place in [problem.place for problem in refused.value.problems]
