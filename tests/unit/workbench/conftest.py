"""A small table with a plan, as somebody who edits it has them on disk."""

from __future__ import annotations

import pytest

TABLE = """name,age,town,job
Ann Lee,31,Bern,nurse
Bob Ray,31,Bern,cook
Cyd Poe,32,Basel,nurse
Dan Fox,33,Chur,
Eve Kay,33,Chur,cook
"""
PLAN = """[source]
path = "people.csv"

[columns.name]
role = "identifier"

[columns.age]
role = "quasi-identifier"
hierarchy = { widths = [5] }

[columns.town]
role = "quasi-identifier"
hierarchy = "towns.csv"

[columns.job]
role = "sensitive"

[[require]]
model = "k-anonymity"
k = 2

[[require]]
model = "l-diversity"
sensitive = "job"
l = 2
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "people.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "towns.csv").write_text("Bern;west;*\nBasel;west;*\nChur;east;*\nGenf;west;*\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path / "plan.toml"
