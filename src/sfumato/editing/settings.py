"""The numbers of a plan that may be tried with other values: which there are, and where each stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.editing.document import PlanDocument
from sfumato.parameters import NUMBERS
from sfumato.plan.members import requirable


def settings(document: PlanDocument) -> list[dict[str, str]]:
    """Return the settings that a sweep may vary, each by the name that it has there, with what the plan says now."""
    models, required = requirable(), _required(document)
    found = []
    for given in required:
        member = models.get(str(given.get("model")))
        for key in member.parameters if member is not None else ():
            if key.takes not in NUMBERS or key.per_column or key.name not in given:
                continue
            column = next((given[name] for name in ("sensitive", "column") if isinstance(given.get(name), str)), None)
            twice = sum(other.get("model") == given.get("model") for other in required) > 1
            full = ".".join(filter(None, (str(given["model"]), column if twice else None, key.name)))
            found.append({"name": full, "now": str(given[key.name]), "title": f"{given['model']}: {key.title}"})
    return found


def places(document: PlanDocument, setting: str) -> list[tuple[str | int, ...]]:
    """Return where a setting of a sweep stands in the plan: k, MODEL.k or MODEL.COLUMN.k."""
    *path, key = setting.split(".")
    model, column = (path[0] if path else None), ".".join(path[1:])
    return [
        ("require", number, key)
        for number, given in enumerate(_required(document))
        if key in given
        and model in (None, given.get("model"))
        and (not column or column in (given.get("sensitive"), given.get("column")))
    ]


def _required(document: PlanDocument) -> list[Mapping[str, Any]]:
    found = document.get(("require",))
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
