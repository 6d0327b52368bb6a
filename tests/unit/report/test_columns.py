"""What happened to each column."""

from __future__ import annotations

from sfumato.report import columns


def test_what_happened_to_a_column_is_said(real):
    fates = {row["name"]: row["fate"] for row in columns.content(real)["rows"]}

    assert fates["name"] == "dropped"
    assert fates["age"] == "generalized in 100% of rows"
    assert fates["job"] == "kept"
    assert fates["symptoms"].endswith("items withheld")
    assert fates["ward"] == "carried along as it is"


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
