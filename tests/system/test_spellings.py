"""Files and memory agree: what a plan reaches in memory it reaches in every format of a release."""

import pyarrow as pa
import pytest

import sfumato as sf


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_missing_value_may_be_all_that_a_randomized_cell_shows(tmp_path, form):
    cells = (["a"] * 8 + ["b"] * 2 + ["NA"] * 2) * 5
    (tmp_path / "data.csv").write_text("z\n" + "\n".join(cells) + "\n", encoding="utf-8")
    plan = {
        "source": {"missing": ["NA"]},
        "columns": {"z": {"role": "sensitive-quasi-identifier", "domain": ["a", "b", "c", "NA"]}},
        "require": [{"model": "sensitive-qid-closeness", "t": {"z": "1/3"}, "prior": "any"}],
    }
    in_memory = sf.anonymize(pa.table({"z": cells}), sf.Plan.from_dict(plan, tmp_path), seed=1)
    assert in_memory.release.description["columns"]["z"]["eta"] == 1

    written = {**plan, "source": {**plan["source"], "path": "data.csv"}, "release": {"format": form}}
    run = sf.run(sf.Plan.from_dict(written, tmp_path), tmp_path / "out", seed=1)

    assert [verdict.satisfied for verdict in run.verdicts] == [True]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_masked_number_may_be_spelled_in_any_way(tmp_path, form):
    (tmp_path / "t.csv").write_text("q,s\na,2.50\na,1\n", encoding="utf-8")
    plan = {
        "source": {"path": "t.csv"},
        "columns": {
            "q": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
            "s": {"role": "sensitive", "hierarchy": {"widths": [0.5, 1]}},
        },
        "require": [{"model": "alpha-diversity", "sensitive": "s", "alpha": 0.9, "k": 2}],
        "release": {"format": form, "shuffle": False},
    }
    run = sf.run(sf.Plan.from_dict(plan, tmp_path), tmp_path / "out", seed=1)
    assert [verdict.satisfied for verdict in run.verdicts] == [True]
    assert [float(row["s"]) for row in run.release.data.to_pylist()] == [2.5, 1]
