"""Bounds of ranges: they hold the values between them, and none of them is a figure that only few people have."""

import datetime
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.encoding import encode_column
from sfumato.data.grid import Grid
from sfumato.data.kinds import exact_number
from sfumato.data.labels import range_ends
from sfumato.data.schema import ColumnSpec, Kind, Role


def column_of(values, **spec):
    array = pa.chunked_array([pa.array(values, pa.string())])
    return encode_column(array, ColumnSpec(name="c", role=Role.QUASI_IDENTIFIER, **spec), ("",))


def grid_of(column, least):
    return Grid.of(column, np.bincount(column.codes, minlength=len(column.labels)), least)


def placed(values, least, read):
    """Bands in order, with enough people in each, and within the bounds that they show."""
    column = column_of(values)
    grid = grid_of(column, least)
    people = Counter(read(value) for value in values)
    in_band = Counter(grid.band_of[column.codes].tolist())
    labels = [grid.label(column, band, band) for band in range(grid.size)]
    assert sorted(in_band) == list(range(grid.size))
    assert min(in_band.values()) >= min(least, len(values))
    for value, band in zip(values, grid.band_of[column.codes], strict=True):
        low, high, closed = range_ends(labels[band]) or (labels[band], labels[band], True)
        assert read(low) <= read(value)
        assert read(value) <= read(high) if closed else read(value) < read(high)
    return labels, grid, column, people


def check(values, least, read, on_mark=lambda low, high: (False, False)):
    """All that, and no bound of a range is a figure of few people, unless it is on a mark."""
    labels, grid, column, people = placed(values, least, read)
    for low in range(grid.size):
        for high in range(low, grid.size):
            ends = range_ends(grid.label(column, low, high))
            if ends is not None:
                marked = on_mark(read(ends[0]), read(ends[1]))
                assert all(
                    allowed or not 0 < people[read(end)] < least for end, allowed in zip(ends[:2], marked, strict=True)
                )
    return labels


numbers = st.one_of(
    st.lists(st.integers(-30, 130).map(str), min_size=1, max_size=60),
    st.lists(st.integers(10**17, 10**17 + 400).map(str), min_size=1, max_size=40),
    st.lists(st.decimals(-5, 5, places=2).map(str), min_size=1, max_size=40),
    st.lists(st.sampled_from(["1e-7", "3.5", "1e9", "-2", "12345678901234567890"]), min_size=1, max_size=20),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(values=numbers, least=st.integers(2, 6))
def test_numbers_lie_between_round_bounds_that_few_people_have_only_where_all_are_taken(values, least):
    unit = min(exact_number(value).as_tuple().exponent for value in values)
    whole = all(exact_number(value) == int(exact_number(value)) for value in values)
    step = 5 if whole else 5 * Decimal(10) ** unit

    check(values, least, exact_number, lambda low, high: (low % step == 0, (high + whole) % step == 0))


@settings(max_examples=80, deadline=None)
@given(
    days=st.lists(st.dates(datetime.date(2019, 11, 1), datetime.date(2021, 3, 1)), min_size=1, max_size=60),
    least=st.integers(2, 5),
)
def test_dates_lie_between_days_that_few_people_have_only_where_all_are_taken(days, least):
    def begins_a_period(day):
        return day.weekday() == 0 or day.day == 1

    next_day = datetime.timedelta(days=1)
    on_mark = lambda low, high: (begins_a_period(low), begins_a_period(high + next_day))  # noqa: E731
    check([day.isoformat() for day in days], least, datetime.date.fromisoformat, on_mark)


def test_incomes_are_never_bounds():
    pay = np.random.default_rng(3).lognormal(10, 1, 800).astype(int)

    assert len(check(list(map(str, pay)), 5, exact_number)) > 80


def test_crowded_places_are_divided_all_the_same():
    ages = [str(age) for age in range(18, 78)]
    labels = check(ages, 10, exact_number, lambda low, high: (low % 5 == 0, high % 5 == 4))

    assert labels[1:3] == ["[30, 39]", "[40, 49]"]


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_calendar_has_ends(day):
    placed([day, "2020-02-29", "2020-03-01", "2021-07-01"], 2, datetime.date.fromisoformat)


def test_bounds_are_round_and_the_largest_value_is_not_among_them():
    values = [str(value) for value in (18213, 19877, 24991, 25007, 31344, 38123, 1_000_000_007, 47001)]

    labels = check(values, 2, exact_number)

    assert labels == ["[18000, 19999]", "[24990, 25009]", "[30000, 39999]", "[40000, 1499999999]"]


def test_values_that_enough_people_share_are_bands_of_their_own():
    grid = grid_of(column := column_of(["34"] * 3 + ["35"] * 3 + ["36", "39", "41"]), 3)

    assert [grid.label(column, band, band) for band in range(grid.size)] == ["34", "[35, 44]"]
    assert grid.label(column, 0, 1) == "[34, 44]"


def test_times_of_one_day_show_the_day_and_missing_is_a_band_that_ranges_never_hold():
    column = column_of(["2024-05-03 10:00", "2024-05-03 11:30", "2024-06-01 09:00", "2024-06-09 09:00", ""])
    grid = grid_of(column, 2)

    assert [grid.label(column, band, band) for band in range(grid.size)] == [
        "2024-05-03",
        "[2024-05-27, 2024-06-16]",
        "",
    ]
    assert grid.label(column, 0, 2) == "*"


@pytest.mark.parametrize(
    ("values", "spec", "ends"),
    [
        (["0", "0", "1", "7", "9", "13"], {}, ("[0, 19]",)),
        (["-3", "0", "1", "7", "9", "13"], {}, ("[-10, 19]",)),
        (["2", "3", "11", "12", "13"], {"domain": tuple(map(str, range(1, 15)))}, ("[1, 14]",)),
        (["2", "3", "11", "12", "word"], {"domain": ("1", "2", "3", "11", "12", "word"), "kind": Kind.ORDERED}, None),
        (
            ["2024-01-03", "2024-01-30", "2024-03-01"],
            {"domain": ("2024-01-02", "2024-01-03", "2024-01-30", "2024-03-01", "2024-03-05")},
            ("[2024-01-02, 2024-03-05]",),
        ),
    ],
)
def test_bounds_stay_above_zero_where_no_number_is_below_and_within_a_declared_domain(values, spec, ends):
    column = column_of(values, **spec)
    if ends is None:
        assert column.ends is None
        return
    grid = grid_of(column, 4)
    assert tuple(grid.label(column, band, band) for band in range(grid.size)) == ends
