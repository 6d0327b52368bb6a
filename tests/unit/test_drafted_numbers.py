"""Drafts publish no numbers of people, whatever they are called, and leave amounts and counts in."""

from __future__ import annotations

import random
import tomllib

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.persons import names_people, says_number
from sfumato.data.schema import Role

ROWS = 300
ICD = ("E11.9", "I10.0", "J45.1", "F32.1")


def _drafted(**columns):
    found = sf.draft(pa.table(columns))
    return found, {guess.name: guess.role for guess in found.guesses}


def _rows_of_people(name, number, *, born):
    chance = random.Random(1)
    rows = []
    for person in range(80):
        for_life = {"sex": chance.choice("mf"), "born": chance.randint(1940, 2000)} if born else {}
        for _ in range(chance.randint(1, 5)):
            rows.append({name: number(person), "dx": chance.choice(ICD), "cost": chance.randint(10, 5000)} | for_life)
    return sf.draft(pa.Table.from_pylist(rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("versichertennr", "idpaciente", "cpr", "fnr", "lfdnr", "NUHSA", "kundennr", "numpaciente", "Patientno"),
        *("codigo_paciente", "numero_assure", "matricule", "klantnr", "nr utente", "member_no", "num_dossier"),
    ],
)
@pytest.mark.parametrize("number", [lambda person: 1000 + 37 * person, lambda person: f"X{1000 + 37 * person}"])
@pytest.mark.parametrize("born", [True, False])
def test_numbers_of_people_that_recur_are_asked_about_and_rows_put_together(name, number, born):
    found = _rows_of_people(name, number, born=born)
    assert tomllib.loads(found.text)["source"]["person"] == name
    assert f"{name}: is it the number of a person" in found.questions[0]


def test_short_numbers_of_any_name_are_those_of_people_where_rows_agree_in_sex_and_birth():
    def number(person):
        return 100 + 7 * person

    assert tomllib.loads(_rows_of_people("zzz", number, born=True).text)["source"]["person"] == "zzz"
    assert "person" not in tomllib.loads(_rows_of_people("zzz", number, born=False).text)["source"]


def test_an_age_agrees_with_the_year_of_birth_and_is_nobodys_number():
    years = [1940 + row * 7 % 60 for row in range(ROWS)]
    found, role_of = _drafted(dx=[ICD[row % 3] for row in range(ROWS)], born=years, jahre=[2024 - y for y in years])
    assert "person" not in tomllib.loads(found.text)["source"]
    assert role_of["jahre"] is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize(
    "cells",
    [
        [random.Random(row).randrange(10**9) for row in range(ROWS)],
        [1000 + 37 * row for row in range(ROWS)],
        [10 * row for row in range(ROWS)],
        [float(10**10 + 7919 * row) if row % 8 else None for row in range(ROWS)],
        [-9 if row % 20 == 0 else 4_000_000 + 7919 * row for row in range(ROWS)],
        [378_585_173 + 7_654_321 * (row % 40) for row in range(ROWS)],
        [(1_457_389_201, 1_457_389_202, 1_457_389_203)[row % 3] for row in range(ROWS)],
        [*range(1_234_567, 1_234_575)],
    ],
    ids=["drawn", "in steps", "in tens", "floats with gaps", "with -9", "recurring", "three of them", "few rows"],
)
def test_numbers_that_can_only_name_somebody_are_left_out(cells):
    found, role_of = _drafted(zzz=cells, age=[20 + row % 50 for row in range(len(cells))])
    assert role_of["zzz"] is Role.IDENTIFIER
    assert role_of["age"] is Role.QUASI_IDENTIFIER
    assert found.plan.schema.spec("zzz").role is Role.IDENTIFIER


def test_amounts_and_counts_are_no_numbers_of_people():
    chance = random.Random(2)
    columns = {
        "umsatz": [int(chance.lognormvariate(10, 1)) for _ in range(ROWS)],
        "kaufpreis": [1000 * chance.randint(100, 999) for _ in range(ROWS)],
        "costs": [chance.randint(10_000, 99_999) for _ in range(ROWS)],
        "paid": [round(chance.uniform(5, 900), 2) for _ in range(ROWS)],
        "schritte": [chance.randint(800, 25_000) for _ in range(ROWS)],
        "admissions": [chance.randint(0, 9) for _ in range(ROWS)],
        "number_of_children": [chance.randint(0, 5) for _ in range(ROWS)],
        "yyyymm": [100 * chance.randint(2015, 2024) + chance.randint(1, 12) for _ in range(ROWS)],
        "plz": [chance.choice([10_115, 80_331, 50_667]) for _ in range(ROWS)],
    }
    found, role_of = _drafted(**columns)
    assert {name for name, role in role_of.items() if role is not Role.QUASI_IDENTIFIER} == set()
    assert "person" not in tomllib.loads(found.text)["source"]


def test_a_number_of_the_insurance_is_no_insurance():
    for name in ("insurance_no", "hospital number", "Aufnahmenr", "num_assurance"):
        cells = [f"A{10**6 + 7919 * row}" for row in range(ROWS)]
        _, role_of = _drafted(**{name: cells, "age": [20 + row % 50 for row in range(ROWS)]})
        assert role_of[name] is Role.IDENTIFIER, name


@pytest.mark.parametrize(
    "name", ["number_of_children", "no_children", "num_patients", "numero figli", "covid", "Raumnr"]
)
def test_small_tables_are_not_put_together_by_how_many_there_are(name):
    cells = [row * 7 % 5 for row in range(90)]
    found, role_of = _drafted(**{name: cells, "dx": [ICD[row % 3] for row in range(90)], "age": [*range(20, 65)] * 2})
    assert "person" not in tomllib.loads(found.text)["source"]
    assert role_of[name] is Role.QUASI_IDENTIFIER


def test_names_tell_numbers_from_how_many():
    assert [name for name in ("caseNo", "Fallnr", "SITEID", "numero di tessera", "imsi") if not says_number(name)] == []
    counts = ("numberofkids", "No of visits", "num_pacientes", "numero ricoveri", "unpaid", "Covid")
    assert [name for name in counts if says_number(name)] == []
    assert [name for name in ("house_number", "bed_no", "Zimmernr", "phone_no") if names_people(name)] == []
