"""Cells that begin like formulas are counted in every kind of column; numbers are none."""

import pyarrow as pa

import sfumato as sf
from sfumato.data.formulas import formula_cells
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema


def test_formulas_are_counted_cell_by_cell():
    specs = [
        ColumnSpec(name="note", role=Role.SENSITIVE),
        ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
        ColumnSpec(name="rest", role=Role.OTHER),
        ColumnSpec(name="loss", role=Role.OTHER),
    ]
    table = pa.table(
        {
            "note": ["=1+1", "=1+1", "-5", "a"],
            "terms": ["@x|b", "b", "", "@x"],
            "rest": [None, "+cmd", "+4", "=x"],
            "loss": [-1, -2, -3, 4],
        }
    )
    release = Release.from_table(table, Schema({spec.name: spec for spec in specs}))

    assert formula_cells(release) == {"note": 2, "terms": 2, "rest": 2}


def test_a_run_warns_of_formulas_and_of_its_seed_and_an_audit_says_that_it_is_for_tests():
    people = pa.table({"age": [30, 30, 31, 31], "ill": ["=HYPERLINK(1)", "flu", "flu", "flu"]})
    plan = sf.Plan.from_dict(
        {
            "columns": {"age": {"role": "quasi-identifier"}, "ill": {"role": "sensitive"}},
            "require": [{"model": "k-anonymity", "k": 2}],
        }
    )
    seeded, free = sf.anonymize(people, plan, seed=1), sf.anonymize(people, plan)

    assert any("1 in 'ill'" in warning for warning in free.facts["warnings"])
    assert not any("HYPERLINK" in warning for warning in free.facts["warnings"])
    assert [any("seed" in warning for warning in run.facts["warnings"]) for run in (seeded, free)] == [True, False]
    for run, said in ((seeded, True), (free, False)):
        assert any("seed" in note for verdict in sf.audit(run, plan) for note in verdict.notes) is said
