"""What runs left, as pages show it: read from their own records, nothing is worked out here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.report import verdict
from sfumato.report.comparing import changed_since
from sfumato.report.reading import mapping, text
from sfumato.report.wording import moment
from sfumato.webapp.project import RUN_FILE

HANDOVER = Path("private") / "handover.json"  # who confirmed what, before the first download


def facts_of(run: Path) -> Mapping[str, Any]:
    """Return the facts of a run; nothing where they cannot be read."""
    with suppress(OSError, ValueError):
        found = json.loads((run / RUN_FILE).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def about_run(name: str, path: Path, folder: Path) -> dict[str, Any]:
    """Return what a list of runs shows of one."""
    facts = facts_of(path)
    answer = verdict.content(facts)
    return {
        "name": name,
        "made": moment(facts.get("made")),
        "plan": text(mapping(facts.get("plan")).get("path")),
        "satisfied": answer["satisfied"],
        "stamp": answer["stamp"],
        "exposed": answer["exposed"],
        "changed": changed_since(facts, folder),
    }


def files_of(run: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return the names of what may be handed over: files of the release that are there, nothing else."""
    named = mapping(mapping(facts.get("release")).get("files"))
    return [name for name in named if (run / "release" / name).is_file() and "/" not in name and "\\" not in name]
