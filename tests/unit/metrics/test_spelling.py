"""Releases in files that spell values otherwise than the source: nothing that was left as it is counts as changed."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf

TIMES = [datetime(2020, 1, 1, 4, 15), datetime(2020, 1, 1, 9, 26), datetime(2020, 6, 10, 21, 7), None]


def changed(run, name):
    (measured,) = (each for each in run.measurements if each.name == "suppression")
    (values,) = (column for column in measured.facts["columns"] if column["name"] == name)
    return values["changed"], values["generalized"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet", "excel", "stata", "spss"])
def test_numbers_of_people_with_several_are_known_in_whatever_digits_a_file_has_them(form, tmp_path):
    cells = ["4.0", "7.0", "", "2.50", "4.0", "4.00", "7.0", "2.50"]
    rows = [f"{row // 2 % 4},{20 + row // 2 % 4},{cell}" for row, cell in enumerate(cells * 2)]
    (tmp_path / "s.csv").write_text("\n".join(["pid,age,s", *rows]), encoding="utf-8")
    plan = sf.Plan.from_dict(
        {
            "source": {"path": "s.csv", "person": "pid"},
            "columns": {"age": {"role": "quasi-identifier"}, "s": {"role": "sensitive"}},
            "require": [{"model": "k-anonymity", "k": 2}],
            "release": {"persons": "numbered", "format": form},
        },
        tmp_path,
    )

    run = sf.run(plan, tmp_path / "run", seed=1)

    (measured,) = (each for each in run.measurements if each.name == "suppression")
    (values,) = (column for column in measured.facts["columns"] if column["name"] == "s")
    assert (values["changed"], values["generalized"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet", "excel", "stata", "spss"])
@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize("hierarchy", [{"flat": True}, {"dates": ["day", "year"]}])
def test_times_that_were_left_as_they_are_are_known_with_fewer_zeros(form, unit, hierarchy, tmp_path):
    table = pa.table({"c": ["x", "y"] * 4, "t": pa.array(TIMES * 2, pa.timestamp(unit))})
    pq.write_table(table, tmp_path / "s.parquet")
    plan = sf.Plan.from_dict(
        {
            "source": {"path": "s.parquet"},
            "columns": {
                "c": {"role": "sensitive-quasi-identifier", "domain": ["x", "y", "z"]},
                "t": {"role": "quasi-identifier", "hierarchy": hierarchy},
            },
            "require": [{"model": "local-differential-privacy", "epsilon": {"c": 1.0}}],
            "anonymizers": {"randomization": {"dependence": "allow"}},
            "release": {"format": form},
        },
        tmp_path,
    )

    assert changed(sf.run(plan, tmp_path / "run", seed=1, attack=False), "t") == (0, 0)
