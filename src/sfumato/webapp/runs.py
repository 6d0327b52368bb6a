"""What runs left, as pages show it: read from their own records, nothing is worked out here."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.data.files import digest
from sfumato.report import verdict
from sfumato.report.reading import mapping, text
from sfumato.report.wording import moment
from sfumato.webapp.project import RUN_FILE


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


def changed_since(facts: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the places in the plan of a run whose files are not those that it was made and judged by any more.

    The source is not read for it: it may be large, and a release of it stays what it is.
    """
    with suppress(tomllib.TOMLDecodeError):
        plan = tomllib.loads(text(mapping(facts.get("plan")).get("text")))
        files = {place: _at(plan, place) for place in mapping(facts.get("inputs")) if not place.startswith("source")}
        now = {place: folder / path for place, path in files.items() if isinstance(path, str)}
        return [place for place, path in now.items() if path.is_file() and digest(path) != facts["inputs"][place]]
    return []


def _at(plan: Any, place: str) -> Any:
    for key in place.split("."):
        plan = plan.get(key) if isinstance(plan, Mapping) else None
    return plan


def files_of(run: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return the names of what may be handed over: files of the release that are there, nothing else."""
    named = mapping(mapping(facts.get("release")).get("files"))
    return [name for name in named if (run / "release" / name).is_file() and "/" not in name and "\\" not in name]
