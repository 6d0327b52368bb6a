"""Cross tables computed back from randomized columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PlanError, PolicyError
from sfumato.metrics import cross_tables
from sfumato.metrics.base import Asked
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.cross_tables import CrossTables, distances, randomized_columns
from sfumato.plan import Plan


def test_tables_are_measured_as_an_analyst_would_compute_them(dependent):
    _, _, run = dependent
    found = next(m for m in run.measurements if m.name == "cross-tables")
    tables = found.facts["tables"]
    assert {len(table["columns"]) for table in tables} == {1, 2, 3}
    single = [table for table in tables if len(table["columns"]) == 1]
    assert all(0 <= table["l1"] < 0.15 for table in single)
    assert all(table["l2"] <= table["l1"] and table["hellinger"] <= 1 for table in tables)
    assert found.worst == pytest.approx(np.mean([table["even_l1"] for table in tables]))
    assert found.value < found.worst  # else the tables would say nothing


def test_of_very_many_records_fewer_tables_are_computed_back(dependent, monkeypatch):
    frame, plan, run = dependent
    monkeypatch.setattr(cross_tables, "MANY", 10)
    found = next(m for m in sf.measure(run, plan, original=frame) if m.name == "cross-tables")
    assert [len(table["columns"]) for table in found.facts["tables"]] == [1, 2, 3]


def test_chosen_tables_are_measured_and_unknown_ones_refused(dependent):
    table, _, _ = dependent
    document = {
        "columns": {name: {"role": "sensitive-quasi-identifier"} for name in table.column_names},
        "require": [{"model": "sensitive-qid-diversity", "l": {"one": 2, "two": 2, "z": 2}}],
        "anonymizers": {"randomization": {"dependence": "allow"}},
        "measure": {"tables": [["z", "one"]]},
    }
    run = sf.anonymize(table, Plan.from_dict(document))
    found = next(m for m in run.measurements if m.name == "cross-tables")
    assert [each["columns"] for each in found.facts["tables"]] == [["z", "one"]]
    for bad in (["z"], [["nothing"]], "z", [[]]):
        with pytest.raises(PlanError, match="tables"):
            Plan.from_dict(document | {"measure": {"tables": bad}})


def test_distances_are_those_of_shares():
    estimate, truth = np.array([[4.0, 0.0], [0.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 0.0]])

    found = distances(estimate, truth)

    assert found["l1"] == pytest.approx(1.0)
    assert found["l2"] == pytest.approx(np.sqrt(0.5))
    assert found["hellinger"] == pytest.approx(np.sqrt(0.5))
    assert distances(truth, truth) == {"l1": 0.0, "l2": 0.0, "hellinger": 0.0}


def test_columns_that_tell_everything_or_nothing_need_no_table():
    about = {
        "all": {"domain": ["a", "b"], "eta": 1, "p": 1.0},
        "nothing": {"domain": ["a", "b"], "eta": 2, "p": 1.0},
        "chance": {"domain": ["a", "b"], "eta": 2, "p": 0.0},
        "some": {"domain": ["a", "b"], "eta": 1, "p": 0.5},
        "dropped": {"domain": ["a", "b"], "eta": 1, "p": 0.5},
    }
    specs = {
        name: ColumnSpec(name=name, role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=("a", "b"))
        for name in about
        if name != "dropped"
    }
    table = pa.table({name: ["a"] for name in specs})

    assert randomized_columns(Release.from_table(table, Schema(specs), {"columns": about})) == ["some"]


def test_without_a_way_to_compute_back_there_is_nothing_to_measure():
    schema = Schema({"x": ColumnSpec(name="x", role=Role.SENSITIVE_QUASI_IDENTIFIER)})
    original = encode(pa.table({"x": ["a", "b"]}), schema)
    comparison = Comparison(original, Release.from_table(pa.table({"x": ["a", "b"]}), schema))

    assert list(CrossTables.suited_to(comparison, Asked(tables=(("x",),)))) == []
    with pytest.raises(PolicyError, match="computed back"):
        CrossTables(tables=(("x",),)).of(comparison)
    with pytest.raises(PolicyError, match="at least one"):
        CrossTables(of_each=0)
