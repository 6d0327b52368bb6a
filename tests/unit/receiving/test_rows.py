"""What rows count: alone, by weight, and together where they are one person's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError
from sfumato.receiving.rows import Rows


def loaded(columns, *, person=True):
    """Return a table that is published as it is, with numbered people or without."""
    about = {"rows": len(columns["p"]), "columns": {name: {"role": "other"} for name in columns}}
    return sf.load(sf.Published(lambda: pa.table(columns), about | ({"person": "p"} if person else {})))


def test_squares_are_of_people_and_without_numbers_of_rows():
    rng = np.random.default_rng(1)
    weight, count, person = rng.uniform(1, 3, 40), rng.integers(1, 4, 40).astype(float), rng.integers(0, 9, 40)
    of_row, cell = rng.normal(size=(40, 2)), rng.integers(0, 3, 40).astype(np.int32)
    people = Rows(weight, count, person.astype(np.int32))

    each = [((count * weight)[person == number] @ of_row[person == number]) ** 2 for number in range(9)]
    assert np.allclose(people.squares(of_row), sum(each))
    assert np.allclose(Rows(weight, count).squares(of_row), count @ (weight[:, None] * of_row) ** 2)

    in_cell = [sum(((count * weight)[(person == p) & (cell == c)].sum()) ** 2 for p in range(9)) for c in range(4)]
    assert np.allclose(people.squares_in(cell, 4), in_cell)
    assert (people.units, people.what, Rows(weight, count).units) == (9, "people", count.sum())


def test_a_person_who_is_shown_ten_times_is_no_ten_people():
    rng = np.random.default_rng(2)
    value, other = rng.normal(50, 9, 60).round(2), rng.normal(size=60).round(3)
    once = loaded({"p": np.arange(60), "pay": value, "x": other})
    often = loaded({"p": np.repeat(np.arange(60), 10), "pay": np.repeat(value, 10), "x": np.repeat(other, 10)})

    assert often.mean("pay")[0].std_error == pytest.approx(once.mean("pay")[0].std_error)
    assert often.regression("pay", ["x"])["x"] == pytest.approx(once.regression("pay", ["x"])["x"])
    assert often.mean("pay")[0].std_error == pytest.approx(value.std() / 60**0.5)


def test_a_mean_of_one_person_has_the_error_of_its_rows():
    assert loaded({"p": [1, 1, 1, 1], "pay": [1.0, 2.0, 3.0, 6.0]}).mean("pay")[0].std_error > 0.5


def test_few_people_with_many_rows_are_no_regression():
    table = {"p": np.repeat([1, 2, 3, 4], 20), "pay": np.arange(80.0), "x": np.arange(80.0) ** 0.5}
    with pytest.raises(DataError, match=r"which 4 people do not tell apart[^4]*5 people at least"):
        loaded(table).regression("pay", ["x"])
    assert loaded(table, person=False).regression("pay", ["x"]).rows == 80


@pytest.mark.slow
def test_errors_are_those_of_a_sample_of_people():
    plan = sf.Plan.from_dict(
        {
            "source": {"person": "p"},
            "columns": {"sex": {"role": "quasi-identifier"}, "pay": {"role": "other"}, "x": {"role": "other"}},
            "require": [{"model": "k-anonymity", "k": 5}],
            "release": {"persons": "numbered"},
        }
    )
    off = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        person = np.repeat(np.arange(80), rng.integers(1, 9, 80))
        of_person, x = rng.normal(0, 3, 80), rng.normal(size=80).round(3)
        pay = (10 + of_person[person] + rng.normal(size=person.size)).round(3)
        table = pa.table({"p": person, "sex": np.array(["f", "m"])[person % 2], "pay": pay, "x": x[person]})
        found = sf.load(sf.anonymize(table, plan, seed=1, measure=False, attack=False).release)
        (mean,), (slope, error) = found.mean("pay"), found.regression("pay", ["x"])["x"]
        off.append([(mean.value - 10) / mean.std_error, slope / error])

    assert np.all(np.std(off, axis=0) < 1.3)  # by rows it is about twice as much
