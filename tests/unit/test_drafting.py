"""Drafts of plans: guesses with reasons, in a plan that runs as it is."""

from __future__ import annotations

import csv
import datetime
import random
import tomllib

import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.data.files import Source
from sfumato.data.gathering import Gather
from sfumato.data.schema import Kind, Role
from sfumato.drafting import draft
from sfumato.drafting.columns import set_separator
from sfumato.errors import DataError
from sfumato.plan.preview import preview

SYMPTOMS = ["fever", "cough", "rash", "pain", "ache", "chills"]


def write(path, columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return path


def drafted(tmp_path, columns):
    found = draft(Source(path=write(tmp_path / "t.csv", columns)), tmp_path)
    return found, {guess.name: guess for guess in found.guesses}


def days(chance, n, first=1940, last=2010):
    start = datetime.date(first, 1, 1)
    return [start + datetime.timedelta(days=chance.randrange(365 * (last - first))) for _ in range(n)]


@pytest.fixture
def people():
    chance = random.Random(2)
    n = 400
    education = [chance.choice(["school", "college", "bachelor", "master"]) for _ in range(n)]
    disease = [chance.choice(["flu", "cold", "asthma", "angina"]) for _ in range(n)]
    return {
        "Name": [f"Person {row}" for row in range(n)],
        "patientId": list(range(1000, 1000 + n)),
        "age": ["?" if row == 3 else chance.randint(18, 90) for row in range(n)],
        "zip": [f"{chance.choice([10115, 10117, 20095, 80331, 80333, 80469]):05d}" for _ in range(n)],
        "born": days(chance, n),
        "symptoms": ["|".join(chance.sample(SYMPTOMS, chance.randint(1, 4))) for _ in range(n)],
        "salary": [chance.choice([1000, 2000, 3000]) for _ in range(n)],
        "education": education,
        "education_years": [{"school": 9, "college": 13, "bachelor": 15, "master": 17}[value] for value in education],
        "disease": disease,
        "group": [{"flu": "A", "cold": "B", "asthma": "C", "angina": "D"}[value] for value in disease],
        "note": [f"seen on day {row}, came back in week {chance.random()}" for row in range(n)],
        "weight_kg": ["unknown" if row % 90 == 0 else round(chance.uniform(45, 120), 1) for row in range(n)],
        "constant": ["x"] * n,
    }


def test_roles_are_guessed_with_reasons(tmp_path, people):
    _, found = drafted(tmp_path, people)

    roles = {name: guess.role for name, guess in found.items()}
    assert roles == {
        "Name": Role.IDENTIFIER,
        "patientId": Role.IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
        "zip": Role.QUASI_IDENTIFIER,
        "born": Role.QUASI_IDENTIFIER,
        "symptoms": Role.ITEMS,
        "salary": Role.SENSITIVE,
        "education": Role.QUASI_IDENTIFIER,
        "education_years": Role.QUASI_IDENTIFIER,
        "disease": Role.SENSITIVE,
        "group": Role.SENSITIVE,
        "note": Role.IDENTIFIER,
        "weight_kg": Role.QUASI_IDENTIFIER,
        "constant": Role.OTHER,
    }
    assert all(guess.reason and guess.warning for guess in found.values())


def test_dependence_on_other_columns_is_said(tmp_path, people):
    _, found = drafted(tmp_path, people)

    assert "says the same as 'education'" in found["education_years"].reason
    assert found["group"].reason == "says the same as 'disease'"


def test_kinds_and_hierarchies_fit_the_values(tmp_path, people):
    _, found = drafted(tmp_path, people)

    assert (found["age"].kind, found["age"].lines) == (Kind.NUMBER, ("hierarchy = { widths = [5, 10, 50] }",))
    assert (found["zip"].kind, found["zip"].lines) == (Kind.CATEGORY, ("hierarchy = { prefix = [4, 2] }",))
    assert found["born"].lines == ('hierarchy = { dates = ["month", "quarter", "year", "decade"] }',)
    assert (found["symptoms"].kind, found["symptoms"].lines) == (
        Kind.SET,
        ('separator = "|"', "sensitive_items = { share = 1 }  # all of them; or name the secrets"),
    )
    assert found["weight_kg"].kind is Kind.NUMBER
    assert found["education"].lines == ("hierarchy = { flat = true }",)


def test_the_draft_is_toml_with_a_warning_beside_every_guess(tmp_path, people):
    found, guesses = drafted(tmp_path, people)
    document = tomllib.loads(found.text)

    assert document["source"] == {"path": "t.csv", "missing": ["?", "unknown"]}
    assert document["require"][0] == {"model": "k-anonymity", "k": 5}
    assert document["require"][1] == {
        "model": "multi-diversity",
        "sensitive": ["salary", "disease", "group"],
        "alpha_sa": 0.5,
        "alpha_qi": 0.5,
    }
    asked = {"model": "rho-uncertainty", "column": "symptoms", "rho": 0.7, "within": "classes"}
    assert document["require"][2] == asked
    assert document["draft"]["questions"] == list(found.questions)
    assert found.text.count("# guess: ") == found.text.count("# if wrong: ") == len(guesses)


def test_no_column_with_several_values_is_published_as_it_is_without_a_requirement(tmp_path, people):
    found, guesses = drafted(tmp_path, people)

    plan = sf.Plan.from_dict(tomllib.loads(found.text), tmp_path)
    judged = {name for model in plan.policy for name in model.judged_columns}
    for name, guess in guesses.items():
        if guess.role in (Role.OTHER, Role.SENSITIVE):
            assert name in judged or len(set(people[name])) == 1


@pytest.mark.parametrize("usual", ["no", ""])
def test_a_secret_that_hardly_anybody_has_is_left_out_and_asked_for(tmp_path, usual):
    n = 200
    columns = {"age": [20 + row % 50 for row in range(n)], "hiv": ["yes" if row == 7 else usual for row in range(n)]}

    found, guesses = drafted(tmp_path, columns)

    assert guesses["hiv"].role is Role.IDENTIFIER
    assert any(question.startswith("hiv: is it a secret that few people have") for question in found.questions)


@pytest.mark.parametrize(
    ("name", "tick", "role"),
    [("hiv", "x", Role.SENSITIVE), ("box7", "pos", Role.SENSITIVE), ("box7", "x", Role.QUASI_IDENTIFIER)],
)
def test_a_box_that_is_ticked_or_not_has_two_values(tmp_path, name, tick, role):
    columns = {
        "age": [20 + row % 50 for row in range(200)],
        name: [tick if row % 5 == 0 else "" for row in range(200)],
    }

    _, guesses = drafted(tmp_path, columns)

    assert guesses[name].role is role


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "digits", "question"),
    [
        ("hh_weight", 0, "is it a survey weight"),
        ("pweight", 2, "is it a survey weight"),
        ("fnlwgt", 0, "is it a survey weight"),
        ("wt", 4, "is it a survey weight"),
        ("Gewicht", 5, "is it a survey weight"),
        ("poids", 6, "is it a survey weight"),
        ("peso", 3, "is it a survey weight"),
        ("latitude", 5, "is it a place on the map"),
        ("home_lon", 4, "is it a place on the map"),
    ],
)
def test_survey_weights_and_places_are_left_out_and_asked_for(tmp_path, people, name, digits, question):
    chance = random.Random(3)
    cells = [round(chance.uniform(40, 90), digits or None) for _ in people["age"]]
    found, guesses = drafted(tmp_path, {**people, name: cells})

    assert guesses[name].role is Role.IDENTIFIER
    [asked] = [each for each in found.questions if each.startswith(f"{name}: ")]
    assert question in asked
    assert ("survey" not in question) or f'weight = "{name}" under [source]' in asked
    assert found.plan.schema.spec(name).role is Role.IDENTIFIER


def test_what_a_body_weighs_is_no_survey_weight(tmp_path, people):
    cells = [round(random.Random(row).uniform(45, 120), 1) for row in range(len(people["age"]))]
    _, guesses = drafted(tmp_path, {**people, "weight": cells, "long": [str(row % 3) for row in range(len(cells))]})

    assert guesses["weight"].role is Role.QUASI_IDENTIFIER
    assert guesses["weight_kg"].role is Role.QUASI_IDENTIFIER
    assert guesses["long"].role is Role.QUASI_IDENTIFIER


def test_several_rows_for_each_person_are_noticed(tmp_path):
    columns = {"person_id": [row // 4 for row in range(400)], "age": [20 + row // 4 % 50 for row in range(400)]}

    found, _ = drafted(tmp_path, columns)

    assert found.questions[0].startswith("person_id: is it the number of a person, on 4.0 rows each?")
    assert found.plan.gather == Gather(person="person_id")


def test_rows_of_a_person_are_put_together_in_a_draft_that_runs(tmp_path):
    chance = random.Random(5)
    columns = {
        "stay": [f"S{row:04d}" for row in range(400)],
        "patient_id": [row % 90 for row in range(400)],
        "birth_year": [1940 + row % 90 % 45 for row in range(400)],
        "admission": [f"2024-{1 + row % 12:02d}-{1 + row % 28:02d}" for row in range(400)],
        "zip": [chance.choice(["10115", "10117", "80331", "80333"]) for _ in range(400)],
        "diagnosis": [chance.choice(["I10", "E11", "J45", "F32"]) for _ in range(400)],
        "income": [chance.randrange(900, 6000) for _ in range(400)],
    }

    found, guesses = drafted(tmp_path, columns)

    asked = found.plan.gather
    assert asked is not None
    assert (asked.person, asked.order) == ("patient_id", "admission")
    hows = {column.name: column.how for column in asked.columns}
    assert hows == {"admission": "last", "zip": "last", "diagnosis": "set", "income": "mean"}
    assert guesses["diagnosis"].role is Role.ITEMS
    assert guesses["stay"].role is guesses["patient_id"].role is Role.IDENTIFIER
    assert sf.run(found.plan, tmp_path / "run", measure=False, attack=False).facts["release"]["rows"] == 90


def test_events_without_anything_that_others_know_are_drafted_so_that_they_run(tmp_path):
    columns = {
        "person_id": [row % 90 for row in range(400)],
        "condition_code": [f"I{row * 7 % 11}" for row in range(400)],
        "condition_start_date": [f"2024-{1 + row % 12:02d}-{1 + row % 28:02d}" for row in range(400)],
    }

    found, guesses = drafted(tmp_path, columns)

    assert guesses["condition_code"].role is Role.ITEMS
    assert guesses["condition_start_date"].role is Role.QUASI_IDENTIFIER
    assert sf.run(found.plan, tmp_path / "run", measure=False, attack=False).facts["release"]["rows"] == 90


def test_a_number_of_people_with_gaps_is_not_gathered_by(tmp_path):
    columns = {"patient_id": [row // 4 or "" for row in range(400)], "age": [20 + row // 4 % 50 for row in range(400)]}

    found, _ = drafted(tmp_path, columns)

    assert found.plan.gather is None
    assert "give every row its number" in found.questions[0]


def test_many_quasi_identifiers_are_warned_of_and_still_run(tmp_path):
    chance = random.Random(1)
    columns = {f"answer{number}": [chance.choice("abc") for _ in range(60)] for number in range(20)}

    found, _ = drafted(tmp_path, columns)

    assert any("20 columns were taken" in warning for warning in found.warnings)
    assert list(tomllib.loads(found.text)["columns"]) == ["answer*"]
    assert tomllib.loads(found.text)["require"][0]["anonymizer"] == "mondrian"


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["a|b", "b|c|a", "c"], "|"),
        (["a; b", "b;c; a", "c"], ";"),
        (["401 250", "250 272 401", "272"], " "),
        (["milk,bread", "bread,milk", "milk,bread,beer"], ","),
        (["1,5", "2,5", "1,7", "2,7"], None),  # decimal commas
        (["48.1,11.5", "48.2,11.5", "48.1,11.6"], None),  # places on a map
        (["Smith, Ann", "Smith, Bob", "Jones, Ann", "Jones, Bob"], None),
        (["went home, felt well", "slept badly, ate well", "nothing, really"], None),
        (["x", "y", "z"], None),
    ],
)
def test_sets_are_told_from_text_with_commas(cells, separator):
    assert set_separator(cells) == separator


def test_columns_that_are_numbered_through_but_differ_stay_apart(tmp_path):
    chance = random.Random(1)
    columns = {f"answer{number}": [chance.choice("abc") for _ in range(60)] for number in range(8)}
    columns["answer9"] = [f"p{row}@example.org" for row in range(60)]

    found, _ = drafted(tmp_path, columns)

    assert len(tomllib.loads(found.text)["columns"]) == 9


def test_names_with_quotes_dots_and_line_breaks_survive(tmp_path):
    columns = {'a."b"': [1, 2, 3] * 5, "two\nlines": [4, 5, 6] * 5, "\x7fage": [7, 8, 9] * 5}

    found, _ = drafted(tmp_path, columns)

    assert set(tomllib.loads(found.text)["columns"]) == set(columns)


def test_transactions_are_drafted_with_every_item_a_secret(tmp_path):
    (tmp_path / "baskets.txt").write_text("1 2 3\n2 3\n1 4\n" * 20, encoding="utf-8")

    runs_untouched(tmp_path / "baskets.txt", tmp_path)

    plan = sf.Plan.load(tmp_path / "plan.toml")
    assert [model.name for model in plan.policy] == ["rho-uncertainty"]
    assert "1" in plan.schema.columns["items"].sensitive_items
    assert any("which members are secrets" in question for question in plan.questions)


def test_where_all_columns_name_people_nothing_is_drafted(tmp_path):
    columns = {"email": [f"p{row}@example.org" for row in range(30)], "id": list(range(30))}

    with pytest.raises(DataError, match="nothing is left to publish"):
        drafted(tmp_path, columns)


def test_runs_of_a_draft_say_that_it_is_one(tmp_path, people):
    found, _ = drafted(tmp_path, people)
    document = tomllib.loads(found.text)

    plan = sf.Plan.from_dict(document, tmp_path)
    answered = sf.Plan.from_dict({**document, "draft": {"questions": []}}, tmp_path)

    assert plan.questions == found.questions
    assert any("The plan is a draft" in warning for warning in plan.warnings())
    assert not any("The plan is a draft" in warning for warning in answered.warnings())


# A zoo of tables: whatever comes, the draft passes `explain` and `anonymize` as it is.


def _mixed(chance, n):
    return {
        "Vorname": [chance.choice(["Ada", "Bob", "Cy"]) for _ in range(n)],
        "geburtsdatum": [f"{d.day:02d}.{d.month:02d}.{d.year}" for d in days(chance, n)],
        "visit": [int(f"{d:%Y%m%d}") for d in days(chance, n, 2020, 2024)],
        "icd": [chance.choice(["E11.9", "E11.0", "I10", "J45.1", "J45.9", "C34.1", "C34.9"]) for _ in range(n)],
        "gain": [chance.choice([0, 0, 0, chance.randrange(10**6)]) for _ in range(n)],
    }


def _late_surprise(chance, n):
    return {
        "level": [*(chance.randint(0, 9) for _ in range(n - 1)), "a bit more"],
        "when": [*days(chance, n - 1), "soon"],
    }


def _stars(chance, n):
    return {
        "rating": [chance.choice(["*", "**", "***"]) for _ in range(n)],
        "code": [f"1{row % 7}*" for row in range(n)],
    }


def _ragged_codes(chance, n):
    return {"code": [chance.choice(["1", "12", "123", "1234", "2", "21", "3*"]) for _ in range(n)]}


def _tiny_floats(chance, n):
    return {
        "a": [chance.random() * 1e-9 for _ in range(n)],
        "b": [chance.random() * 1e18 for _ in range(n)],
        "c": [-chance.random() for _ in range(n)],
        "d": [f"{chance.random():.3e}" for _ in range(n)],
    }


def _truth(chance, n):
    return {"ill": [chance.choice(["true", "false"]) for _ in range(n)], "sex": [chance.choice("mf") for _ in range(n)]}


def _gaps(chance, n):
    return {
        "age": [chance.choice(["", "NA", chance.randint(1, 99)]) for _ in range(n)],
        "empty": [""] * n,
        "disease": [chance.choice(["", "flu", "cold"]) for _ in range(n)],
    }


def _moments(chance, n):
    return {"seen": [f"{day}T{chance.randrange(24):02d}:00:00" for day in days(chance, n, 2023, 2024)]}


def _secrets_only(chance, n):
    return {"disease": [chance.choice("abc") for _ in range(n)], "salary": [chance.randrange(9) for _ in range(n)]}


def _sets_and_ages(chance, n):
    return {
        "age": [chance.randint(20, 70) for _ in range(n)],
        "drugs": [",".join(chance.sample(SYMPTOMS, chance.randint(1, 3))) for _ in range(n)],
    }


def _odd_text(chance, n):
    return {
        "Größe (cm)": [chance.randint(150, 200) for _ in range(n)],
        "comment, or not": [chance.choice(['"', "'", "\\", "#", "a;b", "tab\there", "[x]"]) for _ in range(n)],
        "[red]": [chance.choice("xyz") for _ in range(n)],
    }


ZOO = [
    *(_mixed, _late_surprise, _stars, _ragged_codes, _tiny_floats, _truth, _gaps, _moments, _secrets_only),
    *(_sets_and_ages, _odd_text),
]


def runs_untouched(path, tmp_path):
    (tmp_path / "plan.toml").write_text(draft(Source(path=path), tmp_path).text, encoding="utf-8")
    plan = sf.Plan.load(tmp_path / "plan.toml")
    preview(plan)
    assert all(verdict.satisfied for verdict in sf.run(plan, tmp_path / "out").verdicts)


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 120])
@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.__name__.strip("_"))
def test_drafts_run_untouched(animal, n, tmp_path):
    runs_untouched(write(tmp_path / "t.csv", animal(random.Random(n), n)), tmp_path)


@pytest.mark.slow
def test_drafts_of_everything_at_once_run_untouched(tmp_path, people):
    runs_untouched(write(tmp_path / "t.csv", people), tmp_path)


@pytest.mark.slow
def test_drafts_of_typed_tables_run_untouched(tmp_path):
    chance = random.Random(4)
    n = 100
    moments = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=chance.randrange(9000)) for _ in range(n)]
    table = pa.table(
        {
            "born": days(chance, n),
            "seen": pa.array(moments, pa.timestamp("us", "UTC")),
            "tall": pa.array([chance.choice([True, False, None]) for _ in range(n)]),
            "weight": pa.array([chance.choice([None, chance.uniform(40, 99)]) for _ in range(n)], pa.float32()),
            "disease": pa.array([chance.choice("abc") for _ in range(n)]).dictionary_encode(),
            "symptoms": [chance.sample(SYMPTOMS, 2) for _ in range(n)],
            "nothing": pa.nulls(n),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")

    runs_untouched(tmp_path / "t.parquet", tmp_path)


def test_words_for_no_answer_are_asked_about_in_seven_languages(tmp_path):
    words = ("unknown", "unbekannt", "inconnu", "Desconocido", "sconosciuto", "onbekend", "não sabe")
    for word in words:
        path = tmp_path / "people.csv"
        path.write_text(
            "sex;n\n" + "".join(f"{['m', 'w', word, '-9'][n % 4]};{n}\n" for n in range(80)), encoding="utf-8"
        )
        (question,) = [each for each in draft(Source(path), tmp_path).questions if "no answer" in each]
        assert question.startswith(f"sex: do {word}, -9 stand for no answer?")


@pytest.mark.slow
@pytest.mark.parametrize("cells", [("?", ""), ("NA", "?"), ("nan", "null"), ("*", ""), ("*", None), ("NULL", None)])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_box_is_ticked_with_what_means_nothing_elsewhere(cells, elsewhere):
    """Such a column looked empty, and was published as it is."""
    chance = random.Random(3)
    ages = [str(chance.randint(20, 60)) for _ in range(300)]
    if elsewhere:
        ages[::7] = [cells[0]] * len(ages[::7])
    hiv = [chance.choice(cells) for _ in range(300)]
    frame = pa.table({"hiv": hiv, "age": ages, "sex": [chance.choice("mf") for _ in range(300)]})

    found = sf.draft(frame)

    role_of = {guess.name: guess.role for guess in found.guesses}
    left_out = cells[0] == "*" or (elsewhere and cells != ("NA", "?") and cells != ("nan", "null"))
    assert role_of["hiv"] is (Role.IDENTIFIER if left_out else Role.SENSITIVE)
    assert any(question.startswith("hiv: is it a box that is ticked") for question in found.questions) is left_out
    released = sf.anonymize(frame, found.plan, measure=False, attack=False).release.data
    assert ("hiv" in released.column_names) is not left_out


def test_columns_without_any_value_are_published_as_they_are():
    frame = pa.table({"age": [20 + row % 4 for row in range(60)], "a": ["*"] * 60, "b": [""] * 60, "c": [None] * 60})

    assert [guess.role for guess in sf.draft(frame).guesses] == [Role.QUASI_IDENTIFIER, *[Role.OTHER] * 3]
