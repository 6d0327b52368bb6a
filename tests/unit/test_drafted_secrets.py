"""Drafts know secrets: by short names in seven languages, by codes that look like numbers, by what the cells say."""

from __future__ import annotations

import random
import tomllib

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.schema import Kind, Role
from sfumato.drafting.shapes import Names, names_in, shape_of
from sfumato.drafting.words import roles_by_name, tell_secrets

ROWS = 300
LAST = ("Yilmaz", "Grabowski", "Achebe", "Nowak", "Oberhuber", "Verbruggen", "Teixeira", "Quattrocchi")


def _drafted(**columns):
    chance = random.Random(5)
    known = {"age": [chance.randint(18, 90) for _ in range(ROWS)], "sex": [chance.choice("fm") for _ in range(ROWS)]}
    table = pa.table({name: pa.array([each(chance) for _ in range(ROWS)]) for name, each in columns.items()} | known)
    found = sf.draft(table)
    return found, {guess.name: guess for guess in found.guesses}, table


@pytest.mark.parametrize(
    "names",
    [
        "sick_days tumour_stage seropositive offense_desc credit_score GPA drug_use scholarship",
        "Krankmeldungen Depr Pflegegrad GdB Bürgergeld Verdienst_mtl Vorstrafen Blutdruck Förderbedarf",
        "sal_brut arret_mal_j RQTH sérologie bourse condamnation alcool tumeur",
        "alergias cirugía beca sanción condena ideología_1_10 incapacidad seropositivo",
        "stadio morfologia esito_test causa_morte retribuzione condanne sieropositività allergie",
        "verzuimreden uitslag letsel bijstand veroordelingen geloof beoordeling",
        "óbito_causa lesão remuneração incumprimento partido avaliação gravidez bolsa",
    ],
    ids=["english", "german", "french", "spanish", "italian", "dutch", "portuguese"],
)
def test_short_names_of_secrets_are_known(names):
    assert [name for name in names.split() if roles_by_name(name)[:1] != [Role.SENSITIVE]] == []


def test_words_that_only_begin_like_secrets_are_none():
    names = ("participant_age", "krankenkasse", "salarie", "dipendente", "departmental", "wahlkreis", "pensioner")
    assert [name for name in names if Role.SENSITIVE in roles_by_name(name)] == []


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["250.00", "401.9", "486", "042", "296.20"], "ICD-9 codes"),
        (["V30.00", "401.9", "486", "650", "296.20", "174.9", "414.01"], "ICD-9 codes"),
        (["e11.9", "i10", "j45.0"], "ICD-10 codes"),
        (["E11.90 G", "I10.90 V", "J45.0 G"], "ICD-10 codes"),
        (["65170839J003", "12 190367 K 003", "02 010180 M 511"], "social security numbers"),
        (["756.1234.5678.97", "756.9217.0769.85"], "social security numbers"),
        (["QQ123456C", "AB 12 34 56 D"], "social security numbers"),
        (["85.07.30-033.28", "28/12345678/40"], "social security numbers"),
        (["120.5", "133.0", "118.5", "124.0"], None),
        (["120", "133", "118.5", "124"], None),
        (["101", "102", "V30"], None),
        (["8500/3", "8140/3", "9680/3"], "codes of tumours"),
        (["5-470.0", "5-820.00", "8-930", "8-800.c0"], "codes of procedures"),
        (["CC", "CT", "TT"], "genotypes"),
        (["A/A", "A/G", "G/G"], "genotypes"),
        (["CA", "GA", "CT"], None),
    ],
)
def test_codes_are_told_from_measurements_and_places(cells, what):
    numbers = all(cell.replace(".", "", 1).isdecimal() for cell in cells)
    found = shape_of(cells, 0.1, numbers=numbers)
    assert (found.what if found else None) == what


def test_codes_that_read_as_numbers_stay_as_they_are_written():
    _, guess_of, _ = _drafted(v7=lambda chance: chance.choice(["250.00", "401.9", "486", "042", "296.20"]))
    assert (guess_of["v7"].role, guess_of["v7"].kind) == (Role.SENSITIVE, Kind.CATEGORY)


def test_what_cells_say_makes_a_secret_whatever_the_column_is_called():
    found, guess_of, _ = _drafted(
        v1=lambda chance: chance.choice(["neg"] * 9 + ["pos"]),
        v2=lambda chance: chance.choice(["griep", "burn-out", "zwangerschap", "anders"]),
        v3=lambda chance: chance.choice(["Katholisch", "Evangelisch", "Keine"]),
        v4=lambda chance: chance.choice(["north", "south", "east"]),
    )
    assert [guess_of[name].role for name in ("v1", "v2", "v3")] == [Role.SENSITIVE] * 3
    assert guess_of["v4"].role is Role.QUASI_IDENTIFIER
    assert found.questions[0].startswith("v1, v2, v3: are these results of tests, illnesses")
    assert not tell_secrets([])


def test_many_digits_with_signs_between_are_left_out_and_ranges_are_not():
    found, guess_of, _ = _drafted(
        f1=lambda chance: chance.choice([f"6{number} 0{number} 077" for number in range(11, 31)]),
        f2=lambda chance: chance.choice([f"{number}/4711/2023-XA" for number in range(11, 31)]),
        f3=lambda chance: chance.choice(["10000-19999", "20000-49999", "50000-99999", "100000-150000"]),
        f4=lambda chance: chance.choice(["2019/2020", "2020/2021", "2021/2022"]),
    )
    assert [guess_of[name].role for name in ("f1", "f2")] == [Role.IDENTIFIER] * 2
    assert [guess_of[name].role for name in ("f3", "f4")] == [Role.QUASI_IDENTIFIER] * 2
    assert any(question.startswith("f1, f2: does it number people?") for question in found.questions)


def test_scales_are_not_widened_by_codes_for_no_answer():
    found, _, _ = _drafted(
        mood=lambda chance: chance.choice([1, 2, 3, 4, 5, -9, -8, 99]),
        kilos=lambda chance: chance.choice([-9, -9, -9, -9, *range(50, 91)]),
    )
    columns = tomllib.loads(found.text)["columns"]
    assert columns["mood"]["hierarchy"] == {"flat": True}
    assert max(columns["kilos"]["hierarchy"]["widths"]) < 50


def test_sentences_with_commas_are_no_sets():
    def told(chance):
        return f"called {chance.choice(LAST)} about the bill, will come back in {chance.randint(2, 9)} weeks"

    _, guess_of, _ = _drafted(c9=told)
    assert guess_of["c9"].role is Role.IDENTIFIER


def test_initials_are_names_and_a_few_letters_are_not():
    assert names_in(list("ABCDEFGHJKLM"), 0.02) is Names.LIKELY
    assert names_in([f"{one}.{two}." for one in "ABCD" for two in "KLM"], 0.02) is Names.LIKELY
    assert names_in(list("ABCD"), 0.02) is Names.NO


def test_days_are_generalized_and_number_nobody_whatever_they_are_called():
    def day(chance):
        return f"{chance.randint(2019, 2020)}-{chance.randint(1, 12):02d}-{chance.randint(1, 9):02d}"

    found, guess_of, _ = _drafted(data_incid=day, diagnosis_date=day)
    assert guess_of["data_incid"].role is guess_of["diagnosis_date"].role is Role.QUASI_IDENTIFIER
    assert "person" not in tomllib.loads(found.text)["source"]


@pytest.mark.slow
def test_secrets_beside_many_quasi_identifiers_are_masked_and_the_draft_runs():
    columns = {f"a{number}x": lambda chance: chance.randint(0, 40) for number in range(13)}
    found, guess_of, table = _drafted(
        **columns,
        dx=lambda chance: chance.choice(["E11.9", "I10", "J45.0", "F32.1", "C50.9"]),
        salary=lambda chance: chance.randrange(1500, 9000),
    )
    assert guess_of["dx"].role is guess_of["salary"].role is Role.SENSITIVE
    run = sf.anonymize(table, found.plan, seed=1, measure=False, attack=False)
    assert {verdict.model.name for verdict in run.verdicts} == {"k-anonymity", "multi-diversity"}
    assert all(verdict.satisfied for verdict in run.verdicts)
