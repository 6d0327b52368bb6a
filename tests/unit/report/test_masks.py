"""What masks hide, on the page, from facts as masking really states them."""

from __future__ import annotations

import pyarrow as pa

import sfumato as sf
from sfumato.report import masks
from sfumato.report.page import render

TREE = {"Lung": ["asthma", "flu"], "Skin": ["acne", "eczema"]}
PLAN = sf.Plan.from_dict(
    {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"widths": [10, 20]}},
            "ill": {"role": "sensitive", "hierarchy": TREE},
            "father": {"role": "sensitive", "hierarchy": TREE},
        },
        "require": [{"model": "multi-diversity", "sensitive": ["ill", "father"], "alpha_sa": 0.5}],
    }
)
ILLS = ["asthma", "flu", "acne", "eczema"]


def test_the_page_tells_what_masks_do_not_hide():
    people = pa.table(
        {"age": [20 + i % 40 for i in range(120)], "ill": ILLS * 30, "father": [ILLS[i * i % 4] for i in range(120)]}
    )
    facts = sf.anonymize(people, PLAN).facts
    found = facts["steps"][0]["facts"]

    shown = masks.content(facts)
    page = render(facts)

    assert found["masked_values"] == sum(column["masked"] for column in found["columns"]) > 0
    assert f"{found['masked_values']:,} sensitive values are shown as a coarser label" in shown["sentences"][0]
    assert len(shown["stronger"]) == 2
    assert '<section id="masks"' in page
    assert "could not be shown" not in page


def test_a_run_without_masks_has_no_such_part():
    assert masks.content({"steps": [{"anonymizer": "mondrian", "facts": {"cuts": 5}}]}) is None
    assert masks.content({}) is None
