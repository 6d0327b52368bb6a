"""The legend of a column: what each published label of its hierarchy stands for, for whoever has nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.data.builders import DECLARED
from sfumato.data.dataset import CodedSets, Dataset
from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role


def legend_of(hierarchy: Hierarchy, labels: Iterable[str], *, members: bool) -> dict[str, dict[str, Any]]:
    """Return the level of each of these labels that stands above values, and with `members` the values below it.

    >>> jobs = Hierarchy.from_nested({"health": ["nurse", "doctor"], "food": ["cook", "baker"]})
    >>> legend_of(jobs, ["cook", "health", "*"], members=True)
    {'health': {'level': 1, 'members': ['nurse', 'doctor']}}
    """
    nodes = {hierarchy.node_of[label]: label for label in labels if label in hierarchy.node_of}
    above = {node: label for node, label in nodes.items() if node >= hierarchy.n_leaves and label != ROOT}
    return {
        label: {"level": hierarchy.level[node]}
        | ({"members": [hierarchy.labels[leaf] for leaf in hierarchy.below[node]]} if members else {})
        for node, label in sorted(above.items())
    }


def legends(dataset: Dataset, release: Release, *, members: bool) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the legend of each published column that has one.

    Members are listed of hierarchies that the holder declares, in a file or in the plan, and never of those that are
    made from the values of the data.
    """
    found = {}
    for name, shown in release.columns.items():
        spec = dataset.schema.spec(name)
        hierarchy = _hierarchy(dataset, name, spec)
        if hierarchy is not None and spec is not None:
            declared = isinstance(spec.hierarchy, DECLARED)
            if legend := legend_of(hierarchy, shown.labels, members=members and declared):
                found[name] = legend
    return found


def _hierarchy(dataset: Dataset, name: str, spec: ColumnSpec | None) -> Hierarchy | None:
    """Return the hierarchy whose labels a column may show: that of its values, or of its items."""
    column = dataset.columns[name]
    if not isinstance(column, CodedSets):
        return column.hierarchy
    if spec is None or spec.hierarchy is None or column.role is not Role.ITEMS:
        return None
    return spec.hierarchy.build(column.labels, f"The hierarchy of column {name!r}", secret=True)
