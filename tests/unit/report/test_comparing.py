"""Several runs side by side."""

from __future__ import annotations

from sfumato.data.files import digest
from sfumato.report.comparing import changed_since, compared

PLAN = """
[columns.age]
role = "quasi-identifier"
[[require]]
model = "k-anonymity"
k = 5
"""


def test_plans_differ_in_words_and_measures_stand_in_rows(facts):
    stricter = {**facts, "plan": {**facts["plan"], "text": PLAN.replace("5", "10")}}
    found = compared({"one": {**facts, "plan": {**facts["plan"], "text": PLAN}}, "two": stricter})

    assert found["changes"] == [("one → two", ["k-anonymity: k 5 → 10"])]
    assert found["names"] == ["one", "two"]
    assert all(values.get("one") == values.get("two") for values in found["rows"].values())
    assert len(found["rows"]) > 2


def test_a_plan_that_cannot_be_read_says_nothing(facts):
    broken = {**facts, "plan": {"text": "[[["}}

    assert compared({"one": broken, "two": broken})["changes"] == [("one → two", [])]


def test_a_file_that_is_another_now_is_named_by_its_place_in_the_plan(tmp_path):
    text = '[source]\npath = "s.csv"\n[knowledge]\npath = "k.csv"\n[columns.age]\nhierarchy = "h.csv"\n'
    places = {"source.path": "s.csv", "knowledge.path": "k.csv", "columns.age.hierarchy": "h.csv"}
    for name in places.values():
        (tmp_path / name).write_text("before", encoding="utf-8")
    inputs = {place: digest(tmp_path / name) for place, name in places.items()}
    facts = {"plan": {"text": text}, "inputs": {**inputs, "gone.path": "0"}}
    assert changed_since(facts, tmp_path) == []

    for name in places.values():
        (tmp_path / name).write_text("after", encoding="utf-8")
    assert changed_since(facts, tmp_path) == ["knowledge.path", "columns.age.hierarchy"]
    (tmp_path / "k.csv").unlink()
    assert changed_since(facts, tmp_path) == ["columns.age.hierarchy"]
    assert changed_since({"plan": {"text": "[[["}, "inputs": inputs}, tmp_path) == []
