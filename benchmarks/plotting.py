"""Lines over a number as one SVG picture: no library, one look on every machine, light and dark."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from sfumato.report.plots import round_numbers

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 210, 14, 40  # room for what stands around the picture; the names are on the right
COLOURS = ("#1f6f8b", "#c8553d", "#5b8c5a", "#8e5ea2", "#b8860b", "#3d405b", "#d1495b", "#00798c", "#7d8597", "#a44a3f")
DASHES = ("", "6 3", "2 3")  # the second and third time through the colours


def line_plot(series: Mapping[object, Points], x: str, y: str, log: str = "") -> str:
    """Return a picture of lines, one for each series; `log` holds the axes that go by powers of ten."""
    points = [point for line in series.values() for point in line]
    across = _Axis([point[0] for point in points], LEFT, WIDTH - RIGHT, log="x" in log)
    up = _Axis([point[1] for point in points], HEIGHT - BOTTOM, TOP, log="y" in log, from_zero="y" not in log)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{html.escape(f"{y} over {x}")}" font-family="sans-serif" font-size="11" '
        f'fill="currentColor" color="#57606a">'
    ]
    for at, words in up.ticks():
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}" stroke="currentColor" opacity=".25"/>'
            f'<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{words}</text>'
        )
    for at, words in across.ticks():
        parts.append(f'<text x="{at}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{words}</text>')
    middle = (LEFT + WIDTH - RIGHT) // 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(x)}</text>')
    parts.append(
        f'<text transform="rotate(-90)" x="{-HEIGHT // 2}" y="12" text-anchor="middle">{html.escape(y)}</text>'
    )
    for number, (name, line) in enumerate(series.items()):
        parts += _line(number, str(name), [(across.at(a), up.at(b)) for a, b in sorted(line)])
    return "\n".join([*parts, "</svg>"])


def _line(number: int, name: str, places: Sequence[tuple[float, float]]) -> list[str]:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
    path = " ".join(f"{a},{b}" for a, b in places)
    dots = "".join(f'<circle cx="{a}" cy="{b}" r="2.5" fill="{colour}"/>' for a, b in places)
    at = TOP + 8 + 14 * number
    key = WIDTH - RIGHT + 10
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}"/>{dots}',
        f'<line x1="{key}" x2="{key + 16}" y1="{at - 4}" y2="{at - 4}" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{dash}"/><text x="{key + 22}" y="{at}">{html.escape(name)}</text>',
    ]


class _Axis:
    """Where a number stands between two edges of the picture."""

    def __init__(self, values: Sequence[float], first: int, last: int, *, log: bool, from_zero: bool = False) -> None:
        self.log = log and min(values) > 0
        self.low, self.high = min(values), max(values)
        if from_zero and not self.log:
            self.low = min(self.low, 0.0)
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        low, high, value = (math.log10(each) if self.log else each for each in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.first + share * (self.last - self.first), 1)

    def ticks(self) -> list[tuple[float, str]]:
        if not self.log:
            return [(self.at(value), f"{value:g}") for value in round_numbers(self.low, self.high, 5)]
        powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        values = [10.0**power for power in powers] if len(powers) > 1 else [self.low, self.high]
        return [(self.at(value), f"{value:.3g}") for value in values]
