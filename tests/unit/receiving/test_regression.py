"""Regressions on ranges: they find the coefficients of the data, which plain midpoints of an outcome do not."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.receiving.regression import regression_of, tell_apart
from sfumato.receiving.rows import Rows
from sfumato.receiving.values import Groups, Ranges


def numbers(name, values):
    labels, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    return Ranges(name, codes.astype(np.int32), tuple(labels.tolist()))


def words(name, values, legend=None):
    labels, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    return Groups(name, codes.astype(np.int32), tuple(labels.tolist()), legend or {})


def in_ranges(values, width):
    low = np.floor(values / width) * width
    return [f"[{a}, {a + width})" for a in low]


def fitted(outcome, *covariates, **more):
    each = np.ones(outcome.codes.size)
    return regression_of(outcome, covariates, value=None, rates={}, rows=Rows(each, each), **more)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 50, 4_000)
    sex = rng.choice(["f", "m"], 4_000)
    return x, sex, 10 + 0.5 * x + 3 * (sex == "m") + rng.normal(0, 4, 4_000)


def test_exact_columns_give_least_squares(data):
    x, sex, y = data
    found = fitted(numbers("y", y), numbers("x", x), words("sex", sex))
    design = np.column_stack([np.ones(len(x)), x, sex == "m"])
    truth = np.linalg.lstsq(design, y, rcond=None)[0]
    flipped = found.names[2] == "sex = f"

    assert found["x"][0] == pytest.approx(truth[1])
    assert found.coefficients[2] == pytest.approx(-truth[2] if flipped else truth[2])
    assert found["x"][1] == pytest.approx(4 / (np.sqrt(len(x)) * x.std()), rel=0.1)


def test_coefficients_are_found_from_ranges_of_covariate_and_outcome(data):
    x, _, y = data
    for outcome, covariate in (
        (numbers("y", y), numbers("x", in_ranges(x, 10))),
        (numbers("y", in_ranges(y, 15)), numbers("x", x)),
        (numbers("y", in_ranges(y, 15)), numbers("x", in_ranges(x, 10))),
    ):
        slope, error = fitted(outcome, covariate)["x"]
        assert abs(slope - 0.5) < 3 * error
        assert error < 0.05


def test_the_likelihood_of_ranges_beats_their_midpoints():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, 3_000)
    y = 10 * x + rng.normal(0, 2, 3_000)
    low = np.minimum(np.floor(y), 6)
    upper = [f"[{a}, {40 if a == 6 else a + 1})" for a in low]
    column = numbers("y", upper)  # all above 6 in one wide range, as top coding does

    naive = np.polyfit(x, column.midpoint, 1)[0]
    slope, error = fitted(column, numbers("x", x))["x"]
    assert abs(slope - 10) < 3 * error
    assert abs(naive - 10) > 5


def test_values_that_crowd_on_one_side_of_their_ranges_are_within_the_error():
    rng = np.random.default_rng(4)
    x = np.minimum(rng.exponential(10, 3_000), 39)
    y = 2 * x + rng.normal(0, 1, 3_000)
    found = fitted(numbers("y", y), numbers("x", np.where(x < 10, "[0, 10)", "[10, 40)")))

    slope, error = found["x"]
    assert abs(slope - 2) > 0.2  # middles are far from where values are
    assert abs(slope - 2) < 3 * error
    assert found.spread_error[1] > 0.9 * error
    exact = fitted(numbers("y", y), numbers("x", x))
    assert not exact.spread_error.any()


def test_a_range_that_is_half_empty_beside_others_that_are_not_is_within_the_error():
    rng = np.random.default_rng(4)
    age = rng.integers(18, 90, 3_000)
    y = 0.4 * age + rng.normal(0, 8, 3_000)
    shown = np.select([age < 40, age < 80], ["[0, 39]", "[40, 79]"], "[80, 89]")
    slope, error = fitted(numbers("y", y), numbers("age", shown))["age"]

    assert abs(slope - 0.4) > 0.05  # nobody below 40 is younger than 18
    assert abs(slope - 0.4) < 2 * error


def test_a_word_that_stands_for_several_counts_in_parts(data):
    _, sex, y = data
    shown = np.where(np.arange(len(sex)) % 3 == 0, "*", sex)
    found = fitted(numbers("y", y), words("sex", shown))

    coefficient, error = (found.coefficients[1], found.std_error[1])
    assert abs(abs(coefficient) - 3) < 4 * error


def test_rows_with_nothing_to_say_are_left_out_and_weights_count(data):
    x, _, y = data
    shown = np.where(np.arange(len(x)) < 100, "*", x.astype(str))
    assert fitted(numbers("y", y), numbers("x", shown)).left_out == 100
    weight = (np.arange(len(x)) < 500).astype(float)
    each = np.ones(weight.size)
    part = regression_of(numbers("y", y), [numbers("x", x)], value=None, rates={}, rows=Rows(weight, each))
    alone = fitted(numbers("y", y[:500]), numbers("x", x[:500]))
    assert part["x"] == pytest.approx(alone["x"])


def test_what_rows_cannot_tell_apart_is_refused():
    with pytest.raises(DataError, match="do not tell apart"):
        fitted(numbers("y", [1, 2, 3]), numbers("x", [5, 5, 5]))


@pytest.mark.parametrize("rows", [3, 4])
def test_so_few_rows_that_no_error_is_left_to_go_by_are_refused(rows):
    x = [1, 2, 4, 7, 11]
    with pytest.raises(DataError, match="5 rows at least"):
        fitted(numbers("y", [2 * value + 1 for value in x[:rows]]), numbers("x", x[:rows]))
    slope, error = fitted(numbers("y", [3, 5, 10, 14, 25]), numbers("x", x))["x"]
    assert error > 0
    assert slope == pytest.approx(np.polyfit(x, [3, 5, 10, 14, 25], 1)[0])


def test_equal_rows_may_be_held_once(data):
    x, _, y = data
    x, y = x.round(-1), np.floor(y / 20) * 20
    pairs, count = np.unique(np.stack([x, y]), axis=1, return_counts=True)
    each = fitted(numbers("y", in_ranges(y, 20)), numbers("x", x))
    outcome, covariate = numbers("y", in_ranges(pairs[1], 20)), numbers("x", pairs[0])
    once = regression_of(
        outcome, [covariate], value=None, rates={}, rows=Rows(np.ones(count.size), count.astype(np.float64))
    )

    assert pairs.shape[1] < len(x) / 10
    assert once.rows == each.rows == len(x)
    assert once.coefficients == pytest.approx(each.coefficients)
    assert once.std_error == pytest.approx(each.std_error)


def test_numbers_far_from_zero_have_an_error():
    rng = np.random.default_rng(2803)
    n = rng.integers(4, 9)
    x = rng.choice([1e3, 1e5, 1e6, 1e7]) + rng.integers(0, 9, n)  # ten million and a few

    fit = fitted(numbers("y", rng.normal(size=n)), numbers("x", x))

    assert np.isfinite(fit.std_error).all()


def test_a_word_that_is_not_there_is_named():
    some, x, each = words("job", list("abcdabcd")), np.arange(8.0), np.ones(8)
    with pytest.raises(DataError, match="'job' has no value 'z'"):
        regression_of(some, [numbers("x", x)], value="z", rates={}, rows=Rows(each, each))
    with pytest.raises(DataError, match="'job' holds words"):
        regression_of(some, [numbers("x", x)], value=None, rates={}, rows=Rows(each, each))


@pytest.mark.parametrize("near", [0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3, 1])
def test_columns_are_told_apart_as_their_rank_says(near):
    rng = np.random.default_rng(3)
    one, two, noise = rng.normal(size=(3, 200))
    for design in (np.stack([one, two, one + two + near * noise], axis=1), np.stack([one, near * two], axis=1)):
        assert tell_apart(design) == (np.linalg.matrix_rank(design) == design.shape[1])
    assert not tell_apart(np.ones((1, 2)))
