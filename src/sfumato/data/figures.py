"""Figures of classes in the place of their ranges: the mean or the median of the numbers in each class.

A figure is rounded to about a fiftieth of the range that it stands for, so that it does not tell the sum of a class to
the last digit, and it is nobody's own: where fewer people have exactly this number than a class must hold, the next
mark is taken, and the range stays where there is none. docs/decisions/0010-figures-of-classes.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, Codes, Dataset, distinct_codes
from sfumato.data.hierarchy import ROOT
from sfumato.data.kinds import as_number
from sfumato.data.labels import number_text, parse_range, range_label
from sfumato.data.recoding import Labelled, Recoding, as_seen

MARKS = 50  # at least, in a range: a figure is rounded to one of them
MOST_OFF = 1.5 / MARKS  # of its range: how far a figure may lie from that of its class
FEW = 2  # people who must at least share a number that is shown, where no class needs more
SHOWS = ("range", "mean", "median")

Floats = NDArray[np.float64]
Spans: TypeAlias = Mapping[str, Mapping[str, int]]  # by figure: the ranges that it stands for, with the rows of each


@dataclass(frozen=True, eq=False)
class _Classes:
    """The classes of a decision: c classes, p rows or pieces of rows that are published."""

    class_of: NDArray[np.int64]  # (p,)
    row_of: NDArray[np.int64]  # (p,): rows of the dataset
    count: NDArray[np.int64]  # (p,): how many rows each stands for
    weight: Floats  # (p,): the same with survey weights
    shown: Mapping[str, tuple[NDArray[np.int64], tuple[str, ...]]]  # by column: the label of each class, (c,)

    @property
    def size(self) -> int:
        """How many classes there are."""
        return int(self.class_of.max(initial=-1)) + 1


def with_figures(
    dataset: Dataset,
    recoding: Recoding,
    shows: str,
    least: int,
    weight: Floats | None = None,
    group_of: Codes | None = None,
) -> Recoding:
    """Return a decision that shows the mean or the median of each class for numbers that were made coarser.

    `least` people must have a number that is shown, or nobody. A class with a missing value keeps its label. `weight`
    says how many people each row of the dataset stands for, (n,), where that counts; `group_of` which rows make a
    class, (n,), where that is not all rows with equal labels.
    """
    columns = [column for column in dataset.quasi_identifiers if column.values is not None]
    chosen = [column for column in columns if isinstance(recoding.columns.get(column.name), Labelled)]
    if not chosen:
        return recoding
    classes = _classes(dataset, recoding, np.ones(dataset.n_rows) if weight is None else weight, group_of)
    changed: dict[str, Labelled] = {}
    public = {name: dict(more) for name, more in recoding.public.items()}
    for column in chosen:
        labels, spans = _figures(column, classes, shows, least)
        before = recoding.columns[column.name]
        assert isinstance(before, Labelled)
        codes = np.zeros(before.codes.size, dtype=np.int32)
        kept = np.arange(codes.size) if recoding.keep_row is None else np.flatnonzero(recoding.keep_row)
        codes[kept], seen = as_seen(classes.class_of, labels)
        nothing = before.labels[before.missing] if before.missing >= 0 else None
        changed[column.name] = Labelled(codes, seen, seen.index(nothing) if nothing in seen else -1)
        public[column.name] = {**public.get(column.name, {}), "shows": shows, "spans": spans}
    return recoding.with_columns(changed, public=public)


def _classes(dataset: Dataset, recoding: Recoding, weight: Floats, group_of: Codes | None) -> _Classes:
    pieces = recoding.pieces
    row_of = np.arange(dataset.n_rows) if pieces is None else pieces.row_of
    weights = np.ones(dataset.n_rows, dtype=np.int64) if dataset.weights is None else dataset.weights
    count = weights if pieces is None else pieces.count
    kept = np.arange(row_of.size) if recoding.keep_row is None else np.flatnonzero(recoding.keep_row)
    row_of, count = row_of[kept], count[kept]
    parts: list[tuple[Codes, tuple[str, ...]]] = []
    for column in dataset.quasi_identifiers:
        new = recoding.columns.get(column.name)
        codes, labels = column.codes[row_of], column.labels
        if isinstance(new, Labelled):
            codes, labels = new.codes[kept], new.labels
        parts.append(as_seen(codes, labels))
    of_groups = [] if group_of is None else [(group_of[row_of], int(group_of.max(initial=0)) + 1)]
    distinct = distinct_codes([*of_groups, *((codes, len(labels)) for codes, labels in parts)], row_of.size)
    shown = {
        column.name: (distinct.codes[:, len(of_groups) + position].astype(np.int64), labels)
        for position, (column, (_, labels)) in enumerate(zip(dataset.quasi_identifiers, parts, strict=True))
    }
    return _Classes(distinct.distinct_of.astype(np.int64), row_of, count, count * weight[row_of], shown)


def _figures(column: CodedColumn, classes: _Classes, shows: str, least: int) -> tuple[list[str], Spans]:
    """Return what each class shows, and by figure what it stands for in how many rows."""
    assert column.values is not None
    codes = column.codes[classes.row_of]
    order = np.lexsort((codes, classes.class_of))
    start = np.searchsorted(classes.class_of[order], np.arange(classes.size + 1))
    have: dict[float, int] = {}
    for code, people in enumerate(np.bincount(codes, classes.count, minlength=len(column.labels)).astype(int).tolist()):
        have[float(column.values[code])] = have.get(float(column.values[code]), 0) + people
    label_of, names = classes.shown[column.name]
    labels: list[str] = []
    spans: dict[str, dict[str, int]] = {}
    plain: dict[str, int] = {}  # numbers that are shown as they are
    for number in range(classes.size):
        rows = order[start[number] : start[number + 1]]
        label, values, weight = names[label_of[number]], column.values[codes[rows]], classes.weight[rows]
        figure = None
        if np.isfinite(values).all() and math.isnan(as_number(label)) and weight.any():
            figure = _figure(values, weight, label, shows, lambda value: have.get(value, least) >= least)
        stands_for = plain if figure is None else spans.setdefault(figure, {})
        stands_for[label] = stands_for.get(label, 0) + int(classes.count[rows].sum())
        labels.append(label if figure is None else figure)
    for label in plain:
        if (same := number_text(as_number(label))) in spans:
            spans[same][label] = plain[label]
    found = sorted(spans.items(), key=lambda pair: float(pair[0]))
    return labels, {figure: dict(sorted(stands_for.items())) for figure, stands_for in found}


def _figure(values: Floats, weight: Floats, label: str, shows: str, free: Callable[[float], bool]) -> str | None:
    """Return the figure of a class, values ascending; None where each mark near it is somebody's own."""
    ends = parse_range(label)
    low, high = (float(values[0]), float(values[-1])) if ends is None else ends[:2]
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = float(values[0]), float(values[-1])
    exact = float(np.average(values, weights=weight)) if shows == "mean" else _median(values, weight)
    for mark in _marks(exact, high - low):
        if low <= float(mark) <= high and free(float(mark)):
            return number_text(float(mark))
    return None


def _median(values: Floats, weight: Floats) -> float:
    """Return the middle of ascending values with weights; between two values, the mean of both."""
    up_to = np.cumsum(weight)
    half = up_to[-1] / 2
    first = int(np.searchsorted(up_to, half * (1 - 1e-12), "left"))
    last = int(np.searchsorted(up_to, half * (1 + 1e-12), "right"))
    return float(values[first] + values[min(last, values.size - 1)]) / 2


def _marks(figure: float, width: float) -> Iterator[Decimal]:
    """Yield marks near a figure: the nearest one, its neighbours, and the places between them."""
    if width <= 0:
        yield Decimal(repr(figure))
        return
    power = Decimal(1).scaleb(math.floor(math.log10(width / MARKS)))
    step = next((digit * power for digit in (5, 2) if digit * power <= width / MARKS), power)
    nearest = (Decimal(repr(figure)) / step).to_integral_value() * step
    side = 1 if Decimal(repr(figure)) >= nearest else -1
    yield nearest
    for offset in (side * step, -side * step, side * step / 2, -side * step / 2):
        yield nearest + offset


def span_of(spans: Spans, label: str) -> str:
    """Return what a label stands for: a figure for all its ranges together, anything else for itself.

    >>> span_of({"34": {"[30, 39]": 5, "[32, 41]": 7}}, "34.0"), span_of({"34": {"[30, 39]": 5}}, "35")
    ('[30, 41]', '35')
    """
    stands_for = spans_of(spans, label)
    if len(stands_for) < 2:
        return next(iter(stands_for), label)
    ends = [_ends(span) for span in stands_for]
    if not all(ends):
        return ROOT
    low, high = min(each[0] for each in ends if each), max(each[1] for each in ends if each)
    return range_label(number_text(low), number_text(high))


def spans_of(spans: Spans, label: str) -> Mapping[str, int]:
    """Return the ranges that a figure stands for, however it is written, with the rows of each; {} for other labels."""
    if label in spans or not spans:
        return spans.get(label, {})
    number = as_number(label)
    return {} if math.isnan(number) else spans.get(number_text(number), {})


def _ends(span: str) -> tuple[float, float] | None:
    found, number = parse_range(span), as_number(span)
    if found is not None:
        return found[0], found[1]
    return None if math.isnan(number) else (number, number)
