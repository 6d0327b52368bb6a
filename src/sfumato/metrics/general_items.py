"""A column of items before and after: in common codes, and which label stands for an item that was generalized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets
from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import DataError
from sfumato.metrics.comparison import Comparison

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sides:
    """A column of items before and after, with one code for each label; those of the original come first."""

    before: CodedSets
    after: CodedSets  # items in the codes of both
    labels: tuple[str, ...]
    sensitive: NDArray[np.bool_]
    n_original: int


def item_sides(comparison: Comparison, name: str) -> Sides:
    """Return a column of items before and after in common codes, or raise."""
    before, after = (columns.get(name) for columns in comparison.sides)
    if not isinstance(before, CodedSets) or not isinstance(after, CodedSets):
        raise DataError(
            f"Items of column {name!r} were to be compared, but it is no column of items on both sides.\n"
            'Give it the role "items" in the plan.'
        )
    code_of = {label: code for code, label in enumerate(before.labels)}
    codes = np.array([code_of.setdefault(label, len(code_of)) for label in after.labels], dtype=np.int32)
    common = CodedSets(
        name=name,
        role=after.role,
        items=codes[after.items] if after.items.size else after.items,
        start=after.start,
        labels=tuple(code_of),
    )
    sensitive = np.zeros(len(code_of), dtype=np.bool_)
    if before.sensitive is not None:
        sensitive[: len(before.labels)] = before.sensitive
    return Sides(before, common, tuple(code_of), sensitive, len(before.labels))


@dataclass(frozen=True, eq=False)
class GeneralItems:
    """What stands for each item of the original in a release. Sizes: v labels of both sides."""

    node_of: Integers  # (v,): the lowest label above an item that the release has; the item itself where it has none
    loss: NDArray[np.float64]  # (v,): of an occurrence that is published under a label, as td-control counts it
    items_of: Integers  # (v,): how many items of the original are published under a label
    in_cut: NDArray[np.bool_]  # (v,): whether each item of the original below a label is published under it alone

    @property
    def any(self) -> bool:
        """Whether a label stands for other items at all."""
        return bool((self.node_of != np.arange(self.node_of.size)).any())


def general_items(comparison: Comparison, column: str, sides: Sides) -> GeneralItems:
    """Return how items are generalized: by the hierarchy of the plan, or the tree that stands in for one.

    An occurrence under a node loses (leaves below it - 1) / (all leaves - 1); a withheld one would lose 1, and so does
    what is published under a label that stands for nothing.
    """
    node_of = np.arange(len(sides.labels), dtype=np.int64)
    loss, in_cut = np.zeros(node_of.size), np.ones(node_of.size, dtype=np.bool_)
    loss[sides.n_original :] = 1.0
    new = {label: code for code, label in enumerate(sides.labels) if code >= sides.n_original}
    tree = _tree(comparison, column, sides, set(new)) if new else None
    if tree is not None:
        for label, code in new.items():
            if label in tree.node_of and tree.n_leaves:
                loss[code] = (len(tree.below[tree.node_of[label]]) - 1) / max(tree.n_leaves - 1, 1)
        shown = set(sides.after.items.tolist())
        for code, label in enumerate(sides.labels[: sides.n_original]):
            nodes = [each for each in tree.ancestors(label) if each in new] if label in tree.node_of else []
            if nodes and code not in shown:
                node_of[code] = new[nodes[0]]
            in_cut[[new[each] for each in nodes if new[each] != node_of[code]]] = False
    items_of = np.bincount(node_of[: sides.n_original], minlength=node_of.size).astype(np.int64)
    return GeneralItems(node_of, loss, items_of, in_cut)


def _tree(comparison: Comparison, column: str, sides: Sides, new: set[str]) -> Hierarchy | None:
    """Return the tree that has the new labels: over the items that are not sensitive, else over all."""
    spec = comparison.dataset.schema.spec(column)
    given = spec.hierarchy if spec is not None else None
    every = list(sides.before.labels)
    plain = [label for label, secret in zip(every, sides.sensitive, strict=False) if not secret]
    what = f"The hierarchy of column {column!r}"
    trees = [
        given.build(items, what, secret=True) if given is not None else Hierarchy.balanced(items)
        for items in ((plain, every) if len(plain) < len(every) else (plain,))
        if items
    ]
    return max(trees, key=lambda tree: len(new & tree.node_of.keys()), default=None)
