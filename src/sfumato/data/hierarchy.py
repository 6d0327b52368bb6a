"""Generalization hierarchies: trees of labels above the values of a column.

A `Hierarchy` is what a file or a builder declares, over *all* its leaves. A `Tree` is the same hierarchy laid over the
values that occur in a column, with nodes numbered so that loops over codes can use it.

Levels. A leaf has level 0, the root the highest level; a branch may skip levels. Cutting at level L sends a leaf to its
first ancestor-or-self whose parent lies above L. A node with a single child has the same leaves as that child, so the
two are one node and the lower label stays; the root is always `*`. Missing values lie directly below the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import HierarchyError

ROOT = "*"


@dataclass(frozen=True)
class Hierarchy:
    """A tree of labels. Leaves come first, in the order of a walk through the tree; parents follow children; root last.

    >>> jobs = Hierarchy.from_paths([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "food", "*")])
    >>> jobs.leaves
    ('nurse', 'doctor', 'cook')
    >>> jobs.ancestors("doctor")
    ('doctor', 'health', '*')
    >>> jobs.ancestors("cook")  # "food" holds one value only, so it is that value
    ('cook', '*')
    """

    labels: tuple[str, ...]
    parent: tuple[int, ...]  # -1 for the root
    level: tuple[int, ...]  # 0 for leaves
    n_leaves: int

    @property
    def leaves(self) -> tuple[str, ...]:
        """The labels of the leaves; what lies below one node stands side by side."""
        return self.labels[: self.n_leaves]

    @cached_property
    def node_of(self) -> dict[str, int]:
        """The node of each label; a label stands for one node only."""
        return {label: node for node, label in enumerate(self.labels)}

    @property
    def height(self) -> int:
        """The level of the root."""
        return self.level[-1]

    def ancestors(self, label: str) -> tuple[str, ...]:
        """Return a label and all labels above it, up to the root."""
        chain, node = [], self.node_of[label]
        while node >= 0:
            chain.append(self.labels[node])
            node = self.parent[node]
        return tuple(chain)

    def paths(self) -> list[tuple[str, ...]]:
        """Return one path from value to root for each leaf, the form `from_paths` takes."""
        return [self.ancestors(leaf) for leaf in self.leaves]

    @classmethod
    def from_paths(
        cls, paths: Iterable[Sequence[str]], name: str = "The hierarchy", *, secret: bool = False
    ) -> Hierarchy:
        """Build a tree from rows of value, level 1, level 2, ..., root.

        Rows may have different lengths: a short row skips the levels below the root. `secret` keeps labels out of errors.
        """
        rows = [_up_to_the_root(tuple(path)) for path in paths]
        if not rows:
            raise HierarchyError(f"{name} is empty.\nIt needs one line for each value: value;level 1;...;*")
        repeated = sum(count - 1 for count in Counter(row[0] for row in rows).values())
        if repeated:
            raise HierarchyError(
                f"{name} lists values more than once: {repeated} line(s) too many.\nKeep one line for each value."
            )
        return _Trie(rows).hierarchy(name, secret=secret)

    @classmethod
    def from_nested(cls, tree: Mapping[str, Any], name: str = "The hierarchy", *, secret: bool = False) -> Hierarchy:
        """Build a tree from nested tables: a table is a label with what lies below it, a list holds values.

        >>> Hierarchy.from_nested({"health": ["nurse", "doctor"], "food": ["cook", "baker"]}).ancestors("baker")
        ('baker', 'food', '*')
        """
        return cls.from_paths(_nested_paths(tree, (), name), name, secret=secret)

    @classmethod
    def flat(cls, values: Iterable[str], name: str = "The hierarchy") -> Hierarchy:
        """Build the hierarchy that knows only the value and `*`."""
        return cls.from_paths([(value, ROOT) for value in values], name)


def _up_to_the_root(path: tuple[str, ...]) -> tuple[str, ...]:
    """Cut the path behind the first root label, or add one."""
    for position, label in enumerate(path):
        if label == ROOT and position > 0:
            return path[: position + 1]
    return (*path, ROOT)


def _nested_paths(tree: Any, above: tuple[str, ...], name: str) -> list[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        return [path for label, below in tree.items() for path in _nested_paths(below, (str(label), *above), name)]
    if not isinstance(tree, list) or any(isinstance(value, list | Mapping) for value in tree):
        raise HierarchyError(
            f"{name} has a {type(tree).__name__} where a table or a plain list of values belongs.\n"
            'Write "label" = ["value", ...], or "label" = { ... } for further levels.'
        )
    return [(str(value), *above) for value in tree]


class _Trie:
    """Paths read from the root downwards. Node 0 is the root."""

    def __init__(self, rows: list[tuple[str, ...]]) -> None:
        self.label = [ROOT]
        self.level = [0]
        self.children: list[dict[str, int]] = [{}]
        self.is_value = [False]
        for row in rows:
            node = 0
            self.level[0] = max(self.level[0], len(row) - 1)
            for position in range(len(row) - 2, -1, -1):
                child = self.children[node].get(row[position])
                if child is None:
                    child = len(self.label)
                    self.children[node][row[position]] = child
                    self.label.append(row[position])
                    self.level.append(position)
                    self.children.append({})
                    self.is_value.append(False)
                self.level[child] = max(self.level[child], position)
                node = child
            self.is_value[node] = True

    def _below(self, node: int) -> list[int]:
        """The children once chains are collapsed: a node with one child is that child (the root stays)."""
        found = []
        for child in self.children[node].values():
            while len(self.children[child]) == 1:
                (child,) = self.children[child].values()
            found.append(child)
        if node == 0 and len(found) == 1 and self.children[found[0]]:
            return self._below(found[0])
        return found

    def hierarchy(self, name: str, *, secret: bool) -> Hierarchy:
        leaves, inner, up = [], [], {0: -1}
        stack = [(0, False)]
        while stack:
            node, seen = stack.pop()
            below = self._below(node)
            if seen:
                inner.append(node)
            elif not below:
                leaves.append(node)
            else:
                stack.append((node, True))
                for child in reversed(below):
                    up[child] = node
                    stack.append((child, False))
        nodes = leaves + inner
        labels = [self.label[node] for node in nodes]
        ambiguous = [label for label, count in Counter(labels).items() if count > 1]
        ambiguous += [
            self.label[node] for node in range(1, len(self.label)) if self.is_value[node] and self.children[node]
        ]
        if ambiguous:
            shown = "" if secret else f" ({some(ambiguous)})"
            raise HierarchyError(
                f"{name} uses {len(ambiguous)} label(s) in more than one place{shown}: below two parents, "
                "or both as a value and as a group.\nA reader could not tell them apart: give each group a label of its own."
            )
        number = {node: position for position, node in enumerate(nodes)}
        return Hierarchy(
            labels=tuple(labels),
            parent=tuple(number[up[node]] if up[node] >= 0 else -1 for node in nodes),
            level=(*(0 for _ in leaves), *(self.level[node] for node in inner)),
            n_leaves=len(leaves),
        )


def some(values: Iterable[str], most: int = 5) -> str:
    """Return the first few values in quotes, and how many more there are."""
    values = sorted(values)
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


@dataclass(frozen=True, eq=False)
class Tree:
    """A hierarchy over the codes of a column, m nodes.

    Nodes 0..v-1 are the codes themselves; then come the inner nodes with at least one occurring value below, parents
    after children, the root last. The codes below a node are an interval.
    """

    labels: tuple[str, ...]  # (m,)
    parent: NDArray[np.int32]  # (m,), -1 for the root
    level: NDArray[np.int32]  # (m,), 0 for leaves
    first: NDArray[np.int32]  # (m,), smallest code below
    last: NDArray[np.int32]  # (m,), largest code below
    leaves: NDArray[np.int32]  # (m,), leaves of the full hierarchy below, occurring or not

    @property
    def height(self) -> int:
        """The level of the root."""
        return int(self.level[-1])

    @classmethod
    def over(cls, hierarchy: Hierarchy, labels: Sequence[str], missing: int = -1) -> Tree:
        """Lay a hierarchy over a column's labels, which stand in the order of its leaves.

        `missing` is the code of the missing value, which becomes a leaf directly below the root.
        """
        n_codes = len(labels)
        code_of = {hierarchy.node_of[label]: code for code, label in enumerate(labels) if code != missing}
        size = len(hierarchy.labels)
        first, last, count = [n_codes] * size, [-1] * size, [0] * size
        for node in range(size):
            if node < hierarchy.n_leaves:
                count[node] = 1
                if node in code_of:
                    first[node] = last[node] = code_of[node]
            above = hierarchy.parent[node]
            if above >= 0:
                first[above], last[above] = min(first[above], first[node]), max(last[above], last[node])
                count[above] += count[node]
        root = size - 1
        if missing >= 0:
            first[root], last[root], count[root] = min(first[root], missing), max(last[root], missing), count[root] + 1

        inner = [node for node in range(hierarchy.n_leaves, size) if last[node] >= 0]
        number = {**code_of, **{node: n_codes + position for position, node in enumerate(inner)}}
        old = [-1] * n_codes
        for node, code in code_of.items():
            old[code] = node
        old += inner

        def array(of: Sequence[int], for_missing: int) -> NDArray[np.int32]:
            return np.array([of[node] if node >= 0 else for_missing for node in old], dtype=np.int32)

        parents = [number.get(above, -1) for above in hierarchy.parent]
        return cls(
            labels=tuple(hierarchy.labels[node] if node >= 0 else labels[missing] for node in old),
            parent=array(parents, number[root]),
            level=array(hierarchy.level, 0),
            first=array(first, missing),
            last=array(last, missing),
            leaves=array(count, 1),
        )

    def at_level(self, level: int) -> NDArray[np.int32]:
        """Return for each code its node when the tree is cut at a level, shape (v,)."""
        n_codes = int((self.level == 0).sum())
        node_of = np.arange(n_codes, dtype=np.int32)
        for _ in range(self.height):
            above = self.parent[node_of]
            climb = (above >= 0) & (self.level[above] <= level)
            if not climb.any():
                break
            node_of[climb] = above[climb]
        return node_of
