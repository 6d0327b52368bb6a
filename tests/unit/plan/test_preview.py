"""What a plan will do, told before it is done."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from sfumato.data.files import Source
from sfumato.data.schema import Kind
from sfumato.drafting import draft
from sfumato.errors import DataError, PlanError
from sfumato.plan import Plan
from sfumato.plan.preview import SAMPLE_ROWS, preview
from sfumato.plan.values import PopulationOptions


def a_plan(tmp_path, columns, data="age,job,ill,name\n31,cook,flu,Ann\n45,nurse,cold,Bob\n"):
    (tmp_path / "people.csv").write_text(data, encoding="utf-8")
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


def test_keys_that_say_nothing_of_a_format_are_told_and_change_nothing(tmp_path):
    plan = a_plan(tmp_path, COLUMNS)
    given = replace(plan, source=replace(plan.source, sheet="Sheet 1", labels=False, separator=",", header=True))

    said = "Not used, since the format 'csv' has no such thing: [source] sheet, labels."
    assert preview(given, every_row=True).warnings == (*preview(plan, every_row=True).warnings, said)


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
    (tmp_path / "jobs.csv").write_text("8001;80**;*\n8002;80**;*\n", encoding="utf-8")

    with pytest.raises(PlanError, match="'job'"):
        preview(a_plan(tmp_path, {**COLUMNS, "job": WRONG}))
    (tmp_path / "jobs.csv").write_text("cook;work;*\nnurse;work;*\n", encoding="utf-8")
    assert preview(a_plan(tmp_path, {**COLUMNS, "job": WRONG})).columns[1].hierarchy_levels == 2


@pytest.mark.parametrize(
    ("population", "words"),
    [(None, "no such file"), ("age,place\n31,Rom\n", "lacks: job"), ("age,job\n31,cook\n", None)],
)
@pytest.mark.parametrize("of_plan", [False, True], ids=["k-map", "population"])
def test_a_table_of_people_that_is_not_there_or_lacks_columns_is_found_without_reading_it(
    tmp_path, population, words, of_plan
):
    plan = a_plan(tmp_path, COLUMNS)
    asked = {"require": [{"model": "k-map", "k": 2, "population": "p.csv"}]}
    more = {"population": {"path": "p.csv"}} if of_plan else asked
    plan = Plan.from_dict({**plan.document, **more}, base=tmp_path)
    if population is not None:
        (tmp_path / "p.csv").write_text(population, encoding="utf-8")

    if words is None:
        assert preview(plan).rows == 2
    else:
        with pytest.raises(PlanError, match=words):
            preview(plan)


@pytest.mark.parametrize("name", ["local-recoding", "full-domain", "mondrian"])
def test_hierarchies_that_an_anonymizer_needs_are_asked_for_before_all_data_are_read(tmp_path, name):
    document = a_plan(tmp_path, COLUMNS).document
    asked = [{"model": "k-anonymity", "k": 200, "anonymizer": name}]
    plan = Plan.from_dict({**document, "require": asked}, base=tmp_path)

    if name == "mondrian":
        assert preview(plan).rows == 2, "too few for k, but these are the first rows only"
    else:
        with pytest.raises(PlanError, match="have none: 'age'"):
            preview(plan)


@pytest.mark.parametrize(
    "more", [{"source": {"weight": "w"}}, {"source": {"household": "w"}}, {"measure": {"target": "w"}}]
)
def test_a_column_that_the_plan_counts_on_has_to_be_there_though_another_line_gives_its_role(tmp_path, more):
    document = a_plan(tmp_path, {"age": COLUMNS["age"], "*": {"role": "other"}}).document
    more = {key: {**document.get(key, {}), **given} for key, given in more.items()}

    with pytest.raises(DataError, match="does not have: 'w'"):
        preview(Plan.from_dict({**document, **more}, base=tmp_path))


def test_every_row_is_read_where_that_is_asked_for(tmp_path):
    (tmp_path / "jobs.csv").write_text("cook;work;*\nnurse;work;*\n", encoding="utf-8")
    rows = "31,cook,flu,Ann\n" * SAMPLE_ROWS + "45,smith,cold,Bob\n"
    plan = a_plan(tmp_path, {**COLUMNS, "job": WRONG}, f"age,job,ill,name\n{rows}")

    first = preview(plan)
    assert (first.rows, first.whole) == (SAMPLE_ROWS, False)
    with pytest.raises(PlanError, match="'job'"):
        preview(plan, every_row=True)
    (tmp_path / "jobs.csv").write_text("cook;work;*\nnurse;work;*\nsmith;work;*\n", encoding="utf-8")
    everything = preview(plan, every_row=True)
    assert (everything.rows, everything.whole) == (SAMPLE_ROWS + 1, True)


def test_a_population_that_is_too_small_is_found_in_every_row(tmp_path):
    plan = replace(a_plan(tmp_path, COLUMNS), population=PopulationOptions(size=1))

    assert preview(plan).rows == 2
    with pytest.raises(DataError, match="1 people, but the table is about 2"):
        preview(plan, every_row=True)
    numbered = replace(plan, schema=replace(plan.schema, person="job"), population=PopulationOptions(size=2))
    rows = "31,cook,flu,Ann\n31,cook,cold,Ann\n45,nurse,cold,Bob\n"
    (tmp_path / "people.csv").write_text(f"age,job,ill,name\n{rows}", encoding="utf-8")
    assert preview(numbered, every_row=True).rows == 3, "two people"


HOSPITAL = "Name;Größe;geboren;Ort;\r\n" + "".join(f"Ann{i};1,{50 + i};{1 + i}.12.1980;NA;\r\n" for i in range(20))


def test_how_the_source_is_written_is_said_and_settable(tmp_path):
    (tmp_path / "stays.csv").write_bytes(HOSPITAL.encode("windows-1252"))
    columns = {name: {"role": "quasi-identifier"} for name in ("Größe", "geboren", "Ort")}
    document = {
        "source": {"path": "stays.csv"},
        "columns": {"Name": {"role": "identifier"}, **columns},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
    seen = preview(Plan.from_dict(document, tmp_path))
    reading = seen.as_dict()["reading"]
    assert {key: each["value"] for key, each in reading.items()} == {
        "format": "csv",
        "encoding": "windows-1252",
        "separator": ";",
        "header": True,
        "decimal": ",",
        "dates": "day-month-year",
    }
    assert {column.name: column.kind for column in seen.columns if column.kind} == {
        "Größe": Kind.NUMBER,
        "geboren": Kind.DATE,
        "Ort": Kind.CATEGORY,
    }
    assert "Column 'Ort' has cells that look like missing ones: 'NA'" in " ".join(seen.warnings)
    document["source"] |= {"encoding": "latin-1", "decimal": ".", "missing": ["", "NA"]}
    again = preview(Plan.from_dict(document, tmp_path))
    assert again.as_dict()["reading"]["encoding"] == {"value": "latin-1", "reason": "the plan says so"}
    assert next(column.kind for column in again.columns if column.name == "Größe") is Kind.CATEGORY
    assert not any("look like missing" in warning for warning in again.warnings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"encoding": "klingon"}, "unknown encoding, 'klingon'"),
        ({"decimal": ";"}, "decimal"),
        ({"dates": "dmy"}, "day-month-year"),
        ({"header": "no"}, "header"),
        ({"format": "xls"}, "format"),
    ],
)
def test_settings_of_the_source_that_are_none_are_refused(tmp_path, settings, said):
    document = {
        "source": {"path": "a.csv", **settings},
        "columns": {"a": {"role": "quasi-identifier"}},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
    with pytest.raises(PlanError, match=said):
        Plan.from_dict(document, tmp_path)


def test_a_draft_says_how_its_source_is_written(tmp_path):
    (tmp_path / "stays.csv").write_bytes(HOSPITAL.encode("windows-1252"))
    text = draft(Source(tmp_path / "stays.csv", header=True), tmp_path).text
    for line in ('encoding = "windows-1252"  #', "header = true\n", 'decimal = ","  #', 'dates = "day-month-year"  #'):
        assert line in text
    Plan.from_dict(tomllib.loads(text), tmp_path)
