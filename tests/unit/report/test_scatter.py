"""Dots on two axes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.report.scatter import GROUND, TOP, Point, scatter
from sfumato.report.wording import figure

POINTS = st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=9)


def drawn(places, through=()):
    points = [Point(x=x, y=y, css="is-dominated", title="") for x, y in places]
    return scatter(points, through, x_title="x", y_title="y", show_y=figure)


@given(places=POINTS)
def test_dots_stay_inside_the_picture(places):
    for dot in drawn(places).dots:
        assert 0 <= dot.x <= 100
        assert TOP <= dot.y <= GROUND


@given(places=POINTS)
def test_more_is_farther_right_and_higher_up(places):
    dots = drawn(places).dots

    for (x, y), dot in zip(places, dots, strict=True):
        for (other_x, other_y), other in zip(places, dots, strict=True):
            assert other.x >= dot.x or other_x < x
            assert other.y <= dot.y or other_y < y


def test_a_line_goes_through_the_dots_it_joins():
    plot = drawn([(0, 0), (1, 2), (2, 1)], through=[(0, 0), (1, 2)])

    [line] = plot.line
    assert [(line.x1, line.y1), (line.x2, line.y2)] == [(dot.x, dot.y) for dot in plot.dots[:2]]


def test_what_stands_out_is_drawn_last():
    looks = ("is-knee", "is-dominated", "is-frontier")
    points = [Point(x=i, y=i, css=css, title="") for i, css in enumerate(looks)]

    plot = scatter(points, x_title="", y_title="", show_y=figure)

    assert [dot.css for dot in plot.dots] == ["is-dominated", "is-frontier", "is-knee"]
