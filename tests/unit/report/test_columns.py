"""What happened to each column."""

from __future__ import annotations

from sfumato.report import columns
from sfumato.report.page import render
from sfumato.report.wording import UNKNOWN


def test_what_happened_to_a_column_is_said(real):
    fates = {row["name"]: row["fate"] for row in columns.content(real)["rows"]}

    assert fates["name"] == "dropped"
    assert fates["age"] == "generalized in 100% of rows"
    assert fates["job"] == "kept"
    assert fates["symptoms"].endswith("items withheld")
    assert fates["ward"] == "carried along as it is"


def test_people_are_counted_where_each_may_have_several_rows():
    age = {"name": "age", "role": "quasi-identifier", "generalized": 3}
    measured = {"name": "suppression", "facts": {"rows": 4, "columns": [age]}}
    facts = {"columns": [age], "measurements": [measured], "release": {"rows": 9}, "source": {"gathered": 9}}

    [row] = columns.content(facts)["rows"]
    assert row["fate"] == "generalized in 75% of people"


def test_a_randomized_column_is_said_to_be_one():
    drawn = {"name": "job", "randomized": {"values": 17, "shown": 4, "true": 0.515}}
    measured = {"name": "suppression", "facts": {"columns": [drawn]}}
    facts = {"columns": [{"name": "job", "role": "sensitive-quasi-identifier"}], "measurements": [measured]}

    [row] = columns.content(facts)["rows"]
    assert row["fate"] == "randomized: 4 of 17 values shown, with the true one in 51.5% of rows"


def test_figures_of_a_column_stand_side_by_side_and_their_difference_is_explained(real):
    rows = {row["name"]: (row["lost"], row["moved"]) for row in columns.content(real)["rows"]}

    assert rows["stage"] == ("100%", "3.42%")  # nothing is left of it, and yet its shares hardly moved
    assert rows["job"][0] == UNKNOWN  # not a column that loses detail
    assert all(word in render(real) for word in ("Generalized: rows", "Detail lost: how", "Moved: by what share"))


def test_identifiers_are_said_to_be_gone():
    kept, gone = {"name": "age", "role": "quasi-identifier"}, {"name": "name", "role": "identifier", "dropped": True}

    assert columns.content({"columns": [kept]})["sentence"] == "The table has 1 column."
    assert columns.content({"columns": [kept, gone]})["sentence"] == (
        "The table has 2 columns, 1 of them an identifier; it is not in the release."
    )
    assert columns.content({"columns": [kept, gone, gone]})["sentence"].endswith("they are not in the release.")


def test_kinds_that_were_inferred_are_marked():
    shown = columns.content({"columns": [{"name": "age", "kind": "number", "kind_inferred": True}]})

    assert shown["rows"][0]["kind"] == "number (inferred)"
    assert shown["inferred"] is True
