from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Given, Widths
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.metrics import measure_all
from sfumato.metrics.distortion import Distortion

# Eight values, as the work classes of the census: government covers three of them.
WORK = Hierarchy.from_nested(
    {
        "private": ["Private", "Self-inc", "Self-not-inc"],
        "government": ["Federal", "Local", "State"],
        "none": ["Without", "Never"],
    }
)
SCHEMA = Schema(
    {
        "place": ColumnSpec(
            name="place",
            role=Role.QUASI_IDENTIFIER,
            hierarchy=Given(Hierarchy.from_nested({"n": ["a", "b"], "s": ["c", "d"]})),
        ),
        "work": ColumnSpec(name="work", role=Role.SENSITIVE, hierarchy=Given(WORK)),
    },
    missing=("?",),
)
ORIGINAL = pa.table({"place": ["a", "b", "c", "d"], "work": ["Local", "State", "Never", "Private"]})


def measured(columns, original=ORIGINAL, schema=SCHEMA):
    dataset = encode(original, schema)
    rates = {"work": BaseRates.of(dataset.column("work"))}
    release = replace(Release.from_table(pa.table(columns), schema), public=PublicInputs(base_rates=rates))
    return Distortion().measure(dataset, release)


def test_government_over_eight_values_loses_a_quarter():
    facts = measured({"place": ["a", "b", "c", "d"], "work": ["government", "State", "Never", "Private"]}).facts

    assert facts["quasi_identifiers"] == 0
    assert facts["sensitive"] == pytest.approx(2 / 8 / 4)
    assert facts["normalized"]["sensitive"] == pytest.approx(2 / 7 / 4)
    assert facts["masks"] == [{"name": "work", "shown": 3, "masked": 1, "levels": {"1": 1}}]


def test_everything_withheld_is_below_one_as_printed_and_one_normalized():
    found = measured({"place": ["*"] * 4, "work": ["*"] * 4})

    assert found.value == pytest.approx(3 / 4 + 7 / 8) == found.worst
    assert found.facts["normalized"]["total"] == pytest.approx(2)
    assert found.facts["masks"][0]["levels"] == {"2": 4}


def test_a_missing_value_is_a_value_below_the_root():
    original = ORIGINAL.set_column(1, "work", pa.array(["Local", "State", "Never", "?"]))
    facts = measured({"place": ["n", "n", "c", "d"], "work": ["Local", "State", "*", "?"]}, original).facts

    assert facts["sensitive"] == pytest.approx(8 / 9 / 4)
    assert facts["quasi_identifiers"] == pytest.approx(2 * (1 / 4) / 4)


def test_numbers_lose_the_width_of_their_range_when_normalized():
    age = ColumnSpec(name="place", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER, hierarchy=Widths((10,)))
    schema = Schema({**SCHEMA.columns, "place": age})
    original = ORIGINAL.set_column(0, "place", pa.array([20, 25, 30, 40]))
    work = ORIGINAL.column("work").to_pylist()
    facts = measured({"place": ["[20, 29]", "[20, 29]", "30", "40"], "work": work}, original, schema).facts

    assert facts["quasi_identifiers"] == pytest.approx(2 * (9 / 21) / 4)  # ten of the 21 numbers from 20 to 40
    assert facts["normalized"]["quasi_identifiers"] == pytest.approx(2 * (9 / 20) / 4)


def test_dropped_rows_lose_everything():
    facts = measured({"place": ["a", "b"], "work": ["Local", "State"]}).facts

    assert facts["normalized"]["total"] == pytest.approx(1.0)


def test_it_is_measured_where_columns_may_be_masked_only():
    dataset = encode(ORIGINAL, SCHEMA)
    names = [found.name for found in measure_all(dataset, Release.from_table(ORIGINAL, SCHEMA))]
    assert "distortion" not in names
