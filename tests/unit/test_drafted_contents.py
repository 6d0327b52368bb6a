"""An unedited draft publishes no name and no contact, wherever in a cell it stands; illnesses are taken for nobody."""

from __future__ import annotations

import json
import random
import tomllib

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data import contents
from sfumato.data.contents import personal_values
from sfumato.data.schema import Role
from sfumato.plan.preview import preview

ROWS = 400
EPONYMS = (
    "Ménière disease",
    "Charcot-Marie-Tooth disease type 1A",
    "Pierre Robin sequence",
    "Gilles de la Tourette syndrome",
    "Martin-Bell syndrome",
    "Duane retraction syndrome 2",
    "Von Hippel-Lindau disease",
    "Marie Unna hereditary hypotrichosis",
    "Marcus Gunn phenomenon",
    "Alexander disease",
    "Morbus Crohn",
    "Maladie de Charcot",
    "Syndrome de Marie Unna",
    "AV Block 2",
    "Recurrent E. coli infections",
    "Mucopolysaccharidosis IVA",
    "Deafness, autosomal dominant 12",
    "Electroencephalographic peculiarity: 14 and 6 per sec. positive spikes",
)
PERSONAL = (
    "HIV (Tom Roth)",
    "Roth, Tom",
    "ROTH THOMAS",
    "Łukasz Brzęczyszczykiewicz",
    "Jean-Pierre N'Diaye",
    "Ольга Смирнова",
    "siehe Frau Kowalczyk",
    "ref. Mme Dujardin",
    "pani Wróblewska",
    "Oma Ingrid",
    "Ayşe Bey",
    "write to t.roth@mail.org",
    "t_roth (at) mail.org",
    "tel. 0171/2345678",
    "+34 612 345 678",
    "0532 123 45 67",
    "06-12345678",
    "DE89370400440532013000",
    "4111 1111 1111 1111",
    "RSSMRA85T10A562S",
    "756.9217.0769.85",
    "85073003328",
    "12345678Z",
    "J45 - Lindenweg 5a",
    "12 rue de la Paix",
    "C/ Alcalá 120",
    "ul. Długa 5/3",
    "221B Baker Street",
    "Kerkstraat 12",
    '{"name": "x", "dx": 1}',
    "She said that it hurt. Then he went home to his wife and did not come back.",
)


@pytest.mark.parametrize("text", PERSONAL)
def test_names_contacts_and_free_text_are_found_in_one_value_of_many(text):
    assert personal_values([*EPONYMS, "flu", text]) == 1


def test_illnesses_that_are_named_after_people_are_no_names():
    assert personal_values(EPONYMS) == 0


@pytest.mark.parametrize(
    "values",
    [
        ["10000-19999", "2019/2020", "2024-05-31", "31.05.2024 10:30", "1.234.567", "0.12345678", "HP:0001250"],
        ["San Jose", "Santa Maria", "Sankt Anna", "St. Louis", "Port Elizabeth", "North Carolina", "Berlin"],
        ["Lycée Jean Moulin", "Anne Frank Gesamtschule", "Martin Luther School"],
        ["Stufe 1", "Stufe 2", "Stufe 3", "im Monat 3"],
        ["never-married", "Married-civ-spouse", "Exec-managerial", "Holand-Netherlands", "Female"],
    ],
    ids=["numbers", "places", "schools", "levels", "census"],
)
def test_numbers_places_and_categories_are_no_people(values):
    assert personal_values(values) == 0


def test_a_given_name_alone_counts_where_many_values_have_one():
    illnesses = [f"illness {number}" for number in range(20)]
    assert personal_values([*illnesses, "flu (Ingrid)"]) == 0
    assert personal_values([*illnesses, "flu (Ingrid)"], alone=True) == 1
    assert personal_values([f"flu ({name})" for name in ("Ingrid", "Tom", "Luc")]) == 3


def test_of_very_many_values_the_same_sample_is_tested_each_time(monkeypatch):
    monkeypatch.setattr(contents, "MOST_TESTED", 100)
    monkeypatch.setattr(contents, "SAMPLED", 50)
    values = [f"Tom Roth{'a' * (number % 7)} {chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(101)]
    values = [value if number % 2 else f"code {number}" for number, value in enumerate(values)]
    found = personal_values(values)
    assert 0 < found <= 50
    assert personal_values(values) == found


def _clinic(chance):
    """A German clinic: names in brackets behind some diagnoses, phones among companions, doctors beside wards."""
    first = ("Ortwin", "Gesche", "Hauke", "Stefan", "Anja", "Jürgen")
    last = ("Osterkamp", "Brüggemann", "Sieveking", "Dörfler", "Zschoche")

    def name():
        return f"{chance.choice(first)} {chance.choice(last)}"

    def companion():
        phone = f"Sohn, Tel. 0171 {chance.randrange(1000000, 9999999)}"
        return chance.choice(["", "allein", f"Ehefrau {name()}", phone])

    def diagnosis():
        told = chance.choice(["Pneumonie", "Sepsis", "COPD"])
        return told + (f" (Rücksprache {name()})" if chance.random() < 0.1 else "")

    table = {
        "Alter": [chance.randrange(18, 95) for _ in range(ROWS)],
        "Geschlecht": [chance.choice("mw") for _ in range(ROWS)],
        "Diagnose": [diagnosis() for _ in range(ROWS)],
        "Begleitung": [companion() for _ in range(ROWS)],
        "Station": [chance.choice(["3A Dr. Osterkamp", "3B Frau Dörfler", "4C"]) for _ in range(ROWS)],
    }
    return table, (*first, *last, "0171")


def _charity(chance):
    """A Polish charity: authorized people as sets, a JSON object, numbers of accounts behind codes."""
    first = ("Halszka", "Katarzyna", "Piotr", "Zofia", "Wojciech")
    last = ("Wróblewska", "Szczepański", "Gołębiewski", "Mazur")

    def name():
        return f"{chance.choice(first)} {chance.choice(last)}"

    def people():
        return ";".join(sorted({name() for _ in range(chance.randrange(1, 4))}))

    def benefit():
        return chance.choice(["500+", "500+ PL61109010140000071219812874", "brak"])

    table = {
        "wiek": [chance.randrange(18, 95) for _ in range(ROWS)],
        "sex": [chance.choice("fm") for _ in range(ROWS)],
        "upoważnieni": [people() for _ in range(ROWS)],
        "plan": [json.dumps({"lead": name(), "goal": chance.choice(["praca", "dom"])}) for _ in range(ROWS)],
        "benefit": [benefit() for _ in range(ROWS)],
        "visits": [[name(), "jan"][: chance.randrange(1, 3)] for _ in range(ROWS)],
    }
    return table, (*first, *last, "PL6110")


@pytest.mark.slow
@pytest.mark.parametrize("made", [_clinic, _charity])
def test_releases_by_unedited_drafts_hold_no_name_and_no_contact(made):
    columns, planted = made(random.Random(3))
    table = pa.table(columns)
    assert all(any(word in str(row) for row in columns.values()) for word in planted)
    drafted = sf.draft(table)
    run = sf.anonymize(table, drafted.plan, seed=1, measure=False, attack=False)
    published = str(run.release.data.to_pydict())
    assert [word for word in planted if word in published] == []
    asked = [question for question in drafted.questions if "names, contacts" in question]
    assert asked
    assert not any(word in question for word in planted for question in drafted.questions)


def test_a_column_with_names_is_dropped_with_a_question_that_names_it_and_their_number():
    chance = random.Random(5)
    told = ["HIV (Tom Roth)", "flu", "asthma", "cancer (Udo Pohl)"]
    table = pa.table({"age": [chance.randrange(90) for _ in range(ROWS)], "diagnosis": told * (ROWS // 4)})
    drafted = sf.draft(table)
    assert {guess.name: guess.role for guess in drafted.guesses}["diagnosis"] is Role.IDENTIFIER
    (asked,) = [question for question in drafted.questions if question.startswith("diagnosis:")]
    assert "2 different values" in asked
    assert "Roth" not in drafted.text


def test_plans_that_people_wrote_are_warned_of_names_in_counts_alone(tmp_path):
    (tmp_path / "cases.csv").write_text(
        "age,dx,seen,place\n" + "30,HIV (Tom Roth),by Anja Vogt,Ulm\n31,flu,-,Ulm\n" * 9,
        encoding="utf-8",
    )
    (tmp_path / "plan.toml").write_text(
        '[source]\npath = "cases.csv"\n[columns.age]\nrole = "quasi-identifier"\n[columns.place]\nrole = "other"\n'
        '[columns.dx]\nrole = "sensitive"\n[columns.seen]\nrole = "other"\n[[require]]\nmodel = "k-anonymity"\nk = 2\n',
        encoding="utf-8",
    )
    plan = sf.Plan.load(tmp_path / "plan.toml")
    run = sf.run(plan, tmp_path / "run", measure=False, attack=False)
    for warnings in (preview(plan, every_row=True).warnings, run.facts["warnings"]):
        found = [warning for warning in warnings if "look like names" in warning]
        assert ["'dx'" in found[0], "'seen'" in found[1], len(found)] == [True, True, 2]
        assert all("1 of 2 different values" in warning and "Roth" not in warning for warning in found)


def test_secrets_stay_secrets_in_a_table_without_quasi_identifiers():
    chance = random.Random(5)
    table = pa.table({"diagnosis": [chance.choice(["flu", "HIV", "asthma"]) for _ in range(ROWS)]})
    drafted = sf.draft(table)
    assert drafted.guesses[0].role is Role.SENSITIVE
    run = sf.anonymize(table, drafted.plan, seed=1, measure=False, attack=False)
    assert all(verdict.satisfied for verdict in run.verdicts)
    assert any("all rows form one class" in warning for warning in run.facts["warnings"])


@pytest.mark.parametrize("anonymizer", ["local-recoding", "mondrian", "full-domain", "microaggregation"])
def test_without_quasi_identifiers_all_rows_form_one_class(anonymizer):
    asked = {"model": "l-diversity", "sensitive": "dx", "l": 3, "anonymizer": anonymizer}
    plan = sf.Plan.from_dict({"columns": {"dx": {"role": "sensitive"}}, "require": [asked]})
    run = sf.anonymize(pa.table({"dx": ["flu", "HIV", "asthma"] * 9}), plan, seed=1, measure=False, attack=False)
    assert sorted(run.release.data["dx"].to_pylist()) == sorted(["flu", "HIV", "asthma"] * 9)
    with pytest.raises(sf.Unsatisfiable):
        sf.anonymize(pa.table({"dx": ["flu", "HIV"] * 9}), plan, seed=1)
    with pytest.raises(sf.PlanError, match="quasi-identifier"):
        sf.Plan.from_dict({"columns": {"dx": {"role": "sensitive"}}, "require": [{"model": "k-anonymity", "k": 2}]})


def test_two_valued_secrets_and_salaries_are_judged_by_closeness():
    chance = random.Random(5)
    table = pa.table(
        {
            "age": [chance.randrange(20, 60) for _ in range(ROWS)],
            "HIV": [chance.choice(["", "", "", "x"]) for _ in range(ROWS)],
        }
    )
    paid = table.set_column(1, "salary", pa.array([chance.randrange(1500, 9000) for _ in range(ROWS)]))
    asked = tomllib.loads(sf.draft(table).text)["require"][1:]
    assert asked == [{"model": "t-closeness", "sensitive": "HIV", "t": 0.2}]
    asked = tomllib.loads(sf.draft(paid).text)["require"][1:]
    assert asked == [{"model": "t-closeness", "sensitive": "salary", "t": 0.2, "distance": "ordered"}]
