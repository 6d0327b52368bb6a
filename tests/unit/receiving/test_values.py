"""What single labels may stand for: ends of ranges, days of periods, levels and members of groups."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from sfumato.data.base_rates import BaseRates
from sfumato.receiving.values import Groups, Ranges

LEGEND = {"health": {"level": 1, "members": ["nurse", "doctor"]}, "12**": {"level": 2}}


def ranges(labels, **more):
    return Ranges("a", np.arange(len(labels), dtype=np.int32), tuple(labels), coarse=True, **more)


def groups(labels, **more):
    return Groups("a", np.arange(len(labels), dtype=np.int32), tuple(labels), LEGEND, coarse=True, **more)


def test_numbers_have_ends_and_a_middle():
    found = ranges(["7", "[20, 29]", "[0.5, 1)", "*", ""], missing=4)

    np.testing.assert_array_equal(found.lower, [7, 20, 0.5, -np.inf, np.nan])
    np.testing.assert_array_equal(found.upper, [7, 29, 1, np.inf, np.nan])
    np.testing.assert_array_equal(found.midpoint, [7, 24.5, 0.75, np.nan, np.nan])
    assert found.exact.tolist() == [True, False, False, False, False]


def test_numbers_behind_words_cut_codes_and_lists_have_ends_too():
    found = ranges(["young", "12*", "{3|9}", "old"], legend={"young": {"level": 1, "members": ["18", "25", "21"]}})

    np.testing.assert_array_equal(found.lower, [18, 120, 3, -np.inf])
    np.testing.assert_array_equal(found.upper, [25, 129, 9, np.inf])


def test_a_figure_of_a_class_stands_for_what_release_json_says():
    found = ranges(["34.2"], spans={"34.2": {"[30, 49]": 5}})

    assert (found.lower[0], found.upper[0], found.midpoint[0]) == (30, 49, 34.2)


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("2024-05-03", "2024-05-03", "2024-05-03"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2024-Q4", "2024-10-01", "2024-12-31"),
        ("2024", "2024-01-01", "2024-12-31"),
        ("2020s", "2020-01-01", "2029-12-31"),
        ("2021-W**", "2021-01-04", "2022-01-02"),
        ("202*-W**", "2019-12-30", "2029-12-30"),
        ("[2024-01-10, 2024-02-01)", "2024-01-10", "2024-01-31"),
        ("2024-13", None, None),
    ],
)
def test_periods_have_a_first_and_a_last_day(label, first, last):
    row = ranges([label], days=True).arrow().to_pylist()[0]

    expected = [datetime.date.fromisoformat(day) if day else None for day in (first, last)]
    assert [row["lower"], row["upper"]] == expected


def test_groups_have_levels_and_members_as_far_as_they_are_told():
    found = groups(["nurse", "health", "{cook|baker}", "12**", "*", "?"], missing=5)

    assert found.level.tolist() == [0, 1, -1, 2, -1, 0]
    assert found.members == {
        "nurse": ("nurse",),
        "health": ("nurse", "doctor"),
        "{cook|baker}": ("cook", "baker"),
        "12**": None,
        "*": None,  # what is behind 12** may be, too
    }
    assert found.arrow().to_pylist()[1] == {"label": "health", "level": 1, "members": ["nurse", "doctor"]}
    assert found.arrow().to_pylist()[5] == {"label": None, "level": None, "members": None}
    assert groups(["nurse", "health", "*"]).members["*"] == ("nurse", "doctor")


def test_probabilities_follow_base_rates_that_are_given_or_published_else_all_are_alike():
    published = BaseRates(weight={"nurse": 3, "doctor": 1, "cook": 4})
    found = groups(["health", "*"], rates=published)

    assert found.probabilities()["health"] == {"nurse": 0.75, "doctor": 0.25}
    assert found.probabilities()["*"] == {"nurse": 3 / 8, "doctor": 1 / 8, "cook": 1 / 2}
    assert found.probabilities(BaseRates(weight={"nurse": 1, "doctor": 1}))["health"]["nurse"] == 0.5
    assert groups(["health"]).probabilities()["health"] == {"nurse": 0.5, "doctor": 0.5}
    assert groups(["health"]).probabilities(BaseRates(weight={"cook": 1}))["health"]["doctor"] == 0.5
