"""Survey weights: read from the column that the plan names, refused where they are none, and carried through."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.data.weighting import row_weights_of, weights_in_column


def test_weights_are_those_of_the_named_column_and_one_each_without_a_name():
    table = pa.table({"w": ["1.5", "0", "2"]})

    assert row_weights_of(table, {"weight": "w"}, 3).tolist() == [1.5, 0, 2]
    assert row_weights_of(table, {}, 3).tolist() == [1, 1, 1]
    with pytest.raises(sf.DataError, match="no such column"):
        row_weights_of(None, {"weight": "w"}, 3)


@pytest.mark.parametrize("cells", [["1", "x"], ["1", "-2"], ["0", "0"], ["1", None]])
def test_what_is_no_weight_is_refused(cells):
    with pytest.raises(sf.DataError, match="needs a number, 0 or more"):
        weights_in_column(pa.chunked_array([pa.array(cells, pa.string())]), "w")


COLUMNS = {"age": {"role": "quasi-identifier"}, "pay": {"role": "sensitive"}, "w": {"role": "other"}}


def plan_for(**more):
    document = {"columns": COLUMNS, "source": {"weight": "w"}, "require": [{"model": "k-anonymity", "k": 5}]}
    return sf.Plan.from_dict({**document, **more})


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    w = rng.choice([1.0, 9.0], 300)
    age = rng.integers(20, 50, 300) + np.where(w > 1, 30, 0)  # the many that heavy rows stand for are older
    return pa.table({"age": age, "pay": age * 3 + rng.integers(0, 9, 300), "w": w})


@pytest.mark.parametrize("shows", ["range", "mean"])
def test_weights_count_in_estimates_figures_and_measures_without_being_asked(people, shows):
    run = sf.anonymize(people, plan_for(release={"shows": shows}), seed=1, attack=False)
    loaded = sf.load(run.release)
    age, w = people["age"].to_numpy(), people["w"].to_numpy()
    (mean,), (alike,) = loaded.mean("age"), loaded.mean("age", weight="")

    assert (run.release.description["weight"], loaded.weight) == ("w", "w")
    assert mean.lower <= np.average(age, weights=w) <= mean.upper
    assert abs(mean.value - np.average(age, weights=w)) < 1
    assert mean.value - alike.value > 5
    assert loaded.table(["age"], bins={"age": [20, 90]}).counts.sum() == pytest.approx(w.sum())
    found = next(each for each in run.measurements if each.name == "statistics").facts
    assert found["weight"] == "w"
    assert found["statistics"][0]["before"] == pytest.approx(np.average(age, weights=w))
    assert "stands for as many people as `w` says" in str(sf.describe(run.release))


@pytest.mark.parametrize(("role", "why"), [("sensitive", "has the role sensitive"), (None, "is not a column")])
def test_a_weight_that_analysts_do_not_get_is_refused(role, why):
    columns = {name: about for name, about in COLUMNS.items() if name != "w"}
    with pytest.raises(sf.PlanError, match=why):
        plan_for(columns={**columns, "w": {"role": role}} if role else columns)


def test_weights_that_are_none_end_the_run(people):
    bad = people.set_column(2, "w", pa.array([-1.0] * 300))
    with pytest.raises(sf.DataError, match="Mend the column"):
        sf.anonymize(bad, plan_for(), seed=1)


def test_a_release_names_its_weight(people, tmp_path):
    pa.parquet.write_table(people, tmp_path / "people.parquet")
    plan = sf.Plan.from_dict({**plan_for().document, "source": {"path": "people.parquet", "weight": "w"}}, tmp_path)
    sf.run(plan, tmp_path / "run", seed=1, measure=False, attack=False)

    assert json.loads((tmp_path / "run" / "release" / "release.json").read_text(encoding="utf-8"))["weight"] == "w"
