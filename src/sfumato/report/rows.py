"""Some rows before and after."""

from __future__ import annotations

from typing import Any

from sfumato.report.reading import Facts, counts_people, mapping, sequence, text
from sfumato.report.wording import PEOPLE, UNKNOWN, plural

TITLE = "Some rows before and after"


def content(facts: Facts) -> dict[str, Any] | None:
    """Return some rows as they were and as they are published, one below the other."""
    found = mapping(facts.get("examples"))
    names = [text(name) for name in sequence(found.get("columns"))]
    pairs = [
        [[text(cell) for cell in sequence(row)] for row in pair]
        for pair in zip(sequence(found.get("before")), sequence(found.get("after")), strict=False)
    ]
    shown = [pair for pair in pairs if all(len(row) == len(names) for row in pair)]
    if not names or not shown:
        return None
    of_whom = PEOPLE if counts_people(facts) else ("record",)
    return {
        "sentence": f"{plural(len(shown), *of_whom)} of the source, each as it was and below it as it is published; "
        "what changed is marked. Identifiers are left out, and in the release rows stand elsewhere.",
        "head": names,
        "pairs": [_pair(*pair) for pair in shown],
    }


def _pair(before: list[str], after: list[str]) -> dict[str, Any]:
    changed = [was != is_now for was, is_now in zip(before, after, strict=True)]
    return {
        "before": [cell or UNKNOWN for cell in before],
        "after": [(cell or UNKNOWN, other) for cell, other in zip(after, changed, strict=True)],
    }
