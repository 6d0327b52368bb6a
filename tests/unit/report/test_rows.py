"""Some rows before and after."""

from __future__ import annotations

import pyarrow as pa

import sfumato as sf
from sfumato.pipeline import without_values
from sfumato.report import rows
from sfumato.report.page import render

PLAN = sf.Plan.from_dict(
    {
        "columns": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "hierarchy": {"widths": [10]}},
            "job": {"role": "sensitive-quasi-identifier", "domain": ["cook", "nurse", "smith"]},
        },
        "require": [
            {"model": "k-anonymity", "k": 4},
            {"model": "sensitive-qid-diversity", "l": {"job": 2}},
        ],
    }
)
PEOPLE = pa.table(
    {
        "name": [f"Person {i}" for i in range(40)],
        "age": list(range(20, 60)),
        "job": ["cook", "nurse", "smith", "cook"] * 10,
    }
)


def test_rows_stand_beside_what_became_of_them():
    facts = sf.anonymize(PEOPLE, PLAN, seed=1).facts
    found = facts["examples"]

    assert found["columns"] == ["age", "job"]
    for (age, job), (label, jobs) in zip(found["before"], found["after"], strict=True):
        low, high = label.strip("[]").split(", ")
        assert int(low) <= int(age) <= int(high)
        assert job == ("cook", "nurse", "smith", "cook")[int(age) % 4]  # the row as it was
        assert job in jobs.split(", ")
    assert len(found["before"]) == 5
    page = render(facts)
    assert "Some rows before and after" in page
    assert "Person" not in page
    assert "examples" not in without_values(facts)  # nothing of it in logs


def test_what_changed_is_marked():
    examples = {"columns": ["age", "ill"], "before": [["34", "flu"]], "after": [["[30, 39]", "flu"]]}

    [pair] = rows.content({"examples": examples})["pairs"]
    assert pair == {"before": ["34", "flu"], "after": [("[30, 39]", True), ("flu", False)]}


def test_a_run_without_rows_has_no_such_part():
    assert rows.content({}) is None
    assert rows.content({"examples": {"columns": ["age"], "before": [["1", "2"]], "after": [["1"]]}}) is None
