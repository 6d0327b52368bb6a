"""Dates of birth in drafts: known by their names, and more detailed than other dates."""

import datetime

import pyarrow as pa
import pytest

from sfumato.data.schema import Role
from sfumato.drafting.words import is_birth
from sfumato.drafting.writing import BIRTH_WEIGHT, draft_table

DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(days=97 * row) for row in range(200)]
STAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=row) for row in range(200)]


@pytest.mark.parametrize(
    "name",
    [
        "Né(e) le",
        "Née le",
        "date_naissance",
        "Geburtsdatum",
        "geb. am",
        "Geb.-Dat.",
        "fecha de nacimiento",
        "F. Nac.",
        "data di nascita",
        "nato il",
        "geboortedatum",
        "data de nascimento",
        "dtNasc",
        "DOB",
        "BirthDate",
    ],
)
def test_births_are_known_in_seven_languages_and_count_more_than_stays(name):
    columns = draft_table(pa.table({name: DAYS, "Aufnahme": STAYS})).plan.schema.columns

    assert {each.role for each in columns.values()} == {Role.QUASI_IDENTIFIER}
    assert (columns[name].weight, columns["Aufnahme"].weight) == (BIRTH_WEIGHT, 1)


@pytest.mark.parametrize("name", ["Aufnahmedatum", "date d'entrée", "fecha de alta", "discharged", "nationality_since"])
def test_other_dates_are_no_births(name):
    assert not is_birth(name)


def test_births_alone_need_no_weight():
    assert "weight" not in draft_table(pa.table({"born": DAYS, "sex": ["f", "m"] * 100})).text
