"""What a release says of itself, in words: from release.json alone, on disk and in Python, whatever its columns are."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pytest

import sfumato as sf
from commands import told
from sfumato.data.schema import Kind, Role
from sfumato.plan.members import promise_of
from sfumato.receiving.dictionary import Dictionary

PLAN = {
    "source": {"path": "people.csv", "missing": ["?"]},
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier"},
        "ill": {"role": "sensitive"},
        "job": {"role": "sensitive-quasi-identifier", "domain": ["cook", "nurse", "smith"]},
        "note": {"role": "other"},
    },
    "require": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "sensitive": "ill", "l": 2},
        {"model": "sensitive-qid-diversity", "l": {"job": 2}},
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("described")
    rows = [f"p{i},{20 + i % 9 if i else '?'},{'flu' if i % 2 else 'cold'},cook,n{i % 2}\n" for i in range(60)]
    (folder / "people.csv").write_text("name,age,ill,job,note\n" + "".join(rows), encoding="utf-8")
    sf.run(sf.Plan.from_dict(PLAN, folder), folder / "run", measure=False, attack=False)
    return folder / "run"


def test_the_readme_is_what_release_json_says_in_words_and_nothing_more(folder):
    described = json.loads((folder / "release" / "release.json").read_text(encoding="utf-8"))
    readme = (folder / "release" / "README.md").read_text(encoding="utf-8")

    assert readme == f"{Dictionary.of(described)}\n"
    for sentence in (
        "60 rows, 4 columns",
        "finds at least 3 rows",
        "A cell that shows `?` was missing",
        "`[20, 29]` is a number from 20 to 29",
        "it shows 2 of 3 values, and the true one is among them with chance",
    ):
        assert sentence in readme
    assert "name" not in [line.strip("#` ") for line in readme.splitlines()]  # dropped, and not spoken of


def test_describe_prints_the_readme_with_what_is_counted_in_the_table(folder):
    found = told("describe", folder)
    ages = found["columns"][0]

    assert [column["name"] for column in found["columns"]] == ["age", "ill", "job", "note"]
    assert ages["counts"]["missing cells"] <= 1
    assert found["columns"][1]["counts"] == {"different labels": 2, "missing cells": 0}
    assert found["models"][0] == {
        "model": "k-anonymity",
        "k": 3,
        "promise": sf.KAnonymity(k=3).promise,
        "limit": sf.KAnonymity(k=3).limit,
    }
    printed = str(sf.describe(folder / "release"))
    uncounted = "\n".join(line for line in printed.splitlines() if not line.startswith("- In this table"))
    assert f"{uncounted}\n" == (folder / "release" / "README.md").read_text(encoding="utf-8")


MODELS = [
    {"model": "k-anonymity", "k": 5},
    {"model": "k-map", "k": 5, "population": "all.csv"},
    {"model": "delta-presence", "high": 0.5, "population": "all.csv"},
    {"model": "hkp-coherence", "column": "items", "h": 0.5, "k": 3, "p": 2},
    {"model": "alpha-diversity", "sensitive": "ill", "alpha": 0.5},
    {"model": "rho-uncertainty", "column": "items", "rho": 0.5},
]


@pytest.mark.parametrize("described", MODELS, ids=lambda described: described["model"])
def test_who_receives_a_release_is_not_told_what_its_holder_may_ask_for(described):
    items = {"items": {"role": "items", "kind": "set"}, "age": {"role": "quasi-identifier", "kind": "number"}}
    [promise] = Dictionary.of({"rows": 9, "columns": items, "models": [described]}).promises
    holders = promise_of(described)

    assert promise.limit
    assert "Ask for" in holders[1]
    assert holders[1].startswith(promise.limit)
    assert "sk for" not in promise.limit + promise.promise


def test_people_are_counted_where_rows_were_put_together():
    columns = {"age": {"role": "quasi-identifier", "kind": "number"}}
    described = {"rows": 9, "columns": columns, "models": MODELS[:1]}

    rows, people = (str(Dictionary.of({**described, **more})) for more in ({}, {"gathered": True}))
    assert "9 rows, 1 columns" in rows
    assert "finds at least 5 rows that could be theirs" in rows
    assert "9 people, a row each, 1 columns" in people
    assert "finds at least 5 people alike" in people


def test_a_release_in_memory_is_described_like_the_one_on_disk(folder):
    people = pa.table({"age": list(range(20, 40)), "ill": ["flu", "cold"] * 10})
    plan = sf.Plan.from_dict(
        {"columns": {name: PLAN["columns"][name] for name in ("age", "ill")}, "require": PLAN["require"][:1]}
    )
    run = sf.anonymize(people, plan, measure=False, attack=False)

    assert [entry.name for entry in sf.describe(run.release).entries] == ["age", "ill"]
    with pytest.raises(sf.DataError, match="does not say how it was made"):
        sf.describe(people)


def test_a_readme_that_somebody_changed_fails_the_audit(folder, tmp_path):
    copy = shutil.copytree(folder / "release", tmp_path / "copy")
    plan = sf.Plan.from_dict(PLAN, folder.parent)
    assert all(verdict.satisfied for verdict in sf.audit(copy, plan))

    (copy / "README.md").write_text("Trust me.\n", encoding="utf-8")
    assert "'README.md' is a file that is not the one" in str(sf.audit(copy, plan)[-1])
    (copy / "README.md").rename(copy / "NOTES.md")
    assert "'NOTES.md' is a file that release.json does not name" in str(sf.audit(copy, plan)[-1])


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.IDENTIFIER])
@pytest.mark.parametrize("kind", [None, *Kind])
def test_every_role_and_kind_has_words(role, kind):
    about = {"role": role.value} | ({"kind": kind.value} if kind else {})
    (entry,) = Dictionary.of({"rows": 1, "columns": {"a": about}}).entries

    assert all((entry.cells, entry.changed, entry.beware))


def test_models_that_this_version_does_not_know_are_named_and_names_cannot_break_the_page():
    words = Dictionary.of(
        {"rows": 1, "columns": {"a`\n# b": {"role": "other"}}, "models": [{"model": "x-anonymity", "x": [1, 2]}]}
    )

    assert words.promises[0].title == "x-anonymity (x = 1, 2)"
    assert "\n### `a' # b`\n" in str(words)


def test_what_is_or_is_not_so_is_said_in_words():
    about = {"rows": 1, "columns": {}, "models": [{"model": "new", "strict": False, "of": {"a": True}}]}

    assert Dictionary.of(about).promises[0].title == "new (strict = no, of = a: yes)"


def test_a_receiver_is_told_how_to_open_a_file_in_the_dialect_of_its_source(tmp_path):
    rows = "".join(f"{20 + i % 9};{i % 7},5;Köln\n" for i in range(60))
    (tmp_path / "people.csv").write_bytes(("age;kg;city\n" + rows).encode("windows-1252"))
    plan = {
        "source": {"path": "people.csv"},
        "columns": {"age": {"role": "quasi-identifier"}, "*": {"role": "other"}},
        "require": [{"model": "k-anonymity", "k": 3}],
    }
    for release in ({}, {"dialect": "source"}):
        out = tmp_path / f"run{len(release)}"
        sf.run(sf.Plan.from_dict(plan | {"release": release}, tmp_path), out, measure=False, attack=False)
        page = (out / "release" / "README.md").read_text(encoding="utf-8")
        assert ("with `;` between cells, in the encoding `windows-1252`" in page) is bool(release)
        assert ("dialect" in sf.describe(out / "release").as_dict()) is bool(release)
    assert "tabs between cells" in str(Dictionary.of({"rows": 1, "columns": {}, "dialect": {"separator": "\t"}}))


def words_of(columns, **more):
    return Dictionary.of({"rows": 1, "columns": columns, **more})


def test_an_empty_cell_need_not_have_been_missing_where_cells_were_cut_or_drawn():
    cut = words_of({"age": {"role": "quasi-identifier"}, "blood": {"role": "quasi-sensitive", "kind": "category"}})

    assert "stands for no other. In `blood` it may also be" in str(cut)
    assert cut.entries[1].cells == "The value itself, or none."  # no set
    assert "it may also be" not in str(words_of({"age": {"role": "quasi-identifier"}}))


def test_what_became_of_several_rows_is_not_said_to_be_as_it_was():
    cost = {"cost": {"role": "other"}}

    assert words_of(cost).entries[0].changed.endswith("as they were in the source.")
    assert (
        words_of(cost, gathered=True).entries[0].changed == "Not at all, once the rows of each person had become one."
    )


def test_items_that_are_shown_as_labels_are_not_said_to_be_withheld_alone():
    people = pa.table({"basket": ["a|b", "b|c", "a|c", "c|d", "d", "a|d"]})
    columns = {
        "basket": {"role": "items", "kind": "set", "separator": "|", "hierarchy": {"X": ["a", "b"], "Y": ["c", "d"]}}
    }
    require = [{"model": "km-anonymity", "column": "basket", "k": 4, "m": 1}]
    release = sf.anonymize(people, sf.Plan.from_dict({"columns": columns, "require": require}), seed=1).release
    found = sf.load(release)

    assert release.description["columns"]["basket"]["legend"] == {
        "X": {"level": 1, "members": ["a", "b"]},
        "Y": {"level": 1, "members": ["c", "d"]},
    }
    assert found["basket"].members == {"X": ("a", "b"), "Y": ("c", "d")}
    (entry,) = found.dictionary.entries
    assert "A label of the hierarchy stands for one or several" in entry.cells
    assert "shown as such a label, or were withheld" in entry.changed


def test_a_star_may_hide_a_missing_value_and_its_words_say_so():
    people = pa.table({"age": [None, 31, 32, 58]})
    plan = {
        "columns": {"age": {"role": "quasi-identifier", "kind": "number"}},
        "require": [{"model": "k-anonymity", "k": 4}],
    }
    release = sf.anonymize(people, sf.Plan.from_dict(plan), seed=1).release

    assert set(release.data["age"].to_pylist()) == {"*"}
    assert "`*` is any number, or a missing one." in sf.describe(release).entries[0].cells
