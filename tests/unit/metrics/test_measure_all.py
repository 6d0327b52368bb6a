"""Laws that hold for every metric."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.encoding import encode
from sfumato.data.keystream import KEY
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import Schema
from sfumato.metrics import METRICS, measure_all

UNCHANGED = {"ncp", "suppression", "kl-divergence", "column-distributions", "query-error"}


# What is measured of columns that these tables do not have.
OF_OTHER_COLUMNS = (
    *("cross-tables", "distortion", "item-loss", "masked-detail", "rule-retention"),
    "suppression-objective",
    "population-risk",
)


def finite(data):
    if isinstance(data, dict):
        return all(isinstance(key, str) and finite(value) for key, value in data.items())
    if isinstance(data, list):
        return all(finite(value) for value in data)
    return data is None or (type(data) in (str, int, bool)) or (type(data) is float and math.isfinite(data))


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_measurements_are_finite_plain_and_blind_to_the_order_of_rows(tables, data):
    example = data.draw(tables.examples())
    mixed = tables.Example(example.before, data.draw(st.permutations(example.after)))

    found = [measurement.as_dict() for measurement in measure_all(example.dataset, example.release)]
    again = [measurement.as_dict() for measurement in measure_all(mixed.dataset, mixed.release)]

    assert [measurement["name"] for measurement in found] == [
        name for name in METRICS if name not in ("belief-change", *OF_OTHER_COLUMNS)
    ]
    assert finite(found)
    assert json.loads(json.dumps(found)) == again


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_an_unchanged_release_measures_as_the_original(tables, data):
    example = data.draw(tables.examples(changed=False))
    release = publish(example.dataset, Recoding(), [], bytes(KEY))

    for measurement in measure_all(example.dataset, release):
        assert measurement.value == pytest.approx(measurement.before, abs=1e-12)
        if measurement.name in UNCHANGED:
            assert measurement.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_a_release_measures_the_same_after_a_trip_through_a_file(tables, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {
            "age": str(rng.choice(["20", "25", "40.5", ""])),
            "job": str(rng.choice(["cook", "nurse"])),
            "colour": str(rng.choice(["red", "blue"])),
            "size": str(rng.choice(["S", "XL"])),
            "illness": str(rng.choice(tables.ILLNESSES)),
            "terms": frozenset(),
        }
        for _ in range(40)
    ]
    published = [row | {"age": "[20, 25]" if row["age"] in ("20", "25") else row["age"], "job": "*"} for row in rows]
    example = tables.Example(rows, published)
    path = tmp_path / "release.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, example.release.table().schema) as writer:
        writer.write_table(example.release.table())

    with pa.OSFile(str(path), "rb") as file:
        read_back = Release.from_table(pa.ipc.open_file(file).read_all(), tables.SCHEMA)

    assert measure_all(example.dataset, read_back) == measure_all(example.dataset, example.release)


@pytest.mark.parametrize("columns", [{}, {"age": []}, {"age": [], "illness": []}, {"illness": ["flu"] * 12}])
def test_no_rows_and_no_quasi_identifiers_are_no_trouble(pair_of, columns):
    columns = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    if columns:
        dataset, release = pair_of(columns, columns, {"illness": "sensitive"})
    else:
        schema = Schema({})
        dataset, release = encode(pa.table({}), schema), Release.from_table(pa.table({}), schema)

    found = measure_all(dataset, release)

    assert finite([measurement.as_dict() for measurement in found])
    values = {measurement.name: measurement.value for measurement in found}
    if "age" in columns:
        assert values["ncp"] == values["query-error"] == values["kl-divergence"] == values["discernibility"] == 0.0
    else:  # nothing to say about classes of equal quasi-identifiers
        assert not {"ncp", "query-error", "kl-divergence", "discernibility", "risk"} & set(values)


def test_everything_dropped_is_everything_lost(pair_of):
    nothing = pa.array([], pa.string())
    found = measure_all(*pair_of({"age": [20, 30]}, {"age": nothing}))

    values = {measurement.name: measurement.value for measurement in found}
    assert values["ncp"] == values["suppression"] == values["query-error"] == 1.0
    assert values["risk"] == values["average-class-size"] == 0.0
    assert values["discernibility"] == 4.0


def test_more_rows_than_the_original_are_no_trouble(pair_of):
    found = measure_all(*pair_of({"age": [20, 30]}, {"age": [20, 30, 30, 25]}))

    assert finite([measurement.as_dict() for measurement in found])


def test_belief_is_measured_when_a_knowledge_table_is_known(tables):
    row = {"age": "20", "job": "cook", "colour": "red", "size": "S", "illness": "flu", "terms": frozenset({"fever"})}
    example = tables.Example([row] * 3, [row] * 3)
    knowledge = Knowledge.from_rows([("flu", ["fever"]), ("cold", ["cough"])])

    found = measure_all(example.dataset, replace(example.release, public=PublicInputs(knowledge)))

    assert [measurement.name for measurement in found] == [name for name in METRICS if name not in OF_OTHER_COLUMNS]


def test_progress_is_told(pair_of):
    told = []

    class Listener:
        def stage(self, name, total=None):
            told.append((name, total))
            return self

        def advance(self, steps=1):
            told.append(steps)

        def done(self):
            told.append("done")

    found = measure_all(*pair_of({"age": [20, 30]}, {"age": [20, 30]}), progress=Listener())

    assert told == [("measure", len(found)), *[1] * len(found), "done"]
