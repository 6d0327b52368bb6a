"""Which combinations are worth a look: the frontier between strictness and loss, and where it bends.

Strictness is what the audits found, from 0 (the loosest combination of the sweep) to 1 (the strictest), averaged over
the requirements that vary. Counts that must be at least so large (k, l) are compared by their logarithm: twice as many
means the same anywhere. A combination is on the frontier if none that is at least as strict loses less, and none that
loses no more is stricter. The knee is the point of the frontier that lies farthest below the straight line between its
ends: up to it strictness is cheap, beyond it dear.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

CLEAR = 0.02  # how far below the line a knee must lie, both axes from 0 to 1


def strictness(cells: Sequence[Mapping[str, Any]], requirements: Sequence[int]) -> list[float | None]:
    """Return the strictness of each combination, None for those that do not hold."""
    known = [place for place, cell in enumerate(cells) if cell["holds"]]
    parts: list[list[float]] = []
    for requirement in requirements:
        reached = [_oriented(cells[place]["verdicts"][requirement]) for place in known]
        if all(value is not None for value in reached):
            scaled = _from_0_to_1([value for value in reached if value is not None])
            parts += [scaled] if scaled is not None else []
    score: list[float | None] = [None] * len(cells)
    for position, place in enumerate(known):
        score[place] = sum(part[position] for part in parts) / len(parts) if parts else 0.0
    return score


def _oriented(verdict: Mapping[str, Any]) -> float | None:
    """Return what was reached so that more is stricter."""
    reached = verdict.get("reached")
    if reached is None:
        return None
    if verdict.get("bound") == "at least":
        return math.log(reached) if reached > 0 else None
    return -float(reached)


def _from_0_to_1(values: Sequence[float]) -> list[float] | None:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) for value in values] if high > low else None


def measured(cells: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return every measurement with a better and a worse side by name, without its values, in the order of metrics."""
    found: dict[str, Mapping[str, Any]] = {}
    for cell in cells:
        for entry in cell.get("measurements", ()):
            if entry.get("better") in ("lower", "higher") and entry.get("value") is not None:
                about = {key: value for key, value in entry.items() if key not in ("value", "before")}
                found.setdefault(entry["name"], about)
    return found


def losses_of(cells: Sequence[Mapping[str, Any]], score: Sequence[float | None]) -> list[dict[str, Any]]:
    """Return every loss that some setting moves, each with its own frontier and knee, the first being the one to take.

    A loss that falls when strictness rises is no price of it (`falls`): it comes last, and is never taken. Of the
    others, what most settings move goes first, then a main one, then the one that metrics list first.
    """
    found = [
        {**entry, "moved_by": _moved_by(name, cells), **trade(cells, score, entry)}
        for name, entry in measured(cells).items()
        if entry["about"] == "loss"
    ]
    moving = [loss for loss in found if loss["moved_by"]] or found
    return sorted(moving, key=lambda loss: (loss["falls"], -loss["moved_by"], not loss["main"]))


def trade(cells: Sequence[Mapping[str, Any]], score: Sequence[float | None], loss: Mapping[str, Any]) -> dict[str, Any]:
    """Return frontier and knee of a loss, and whether it falls when strictness rises."""
    sign = -1 if loss["better"] == "higher" else 1
    values = [value_of(cell, loss["name"]) for cell in cells]
    turned = [sign * value if value is not None else None for value in values]
    chosen = frontier(score, turned)
    return {"frontier": chosen, "knee": knee(chosen, score, turned), "falls": falls(score, turned)}


def falls(score: Sequence[float | None], loss: Sequence[float | None]) -> bool:
    """Whether of two combinations the stricter one loses less more often than more; `loss` so that less is better.

    >>> falls([0, 0.5, 1], [0.3, 0.2, 0.25]), falls([0, 0.5, 1], [0.1, 0.3, 0.2]), falls([0, 0], [0.1, 0.2])
    (True, False, False)
    """
    points = [(s, l) for s, l in zip(score, loss, strict=True) if s is not None and l is not None]
    s, l = np.array(points, dtype=np.float64).reshape(-1, 2).T
    agree = np.sign(s[:, None] - s) * np.sign(l[:, None] - l)
    return bool(agree.sum() < 0)


def _moved_by(name: str, cells: Sequence[Mapping[str, Any]]) -> int:
    """Return how many of the settings make a difference to a measurement while all others stay."""
    settings = {setting for cell in cells for setting in cell["values"]}
    count = 0
    for setting in settings:
        found: dict[tuple[tuple[str, str], ...], set[float | None]] = {}
        for cell in cells:
            if cell["holds"]:
                others = tuple((key, str(value)) for key, value in cell["values"].items() if key != setting)
                found.setdefault(others, set()).add(value_of(cell, name))
        count += any(len(values) > 1 for values in found.values())
    return count


def value_of(cell: Mapping[str, Any], name: str) -> float | None:
    """Return a measurement of a combination by name."""
    found = (entry["value"] for entry in cell.get("measurements", ()) if entry["name"] == name)
    return next(found, None)


def frontier(score: Sequence[float | None], loss: Sequence[float | None]) -> list[int]:
    """Return the combinations on the frontier, loosest first; `loss` is so turned that less is better.

    >>> frontier([0, 0.5, 0.5, 1, None], [0.1, 0.2, 0.3, 0.4, None])
    [0, 1, 3]
    """
    points = enumerate(zip(score, loss, strict=True))
    known = [(s, -l, place) for place, (s, l) in points if s is not None and l is not None]
    found: list[int] = []
    best = -math.inf
    for _, less, place in sorted(known, reverse=True):  # the strictest first: what loses less than all before it stays
        if less > best:
            found.append(place)
            best = less
    return found[::-1]


def knee(chosen: Sequence[int], score: Sequence[float | None], loss: Sequence[float | None]) -> int | None:
    """Return where the frontier bends, or None when it does not.

    >>> knee([0, 1, 2], [0, 0.5, 1], [0.1, 0.15, 0.6]), knee([0, 1, 2], [0, 0.5, 1], [0.1, 0.35, 0.6])
    (1, None)
    """
    if len(chosen) < 3:
        return None
    across = _from_0_to_1([score[place] or 0.0 for place in chosen])
    up = _from_0_to_1([loss[place] or 0.0 for place in chosen])
    if across is None or up is None:
        return None
    below = [x - y for x, y in zip(across, up, strict=True)]  # both run from 0 to 1, so the line is the diagonal
    deepest = max(range(len(chosen)), key=below.__getitem__)
    return chosen[deepest] if below[deepest] > CLEAR else None
