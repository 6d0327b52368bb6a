"""What a plan will do, told before it is done."""

from __future__ import annotations

import pytest

from sfumato.errors import DataError, PlanError
from sfumato.plan import Plan
from sfumato.plan.preview import SAMPLE_ROWS, preview


def a_plan(tmp_path, columns, data="age,job,ill,name\n31,cook,flu,Ann\n45,nurse,cold,Bob\n"):
    (tmp_path / "people.csv").write_text(data)
    document = {"source": {"path": "people.csv"}, "columns": columns, "require": [{"model": "k-anonymity", "k": 2}]}
    return Plan.from_dict(document, base=tmp_path)


COLUMNS = {
    "age": {"role": "quasi-identifier"},
    "job": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "ill": {"role": "sensitive"},
    "name": {"role": "identifier"},
}


def test_kinds_are_inferred_and_fates_told(tmp_path):
    found = {column["name"]: column for column in preview(a_plan(tmp_path, COLUMNS)).as_dict()["columns"]}

    assert (found["age"]["kind"], found["age"]["kind_inferred"]) == ("number", True)
    assert found["job"]["hierarchy_levels"] == 1
    assert found["name"]["fate"] == "dropped"
    assert "ranges" in found["age"]["fate"]
    assert found["ill"]["fate"] == "published as it is"


def test_columns_that_do_not_fit_are_found_without_reading_the_data(tmp_path):
    with pytest.raises(DataError, match="'wage'"):
        preview(a_plan(tmp_path, {**COLUMNS, "wage": {"role": "sensitive"}}))


def test_a_broken_hierarchy_is_found_in_the_sample(tmp_path):
    with pytest.raises(PlanError, match="'job'"):
        preview(a_plan(tmp_path, {**COLUMNS, "job": {"role": "quasi-identifier", "hierarchy": "none.csv"}}))


def test_a_plan_without_a_source_is_previewed_from_its_columns(tmp_path):
    plan = Plan.from_dict({"columns": COLUMNS, "require": [{"model": "k-anonymity", "k": 2}]})

    assert preview(plan).source is None
    assert [column.name for column in preview(plan).columns] == list(COLUMNS)


@pytest.mark.parametrize(("kind", "words"), [("date", "2 of its 2 distinct values"), ("number", None)])
def test_values_that_are_not_of_the_declared_kind_are_found_in_the_sample(tmp_path, kind, words):
    plan = a_plan(tmp_path, COLUMNS | {"age": {"role": "quasi-identifier", "kind": kind}})

    if words is None:
        assert preview(plan).columns[0].kind == kind
    else:
        with pytest.raises(PlanError, match=words):
            preview(plan)


WRONG = {"role": "quasi-identifier", "hierarchy": "jobs.csv"}


def test_a_hierarchy_that_does_not_cover_the_values_is_found(tmp_path):
    (tmp_path / "jobs.csv").write_text("8001;80**;*\n8002;80**;*\n")

    with pytest.raises(PlanError, match="'job'"):
        preview(a_plan(tmp_path, {**COLUMNS, "job": WRONG}))
    (tmp_path / "jobs.csv").write_text("cook;work;*\nnurse;work;*\n")
    assert preview(a_plan(tmp_path, {**COLUMNS, "job": WRONG})).columns[1].hierarchy_levels == 2


def test_every_row_is_read_where_that_is_asked_for(tmp_path):
    (tmp_path / "jobs.csv").write_text("cook;work;*\nnurse;work;*\n")
    rows = "31,cook,flu,Ann\n" * SAMPLE_ROWS + "45,smith,cold,Bob\n"
    plan = a_plan(tmp_path, {**COLUMNS, "job": WRONG}, f"age,job,ill,name\n{rows}")

    first = preview(plan)
    assert (first.rows, first.whole) == (SAMPLE_ROWS, False)
    with pytest.raises(PlanError, match="'job'"):
        preview(plan, every_row=True)
    (tmp_path / "jobs.csv").write_text("cook;work;*\nnurse;work;*\nsmith;work;*\n")
    everything = preview(plan, every_row=True)
    assert (everything.rows, everything.whole) == (SAMPLE_ROWS + 1, True)
