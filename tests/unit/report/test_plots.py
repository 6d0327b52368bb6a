from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.report.plots import (
    BEFORE_AND_AFTER,
    GROUND,
    TOP,
    bar_chart,
    round_numbers,
    steps,
    steps_of_values,
    upright_pairs,
)

shares = st.none() | st.floats(0, 1)


def test_the_longest_bar_fills_the_room():
    chart = bar_chart([("a", (0.1, 0.2)), ("b", (0.4, None))], BEFORE_AND_AFTER)

    assert [row.bars for row in chart.rows] == [
        [("is-before", 25.0), ("is-after", 50.0)],
        [("is-before", 100.0), ("is-after", 0.0)],
    ]
    assert chart.rows[0].value == "10% → 20%"


def test_bars_of_shares_can_be_drawn_to_scale():
    chart = bar_chart([("a", (0.1, 0.2))], BEFORE_AND_AFTER, full=1.0)

    assert chart.rows[0].bars == [("is-before", 10.0), ("is-after", 20.0)]


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(shares, shares), min_size=1, max_size=30))
def test_marks_stay_inside_the_picture(pairs):
    before, after = zip(*pairs, strict=True)
    labels = [f"value {i}" for i in range(len(pairs))]
    edges = [10.0 * i for i in range(len(pairs) + 1)]

    for plot in (
        steps(edges, before, after),
        steps_of_values(labels, before, after),
        upright_pairs(labels, before, after),
    ):
        for box in plot.boxes:
            assert box.left >= 0
            assert box.left + box.width <= 100.01
            assert TOP <= box.top <= GROUND
            assert box.top + box.height == pytest.approx(GROUND)
        for line in (*plot.outline, *plot.rules):
            assert 0 <= line.x1 <= line.x2 <= 100
            assert TOP <= min(line.y1, line.y2) <= max(line.y1, line.y2) <= GROUND
        assert all(0 <= tick.x <= 100 for tick in plot.ticks)


def test_the_outline_is_one_line_without_gaps():
    outline = steps([0, 1, 2, 3], [0.2, 0.3, 0.5], [0.5, 0.0, 0.5]).outline

    for before, after in pairwise(outline):
        assert (before.x2, before.y2) == (after.x1, after.y1)
    assert (outline[0].x1, outline[0].y1) == (0, GROUND)
    assert (outline[-1].x2, outline[-1].y2) == (100, GROUND)


@settings(deadline=None)
@given(low=st.floats(-1e12, 1e12), width=st.floats(1e-3, 1e12))
def test_round_numbers_lie_between_and_are_few(low, width):
    found = round_numbers(low, low + width, 5)

    assert len(found) <= 11
    assert all(low <= number <= low + width for number in found)


def test_labels_are_not_cut_so_that_they_look_alike():
    long = "Inferring a sensitive item of a column with a very long name " * 2
    rows = [(f"{long}from {known} known items, as it seems {long}", [0.5]) for known in ("one", "two", "three")]

    chart = bar_chart(rows, [("is-after", "after")])

    assert len({bar.label for bar in chart.rows}) == 3
