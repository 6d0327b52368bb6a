"""What is promised: a card for each requirement, with what was reached and what it does not stop."""

from __future__ import annotations

from typing import Any

from sfumato.report.reading import Facts, mapping, mappings, number, text
from sfumato.report.wording import apart, count, plain, plural

TITLE = "What is promised"
# What a verdict holds besides the parameters of its model.
_NO_PARAMETERS = frozenset(
    (
        *("model", "satisfied", "reached", "required", "groups", "failing", "failing_rows", "people", "facts"),
        *("text", "promise", "limit", "advice", "measure", "bound", "group", "known_from", "columns"),
        "nothing_to_judge",
    )
)


def content(facts: Facts) -> list[dict[str, Any]]:
    """Return one card for each requirement."""
    return [_card(entry) for entry in mappings(facts.get("verdicts"))]


def parameters(entry: Facts) -> list[tuple[str, str]]:
    """Return the parameters of a verdict's model."""
    return [(name, plain(value)) for name, value in entry.items() if name not in _NO_PARAMETERS and value is not None]


def is_unjudged(entry: Facts) -> bool:
    """Whether an audit found nothing to judge; runs of version 0.1 say so by the number of groups alone."""
    return bool(entry.get("nothing_to_judge")) or (entry.get("satisfied") is True and number(entry.get("groups")) == 0)


def holds(entry: Facts) -> bool:
    """Whether a requirement was judged and holds."""
    return entry.get("satisfied") is True and not is_unjudged(entry)


def bound(entry: Facts) -> str:
    """Return how what was reached must stand to what is required."""
    return text(entry.get("bound")) or "at least"


def _card(entry: Facts) -> dict[str, Any]:
    return {
        "title": text(entry.get("model")) or "a requirement",
        "satisfied": holds(entry),
        "stamp": "holds" if holds(entry) else "nothing to judge" if is_unjudged(entry) else "does not hold",
        "parameters": parameters(entry),
        "gauge": _gauge(entry),
        "judged": _judged(entry),
        "known": "; ".join(f"{name} {text(origin)}" for name, origin in mapping(entry.get("known_from")).items()),
        "promise": text(entry.get("promise")),
        "limit": text(entry.get("limit")),
        "advice": text(entry.get("advice")),
    }


def _gauge(entry: Facts) -> dict[str, Any] | None:
    reached, required = number(entry.get("reached")), number(entry.get("required"))
    if required is None:
        return None
    shown = apart(reached, required)
    full = 1.3 * max(abs(reached or 0.0), abs(required)) or 1.0
    return {
        "measure": text(entry.get("measure")) or "reached",
        "reached": shown[0],
        "required": shown[1],
        "bound": bound(entry),
        "reached_at": round(100 * max(reached or 0.0, 0.0) / full, 2),
        "required_at": round(100 * max(required, 0.0) / full, 2),
    }


def _judged(entry: Facts) -> str:
    group = text(entry.get("group")) or "group"
    groups = plural(entry.get("groups"), group, group + ("es" if group.endswith("s") else "s"))
    if is_unjudged(entry):
        reason = text(entry.get("nothing_to_judge"))
        return f"There was nothing to judge{f': {reason}' if reason else ''}."
    if holds(entry):
        return f"{groups} judged, all of them pass."
    rows = number(entry.get("failing_rows"))
    counted = ("person", "people") if entry.get("people") is True else ("row", "rows")
    inside = f" with {plural(rows, *counted)}" if rows else ""
    return f"{groups} judged, {count(entry.get('failing'))} fail{inside}."
