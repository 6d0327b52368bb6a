"""Pictures as positions: each plot says where its marks go, and templates/plots.html draws them as inline SVG.

Horizontal positions are percentages and vertical ones are pixels, so a picture fits any width while its text keeps its
size. Colours are CSS classes: one drawing serves light, dark and paper. No script, no font, no renderer to start:
a picture costs well under a millisecond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfumato.report.wording import apart_labels, figure, share

Formatter = Callable[[object], str]
Number = float | None

LABEL_LENGTH = 72  # characters of a label in a picture; the whole label is its tooltip, and in the table
HEIGHT = 152  # pixels of a histogram
TOP, GROUND = 20, 128  # how high its bars may reach, and where they stand

BEFORE, AFTER = "is-before", "is-after"
BEFORE_AND_AFTER = ((BEFORE, "before"), (AFTER, "after"))
FILLED_AND_OUTLINED = (("is-before-soft", "before"), ("is-after-line", "after"))


@dataclass(frozen=True, kw_only=True)
class Table:
    """The figures behind a picture; the first cell of a row says what it is about."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One row of a bar chart: one bar, or some above each other, each with its CSS class and width in percent."""

    label: str
    title: str
    value: str
    bars: Sequence[tuple[str, float]]


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Horizontal bars with a label each."""

    rows: Sequence[Bar]
    kind: str = "bars"


@dataclass(frozen=True, kw_only=True)
class Box:
    """An upright bar: left and width in percent, top and height in pixels."""

    left: float
    width: float
    top: float
    height: float
    css: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """A straight line: x in percent, y in pixels."""

    x1: float
    x2: float
    y1: float
    y2: float


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A text at an axis: x in percent, y in pixels."""

    x: float
    y: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What stands around a picture."""

    rules: Sequence[Line] = ()
    ticks: Sequence[Tick] = ()
    levels: Sequence[Tick] = ()  # what the rules stand for, beside the picture

    @property
    def level_width(self) -> int:
        """Pixels that the texts beside the picture need."""
        return 7 * max((len(level.text) for level in self.levels), default=0) + 2


@dataclass(frozen=True, kw_only=True)
class Histogram(Axes):
    """Upright boxes on an axis, and perhaps an outline over them."""

    boxes: Sequence[Box]
    outline: Sequence[Line] = ()
    height: int = HEIGHT
    ground: int = GROUND
    kind: str = "histogram"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A plot with its title, the words that stand for it where it cannot be seen, and its figures."""

    title: str
    plot: Bars | Histogram
    alt: str
    table: Table
    note: str = ""
    legend: Sequence[tuple[str, str]] = ()  # (css class, word)
    wide: bool = False


def bar_chart(
    rows: Sequence[tuple[str, Sequence[Number]]],
    series: Sequence[tuple[str, str]],  # (css class, word)
    show: Formatter = share,
    *,
    full: float | None = None,
    between: str = " → ",
    rest: tuple[str, Sequence[Number]] | None = None,
) -> Bars:
    """Return rows of bars, one for each series; `full` is the value of a bar as long as the room, else the longest.

    The `rest` is told in numbers only: a bar for many values together would dwarf those of single ones.
    """
    label_of = apart_labels([label for label, _ in [*rows, *([rest] if rest else [])]], LABEL_LENGTH)
    longest = full or max((value or 0.0 for _, values in rows for value in values), default=0.0) or 1.0

    def row(label: str, values: Sequence[Number], *, drawn: bool = True) -> Bar:
        said = ", ".join(f"{show(value)} {word}" for value, (_, word) in zip(values, series, strict=True))
        return Bar(
            label=label_of[label],
            title=f"{label}: {said}",
            value="" if all(value is None for value in values) else between.join(show(value) for value in values),
            bars=[
                (css, round(100 * min(max((value or 0.0) / longest, 0.0), 1.0), 3))
                for value, (css, _) in zip(values, series, strict=True)
                if drawn
            ],
        )

    return Bars(rows=[*(row(*entry) for entry in rows), *([row(*rest, drawn=False)] if rest else [])])


def pairs_of_shares(
    title: str, named: Sequence[tuple[str, Sequence[Number]]], about: str, note: str, further: Sequence[list[str]] = ()
) -> Picture:
    """Return shares before and after as pairs of bars, in a room from nothing to all; `about` opens them in words."""
    said = "; ".join(f"{name.lower()} {share(a)} before, {share(b)} after" for name, (a, b) in named)
    return Picture(
        title=title,
        plot=bar_chart(named, BEFORE_AND_AFTER, full=1.0),
        alt=f"{about}: {said}.",
        note=note,
        legend=BEFORE_AND_AFTER,
        table=Table(
            head=["", "Before", "After"], rows=[*([name, share(a), share(b)] for name, (a, b) in named), *further]
        ),
    )


def shares(counts: Sequence[Number], total: Number) -> list[Number]:
    """Return each count as a share of the total.

    >>> shares([1, None, 3], 4)
    [0.25, None, 0.75]
    """
    return [value / total if value is not None and total else None for value in counts]


def steps(edges: Sequence[float], before: Sequence[Number], after: Sequence[Number]) -> Histogram:
    """Return shares between edges of a number: before as filled boxes, after as an outline."""
    low, span = edges[0], (edges[-1] - edges[0]) or 1.0
    at = [100 * (edge - low) / span for edge in edges]
    names = [f"{figure(left)} to {figure(right)}" for left, right in pairwise(edges)]
    ticks = [_tick(100 * (value - low) / span, figure(value)) for value in round_numbers(edges[0], edges[-1], 5)]
    return _outlined(at, names, before, after, ticks)


def steps_of_values(labels: Sequence[str], before: Sequence[Number], after: Sequence[Number]) -> Histogram:
    """Return shares of values that have an order: before as filled boxes, after as an outline."""
    room = 100 / len(labels)
    at = [room * i for i in range(len(labels) + 1)]
    longest = max(map(len, labels))
    every = max(1, math.ceil(len(labels) * min(longest, 12) / 32))  # labels that fit side by side on a narrow screen
    label_of = apart_labels([labels[i] for i in range(0, len(labels), every)], 12)
    ticks = [_tick(at[i] + room / 2, label_of[labels[i]]) for i in range(0, len(labels), every)]
    return _outlined(at, labels, before, after, ticks)


def upright_pairs(labels: Sequence[str], before: Sequence[Number], after: Sequence[Number]) -> Histogram:
    """Return two upright bars side by side for each label."""
    highest = _highest([*before, *after])
    room = 100 / max(len(labels), 1)
    longest = max(map(len, labels), default=1)
    every = max(1, math.ceil(len(labels) * longest / 42))
    boxes, ticks = [], []
    for i, label in enumerate(labels):
        title = f"{label}: {share(before[i])} before, {share(after[i])} after"
        boxes.append(_box(room * (i + 0.12), room * 0.37, before[i], highest, BEFORE, title))
        boxes.append(_box(room * (i + 0.51), room * 0.37, after[i], highest, AFTER, title))
        if i % every == 0:
            ticks.append(_tick(room * (i + 0.5), label))
    rules, levels = _rules(highest)
    return Histogram(boxes=boxes, rules=rules, ticks=ticks, levels=levels)


def round_numbers(low: float, high: float, about: int) -> list[float]:
    """Return round numbers from low to high, about so many.

    >>> round_numbers(17, 90, 5), round_numbers(0, 1, 5), round_numbers(3, 3, 5)
    ([20.0, 40.0, 60.0, 80.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [3])
    """
    rough = (high - low) / about
    if not 1e-300 < rough < math.inf:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((nice * power for nice in (1, 2, 5) if nice * power >= 0.999 * rough), 10 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    between = (float(f"{i * step:.12g}") for i in range(first, last + 1))
    return [number for number in between if low <= number <= high]


def _outlined(
    at: Sequence[float], names: Sequence[str], before: Sequence[Number], after: Sequence[Number], ticks: list[Tick]
) -> Histogram:
    """Return boxes from at[i] to at[i + 1] percent and the outline of a second distribution over them."""
    highest = _highest([*before, *after])
    boxes, outline = [], []
    y_before = float(GROUND)
    for i, name in enumerate(names):
        left, right = round(at[i], 3), round(at[i + 1], 3)
        title = f"{name}: {share(before[i])} before, {share(after[i])} after"
        boxes.append(_box(left, right - left, before[i], highest, "is-before-soft", title))
        y = _y(after[i], highest)
        if y != y_before:
            outline.append(Line(x1=left, x2=left, y1=y_before, y2=y))
        outline.append(Line(x1=left, x2=right, y1=y, y2=y))
        y_before = y
    outline.append(Line(x1=100, x2=100, y1=y_before, y2=GROUND))
    rules, levels = _rules(highest)
    return Histogram(boxes=boxes, outline=outline, rules=rules, ticks=ticks, levels=levels)


def _highest(values: Sequence[Number]) -> float:
    return max((value for value in values if value is not None), default=0.0) or 1.0


def _y(value: Number, highest: float) -> float:
    return round(GROUND - (GROUND - TOP) * min(max((value or 0.0) / highest, 0.0), 1.0), 2)


def _box(left: float, width: float, value: Number, highest: float, css: str, title: str) -> Box:
    top = _y(value, highest)
    return Box(left=round(left, 3), width=round(width, 3), top=top, height=round(GROUND - top, 2), css=css, title=title)


def _rules(highest: float) -> tuple[list[Line], list[Tick]]:
    """Return a few level lines, and what they stand for."""
    levels = [level for level in round_numbers(0, highest, 4) if level > 0]
    lines = [Line(x1=0, x2=100, y1=_y(level, highest), y2=_y(level, highest)) for level in levels]
    return lines, [
        Tick(x=0, y=line.y1 + 4, text=share(level), anchor="end") for line, level in zip(lines, levels, strict=True)
    ]


def _tick(x: float, words: str) -> Tick:
    half = 1.1 * len(words)  # of the text's width on a narrow screen, in percent
    anchor = "start" if x - half < -5 else "end" if x + half > 105 else "middle"
    return Tick(x=round(x, 3), y=GROUND + 18, text=words, anchor=anchor)
