"""Whether a hierarchy knows the values of a column, before it takes the place of another one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.data.codebook import hierarchy_over
from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.kinds import infer_kind
from sfumato.data.schema import ColumnSpec, Kind

SHOWN = 50  # values

NONE, COMPLETE, MISSES = "none", "complete", "misses"


@dataclass(frozen=True)
class Coverage:
    """What a hierarchy knows of a column. Values are for the holder's eyes."""

    state: str
    values: int = 0  # distinct ones, without missing cells
    covered: int = 0
    missing: int = 0
    examples: tuple[str, ...] = ()  # of values that it misses, the most frequent first
    near: Mapping[str, str] | None = None  # what a value that it misses may have been meant to be
    unknown: int = 0  # its own values that do not occur
    rows: int = 0  # whose value it knows
    all_rows: int = 0
    rows_missing: int = 0  # cells that are missing: they stand alone
    paths: tuple[tuple[str, ...], ...] = ()  # some values, each with what it becomes at every level


def groups_of(hierarchy: Hierarchy) -> dict[str, str]:
    """Return what each value, and each group, is in: with the groups that hold a single thing, which trees leave out.

    >>> groups_of(Hierarchy.from_paths([("Bern", "West", "Swiss"), ("Chur", "Swiss"), ("Rom",)]))
    {'Bern': 'West', 'Chur': 'Swiss', 'Rom': '*', 'Swiss': '*', 'West': 'Swiss'}
    """
    above = {hierarchy.labels[node]: hierarchy.labels[up] for node, up in enumerate(hierarchy.parent) if up >= 0}
    top = ROOT
    for group, held in hierarchy.same.items():  # larger ones first
        if held == ROOT:
            above |= dict.fromkeys([each for each, over in above.items() if over == top], group)
            above[group], top = top, group
        elif held in above:
            above[held], above[group] = group, above[held]
    return above


def laid_over(spec: ColumnSpec, labels: Sequence[str], found: Any) -> tuple[Hierarchy, list[str]]:
    """Return a column's hierarchy over its values, and those that it misses; `found` is the type of the column."""
    kind = spec.kind or infer_kind(list(labels), found)
    return hierarchy_over(spec, Kind.ORDERED if kind is Kind.DATE else kind, list(labels))


def coverage(spec: ColumnSpec, labels: Sequence[str], rows: Sequence[int], rows_missing: int, found: Any) -> Coverage:
    """Return what a column's hierarchy knows of its values, given how many rows have each.

    `found` is the type of the column as it was found. A hierarchy that is broken raises.
    """
    if spec.hierarchy is None:
        return Coverage(NONE, values=len(labels), rows_missing=rows_missing)
    hierarchy, absent = laid_over(spec, labels, found)
    lacking = set(absent)
    rows_of = dict(zip(labels, rows, strict=True))
    frequent = sorted(absent, key=lambda label: (-rows_of[label], label))[:SHOWN]
    similar = {label: difflib.get_close_matches(label, hierarchy.leaves, 1) for label in frequent}
    known = sorted((label for label in labels if label not in lacking), key=hierarchy.node_of.__getitem__)
    step = max(1, len(known) // SHOWN)
    return Coverage(
        state=MISSES if absent else COMPLETE,
        values=len(labels),
        covered=len(known),
        missing=len(absent),
        examples=tuple(frequent),
        near={label: found[0] for label, found in similar.items() if found},
        unknown=len(set(hierarchy.leaves) - set(labels)),
        rows=sum(rows_of[label] for label in known),
        all_rows=sum(rows) + rows_missing,
        rows_missing=rows_missing,
        paths=tuple(hierarchy.ancestors(label) for label in known[::step][:SHOWN]),
    )
