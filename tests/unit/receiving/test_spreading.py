"""How rows spread over the values behind their labels: worked out by hand."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.receiving.spreading import spread
from sfumato.receiving.values import Groups, Ranges

LEGEND = {"health": {"level": 1, "members": ["nurse", "doctor"]}}


def ranges(*labels, **more):
    return Ranges("age", np.arange(len(labels), dtype=np.int32), labels, **more)


def groups(*labels, legend=LEGEND, **more):
    return Groups("job", np.arange(len(labels), dtype=np.int32), labels, legend, **more)


def test_whole_numbers_are_counted_one_by_one():
    found = spread(ranges("[20, 29]", "25", "30", "[28, 31]"), bins=[20, 30, 40])

    assert found.values == ("[20, 30)", "[30, 40)")
    np.testing.assert_allclose(found.share, [[1, 0], [1, 0], [0, 1], [0.5, 0.5]])
    assert found.possible.tolist() == [[True, False], [True, False], [False, True], [True, True]]


def test_other_numbers_spread_by_width_and_a_closed_end_may_be_in_the_next_bin():
    found = spread(ranges("[0, 2)", "[1, 2]", "0.5"), bins=[0, 1.5, 2])

    assert found.values == ("[0, 1.5)", "[1.5, 2)", "elsewhere")
    np.testing.assert_allclose(found.share, [[0.75, 0.25, 0], [0.5, 0.5, 0], [1, 0, 0]])
    assert found.possible.tolist() == [[True, True, False], [True, True, True], [True, False, False]]


def test_what_lies_outside_all_bins_is_said_and_nothing_at_all_spreads_over_all_that_is_known():
    found = spread(ranges("[10, 29]", "*", ""), bins=[20, 30])
    assert found.share[0].tolist() == [0.5, 0.5]
    missing = spread(ranges("[10, 29]", "*", "", missing=2), bins=[20, 30])

    assert missing.values == ("[20, 30)", "elsewhere", "(missing)")
    np.testing.assert_allclose(missing.share, [[0.5, 0.5, 0], [10 / 21, 11 / 21, 0], [0, 0, 1]])
    assert missing.possible[1].all()
    everything = spread(ranges("25", "*"), bins=[0, 100])
    assert everything.values == ("[0, 100)", "elsewhere")
    assert everything.possible.tolist() == [[True, False], [True, True]]


def test_base_rates_of_numbers_decide_where_they_say_something():
    found = spread(ranges("[20, 29]", "[40, 49]"), bins=[20, 25, 50], rates={"21": 3, "27": 1})

    np.testing.assert_allclose(found.share, [[0.75, 0.25], [0, 1]])


def test_a_figure_of_several_classes_spreads_over_their_ranges_by_their_rows():
    found = spread(ranges("34", "50", spans={"34": {"[30, 39]": 3, "[20, 29]": 1}}), bins=[20, 30, 60])

    np.testing.assert_allclose(found.share, [[0.25, 0.75], [0, 1]])


def test_words_spread_over_the_values_below_them():
    found = spread(groups("nurse", "health", "{cook|nurse}", "*"))

    assert found.values == ("nurse", "doctor", "cook", "elsewhere")
    shares = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [1 / 3, 1 / 3, 1 / 3, 0]]
    np.testing.assert_allclose(found.share, shares)
    assert found.possible[:, 3].tolist() == [False, False, False, True]  # what no row shows may stand behind `*`
    weighted = spread(groups("nurse", "health", "{cook|nurse}", "*"), rates={"nurse": 3, "doctor": 1})
    np.testing.assert_allclose(weighted.share, [[1, 0, 0], [0.75, 0.25, 0], [1, 0, 0], [0.75, 0.25, 0]])


def test_codes_that_lost_their_end_need_all_values_to_be_given():
    codes = groups("12*", "130", legend={"12*": {"level": 1}})
    with pytest.raises(DataError, match=r"does not say which values stand behind '12\*'"):
        spread(codes)

    with pytest.raises(DataError, match=r"stand behind '\*'"):
        spread(groups("*", legend={}))

    np.testing.assert_allclose(spread(codes, values=["120", "125", "130"]).share, [[0.5, 0.5, 0], [0, 0, 1]])
    with pytest.raises(DataError, match="stand for none"):
        spread(codes, values=["130"])


def test_values_that_base_rates_list_need_not_be_shown():
    found = spread(groups("nurse", "*", legend={}), rates={"nurse": 1, "judge": 3})

    assert found.values == ("nurse", "judge")
    np.testing.assert_allclose(found.share, [[1, 0], [0.25, 0.75]])
    missing = spread(groups("nurse", "*", "", legend={}, missing=2))
    assert missing.values == ("nurse", "elsewhere", "(missing)")
    assert missing.possible.tolist() == [[True, False, False], [True, True, True], [False, False, True]]


def test_days_are_counted_between_dates():
    days = Ranges("born", np.arange(2, dtype=np.int32), ("1980-05", "1999-12-31"), days=True)

    found = spread(days, bins=["1980", datetime.date(1980, 5, 11), "2000-01-01"])
    assert found.values == ("[1980-01-01, 1980-05-11)", "[1980-05-11, 2000-01-01)")
    np.testing.assert_allclose(found.share, [[10 / 31, 21 / 31], [0, 1]])
    with pytest.raises(DataError, match="holds days"):
        spread(days, bins=["x", "y"])


@pytest.mark.parametrize("bins", [None, [20], [30, 20], ["a", "b"], [20, None], [0, float("nan"), 50]])
def test_numbers_need_rising_edges(bins):
    with pytest.raises(DataError, match="Give the edges of bins"):
        spread(ranges("[20, 29]"), bins=bins)
    with pytest.raises(DataError, match="holds words"):
        spread(groups("nurse"), bins=[1, 2])
