"""Hierarchies as somebody asks for them by a rule, in the form that a plan takes them, and the names of their files."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Any

from sfumato.data.dates import DATE_LEVELS
from sfumato.disk import stem_of
from sfumato.errors import PolicyError

FOLDER = "hierarchies"
_NUMBERS = re.compile(r"[\d.,\s-]{1,200}")


def by_rule(rule: str, given: str, levels: Sequence[str] = ()) -> dict[str, Any]:
    """Return the hierarchy that a rule gives, as a plan has it.

    >>> by_rule("widths", "5, 10"), by_rule("prefix", "4"), by_rule("dates", "", ["year", "month"])
    ({'widths': [5, 10]}, {'prefix': 4}, {'dates': ['month', 'year']})
    """
    if rule == "flat":
        return {"flat": True}
    if rule == "dates":
        return {"dates": [level for level in DATE_LEVELS if level in levels] or ["month", "year"]}
    if rule not in ("widths", "prefix") or not _NUMBERS.fullmatch(given.strip()):
        raise PolicyError("A rule takes numbers.\nWrite them with commas between them, such as 5, 10, 20.")
    numbers = [float(each) if "." in each else int(each) for each in re.findall(r"-?\d+\.?\d*", given)]
    return {rule: numbers[0] if rule == "prefix" and len(numbers) == 1 else numbers}


def file_name(column: str, text: str, taken: Container[str]) -> str:
    """Return the name of the file that a hierarchy of a column goes to: ours, whatever the column is called."""
    stem = stem_of(column, "column")
    ending = "toml" if text.lstrip().startswith("[") else "csv"
    names = (f"{FOLDER}/{stem}.{ending}" if n == 1 else f"{FOLDER}/{stem}-{n}.{ending}" for n in range(1, 1000))
    return next(each for each in names if each not in taken)
