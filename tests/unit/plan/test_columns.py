"""What a plan says of one column, in each of the ways in which it may be written."""

from __future__ import annotations

import pytest

from sfumato.data.bins import Bins
from sfumato.data.builders import Flat
from sfumato.data.schema import Kind, Role, SensitiveShare
from sfumato.plan.columns import column_of
from sfumato.plan.notes import Notes


def spec(tmp_path, **keys):
    notes = Notes()
    found = column_of("x", {"role": "other", **keys}, tmp_path, notes)
    assert not notes.problems
    return found


def test_what_is_left_out_has_its_default(tmp_path):
    found = spec(tmp_path)

    assert (found.role, found.kind, found.hierarchy, found.separator) == (Role.OTHER, None, None, "|")
    assert (found.domain, found.bins, found.sensitive_items, found.base_rates) == (None, None, None, None)


@pytest.mark.parametrize(
    ("keys", "attribute", "expected"),
    [
        ({"kind": "date"}, "kind", Kind.DATE),
        ({"hierarchy": {"flat": True}}, "hierarchy", Flat()),
        ({"domain": ["low", 2]}, "domain", ("low", "2")),
        ({"domain": [True, False]}, "domain", ("true", "false")),
        ({"domain": "data"}, "domain", None),
        ({"bins": [0, 20, 40]}, "bins", Bins.of([0, 20, 40])),
        ({"bins": [0, 20, 40]}, "domain", ("[0, 20)", "[20, 40]")),
        ({"role": "items", "sensitive_items": ["wine"]}, "sensitive_items", ("wine",)),
        (
            {"role": "items", "sensitive_items": {"share": 0.4, "seed": 2}},
            "sensitive_items",
            SensitiveShare(share=0.4, seed=2),
        ),
        ({"role": "quasi-sensitive", "present": "yes"}, "present", ("yes",)),
        ({"role": "quasi-sensitive", "present": [True, 1]}, "present", ("true", "1")),
        ({"role": "quasi-sensitive", "present": 1, "term": "cough"}, "term", "cough"),
        ({"base_rates": "data"}, "base_rates", None),
    ],
)
def test_a_key_is_read(tmp_path, keys, attribute, expected):
    assert getattr(spec(tmp_path, **keys), attribute) == expected


def test_files_are_beside_the_plan(tmp_path):
    (tmp_path / "values.txt").write_text(" low \n\nhigh\n", encoding="utf-8")

    assert spec(tmp_path, domain="values.txt").domain == ("low", "high")
    assert spec(tmp_path, role="items", sensitive_items="values.txt").sensitive_items == ("low", "high")
    assert spec(tmp_path, base_rates="rates.csv").base_rates == tmp_path / "rates.csv"


def test_a_column_without_a_role_is_taken_for_an_identifier_until_somebody_says_more(tmp_path):
    notes = Notes()

    assert column_of("x", {"kind": "number"}, tmp_path, notes).role is Role.IDENTIFIER
    assert [problem.place for problem in notes.problems] == ["columns.x.role"]
