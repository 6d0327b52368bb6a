"""What a sweep found, as plain data: the frontier over all combinations, and the same as a table."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import PolicyError
from sfumato.models.base import describe, plain_number
from sfumato.pipeline import versions
from sfumato.plan import Plan
from sfumato.sweeping.frontier import losses_of, measured, strictness, trade, value_of
from sfumato.sweeping.grid import Grid, shown

FORMAT = 3
Row = dict[str, Any]  # one combination: its values, whether it holds, and what was found


def facts_of(
    plan: Plan, grid: Grid, rows: Sequence[Row], source: Mapping[str, Any], wanted: str | None
) -> dict[str, Any]:
    """Return everything that the table and the page show, as plain data."""
    requirements = grid.requirements or tuple(range(len(plan.policy.requirements)))
    score = strictness(rows, requirements)
    losses = losses_of(rows, score)
    if wanted is not None:
        losses = _with_first(losses, rows, score, wanted)
    chosen = losses[0] if losses and (wanted is not None or not losses[0]["falls"]) else None
    name = chosen["name"] if chosen is not None else ""
    on_frontier, bend = (chosen["frontier"], chosen["knee"]) if chosen is not None else ([], None)
    return {
        "format": FORMAT,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "plan": {"path": plan.path.name if plan.path else None, "sha256": plan.sha256},
        "source": dict(source),
        "settings": [
            {"name": axis.name, "values": [*map(plain_number, axis.values)], "plan": plain_number(axis.setting.value)}
            for axis in grid.axes
        ],
        "requirements": [
            {**describe(model), "varied": position in grid.requirements} for position, model in enumerate(plan.policy)
        ],
        "loss": chosen,
        "losses": losses,
        "cells": [
            row
            | {"strictness": s, "loss": value_of(row, name), "frontier": place in on_frontier, "knee": place == bend}
            for place, (row, s) in enumerate(zip(rows, score, strict=True))
        ],
        "frontier": on_frontier,
        "knee": bend,
        "holding": sum(row["holds"] for row in rows),
        "versions": versions(),
    }


def _with_first(
    losses: Sequence[dict[str, Any]], rows: Sequence[Row], score: Sequence[float | None], wanted: str
) -> list[dict[str, Any]]:
    """Return the losses with a wanted measurement first, whatever it is; where nothing holds, nothing was measured."""
    known = measured(rows)
    if any(row["holds"] for row in rows) and wanted not in known:
        raise PolicyError(
            f"The loss {wanted!r} was asked for, but is not measured here.\nMeasured: {', '.join(sorted(known))}."
        )
    first = [{**known[wanted], **trade(rows, score, known[wanted])}] if wanted in known else []
    return [*first, *(loss for loss in losses if loss["name"] != wanted)]


def table_of(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the sweep as rows of cells, the header first."""
    settings = [setting["name"] for setting in facts["settings"]]
    cells = facts["cells"]
    holding = [cell for cell in cells if cell["holds"]]
    verdicts = [_title(verdict) for verdict in holding[0]["verdicts"]] if holding else []
    names = list(dict.fromkeys(entry["name"] for cell in holding for entry in cell["measurements"]))
    attacks = list(dict.fromkeys(entry["title"] for cell in holding for entry in cell["attacks"]))
    head = [
        *(*settings, "holds", "frontier", "knee", "strictness"),
        *(f"reached: {title}" for title in verdicts),
        *names,
        *(f"{what}: {attack}" for attack in attacks for what in ("exposed", "worst")),
        *("seconds", "reason"),
    ]
    rows: list[list[Any]] = [head]
    for cell in cells:
        by_name = {entry["name"]: entry["value"] for entry in cell.get("measurements", ())}
        by_attack = {entry["title"]: entry for entry in cell.get("attacks", ())}
        rows.append(
            [
                *(shown(cell["values"][name]) for name in settings),
                *(shown(cell[name]) for name in ("holds", "frontier", "knee")),
                cell["strictness"],
                *(verdict["reached"] for verdict in cell.get("verdicts", [{"reached": None}] * len(verdicts))),
                *(by_name.get(name) for name in names),
                *(by_attack.get(attack, {}).get(what) for attack in attacks for what in ("exposed", "worst")),
                round(cell["seconds"], 3),
                " ".join(cell["reason"].split()),
            ]
        )
    return rows


def _title(verdict: Mapping[str, Any]) -> str:
    about = verdict.get("sensitive") or verdict.get("column")
    return f"{verdict['model']} of {about}" if about else str(verdict["model"])
