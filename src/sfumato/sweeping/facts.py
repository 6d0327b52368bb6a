"""What a sweep found, as plain data: the frontier over all combinations, and the same as a table."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import PolicyError
from sfumato.models.base import describe, plain_number
from sfumato.pipeline import versions
from sfumato.plan import Plan
from sfumato.sweeping.frontier import frontier, knee, loss_of, strictness, value_of
from sfumato.sweeping.grid import Grid, shown

FORMAT = 2
Row = dict[str, Any]  # one combination: its values, whether it holds, and what was found


def facts_of(
    plan: Plan, grid: Grid, rows: Sequence[Row], source: Mapping[str, Any], wanted: str | None
) -> dict[str, Any]:
    """Return everything that the table and the page show, as plain data."""
    chosen = loss_of(rows, wanted)
    holding = any(row["holds"] for row in rows)
    if wanted is not None and holding and chosen is None:
        known = sorted({entry["name"] for row in rows for entry in row.get("measurements", ()) if entry.get("better")})
        raise PolicyError(
            f"The loss {wanted!r} was asked for, but is not measured here.\nMeasured: {', '.join(known)}."
        )
    requirements = grid.requirements or tuple(range(len(plan.policy.requirements)))
    score = strictness(rows, requirements)
    sign = -1 if chosen is not None and chosen.get("better") == "higher" else 1
    values = [value_of(row, chosen["name"]) if chosen is not None else None for row in rows]
    turned = [sign * value if value is not None else None for value in values]
    on_frontier = frontier(score, turned)
    bend = knee(on_frontier, score, turned)
    return {
        "format": FORMAT,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "plan": {"path": plan.path.name if plan.path else None, "sha256": plan.sha256},
        "source": dict(source),
        "settings": [
            {
                "name": axis.name,
                "values": [plain_number(v) for v in axis.values],
                "plan": plain_number(axis.setting.value),
            }
            for axis in grid.axes
        ],
        "requirements": [
            {**describe(model), "varied": position in grid.requirements} for position, model in enumerate(plan.policy)
        ],
        "loss": chosen,
        "cells": [
            row | {"strictness": s, "loss": value, "frontier": place in on_frontier, "knee": place == bend}
            for place, (row, s, value) in enumerate(zip(rows, score, values, strict=True))
        ],
        "frontier": on_frontier,
        "knee": bend,
        "holding": sum(row["holds"] for row in rows),
        "versions": versions(),
    }


def table_of(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the sweep as rows of cells, the header first."""
    settings = [setting["name"] for setting in facts["settings"]]
    cells = facts["cells"]
    holding = [cell for cell in cells if cell["holds"]]
    verdicts = [_title(verdict) for verdict in holding[0]["verdicts"]] if holding else []
    measured = list(dict.fromkeys(entry["name"] for cell in holding for entry in cell["measurements"]))
    attacks = list(dict.fromkeys(entry["attack"] for cell in holding for entry in cell["attacks"]))
    head = [
        *(*settings, "holds", "frontier", "knee", "strictness"),
        *(f"reached: {title}" for title in verdicts),
        *measured,
        *(f"{what}: {attack}" for attack in attacks for what in ("exposed", "worst")),
        *("seconds", "reason"),
    ]
    rows: list[list[Any]] = [head]
    for cell in cells:
        by_name = {entry["name"]: entry["value"] for entry in cell.get("measurements", ())}
        by_attack = {entry["attack"]: entry for entry in cell.get("attacks", ())}
        rows.append(
            [
                *(shown(cell["values"][name]) for name in settings),
                *(shown(cell[name]) for name in ("holds", "frontier", "knee")),
                cell["strictness"],
                *(verdict["reached"] for verdict in cell.get("verdicts", [{"reached": None}] * len(verdicts))),
                *(by_name.get(name) for name in measured),
                *(by_attack.get(attack, {}).get(what) for attack in attacks for what in ("exposed", "worst")),
                round(cell["seconds"], 3),
                " ".join(cell["reason"].split()),
            ]
        )
    return rows


def _title(verdict: Mapping[str, Any]) -> str:
    about = verdict.get("sensitive") or verdict.get("column")
    return f"{verdict['model']} of {about}" if about else str(verdict["model"])
