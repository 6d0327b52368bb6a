"""Drafts publish no names: not those of staff, of whom there are few, nor one that is the same in all rows."""

from __future__ import annotations

import csv
import datetime
import random
import tomllib

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.files import Source
from sfumato.data.names import words_of
from sfumato.data.schema import Role
from sfumato.drafting import draft
from sfumato.drafting.shapes import Names, names_in, shape_of
from sfumato.drafting.words import is_about_who, is_first_of_all_who

ROWS = 300


def _words(text):
    return tuple(text.split())


FIRST = _words("Zeynep Torsten Agnieszka Bjarne Kwame Siobhan Yusuf Ngozi Matej Brunhilde Thijs Marieke Beppe")
LAST = _words(
    "Yilmaz Grabowski Achebe Nowak Hinterseer Oberhuber Verbruggen Teixeira Figueiredo Mastroianni Quattrocchi "
    "Beaulieu Desrosiers Etxeberria Iglesias Schulze Krueger Lindqvist Vandenbroucke O'Brien Kovacs Dabrowski"
)
ICD = _words("E11.90 I10.00 J44.1 C50.9 F20.0 K35.8 S72.00 M17.1 N39.0 G35.9")


def _one_of(*values):
    return lambda chance, row: chance.choice(values)


def _number(low, high):
    return lambda chance, row: chance.randint(low, high)


def _day(first, last, spelled):
    start, days = datetime.date(first, 1, 1), 365 * (last - first)
    return lambda chance, row: (start + datetime.timedelta(days=chance.randrange(days))).strftime(spelled)


FULL = lambda chance, row: f"{chance.choice(FIRST)} {chance.choice(LAST)}"  # noqa: E731
STAFF = _one_of(*LAST[:6])  # few, and each again and again
TICK = lambda chance, row: "x" if chance.random() < 0.15 else ""  # noqa: E731
CODE = lambda chance, row: f"P{row // 3:04d}"  # noqa: E731
ROOM = lambda chance, row: f"{chance.choice('ABC')}{chance.randrange(1, 60):02d}"  # noqa: E731

# What each column truly is: N a name of a person, D another direct identifier, Q a quasi-identifier, S a secret.
TABLES = {
    "Entbindungen": {
        "Mutter": ("N", FULL),
        "Hebamme": ("N", STAFF),
        "Behandelnder Arzt": ("N", lambda chance, row: f"Dr. med. {chance.choice(LAST[:7])}"),
        "Stationsleiter": ("N", STAFF),
        "Geb.-Dat. Mutter": ("Q", _day(1975, 2004, "%d.%m.%Y")),
        "Kasse": ("Q", _one_of("AOK", "TK", "BARMER", "DAK")),
        "Fehlgeburten": ("S", _number(0, 4)),
        "Drogen": ("S", TICK),
        "Diag1": ("S", _one_of(*ICD)),
    },
    "ressources humaines": {
        "Salarié": ("N", FULL),
        "Responsable": ("N", STAFF),
        "Chef de service": ("N", STAFF),
        "Personne à prévenir": ("N", FULL),
        "Salaire brut": ("S", _number(1800, 9000)),
        "Arrêts maladie": ("S", _number(0, 40)),
        "Adhérent syndical": ("S", _one_of("oui", "non")),
        "Date d'embauche": ("Q", _day(1995, 2023, "%d/%m/%Y")),
    },
    "banco": {
        "Titular": ("N", FULL),
        "Gestor": ("N", STAFF),
        "Avalista": ("N", FULL),
        "Saldo": ("S", _number(-900, 90_000)),
        "Morosidad": ("S", TICK),
        "Hipoteca": ("S", _number(0, 300_000)),
        "Estado civil": ("Q", _one_of("soltero", "casado", "viudo")),
    },
    "ambulatorio": {
        "Assistito": ("N", FULL),
        "Medico di base": ("N", STAFF),
        "Patologia": ("S", _one_of("diabete", "asma", "epilessia")),
        "Tossicodipendenza": ("S", TICK),
        "Nato il": ("Q", _day(1930, 2015, "%d/%m/%Y")),
    },
    "ggz": {
        "Achternaam cliënt": ("N", _one_of(*LAST)),
        "Behandelaar": ("N", STAFF),
        "Contactpersoon": ("N", FULL),
        "DSM": ("S", _one_of("ADHD", "depressie", "PTSS", "autisme")),
        "Suïcidaal": ("S", _one_of("J", "N")),
        "Verslaving": ("S", _one_of("alcohol", "cannabis", "geen")),
        "Geb.dat": ("Q", _day(1950, 2010, "%d-%m-%Y")),
    },
    "escola": {
        "Aluno": ("N", FULL),
        "Diretor de turma": ("N", STAFF),
        "Encarregado de educação": ("N", FULL),
        "Turma": ("Q", _one_of("5A", "5B", "6A", "6B")),
        "Data nasc.": ("Q", _day(2008, 2014, "%d-%m-%Y")),
    },
    "clinic": {
        "Attending": ("N", STAFF),
        "therapy_lead": ("N", STAFF),
        "probation_officer": ("N", _one_of(*LAST)),
        "treatment_provider": ("N", FULL),
        "code": ("D", CODE),
        "room": ("Q", ROOM),
        "member_no": ("D", lambda chance, row: f"{12_000 + row // 3}-{row // 3 % 7}"),
        "Dx": ("S", _one_of(*ICD)),
        "age": ("Q", _number(18, 90)),
    },
    "no header": {
        "column_1": ("N", _one_of(*LAST[:16])),
        "column_2": ("N", _one_of(*FIRST[:4])),
        "column_3": ("N", _one_of(*LAST[:2])),
        "column_4": ("Q", _number(18, 90)),
        "column_5": ("S", _one_of(*ICD)),
    },
    "one doctor": {
        "doctor": ("N", _one_of("Grabowski")),
        "exported by": ("N", _one_of("Brunhilde Schulze")),
        "reply to": ("D", _one_of("ward7@clinic.example")),
        "diagnosis": ("S", _one_of("HIV")),
        "age": ("Q", _number(18, 90)),
    },
}


@pytest.fixture(scope="module")
def drafts(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("tables"), {}
    for number, (table, columns) in enumerate(TABLES.items()):
        chance = random.Random(100 + number)
        path = folder / f"{number}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=";")
            writer.writerow(columns)
            writer.writerows([make(chance, row) for _, make in columns.values()] for row in range(ROWS))
        found[table] = draft(Source(path, header=True), folder)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_no_name_and_no_number_of_a_person_is_published(drafts, table):
    role_of = {guess.name: guess.role for guess in drafts[table].guesses}
    people = [name for name, (truth, _) in TABLES[table].items() if truth in "ND"]
    assert [name for name in people if role_of[name] is not Role.IDENTIFIER] == []


@pytest.mark.parametrize("table", TABLES)
def test_no_secret_and_nothing_that_others_know_is_published_as_it_is(drafts, table):
    judged = str(tomllib.loads(drafts[table].text)["require"])
    for guess in drafts[table].guesses:
        truth = TABLES[table][guess.name][0]
        if truth == "Q":
            assert guess.role in (Role.QUASI_IDENTIFIER, Role.IDENTIFIER), guess
        elif truth == "S":
            assert guess.role is Role.IDENTIFIER or repr(guess.name) in judged, guess


def test_a_name_says_first_of_all_who_it_is_in_the_order_of_its_language():
    people = ("probation_officer", "Stationsleiter", "Chef de service", "Jefe de planta", "insurance agent")
    others = ("customer_country", "patient_city", "doctor_visits", "Leiterplatte_Preis", "age")
    assert [name for name in people if not is_first_of_all_who(name)] == []
    assert [name for name in others if is_first_of_all_who(name)] == []
    assert is_about_who("patient_city")
    assert words_of("Chef-de_serviceX2") == ["chef", "de", "service", "x", "2"]


def test_where_customers_live_is_not_who_they_are(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{20 + row % 60},{('France', 'Spain', 'Italy')[row % 3]}\n" for row in range(200))
    path.write_text("age,customer_country\n" + rows, encoding="utf-8")
    assert [guess.role for guess in draft(Source(path), tmp_path).guesses] == [Role.QUASI_IDENTIFIER] * 2


def test_numbers_of_people_are_not_taken_for_codes_of_diseases_or_tests():
    assert shape_of([f"P{number:04d}" for number in range(100)], 0.3) is None
    assert shape_of([f"{letter}{number:02d}" for letter in "ABC" for number in range(20)], 0.1) is None
    assert shape_of(["E11", "I10", "J45", "C34", "F32", "K50"], 0.1).what == "ICD-10 codes"
    assert shape_of([f"{12_000 + number}-{number % 7}" for number in range(100)], 0.3) is None
    assert names_in([f"P{number:04d}" for number in range(100)], 0.3) is Names.NO


def test_surnames_with_small_words_before_them_are_names_as_others_are():
    surnames = ["Kowalski", "Brückner", "von Stetten", "van den Berg", "d'Angelo", "de la Cruz", "in 't Veld"]
    assert names_in(surnames, 0.01) is Names.PERHAPS
    assert names_in(["de facto", "de jure", "la mer", "el mar"], 0.01) is Names.NO


def test_months_are_no_names_of_people():
    assert (
        names_in(["January", "February", "March", "April", "May", "June", "Not Applicable", "Unknown"], 0.01)
        is Names.NO
    )
    assert names_in(["Januar", "März", "Mai"], 0.01) is Names.NO
    assert names_in(["Jan", "Piotr", "Agnieszka"], 0.01) is Names.SURELY


def test_codes_that_only_their_shape_tells_are_the_first_question(drafts):
    assert "are these ICD-10 codes?" in drafts["no header"].questions[0]
    assert drafts["no header"].questions[0].startswith("column_5")


def test_sets_beside_what_others_know_are_safe_from_who_knows_it(tmp_path):
    chance = random.Random(1)
    members = ["fever", "cough", "rash", "ache"]
    for known in (True, False):
        rows = [
            [*([chance.randint(20, 60)] if known else []), "|".join(chance.sample(members, chance.randint(1, 3)))]
            for _ in range(200)
        ]
        path = tmp_path / "a.csv"
        path.write_text(
            "\n".join([",".join(["age"] * known + ["ills"]), *(",".join(map(str, row)) for row in rows)]),
            encoding="utf-8",
        )
        (asked,) = [
            each
            for each in tomllib.loads(draft(Source(path), tmp_path).text)["require"]
            if each["model"] == "rho-uncertainty"
        ]
        assert asked.get("within") == ("classes" if known else None)


def test_whose_rows_agree_in_sex_and_birth_is_asked_about_whatever_its_name(tmp_path):
    chance = random.Random(3)
    people = [(f"K{number:05d}", chance.choice("mf"), chance.randint(1940, 2000)) for number in range(120)]
    rows = [(*person, chance.choice(ICD)) for person in people for _ in range(chance.randint(1, 4))]
    path = tmp_path / "a.csv"
    for born in (True, False):
        lines = [f"{xref},{sex},{year if born else chance.randint(1940, 2000)},{icd}" for xref, sex, year, icd in rows]
        path.write_text("\n".join(["xref,sex,born,diagnosis", *lines]), encoding="utf-8")
        found = draft(Source(path), tmp_path)
        assert (tomllib.loads(found.text)["source"].get("person") == "xref") is born
        assert ("xref: is it the number of a person" in found.questions[0]) is born


def test_numbers_of_places_and_of_who_is_born_on_many_days_are_no_people(tmp_path):
    chance = random.Random(5)
    rows = [(number % 40, chance.choice("mf"), chance.randint(1940, 2000), chance.choice(ICD)) for number in range(400)]
    path = tmp_path / "a.csv"
    for name in ("SITEID", "cell_id", "gpid"):
        path.write_text(
            "\n".join([f"{name},sex,born,diagnosis", *(",".join(map(str, row)) for row in rows)]), encoding="utf-8"
        )
        assert "person" not in tomllib.loads(draft(Source(path), tmp_path).text)["source"], name
    slips = [
        (number // 3, "mf"[number // 3 % 2], 1940 + (number // 3) % 60 + (number % 50 == 0), "I10")
        for number in range(400)
    ]
    path.write_text(
        "\n".join(["pid,sex,born,diagnosis", *(",".join(map(str, row)) for row in slips)]), encoding="utf-8"
    )
    assert tomllib.loads(draft(Source(path), tmp_path).text)["source"]["person"] == "pid"


def test_codes_for_no_answer_among_measurements_are_asked_about(tmp_path):
    chance = random.Random(4)
    rows = [
        f"{chance.choice(['-9', *(f'{chance.uniform(50, 99):.1f}' for _ in range(5))])},{chance.randint(-20, 40)}"
        for _ in range(300)
    ]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["kg,celsius", *rows]), encoding="utf-8")
    asked = [question for question in draft(Source(path), tmp_path).questions if "no answer" in question]
    assert asked == ["kg: do -9 stand for no answer? Then list them under [source] missing."]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([{"a": row} for row in range(60)]),
        pa.array([[{"a": row}] for row in range(60)]),
        pa.array([[["a"]]] * 60),
        pa.array([b"\xff", b"\xfe"] * 30),
    ],
)
def test_columns_of_types_that_nobody_reads_are_left_out_and_the_draft_runs(cells):
    frame = pa.table({"age": [20 + row % 4 for row in range(60)], "odd": cells})
    found = sf.draft(frame)
    assert [guess.role for guess in found.guesses] == [Role.QUASI_IDENTIFIER, Role.IDENTIFIER]
    assert found.questions[-1].startswith("odd: what is it?")
    assert sf.anonymize(frame, found.plan, measure=False, attack=False).release.data.column_names == ["age"]
