"""People with several rows: found by their number, counted by class, never shown."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from commands import told
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.persons import Alike, Persons, number_columns, people_per_class, repeated_persons
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema

PLAN = """
[source]
path = "stays.csv"
[columns.{number}]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = {{ widths = [10] }}
[columns.ill]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
"""


def schema_of(**roles: Role) -> Schema:
    return Schema({name: ColumnSpec(name=name, role=role) for name, role in roles.items()})


def test_columns_that_may_number_people_are_known_by_role_and_name():
    schema = schema_of(
        patient_id=Role.OTHER,
        case_id=Role.IDENTIFIER,
        PatNr=Role.IDENTIFIER,
        hash=Role.IDENTIFIER,
        id=Role.OTHER,
        Proband=Role.IDENTIFIER,
        person=Role.OTHER,
    )

    assert number_columns(schema.columns, schema) == ("patient_id", "PatNr", "hash", "Proband")


def test_sets_and_dates_number_nobody():
    specs = (ColumnSpec(name=f"patient_no_{kind}", role=Role.IDENTIFIER, kind=kind) for kind in Kind)
    schema = Schema({spec.name: spec for spec in specs})

    found = number_columns(schema.columns, schema)

    assert found == ("patient_no_number", "patient_no_category", "patient_no_ordered")


def test_a_number_that_repeats_is_found_and_the_finer_one_preferred():
    table = pa.table({"stay_id": [1, 2, 3, 4, 5], "a_id": [1, 1, 2, 3, 4], "b_id": [1, 1, 2, 2, 3]})

    found = repeated_persons(table, table.column_names, ())

    assert (found.column, found.people, found.rows) == ("a_id", 4, 5)
    assert repeated_persons(table, ["stay_id"], ()) is None


def test_what_says_that_it_is_a_person_goes_before_what_does_not():
    table = pa.table({"id": [*range(150), 0], "patient_id": [0] * 151})

    assert repeated_persons(table, ["id", "patient_id"], ()).column == "patient_id"
    assert repeated_persons(pa.table({"id": [0] * 151}), ["id"], ()) is None  # of something else than a person
    assert repeated_persons(pa.table({"id": [*range(150), 0]}), ["id"], ()) is None  # a slip


def test_rows_without_a_number_are_people_of_their_own():
    table = pa.table({"patient_id": ["a", "a", "", None, "?"]})

    assert repeated_persons(table, ["patient_id"], ("", "?")).people == 4


@pytest.mark.parametrize("dropped", [None, [1, 5]])
def test_people_of_a_class_are_counted_once_each(dropped):
    chance = np.random.default_rng(3)
    ages, persons = chance.integers(0, 4, 40), chance.integers(0, 12, 40).astype(np.int32)
    dataset: Dataset = encode(pa.table({"age": ages}), schema_of(age=Role.QUASI_IDENTIFIER))
    labelled = Labelled(codes=dataset.column("age").codes, labels=("young", "old", "old", "oldest"))
    keep = None if dropped is None else ~np.isin(np.arange(40), dropped)

    found = people_per_class(dataset, Recoding({"age": labelled}, keep_row=keep), Persons("id", persons, 12))

    label_of = dict(zip(range(4), labelled.labels, strict=True))
    rows = [row for row in range(40) if dropped is None or row not in dropped]
    alike: dict[str, set[int]] = {}
    for row in rows:
        alike.setdefault(label_of[int(ages[row])], set()).add(int(persons[row]))
    assert sorted(found.tolist()) == sorted(len(people) for people in alike.values())


def test_classes_with_few_people_are_counted():
    assert Alike.of(np.array([1, 2, 5, 1, 9]), k=5) == Alike(classes=5, k=5, below=3, alone=2)


@pytest.fixture
def stays(tmp_path):
    """Each of eight people has four rows, all of one age: any three of them are one person."""
    rows = [
        f"P{person}X,{20 + 10 * person},{'flu' if stay % 2 else 'cold'}" for person in range(8) for stay in range(4)
    ]
    (tmp_path / "stays.csv").write_text("\n".join(["patient_id,age,ill", *rows]), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(number="patient_id"), encoding="utf-8")
    return plan


def test_explain_warns_of_several_rows_a_person(stays):
    warnings = told("explain", stays)["warnings"]

    assert any("Column 'patient_id' numbers 8 people on 32 rows" in warning for warning in warnings)


def test_a_run_warns_in_its_facts_and_its_report_with_how_many_classes_hold_too_few_people(stays, tmp_path):
    found = told("anonymize", stays, "--out", tmp_path / "run")

    assert found["persons"] == {"column": "patient_id", "people": 8, "rows": 32} | {
        "classes": 8,
        "k": 3,
        "below": 8,
        "alone": 8,
    }
    assert "8 of 8 classes hold fewer than 3 people, 8 a single person." in found["warnings"][1]
    page = (tmp_path / "run" / "private" / "report.html").read_text(encoding="utf-8")
    assert "holds, but for rows, not for people: 8 of 8 classes hold fewer than 3 people" in page
    assert "Rows counted, not people" in page


def test_no_number_of_a_person_is_kept_anywhere(stays, tmp_path):
    told("anonymize", stays, "--out", tmp_path / "run")

    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert b"P3X" not in kept


def test_numbers_of_something_else_bring_no_warning(stays, tmp_path):
    stays.write_text(PLAN.format(number="ward_id"), encoding="utf-8")
    data = tmp_path / "stays.csv"
    data.write_text(data.read_text(encoding="utf-8").replace("patient_id", "ward_id"), encoding="utf-8")

    assert told("anonymize", stays, "--out", tmp_path / "run")["persons"] is None
    assert not any("numbers" in warning for warning in told("explain", stays)["warnings"])
