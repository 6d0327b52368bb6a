"""Usual promises for usual occasions."""

from __future__ import annotations

import pytest

from sfumato.editing import PlanDocument
from sfumato.editing.presets import PRESETS, fill_in

PLAN = """[columns.age]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"  # kept

[[require]]
model = "k-anonymity"
k = 2
"""


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_makes_a_plan_that_can_be_run_and_keeps_what_is_there(name, tmp_path):
    document = PlanDocument.from_text(PLAN)

    fill_in(document, PRESETS[name])

    assert document.plan(tmp_path).policy
    assert "# kept" in document.text
    once = document.text
    fill_in(document, PRESETS[name])
    assert document.text == once


def test_a_plan_without_promises_gets_them():
    document = PlanDocument.from_text('[columns.illness]\nrole = "sensitive"\n')

    fill_in(document, PRESETS["scientific"])

    assert [each["model"] for each in document.get(("require",))] == ["k-anonymity", "l-diversity"]
    assert document.get(("require", 1, "sensitive")) == "illness"
