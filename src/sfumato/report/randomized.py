"""Columns that hide values in cells: drawn with what probability, or in which groups, and what can be computed back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato.report.reading import Facts, mapping, mappings, measurement, sequence, text
from sfumato.report.wording import count, figure, share

TITLE = "What cells show"
DRAWN = (
    "A cell shows some values of the column's domain. With probability p the true one is surely among them, otherwise "
    "they are all drawn by chance. Epsilon is the local differential privacy of a cell. There is none where p is 1, or "
    "where p depends on the counts of the table. The error is that of the unbiased estimate of all shares of the "
    "column."
)
GROUPED = (
    "A cell shows all values of the group that the true one belongs to. Nothing is drawn, so nothing tells how common "
    "each value of a group is: an analyst lets them share its records."
)
REPLACED = (
    "A cell shows one value. With probability p it is the true one, otherwise it is drawn, each value about as often "
    "as it occurs: so counts of single columns stay nearly as they are on average, and tables of several are computed "
    "back. The error is that of the unbiased estimate of all shares of the column."
)
# What tells how the cells of a column came about, what is said of it then, and the figures that are shown.
KINDS = (
    ("eta", DRAWN, ("Values", "Shown", "p", "Epsilon", "Expected L2 error")),
    ("shown_truly", REPLACED, ("Values", "p", "Shown truly", "Expected L2 error")),
    ("groups", GROUPED, ("Values", "Groups", "Values of a group")),
)
FIGURES: Mapping[str, Callable[[Facts], str]] = {
    "Values": lambda column: count(column.get("values")),
    "Shown": lambda column: count(column.get("eta")),
    "p": lambda column: figure(column.get("p")),
    "Epsilon": lambda column: figure(column.get("epsilon")),
    "Shown truly": lambda column: share(column.get("shown_truly")),
    "Expected L2 error": lambda column: figure(column.get("expected_l2")),
    "Groups": lambda column: count(column.get("groups")),
    "Values of a group": lambda column: " to ".join(
        dict.fromkeys(count(column.get(key)) for key in ("smallest", "largest"))
    ),
}
REMARKS = {  # by what is published of a column
    "as it is": "the true values themselves are published, as the requirement allows it.",
    "whole domain": "every cell shows the whole domain, so the column tells nothing.",
    "by chance alone": "every cell is drawn whatever is true, so the column tells nothing.",
}


def content(facts: Facts) -> dict[str, Any] | None:
    """Return one row for each randomized column, remarks on some, and the error of reconstructed tables."""
    columns = [
        column
        for step in mappings(facts.get("steps"))
        for column in mappings(mapping(step.get("facts")).get("columns"))
    ]
    for key, sentence, figures in KINDS:
        found = [column for column in columns if key in column]
        if found:
            tables = mappings(mapping(measurement(facts, "cross-tables").get("facts")).get("tables"))
            return {
                "sentence": sentence,
                "head": ("Column", *figures, "Published"),
                "rows": [_row(column, figures) for column in found],
                "remarks": [remark for column in found for remark in _remarks(column)],
                "tables": [_table(entry) for entry in tables],
            }
    return None


def _row(column: Facts, figures: Sequence[str]) -> list[str]:
    return [text(column.get("column")), *(FIGURES[name](column) for name in figures), text(column.get("published"))]


def _remarks(column: Facts) -> list[str]:
    published = text(column.get("published"))
    found = [REMARKS[published]] if published in REMARKS else []
    if column.get("small_domain") == "lower":
        found.append(f"l was lowered to {count(column.get('l'))}, as its domain is small and the plan says so.")
    if column.get("domain") == "data":
        found.append("its domain was taken from the data, so the release tells which values occur.")
    return [f"{text(column.get('column'))}: {remark}" for remark in found]


def _table(entry: Facts) -> list[str]:
    return [
        " x ".join(text(name) for name in sequence(entry.get("columns"))),
        count(entry.get("cells")),
        share(entry.get("l1")),
        figure(entry.get("l2")),
        figure(entry.get("hellinger")),
    ]
