"""Columns that hide values in cells: drawn with what probability, or in which groups, and what can be computed back."""

from __future__ import annotations

from typing import Any

from sfumato.report.reading import Facts, mapping, mappings, measurement, number, sequence, text
from sfumato.report.wording import UNKNOWN, count, figure, share

TITLE = "What cells show"
HEAD = ("Column", "Values", "Shown", "p", "Epsilon", "Expected L2 error", "Published")
HEAD_OF_GROUPS = ("Column", "Values", "Groups", "Values of a group", "Published")
HEAD_OF_VALUES = ("Column", "Values", "p", "Shown truly", "Expected L2 error", "Published")
DRAWN = (
    "A cell shows some values of the column's domain. With probability p the true one is surely among them, otherwise "
    "they are all drawn by chance. Epsilon is the local differential privacy of a cell; without one, p is 1. The error "
    "is that of the unbiased estimate of all shares of the column."
)
GROUPED = (
    "A cell shows all values of the group that the true one belongs to. Nothing is drawn, so nothing tells how common "
    "each value of a group is: an analyst lets them share its records."
)

REPLACED = (
    "A cell shows one value. With probability p it is the true one, otherwise it is drawn, each value as often as it "
    "occurs: so counts of single columns stay as they are on average, and tables of several are computed back. The "
    "error is that of the unbiased estimate of all shares of the column."
)


def content(facts: Facts) -> dict[str, Any] | None:
    """Return one row for each randomized column, remarks on some, and the error of reconstructed tables."""
    columns = [
        column
        for step in mappings(facts.get("steps"))
        for column in mappings(mapping(step.get("facts")).get("columns"))
    ]
    kinds = (
        ("eta", DRAWN, HEAD, _row),
        ("shown_truly", REPLACED, HEAD_OF_VALUES, _row_of_values),
        ("groups", GROUPED, HEAD_OF_GROUPS, _row_of_groups),
    )
    for key, sentence, head, row in kinds:
        found = [column for column in columns if key in column]
        if found:
            tables = mappings(mapping(measurement(facts, "cross-tables").get("facts")).get("tables"))
            return {
                "sentence": sentence,
                "head": head,
                "rows": [row(column) for column in found],
                "remarks": [remark for column in found for remark in _remarks(column)],
                "tables": [_table(entry) for entry in tables],
            }
    return None


def _row(column: Facts) -> list[str]:
    return [
        text(column.get("column")),
        count(column.get("values")),
        count(column.get("eta")),
        figure(column.get("p")),
        figure(column.get("epsilon")) if number(column.get("epsilon")) is not None else UNKNOWN,
        figure(column.get("expected_l2")) if number(column.get("expected_l2")) is not None else UNKNOWN,
        text(column.get("published")),
    ]


def _row_of_values(column: Facts) -> list[str]:
    return [
        text(column.get("column")),
        count(column.get("values")),
        figure(column.get("p")),
        share(column.get("shown_truly")),
        figure(column.get("expected_l2")) if number(column.get("expected_l2")) is not None else UNKNOWN,
        text(column.get("published")),
    ]


def _row_of_groups(column: Facts) -> list[str]:
    least, most = count(column.get("smallest")), count(column.get("largest"))
    return [
        text(column.get("column")),
        count(column.get("values")),
        count(column.get("groups")),
        least if least == most else f"{least} to {most}",
        text(column.get("published")),
    ]


def _remarks(column: Facts) -> list[str]:
    name = text(column.get("column"))
    found = []
    if column.get("published") == "as it is":
        found.append(f"{name}: the true values themselves are published, as the requirement allows it.")
    if column.get("published") == "whole domain":
        found.append(f"{name}: every cell shows the whole domain, so the column tells nothing.")
    if column.get("published") == "by chance alone":
        found.append(f"{name}: every cell is drawn whatever is true, so the column tells nothing.")
    if column.get("small_domain") == "lower":
        found.append(f"{name}: l was lowered to {count(column.get('l'))}, as its domain is small and the plan says so.")
    if column.get("domain") == "data":
        found.append(f"{name}: its domain was taken from the data, so the release tells which values occur.")
    return found


def _table(entry: Facts) -> list[str]:
    return [
        " x ".join(text(name) for name in sequence(entry.get("columns"))),
        count(entry.get("cells")),
        share(entry.get("l1")),
        figure(entry.get("l2")),
        figure(entry.get("hellinger")),
    ]
