"""Plans made in Python, written as files."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.data.builders import Dates, Edges, Flat, Prefix, Widths
from sfumato.errors import PlanError

PLAN = {
    "columns": {
        "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10]}},
        "<b>job</b>": {"role": "sensitive"},
    },
    "require": [sf.KAnonymity(k=4), {"model": "l-diversity", "sensitive": "<b>job</b>", "l": 2}],
}


def test_a_plan_is_written_as_a_file_that_says_the_same(tmp_path):
    plan = sf.Plan.from_dict(PLAN)
    (tmp_path / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    again = sf.Plan.load(tmp_path / "plan.toml")
    assert again.policy == plan.policy
    assert again.schema == plan.schema
    assert again.to_toml() == plan.to_toml()


@pytest.mark.parametrize(
    "source", [Prefix(3), Widths([5, 10], 1), Edges([[0, 5, 9], [0, 9]]), Dates(["month", "year"]), Flat()], ids=repr
)
def test_builders_are_written_as_the_plan_spells_them(source, tmp_path):
    columns = {"age": {"role": "quasi-identifier", "hierarchy": source}}
    plan = sf.Plan.from_dict({"columns": columns, "require": [sf.KAnonymity(k=2)]})
    (tmp_path / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    assert sf.Plan.load(tmp_path / "plan.toml").schema == plan.schema


def test_what_no_file_can_hold_is_said_with_its_place():
    class Odd:
        def build(self, labels, name, *, secret=False):
            raise NotImplementedError

    columns = {"age": {"role": "quasi-identifier", "hierarchy": Odd()}}
    plan = sf.Plan.from_dict({"columns": columns, "require": [sf.KAnonymity(k=2)]})
    with pytest.raises(PlanError, match="no file can hold"):
        plan.to_toml()
