"""The page against facts as models and metrics really state them: whoever renames a fact learns it here."""

import json
import random

import pyarrow as pa
import pytest

from sfumato.attacks import attack_all
from sfumato.attacks.base import as_if_published
from sfumato.data.dataset import CodedColumn
from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.metrics import measure_all
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import describe
from sfumato.report import attacks, columns, losses, pictures, promises, verdict
from sfumato.report.page import PARTS, render
from sfumato.report.text import summary

JOBS = ("cook", "nurse", "clerk", "lawyer", "farmer")
SYMPTOMS = ("cough", "fever", "rash", "fatigue", "nausea", "headache")


@pytest.fixture(scope="module")
def real():
    """Facts of a release that was made by hand: ages in ranges, postcodes cut short."""
    chance = random.Random(1)
    ages = [chance.randint(18, 90) for _ in range(400)]
    codes = [f"{chance.choice((10, 10, 20, 80))}{chance.randint(1, 9)}" for _ in ages]
    table = {
        "age": [str(age) if age != 50 else "" for age in ages],
        "zip": codes,
        "stage": [chance.choice(("low", "middle", "high")) for _ in ages],
        "job": [chance.choice(JOBS) for _ in ages],
        "symptoms": ["|".join(chance.sample(SYMPTOMS, chance.randint(1, 3))) for _ in ages],
        "disease": [chance.choice(("flu", "measles", "asthma")) for _ in ages],
    }
    spec = {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "zip": ColumnSpec(name="zip", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "stage": ColumnSpec(
            name="stage", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDERED, domain=("low", "middle", "high")
        ),
        "job": ColumnSpec(name="job", role=Role.SENSITIVE),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
        "disease": ColumnSpec(name="disease", role=Role.SENSITIVE),
    }
    schema = Schema(spec)
    dataset = encode(pa.table(table), schema)
    kept = [row for row, age in enumerate(ages) if age != 50]
    districts = {code: "{" + "|".join(sorted({c for c in codes if c[:2] == code[:2]})) + "}" for code in codes}
    published = {name: [values[row] for row in kept] for name, values in table.items()}
    published["age"] = ["[18, 49]" if ages[row] < 50 else "[51, 90]" for row in kept]
    published["zip"] = [districts[codes[row]] for row in kept]
    published["stage"] = ["*"] * len(kept)
    published["symptoms"] = [cell.split("|")[0] for cell in published["symptoms"]]
    release = Release.from_table(pa.table(published), schema)
    models = (KAnonymity(k=5), LDiversity(sensitive="job", l=2), TCloseness(sensitive="disease", t=0.5))
    verdicts = [model.audit(release) for model in models]
    facts = {
        "format": 1,
        "made": "2025-11-16T08:05:00+00:00",
        "plan": {"path": "patients.toml", "sha256": "9f" * 32},
        "source": {"path": "patients.csv", "sha256": "3a" * 32, "rows": dataset.n_rows},
        "release": {"format": "csv", "rows": release.n_rows, "shuffled": True},
        "columns": [
            {"name": "name", "role": "identifier", "dropped": True},
            *(_described(column) for column in dataset.columns.values()),
            {"name": "ward", "role": "other"},
        ],
        "steps": [
            {
                "anonymizer": "mondrian",
                "options": {"strict": True},
                "requirements": [describe(model) for model in models],
                "why": "not every quasi-identifier has a hierarchy",
                "facts": {"cuts": 5},
            }
        ],
        "verdicts": [
            {**verdict.as_dict(), "text": str(verdict), "promise": verdict.model.promise, "limit": verdict.model.limit}
            for verdict in verdicts
        ],
        "measurements": [measurement.as_dict() for measurement in measure_all(dataset, release)],
        "attacks": [exposure.as_dict() for exposure in attack_all(release, as_if_published(dataset))],
        "timings": [{"step": "read", "seconds": 0.01, "cpu_seconds": 0.01}],
        "warnings": ["Rows keep their order."],
        "versions": {"sfumato": "0.1.0", "python": "3.11"},
    }
    return json.loads(json.dumps(facts))  # as run.json gives them back


def _described(column):
    entry = {"name": column.name, "role": column.role.value, "kind": column.kind.value, "values": len(column.labels)}
    if isinstance(column, CodedColumn):
        entry |= {"kind_inferred": column.kind_inferred, "missing": 0, "levels": None}
    return entry


def test_every_part_is_there(real):
    page = render(real)

    for name in PARTS:
        assert (f'<section id="{name}"' in page) == (name not in ("randomized", "masks"))
    assert "could not be shown" not in page


def test_every_attack_stands_beside_the_original_and_a_guess(real):
    shown = attacks.content(real)

    assert [card["title"] for card in shown["cards"]] == [entry["title"] for entry in real["attacks"]]
    for card in shown["cards"]:
        assert [line["side"] for line in card["lines"]] == ["Original", "Release", "A guess"]
    (linking,) = [card for card in shown["cards"] if "quasi-identifiers" in card["title"]]
    assert linking["lines"][0]["worst"] == "100%"


def test_every_column_has_a_picture(real):
    titles = [picture.title for picture in pictures.content(real)["pictures"]]

    assert titles == ["age", "zip", "stage", "job", "symptoms", "disease"]


def test_every_measurement_with_parts_has_a_picture(real):
    titles = [picture.title for part in ("risks", "losses") for picture in PARTS[part].content(real)["pictures"]]

    assert titles == [
        "Finding a person again",
        "How many look alike",
        "Detail lost, by column",
        "Error of random counts",
        "Predicting job",
    ]


def test_no_figure_of_a_picture_is_unknown(real):
    pictures = [
        picture for part in ("risks", "losses", "pictures") for picture in PARTS[part].content(real)["pictures"]
    ]
    unknown = {
        (picture.title, row[0]) for picture in pictures for row in picture.table.rows if "\N{EN DASH}" in row[1:]
    }

    assert unknown == set()


def test_every_measurement_is_listed_or_drawn(real):
    listed = {row["title"] for row in losses.content(real)["measures"]}
    drawn = {"Risk of being found again", "Smallest class"}

    assert {entry["title"] for entry in real["measurements"]} == listed | drawn


def test_key_figures_come_from_the_measurements(real):
    names = [key["name"] for key in verdict.content(real)["figures"]]

    assert names == [
        "rows in",
        "rows out",
        "classes that look alike",
        "rows in the smallest class",
        "of the detail lost",
        "highest risk to be found",
    ]


def test_cards_show_parameters_and_nothing_else_as_such(real):
    cards = promises.content(real)

    assert [card["parameters"] for card in cards] == [
        [("k", "5")],
        [("sensitive", "job"), ("l", "2"), ("kind", "distinct")],
        [("sensitive", "disease"), ("t", "0.5"), ("distance", "equal")],
    ]
    assert all(card["gauge"] and card["promise"] and card["limit"] for card in cards)


def test_what_happened_to_a_column_is_said(real):
    fates = {row["name"]: row["fate"] for row in columns.content(real)["rows"]}

    assert fates["name"] == "dropped"
    assert fates["age"] == "generalized in 100% of rows"
    assert fates["job"] == "kept"
    assert fates["symptoms"].endswith("items withheld")
    assert fates["ward"] == "carried along as it is"


def test_the_terminal_gets_the_same_verdict(real):
    assert verdict.one_sentence(real)[1].split()[0] in summary(real)
