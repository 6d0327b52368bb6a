"""Estimates from generalized releases: the truth lies in the stated error as often as two standard errors promise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf

RUNS, ROWS = 40, 250
EDGES = [0, 40, 60, 100]
PAY = (0, 200_000)


def people(seed):
    """Return people with skewed incomes that go with age and place, and ages that are missing here and there."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, ROWS)
    city = rng.choice(list("abcdef"), ROWS, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    pay = np.round(np.exp(rng.normal(7 + age / 60 + (city == "f"), 1)), 2).clip(*PAY)
    missing = rng.random(ROWS) < 0.1
    born = np.datetime64("2020-01-01") - (365 * age + rng.integers(0, 365, ROWS))
    return pa.table(
        {
            "age": pa.array(age, mask=missing),
            "city": city,
            "pay": pay,
            "born": born.astype(str),
            "w": rng.choice([1.0, 2.5, 7.0], ROWS),
        }
    )


def published(table, seed, drop_rows):
    hierarchies = {
        "age": {"widths": [5, 20]},
        "city": {"flat": True},
        "pay": {"widths": [500, 2000]},
        "born": {"dates": ["year", "decade"]},
    }
    columns = {name: {"role": "quasi-identifier", "hierarchy": levels} for name, levels in hierarchies.items()}
    plan = {
        "source": {"weight": "w"},
        "columns": {**columns, "w": {"role": "other"}},
        "require": [{"model": "k-anonymity", "k": 4}],
        "anonymizers": {"local-recoding": {"drop_rows": drop_rows}},
    }
    return sf.load(sf.anonymize(table, sf.Plan.from_dict(plan), seed=seed).release)


@pytest.mark.slow
@pytest.mark.parametrize("drop_rows", [0.0, 0.2])
def test_truth_lies_within_two_standard_errors_and_surely_within_bounds(drop_rows):
    covered, hidden, dropped = [], 0, 0
    for seed in range(RUNS):
        table = people(seed)
        loaded = published(table, seed, drop_rows)
        age, city, pay, born, w = (np.array(column.to_pylist(), dtype=object) for column in table.columns)
        known = age != None  # noqa: E711, an array
        days = np.array(born, "datetime64[D]").astype(int)
        numbers = {"age": (age[known], w[known], (0, 120)), "pay": (pay, w, PAY), "born": (days, w, ("1929", "2020"))}
        for name, (values, weight, limits) in numbers.items():
            (plain,), (weighted,) = loaded.mean(name, limits=limits, weight=""), loaded.mean(name, limits=limits)
            truth, weighted_truth = values.mean(), np.average(values.astype(float), weights=weight.astype(float))
            assert plain.lower <= truth <= plain.upper
            covered += [abs(plain.value - truth) <= 2 * plain.std_error]
            covered += [abs(weighted.value - weighted_truth) <= 2 * weighted.std_error]
            hidden, dropped = hidden + plain.open_rows, dropped + loaded.n_dropped
        cells = loaded.table(["age", "city"], bins={"age": EDGES}, weight="")
        for place, (low, high) in enumerate(pairwise(EDGES)):
            for column, value in enumerate(cells.values[1]):
                inside = np.array([a is not None and low <= a < high for a in age]) & (city == value)
                at, truth = (place, column), inside.sum()
                assert cells.lower[at] <= truth <= cells.upper[at]
                covered += [abs(cells.counts[at] - truth) <= 2 * cells.std_error[at]]
    assert hidden > RUNS * ROWS / 4
    assert (dropped > 0) == (drop_rows > 0)
    assert np.mean(covered) >= 0.95


@pytest.mark.slow
def test_shares_of_words_that_are_unevenly_common_lie_within_two_standard_errors():
    """Rows behind a word spread evenly, which is wrong here: the error of a regression says so."""
    covered = []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        job = rng.choice(["nurse", "doctor", "cook", "judge"], 400, p=[0.6, 0.1, 0.1, 0.2])
        pay = 10 + 5 * (job == "doctor") + rng.normal(0, 1, 400)
        hides = rng.random(400) < 0.4
        shown = np.where(hides & np.isin(job, ["nurse", "doctor"]), "health", job)
        legend = {"health": {"level": 1, "members": ["nurse", "doctor"]}}
        about = {
            "rows": 400,
            "columns": {
                "job": {"role": "quasi-identifier", "kind": "category", "legend": legend},
                "pay": {"role": "sensitive", "kind": "number"},
            },
        }
        table = pa.table({"job": shown, "pay": pay})
        fit = sf.load(sf.Published(lambda table=table: table, about)).regression("pay", ["job"])
        slope, error = fit["job = doctor"]
        covered.append(abs(slope - 5) <= 2 * error)
    assert np.mean(covered) >= 0.95


@pytest.mark.slow
def test_slopes_of_outcomes_of_which_classes_show_their_means_lie_within_two_standard_errors():
    """The mean of a class is nobody's own: taken for that, it pulls slopes to zero."""
    columns = {
        "age": {"role": "quasi-identifier", "hierarchy": {"widths": [10, 20, 40]}},
        "pay": {"role": "quasi-identifier"},
        "pressure": {"role": "sensitive"},
    }
    plan = {"columns": columns, "require": [{"model": "k-anonymity", "k": 20}], "release": {"shows": "mean"}}
    covered = []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 90, 400)
        pressure = 100 + 0.4 * age + rng.normal(0, 8, 400)
        table = pa.table({"age": age, "pay": np.exp(rng.normal(8, 1, 400)).round(), "pressure": pressure})
        loaded = sf.load(sf.anonymize(table, sf.Plan.from_dict(plan), seed=seed).release)
        slope, error = loaded.regression("age", ["pressure"])["pressure"]
        truth = np.cov(age, pressure)[0, 1] / np.var(pressure, ddof=1)
        covered.append(abs(slope - truth) <= 2 * error)
    assert np.mean(covered) >= 0.95
