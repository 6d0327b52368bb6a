"""The numbers of a plan that may be tried with other values."""

from __future__ import annotations

from sfumato.editing import PlanDocument
from sfumato.editing.settings import places, settings

PLAN = """
[[require]]
model = "k-anonymity"
k = 5
[[require]]
model = "l-diversity"
sensitive = "job"
l = 2
[[require]]
model = "l-diversity"
sensitive = "illness"
l = 3
"""


def test_each_setting_has_the_name_that_a_sweep_knows_and_its_place():
    document = PlanDocument.from_text(PLAN)

    assert [(each["name"], each["now"]) for each in settings(document)] == [
        ("k-anonymity.k", "5"),
        ("l-diversity.job.l", "2"),
        ("l-diversity.illness.l", "3"),
    ]
    assert [places(document, each["name"]) for each in settings(document)] == [
        [("require", 0, "k")],
        [("require", 1, "l")],
        [("require", 2, "l")],
    ]


def test_a_short_name_stands_for_all_that_have_it():
    document = PlanDocument.from_text(PLAN)

    assert places(document, "l") == [("require", 1, "l"), ("require", 2, "l")]
    assert places(document, "none") == []


def test_a_plan_that_requires_nothing_has_none():
    assert settings(PlanDocument.from_text("require = 3\n")) == []
