"""How to reproduce a run."""

from __future__ import annotations

import shlex
from typing import Any

from sfumato.report.reading import Facts, mapping, text
from sfumato.report.wording import listed, moment

TITLE = "How to reproduce it"


def content(facts: Facts) -> dict[str, Any] | None:
    """Return how to repeat the run."""
    plan, source = mapping(facts.get("plan")), mapping(facts.get("source"))
    versions = mapping(facts.get("versions"))
    pairs = [
        ("Plan", plan.get("path"), False),
        ("Plan, SHA-256", plan.get("sha256"), True),
        ("Data", source.get("path"), False),
        ("Data, SHA-256", source.get("sha256"), True),
        ("Versions", listed([f"{name} {version}" for name, version in versions.items()]), False),
        ("Made", moment(facts.get("made")), False),
        ("Format of run.json", facts.get("format"), False),
    ]
    known = [(name, text(value), exact) for name, value, exact in pairs if value]
    if not known:
        return None
    command = f"sfumato anonymize {shlex.quote(text(plan['path']))} --out DIR" if plan.get("path") else ""
    return {
        "sentence": "The same plan, data and versions meet the same requirements again. No seed is kept, as whoever "
        "had it could replay the random choices; so rows come in another order, and ties may fall differently.",
        "command": command,
        "pairs": known,
    }
