"""Pictures of points: where each combination of a sweep lies, the frontier among them, and its knee.

As in plots.py, horizontal positions are percentages and vertical ones pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfumato.report.plots import Axes, Formatter, Line, Tick, round_numbers
from sfumato.report.wording import figure

HEIGHT = 340
TOP, GROUND = 26, 292
INSET = 4.0  # percent kept free at both sides, so that dots at the ends are whole


@dataclass(frozen=True, kw_only=True)
class Point:
    """What is drawn at one place: position in the units of the axes, its look, and its words."""

    x: float
    y: float
    css: str
    title: str
    label: str = ""  # beside the dot


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A dot: x in percent, y in pixels."""

    x: float
    y: float
    radius: float
    css: str
    title: str
    label: str
    anchor: str


@dataclass(frozen=True, kw_only=True)
class Scatter(Axes):
    """Dots on two axes, and perhaps a line through some of them."""

    dots: Sequence[Dot]
    line: Sequence[Line] = ()
    x_title: str = ""
    y_title: str = ""
    height: int = HEIGHT
    top: int = TOP
    ground: int = GROUND


def scatter(
    points: Sequence[Point],
    through: Sequence[tuple[float, float]] = (),
    *,
    x_title: str,
    y_title: str,
    show_y: Formatter,
    show_x: Formatter = figure,
    x_ticks: Sequence[float] | None = None,
) -> Scatter:
    """Return the dots, and a line `through` some places in their order."""
    low_x, high_x = _span([point.x for point in points])
    low_y, high_y = _span([point.y for point in points])
    low_y = 0.0 if 0 <= low_y < 0.6 * high_y else low_y  # amounts start from nothing unless that hides the differences

    def at_x(value: float) -> float:
        return round(INSET + (100 - 2 * INSET) * (value - low_x) / (high_x - low_x), 3)

    def at_y(value: float) -> float:
        return round(GROUND - (GROUND - TOP) * (value - low_y) / (high_y - low_y), 2)

    ordered = sorted(points, key=lambda point: _ORDER.get(point.css, 0))
    levels = round_numbers(low_y, high_y, 5)
    across = x_ticks if x_ticks is not None else round_numbers(low_x, high_x, 6)
    return Scatter(
        dots=[_dot(point, at_x(point.x), at_y(point.y)) for point in ordered],
        line=[Line(x1=at_x(a[0]), y1=at_y(a[1]), x2=at_x(b[0]), y2=at_y(b[1])) for a, b in pairwise(through)],
        rules=[Line(x1=0, x2=100, y1=at_y(level), y2=at_y(level)) for level in levels],
        levels=[Tick(x=0, y=at_y(level) + 4, text=show_y(level), anchor="end") for level in levels],
        ticks=[Tick(x=at_x(value), y=GROUND + 18, text=show_x(value)) for value in across],
        x_title=x_title,
        y_title=y_title,
    )


_ORDER = {"is-dominated": 0, "is-frontier": 1, "is-knee": 2}  # what stands out is drawn last, on top


def _dot(point: Point, x: float, y: float) -> Dot:
    radius = {"is-knee": 8.0, "is-frontier": 5.5}.get(point.css, 4.5)
    anchor = "end" if x > 60 else "start"
    return Dot(x=x, y=y, radius=radius, css=point.css, title=point.title, label=point.label, anchor=anchor)


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis; one value alone gets room around it."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = abs(low) / 2 or 0.5  # half of the smallest number is nothing
    return (low, high) if high > low else (low - room, high + room)
