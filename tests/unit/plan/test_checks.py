"""A plan as a whole: what is allowed but deserves a second look. What is refused is in test_notes."""

from __future__ import annotations

import pytest

from sfumato.plan import Plan
from wrong_plans import CELLS, COLUMNS, FLAT, asking, plan

MASKED = {"role": "sensitive", "hierarchy": FLAT}
CELLS_ASKED = {"model": "sensitive-qid-diversity", "l": {"x": 2}}
DIVERSE = {"model": "l-diversity", "sensitive": "ill", "l": 2}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (plan(), "No requirement judges the sensitive column(s) 'ill'"),
        (plan(release={"shuffle": False}), "Rows keep their order"),
        (plan(columns={**COLUMNS, "*": {"role": "other"}}), "are published as they are"),
        (plan(anonymizers={"local-recoding": {}}), "[anonymizers.local-recoding] is set, but mondrian does the work."),
        (asking(CELLS_ASKED, x={**CELLS, "domain": "data"}), "The domain of 'x' is taken from the data"),
        (
            asking({"model": "multi-diversity", "sensitive": ["ill"], "alpha_sa": 0.5}),
            "multi-diversity names one column only, 'ill'",
        ),
        (
            asking({"model": "multi-diversity", "sensitive": ["ill", "x"], "alpha_sa": 0.4, "alpha_qi": 0.5}, x=MASKED),
            "alpha_qi above alpha_sa",
        ),
    ],
)
def test_what_deserves_a_second_look_is_said(document, words):
    assert any(words in warning for warning in Plan.from_dict(document).warnings())


def test_a_plan_without_such_things_has_no_warning():
    assert Plan.from_dict(asking(DIVERSE, CELLS_ASKED, x=CELLS)).warnings() == ()


def test_masked_columns_are_those_whose_requirements_say_so():
    asked = asking({"model": "alpha-diversity", "sensitive": ["ill", "x"], "alpha": 0.5}, x=MASKED)

    assert Plan.from_dict(asked).masked_columns == ("ill", "x")
    assert Plan.from_dict(asking(DIVERSE)).masked_columns == ()
