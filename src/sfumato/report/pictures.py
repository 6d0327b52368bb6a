"""Every column before and after."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sfumato.report.plots import (
    BEFORE_AND_AFTER,
    FILLED_AND_OUTLINED,
    Bars,
    Histogram,
    Number,
    Picture,
    Table,
    bar_chart,
    shares,
    steps,
    steps_of_values,
)
from sfumato.report.reading import Facts, columns_of, counted, mapping, number, numbers, sequence, text
from sfumato.report.wording import NAME_LENGTH, count, plural, share, shortened

TITLE = "Before and after"
MOST_BARS = 12  # values of one column that get a bar of their own; more say less


def content(facts: Facts) -> dict[str, Any] | None:
    """Return every column before and after."""
    rows_before, rows_after = (number(mapping(facts.get(side)).get("rows")) for side in ("source", "release"))
    what = counted(facts)
    found = [_distribution(entry, rows_before, rows_after, what) for entry in columns_of(facts, "column-distributions")]
    shown = [picture for picture in found if picture is not None]
    if not shown:
        return None
    return {
        "sentence": f"The share of {what} with each value. A generalized label counts for all values it stands for, in "
        "equal parts, which is how a reader of the release would take it.",
        "pictures": shown,
    }


def _distribution(entry: Facts, rows_before: Number, rows_after: Number, what: str) -> Picture | None:
    """Return a column before and after."""
    labels = [text(label) for label in sequence(entry.get("bins"))]
    counts = [numbers(entry.get(side)) for side in ("before", "after")]
    size = min(len(labels), *map(len, counts))
    if not size:
        return None
    of_sets = entry.get("kind") == "set"
    totals = (rows_before, rows_after) if of_sets else [sum(value or 0 for value in side) for side in counts]
    before, after = (shares(side[:size], total) for side, total in zip(counts, totals, strict=True))
    labels = labels[:size]
    name = text(entry.get("name"))
    moved = number(entry.get("moved"))
    note = _note(entry, moved, what)
    table = Table(
        head=["Value", f"{what.capitalize()} before", f"{what.capitalize()} after", "Share before", "Share after"],
        rows=[
            [labels[i], count(counts[0][i]), count(round(counts[1][i] or 0, 1)), share(before[i]), share(after[i])]
            for i in range(size)
        ],
    )
    edges = [edge for edge in numbers(entry.get("edges")) if edge is not None]
    ordered = entry.get("kind") in ("number", "ordered", "date")
    plot: Bars | Histogram
    if len(edges) > 1 and len(edges) - 1 <= size and all(a < b for a, b in pairwise(edges)):
        cut = len(edges) - 1
        note += "".join(
            f" {labels[i].strip('()').capitalize()}: {share(before[i])} before, {share(after[i])} after."
            for i in range(cut, size)
        )
        plot, legend = steps(edges, before[:cut], after[:cut]), FILLED_AND_OUTLINED
    elif ordered and size > MOST_BARS:
        plot, legend = steps_of_values(labels, before, after), FILLED_AND_OUTLINED
    else:
        bars, rest = _most_frequent(
            labels, before, after, number(entry.get("others")) or 0, keep_order=ordered, of_sets=of_sets
        )
        plot, legend = bar_chart(bars, BEFORE_AND_AFTER, rest=rest), BEFORE_AND_AFTER
    return Picture(title=name, plot=plot, alt=_alt(name, labels, before, after), table=table, note=note, legend=legend)


def _note(entry: Facts, moved: Number, what: str) -> str:
    role = text(entry.get("role"))
    parts = [role[:1].upper() + role[1:]] if role else []
    if moved is not None:
        parts.append("the distribution is unchanged" if moved < 5e-7 else f"{share(moved)} of the {what} moved")
    if entry.get("kind") == "set":
        parts.append(f"shares of {what} that contain the item")
    elif entry.get("published_as_sets") is True:
        parts.append("randomized: cells count in parts for all values they show, not as an analyst computes them back")
    return "; ".join(parts) + "." if parts else ""


def _alt(name: str, labels: Sequence[str], before: Sequence[Number], after: Sequence[Number]) -> str:
    """Return the largest values in words."""
    largest = sorted(range(len(labels)), key=lambda i: -(before[i] or 0.0))[:3]
    words = "; ".join(f"{shortened(labels[i], 40)} {share(before[i])} before, {share(after[i])} after" for i in largest)
    return f"Distribution of {shortened(name, NAME_LENGTH)} before and after. Most frequent: {words}."


def _most_frequent(
    labels: Sequence[str],
    before: Sequence[Number],
    after: Sequence[Number],
    others: float,
    *,
    keep_order: bool,
    of_sets: bool,
) -> tuple[list[tuple[str, Sequence[Number]]], tuple[str, Sequence[Number]] | None]:
    """Return the most frequent values with their shares, and all others together; items of sets have no joint share."""
    own = list(range(len(labels) - (others > 0)))  # a last bin of the other values stays last
    if not keep_order:
        own.sort(key=lambda i: (-(before[i] or 0.0), -(after[i] or 0.0)))
    shown = own if len(own) <= MOST_BARS else own[: MOST_BARS - 1]
    rows: list[tuple[str, Sequence[Number]]] = [(labels[i], (before[i], after[i])) for i in shown]
    rest = [i for i in range(len(labels)) if i not in set(shown)]
    further = len(rest) + max(int(others) - 1, 0)
    sums = tuple(None if of_sets else sum(side[i] or 0.0 for i in rest) for side in (before, after))
    return rows, ((f"({plural(further, 'further value')})", sums) if rest else None)
