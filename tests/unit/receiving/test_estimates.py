"""Tables and means from generalized releases: bounds hold for sure, estimates come near, weights count."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from commands import told


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    n = 600
    age, sex = rng.integers(18, 90, n), rng.choice(["f", "m"], n)
    return pa.table(
        {"age": age, "sex": sex, "ill": rng.choice(["flu", "cold"], n), "w": rng.integers(1, 4, n).astype(float)}
    )


@pytest.fixture(scope="module")
def release(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("estimates")
    pa.parquet.write_table(people, folder / "people.parquet")
    plan = {
        "source": {"path": "people.parquet"},
        "columns": {
            "age": {"role": "quasi-identifier"},
            "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
            "ill": {"role": "sensitive"},
            "w": {"role": "other"},
        },
        "require": [{"model": "k-anonymity", "k": 15}],
        "release": {"shuffle": False},
    }
    sf.run(sf.Plan.from_dict(plan, folder), folder / "run", seed=1, measure=False, attack=False)
    return folder / "run" / "release"


@pytest.fixture(scope="module")
def loaded(release):
    return sf.load(release)


BINS = [20, 40, 60, 80]


def true_counts(people, weight):
    age, sex = people["age"].to_numpy(), np.array(people["sex"])
    return {
        (f"[{low}, {high})", s): float(weight[(age >= low) & (age < high) & (sex == s)].sum())
        for low, high in pairwise(BINS)
        for s in ("f", "m")
    }


@pytest.mark.parametrize("weight", [None, "w"])
def test_true_counts_lie_between_the_bounds_and_near_the_estimate(loaded, people, weight):
    of_row = people["w"].to_numpy() if weight else np.ones(people.num_rows)
    truth = true_counts(people, of_row)
    found = loaded.table(["age", "sex"], bins={"age": BINS}, weight=weight).table().to_pylist()
    cells = {(row["age"], row["sex"]): row for row in found}

    assert sum(row["count"] for row in cells.values()) == pytest.approx(of_row.sum())
    for cell, count in truth.items():
        row = cells[cell]
        assert row["lower"] <= count <= row["upper"]
        assert row["lower"] <= row["count"] <= row["upper"]
        assert abs(row["count"] - count) <= 4 * row["std_error"] + 1
    assert any(row["lower"] < row["upper"] for row in cells.values())  # something was generalized


def test_true_means_lie_between_the_bounds_and_near_the_estimate(loaded, people):
    age, sex, w = (people[name].to_numpy() for name in ("age", "sex", "w"))
    (alone,), (weighted,) = loaded.mean("age"), loaded.mean("age", weight="w")

    for mean, truth in ((alone, age.mean()), (weighted, np.average(age, weights=w))):
        assert mean.lower < truth < mean.upper
        assert abs(mean.value - truth) < 2 * mean.std_error
        assert (mean.rows, mean.open_rows) == (600, 0)
    by_sex = {mean.group["sex"]: mean for mean in loaded.mean("age", by=["sex"]) if mean.group["sex"] != "*"}
    for label, mean in by_sex.items():
        if mean.rows == (sex == label).sum():
            assert mean.lower <= age[sex == label].mean() <= mean.upper


@pytest.mark.parametrize("width", [10_000, 40_000])
def test_the_error_of_a_mean_says_that_values_may_crowd_on_one_side(width):
    """Incomes lie at the lower ends of wide ranges, and thousands of rows do not change that."""
    pay = np.exp(np.random.default_rng(1).normal(9, 0.8, 4_000)).round()
    low = (pay // width * width).astype(int)
    about = {"rows": pay.size, "columns": {"pay": {"role": "quasi-identifier", "kind": "number"}}}
    cells = pa.table({"pay": [f"[{start}, {start + width})" for start in low]})

    (mean,) = sf.load(sf.Published(lambda: cells, about)).mean("pay")

    assert abs(mean.value - pay.mean()) < 2 * mean.std_error
    assert mean.spread_error == pytest.approx(width / 4)
    assert mean.as_dict()["spread_error"] == mean.spread_error < mean.std_error < mean.upper - mean.value


def test_a_mean_of_values_that_were_not_changed_has_the_error_of_a_sample():
    pay = np.random.default_rng(2).integers(0, 100, 400)
    about = {"rows": pay.size, "columns": {"pay": {"role": "quasi-identifier", "kind": "number"}}}
    (mean,) = sf.load(sf.Published(lambda: pa.table({"pay": pay}), about)).mean("pay")
    assert mean.std_error == pytest.approx(pay.std() / 20)
    assert mean.spread_error == 0


def test_cells_that_show_nothing_have_no_bounds_unless_limits_are_given():
    about = {"rows": 3, "columns": {"age": {"role": "quasi-identifier", "kind": "number"}}}
    run = sf.Published(lambda: pa.table({"age": ["[20, 29]", "30", "*"]}), about)

    (open_ended,) = sf.load(run).mean("age")
    assert (open_ended.value, open_ended.lower, open_ended.upper) == (27.25, -np.inf, np.inf)
    assert (open_ended.open_rows, open_ended.std_error) == (1, np.inf)
    assert open_ended.as_dict()["upper"] is open_ended.as_dict()["std_error"] is None
    assert str(open_ended).endswith("error without limit: 1 of 3 rows show nothing; give limits that no value exceeds")
    (limited,) = sf.load(run).mean("age", limits=(0, 100))
    assert (limited.lower, limited.upper) == (pytest.approx(50 / 3), pytest.approx(159 / 3))
    assert limited.value == pytest.approx((24.5 + 30 + 50) / 3)
    assert 2 * limited.std_error > limited.upper - limited.value
    (common,) = sf.load(run).mean("age", rates={"20": 3, "28": 1, "80": 4})
    assert common.value == pytest.approx((22 + 30 + 51) / 3)
    assert (common.lower, common.upper) == (pytest.approx(70 / 3), pytest.approx(139 / 3))
    with pytest.raises(sf.DataError, match=r"2 row\(s\) lie outside"):
        sf.load(run).mean("age", limits=(40, 100))


def test_dropped_rows_may_have_held_anything():
    about = {"rows": 2, "rows_dropped": 2, "columns": {"age": {"role": "quasi-identifier", "kind": "number"}}}
    loaded = sf.load(sf.Published(lambda: pa.table({"age": ["20", "30"]}), about))

    assert np.isinf(loaded.mean("age")[0].std_error)
    (limited,) = loaded.mean("age", limits=(0, 100))
    assert (limited.lower, limited.upper, limited.rows, limited.open_rows) == (12.5, 62.5, 4, 2)
    cells = loaded.table(["age"], bins={"age": [0, 25, 50]})
    assert (cells.counts.tolist(), cells.upper.tolist()) == ([1, 1], [3, 3])
    assert str(cells).endswith("2 rows were dropped, and are in none")
    (young, _) = loaded.mean("age", by=["age"])  # about rows that show a label
    assert (young.value, young.open_rows) == (20, 0)


def test_means_of_days_are_dates():
    about = {"rows": 3, "columns": {"born": {"role": "quasi-identifier", "kind": "date"}}}
    loaded = sf.load(sf.Published(lambda: pa.table({"born": ["1980", "1990-01-01", "*"]}), about))

    (mean,) = loaded.mean("born", limits=("1950", "2000-12-31"))
    assert mean.as_dict()["value"] == "1981-12-31"
    assert (mean.as_dict()["lower"], mean.as_dict()["upper"]) == ("1973-05-02", "1990-09-01")
    assert re.fullmatch(
        r"mean of born: 1981-12-31 ± [\d,]+ days, surely from 1973-05-02 to 1990-09-01 \(.*\)", str(mean)
    )
    assert "1985-04-01 where it is shown" in str(loaded.mean("born")[0])
    with pytest.raises(sf.DataError, match="not two days"):
        loaded.mean("born", limits=("1950", "soon"))


def test_a_table_says_what_shows_nothing():
    about = {"rows": 3, "columns": {"job": {"role": "quasi-identifier", "kind": "category"}}}
    cells = sf.load(sf.Published(lambda: pa.table({"job": ["cook", "cook", "*"]}), about)).table(["job"])

    assert cells.values == (("cook", "elsewhere"),)
    assert (cells.lower.tolist(), cells.upper.tolist()) == ([2, 0], [3, 1])
    assert (2 * cells.std_error >= np.maximum(cells.counts - cells.lower, cells.upper - cells.counts)).all()
    assert str(cells).endswith("1 rows show nothing, and may be in any cell")


def test_the_command_line_says_the_same(release, loaded):
    (mean,) = told("estimate", release, "--mean", "age")["estimates"]
    assert mean == loaded.mean("age")[0].as_dict()
    (table,) = told("estimate", release, "--columns", "age,sex", "--bins", "age=20,40,60,80", "--weight", "w")[
        "estimates"
    ]
    assert table == loaded.table(["age", "sex"], bins={"age": BINS}, weight="w").as_dict()
    (fit,) = told("estimate", release, "--regress", "ill ~ age + sex", "--value", "flu")["estimates"]
    assert fit == loaded.regression("ill", ["age", "sex"], value="flu").as_dict()


def test_base_rates_come_from_a_file(release, tmp_path):
    (tmp_path / "ages.csv").write_text(
        "age,n\n" + "".join(f"{age},{int(age < 37)}\n" for age in range(18, 90)), encoding="utf-8"
    )
    rates = ("--rates", f"age={tmp_path / 'ages.csv'}")
    words = ("estimate", release, "--columns", "age", "--bins", "age=0,37,100", *rates)
    (table,) = told(*words)["estimates"]
    (even,) = told(*words[:6])["estimates"]

    assert table["table"][0]["count"] > even["table"][0]["count"]  # ranges around 37 go to the younger side


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Give one of --columns, --mean and --regress"),
        (("--mean", "age", "--columns", "sex"), "Give one of"),
        (("--mean", "sex"), "holds words"),
        (("--columns", "age", "--bins", "age"), "Write --bins COLUMN="),
        (("--columns", "age", "--bins", "age=x,y"), "Give the edges of bins, rising"),
        (("--mean", "age", "--limits", "0"), "not two numbers"),
        (("--mean", "age", "--limits", "90,10"), "not two numbers"),
        (("--mean", "age", "--limits", "0,19"), "lie outside of them"),
        (("--mean", "age", "--weight", "ill"), "does not hold a number"),
        (("--regress", "age"), "Name other columns"),
        (("--regress", "ill~age"), "Say which of its words counts"),
        (("--regress", "age~sex", "--value", "x"), "Leave `value` out"),
        (("--columns", ","), "Name at least one"),
    ],
)
def test_what_cannot_be_estimated_is_refused_with_words(release, words, message):
    with pytest.raises(sf.SfumatoError, match=message):
        told("estimate", release, *words)


def test_sets_are_refused_with_what_to_do():
    about = {"rows": 2, "columns": {"terms": {"role": "items", "kind": "set", "separator": "|"}}}
    run = sf.Published(lambda: pa.table({"terms": ["a|b", "c"]}), about)

    with pytest.raises(sf.DataError, match="holds sets"):
        sf.load(run).table(["terms"])
