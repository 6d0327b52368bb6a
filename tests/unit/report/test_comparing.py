"""Several runs side by side."""

from __future__ import annotations

from sfumato.report.comparing import compared

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
