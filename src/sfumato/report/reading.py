"""Careful reading of facts: whatever a run left out, or left as NaN, reads as None.

A report that breaks would cost the release it describes, so nothing here raises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Facts = Mapping[str, Any]

NOTHING: Facts = {}


def number(value: object) -> float | None:
    """Return a finite number, or None.

    >>> number(3), number("0.25"), number("1/4"), number(float("nan")), number(None), number(True)
    (3.0, 0.25, 0.25, None, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, str) and value.count("/") == 1:
            above, below = value.split("/")
            found = float(above) / float(below)
        else:
            found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None
    return found if math.isfinite(found) else None


def mapping(value: object) -> Facts:
    """Return a mapping, or an empty one."""
    return value if isinstance(value, Mapping) else NOTHING


def sequence(value: object) -> Sequence[Any]:
    """Return a list or tuple, or an empty one."""
    return value if isinstance(value, list | tuple) else ()


def numbers(value: object) -> list[float | None]:
    """Return a list of numbers, None for each that is not one."""
    return [number(item) for item in sequence(value)]


def mappings(value: object) -> list[Facts]:
    """Return the mappings in a list; anything else in it is left out."""
    return [item for item in sequence(value) if isinstance(item, Mapping)]


def text(value: object) -> str:
    """Return text as found; nothing as empty text."""
    return "" if value is None else str(value)


def measurements(facts: Facts, about: str) -> list[Facts]:
    """Return the measurements of losses ("loss") or of risks ("risk"), in their order."""
    return [entry for entry in map(_spoken_for, mappings(facts.get("measurements"))) if entry.get("about") == about]


def main_measurements(facts: Facts) -> list[Facts]:
    """Return the measurements that are worth a line of a summary: losses, then risks."""
    found = [*measurements(facts, "loss"), *measurements(facts, "risk")]
    return [entry for entry in found if entry.get("main") is True]


def measurement(facts: Facts, name: str) -> Facts:
    """Return the measurement with this name, empty when it was not made."""
    found = (entry for entry in mappings(facts.get("measurements")) if entry.get("name") == name)
    return next(found, NOTHING)


def columns_of(facts: Facts, name: str) -> list[Facts]:
    """Return what the measurement with this name says of each column."""
    return mappings(mapping(measurement(facts, name).get("facts")).get("columns"))


def attacks(facts: Facts) -> list[Facts]:
    """Return the attacks, in their order; which promises answer one of an earlier version, its class says."""
    found = mappings(facts.get("attacks"))
    if all("answered_by" in entry for entry in found):
        return found
    from sfumato.attacks import ATTACKS

    listed = {name: list(attack.answered_by) for name, attack in ATTACKS.items()}
    return [{"answered_by": listed.get(text(entry.get("attack")), []), **entry} for entry in found]


def _spoken_for(entry: Facts) -> Facts:
    """Return a measurement; what one of an earlier version does not say of itself, its metric does."""
    if "about" in entry:
        return entry
    from sfumato.metrics import METRICS  # not for every report: it loads all that metrics need

    metric = METRICS.get(text(entry.get("name")))
    return {"about": metric.about.value, "main": metric.main, **entry} if metric else {"about": "loss", **entry}


def counts_people(facts: Facts) -> bool:
    """Whether people were counted, each of whom may have several rows."""
    return number(mapping(facts.get("source")).get("gathered")) is not None


def counted(facts: Facts) -> str:
    """Return what is counted: people, or rows where each is taken for one."""
    return "people" if counts_people(facts) else "rows"
