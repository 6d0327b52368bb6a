"""Means, correlations and slopes before and after: none move where nothing changed, and what moves is said."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from commands import told
from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics import Statistics

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "pay": ColumnSpec(name="pay", role=Role.SENSITIVE),
        "job": ColumnSpec(name="job", role=Role.QUASI_IDENTIFIER),
    }
)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    age = rng.integers(20, 60, 200)
    return pa.table({"age": age, "pay": 2 * age + rng.normal(0, 5, 200), "job": rng.choice(["a", "b"], 200)})


def measured(people, released):
    return Statistics().measure(encode(people, SCHEMA), Release.from_table(released, SCHEMA))


def test_nothing_moves_where_nothing_changed(people):
    found = measured(people, people)

    assert found.value == pytest.approx(0, abs=1e-9)
    assert [each["what"] for each in found.facts["statistics"]] == [
        "mean of age",
        "mean of pay",
        "correlation of age and pay",
        "slope of age on pay",
        "slope of pay on age",
    ]


def test_statistics_of_the_original_are_those_of_numpy(people):
    age, pay = (people[name].to_numpy() for name in ("age", "pay"))
    found = {each["what"]: each["before"] for each in measured(people, people).facts["statistics"]}

    assert found["mean of pay"] == pytest.approx(pay.mean())
    assert found["correlation of age and pay"] == pytest.approx(np.corrcoef(age, pay)[0, 1])
    assert found["slope of pay on age"] == pytest.approx(np.polyfit(age, pay, 1)[0])


def test_what_moves_is_counted_in_standard_deviations(people):
    age = people["age"].to_numpy()
    wide = people.set_column(0, "age", pa.array(["[20, 99]"] * 200))
    found = measured(people, wide).facts["statistics"][0]

    assert (found["what"], found["after"], found["lower"], found["upper"]) == ("mean of age", 59.5, 20, 99)
    assert found["moved"] == pytest.approx(abs(59.5 - age.mean()) / age.std())


def test_slopes_and_correlations_survive_ranges_of_ten_years(people):
    low = people["age"].to_numpy() // 10 * 10
    ranged = people.set_column(0, "age", pa.array([f"[{a}, {a + 9}]" for a in low]))
    found = {each["what"]: each for each in measured(people, ranged).facts["statistics"]}

    assert abs(found["slope of pay on age"]["after"] - 2) < 0.15
    assert found["correlation of age and pay"]["moved"] < 0.05
    assert measured(people, ranged).value < 0.1


def test_a_table_without_numbers_has_nothing_to_measure():
    words = pa.table({"job": ["a", "b"]})
    schema = Schema({"job": SCHEMA.columns["job"]})

    assert "statistics" not in {
        found.name for found in sf.metrics.measure_all(encode(words, schema), Release.from_table(words, schema))
    }


def test_measure_prints_them(tmp_path, people):
    pa.parquet.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "plan.toml").write_text(
        '[source]\npath = "people.parquet"\n[columns.age]\nrole = "quasi-identifier"\n'
        '[columns.pay]\nrole = "sensitive"\n[columns.job]\nrole = "quasi-identifier"\n'
        '[[require]]\nmodel = "k-anonymity"\nk = 5\n',
        encoding="utf-8",
    )
    found = told("measure", tmp_path / "people.parquet", "--plan", tmp_path / "plan.toml")["statistics"]

    assert found[0]["what"] == "mean of age"
    assert found[0]["after"] == pytest.approx(people["age"].to_numpy().mean())


def test_slopes_of_very_many_different_rows_are_those_of_a_sample_and_that_is_said(people, monkeypatch):
    monkeypatch.setattr("sfumato.metrics.statistics.MOST_ROWS", 120)
    found = measured(people, people)

    assert found.facts["slopes_of"] == 120
    assert [each["moved"] for each in found.facts["statistics"][:3]] == pytest.approx([0, 0, 0], abs=1e-9)
    assert all(abs(each["after"] - each["before"]) < 0.3 for each in found.facts["statistics"][3:])
    assert found.as_dict() == measured(people, people).as_dict()
