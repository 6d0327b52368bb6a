"""The steps of the work, and where the time went."""

from __future__ import annotations

from sfumato.report import making
from sfumato.report.wording import UNKNOWN


def test_steps_say_what_they_aim_at_and_why():
    step = {
        "anonymizer": "mondrian",
        "requirements": [{"model": "k-anonymity"}, {"model": "l-diversity"}],
        "why": "not every column has a hierarchy.",
        "options": {"strict": True, "search": "fast"},
        "chosen": {"search": "fast"},
        "facts": {"cuts_made": 5, "dependences": [], "limit": None},
    }

    [shown] = making.content({"steps": [step]})["steps"]

    assert shown == {
        "title": "Step 1: mondrian",
        "why": "Not every column has a hierarchy.",
        "pairs": [("Aims at", "k-anonymity and l-diversity"), ("Set in the plan", "search = fast"), ("Cuts made", "5")],
        "tables": [],
    }


def test_figures_that_are_no_single_ones_are_tables_without_empty_rows():
    columns = [{"name": "job", "masked": 3}, {"name": "pay", "vacuous": 1}]
    facts = {"columns": columns, "symptoms": {"cost": 0.5, "time_limit": None}}

    [shown] = making.content({"steps": [{"anonymizer": "masking", "facts": facts}]})["steps"]

    assert shown["pairs"] == []
    (first, of_columns), (second, of_symptoms) = shown["tables"]
    assert (first, of_columns.head) == ("Columns", ["Name", "Masked", "Vacuous"])
    assert of_columns.rows == [["job", "3", UNKNOWN], ["pay", UNKNOWN, "1"]]
    assert (second, of_symptoms.rows) == ("Symptoms", [["Cost", "0.5"]])


def test_time_is_shown_by_step_and_in_all():
    timings = [
        {"step": "read", "seconds": 1, "cpu_seconds": 0.5},
        {"step": "audit", "seconds": 74},
    ]

    time = making.content({"timings": timings})["time"]

    assert time.note == "1 min 15 s in all, by the clock on the wall."
    assert time.table.rows == [["read", "1.0 s", "500 ms"], ["audit", "1 min 14 s", UNKNOWN]]
    assert "most of it, 1 min 14 s, for audit" in time.alt


def test_nothing_made_is_no_part():
    assert making.content({}) is None
