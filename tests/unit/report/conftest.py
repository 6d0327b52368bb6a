"""Facts of a run: as kept in a file, and as models, metrics and attacks state them today."""

import json
import random
from pathlib import Path

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

JOBS = ("cook", "nurse", "clerk", "lawyer", "farmer")
SYMPTOMS = ("cough", "fever", "rash", "fatigue", "nausea", "headache")


@pytest.fixture
def facts():
    """The facts of one run, with every kind of column and every measurement."""
    return json.loads(Path(__file__).with_name("run.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
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
        "examples": {"columns": ["age", "zip"], "before": [["34", "101"]], "after": [["[18, 49]", "101"]]},
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
