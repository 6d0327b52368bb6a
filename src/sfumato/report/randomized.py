"""Randomized columns: what each cell shows, with what probability, and what an analyst can still compute."""

from __future__ import annotations

from typing import Any

from sfumato.report.reading import Facts, mapping, mappings, measurement, number, sequence, text
from sfumato.report.wording import UNKNOWN, count, figure, share

TITLE = "What cells show"
HEAD = ("Column", "Values", "Shown", "p", "Epsilon", "Expected L2 error", "Published")


def content(facts: Facts) -> dict[str, Any] | None:
    """Return one row for each randomized column, remarks on some, and the error of reconstructed tables."""
    found = [
        column
        for step in mappings(facts.get("steps"))
        for column in mappings(mapping(step.get("facts")).get("columns"))
        if "eta" in column
    ]
    if not found:
        return None
    return {
        "sentence": "A cell shows some values of the column's domain. With probability p the true one is surely among "
        "them, otherwise they are all drawn by chance. Epsilon is the local differential privacy of a cell; without "
        "one, p is 1. The error is that of the unbiased estimate of all shares of the column.",
        "head": HEAD,
        "rows": [_row(column) for column in found],
        "remarks": [remark for column in found for remark in _remarks(column)],
        "tables": [
            _table(entry) for entry in mappings(mapping(measurement(facts, "cross-tables").get("facts")).get("tables"))
        ],
    }


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


def _remarks(column: Facts) -> list[str]:
    name = text(column.get("column"))
    found = []
    if column.get("published") == "as it is":
        found.append(f"{name}: the true values themselves are published, as the requirement allows it.")
    if column.get("published") == "whole domain":
        found.append(f"{name}: every cell shows the whole domain, so the column tells nothing.")
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
