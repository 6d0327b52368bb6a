"""What a published label may stand for, read as docs/plan.md says: ranges, sets, groups of a hierarchy, `*`."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

from fuzzing.columns import ROOT

RANGE = re.compile(r"\[(.+), (.+)([\])])")


def value_of(column, cell):
    """Return what makes two cells of a column the same value."""
    if cell is None or column.kind != "number":
        return None if cell is None else str(cell)
    try:
        return Fraction(cell if isinstance(cell, float) else str(cell))
    except ValueError:
        return str(cell)


def covers(column, label, value):
    """Whether a published label may stand for an original value; None is a missing one."""
    if label is not None and str(label) == ROOT:
        return True
    if value is None and label is not None and str(label).startswith("{"):
        return "" in members(str(label))
    if label is None or value is None:
        return label is value
    label, value = str(label), str(value)
    if value_of(column, label) == value_of(column, value):
        return True
    if column.paths is not None and label in column.paths.get(value, ()):
        return True
    if label.startswith("{") and label.endswith("}"):
        return value in members(label)
    found = RANGE.fullmatch(label)
    if found is not None:
        low, high, here = place(column, found[1]), place(column, found[2]), place(column, value)
        return low <= here and (here <= high if found[3] == "]" else here < high)
    if isinstance(column.hierarchy, dict) and "prefix" in column.hierarchy:
        kept = label.rstrip("*")
        return len(kept) < len(label) == len(value) and value.startswith(kept)
    return column.kind == "date" and label in periods(value)


def members(label):
    """Return the values of a set label: a backslash takes the next character as it is."""
    found = re.findall(r"((?:\\.|[^|\\])*)(?:\||$)", label[1:-1])
    return {re.sub(r"\\(.)", r"\1", text) for text in found}


def place(column, text):
    """Return where a value stands among others of its column."""
    if column.kind == "number":
        return Fraction(text)
    return column.domain.index(text) if column.kind == "ordered" else text


def periods(text):
    """Return all periods that a day lies in, as they are written."""
    day = date.fromisoformat(text)
    year, week, _ = day.isocalendar()
    return {
        text[:7], f"{text[:4]}-Q{(day.month + 2) // 3}", text[:4], f"{text[:3]}0s",
        f"{year}-W{week:02d}", f"{year}-W**", f"{year // 10}*-W**",
    }  # fmt: skip


def leaves_of(column):
    """Return all values that a column may have: those that its tree declares, else those that occur."""
    occurring = {value_of(column, cell): cell for cell in column.cells}
    if column.paths is None:
        return list(occurring.values())
    return [*column.paths, *([None] if None in occurring else [])]
