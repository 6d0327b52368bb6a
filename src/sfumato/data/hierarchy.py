"""Generalization hierarchies: trees of labels above the values of a column.

A `Hierarchy` is what a file or a builder declares, over *all* its leaves. A `Tree` is the same hierarchy laid over the
values that occur in a column, with nodes numbered so that loops over codes can use it.

Levels. A leaf has level 0, the root the highest level; a branch may skip levels. Cutting at level L sends a leaf to its
first ancestor-or-self whose parent lies above L. A node with a single child has the same leaves as that child, so the
two are one node and the lower label stays; the root is always `*`. Of hierarchies that are built over the values of a
quasi-identifier, the lowest group that holds all values stays below the root (`Hierarchy.with_top`). Missing values lie
directly below the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import HierarchyError

ROOT = "*"
FAN_OUT = 4  # of a tree that stands in for a hierarchy
_DEEPEST = 200  # levels of nested tables


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
    >>> jobs.same
    {'food': 'cook'}
    """

    labels: tuple[str, ...]
    parent: tuple[int, ...]  # -1 for the root
    level: tuple[int, ...]  # 0 for leaves
    n_leaves: int
    same: Mapping[str, str] = field(default_factory=dict)  # labels that went into their only child's -> that label

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

    @cached_property
    def below(self) -> tuple[range, ...]:
        """The leaves below each node, itself where it is one: they stand side by side."""
        first = [*range(self.n_leaves), *[self.n_leaves] * (len(self.labels) - self.n_leaves)]
        end = [*range(1, self.n_leaves + 1), *[0] * (len(self.labels) - self.n_leaves)]
        for node, above in enumerate(self.parent):
            if above >= 0:
                first[above], end[above] = min(first[above], first[node]), max(end[above], end[node])
        return tuple(map(range, first, end))

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

    def in_order(self, key: Callable[[str], Any]) -> Hierarchy:
        """Return the same tree with its leaves in rising order of a key, as far as its groups allow.

        >>> tree = Hierarchy.from_paths([("9", "high"), ("8", "high"), ("1", "low"), ("2", "low")])
        >>> tree.in_order(int).leaves
        ('1', '2', '8', '9')
        """
        size = len(self.labels)
        least: list[Any] = [key(leaf) for leaf in self.leaves] + [None] * (size - self.n_leaves)
        below: list[list[int]] = [[] for _ in range(size)]
        for node, above in enumerate(self.parent):  # children come before their parents
            if above >= 0:
                below[above].append(node)
                least[above] = least[node] if least[above] is None else min(least[above], least[node])
        leaves: list[int] = []
        inner: list[int] = []
        stack = [size - 1]
        while stack:
            node = stack.pop()
            (inner if below[node] else leaves).append(node)
            stack += sorted(below[node], key=least.__getitem__, reverse=True)
        order = leaves + inner[::-1]
        number = {node: place for place, node in enumerate(order)} | {-1: -1}
        return Hierarchy(
            labels=tuple(self.labels[node] for node in order),
            parent=tuple(number[self.parent[node]] for node in order),
            level=tuple(self.level[node] for node in order),
            n_leaves=self.n_leaves,
            same=self.same,
        )

    def with_top(self) -> Hierarchy:
        """Return the tree with the lowest group that holds all values as a node of its own, where there is one.

        It says more than `*`, which stands for a missing value, too.

        >>> zips = Hierarchy.from_paths([("101", "10*", "1**"), ("102", "10*", "1**")])
        >>> zips.ancestors("101"), zips.with_top().ancestors("101"), zips.with_top().same
        (('101', '*'), ('101', '10*', '*'), {'1**': '10*'})
        """
        tops = [label for label, only in self.same.items() if only == ROOT]  # the largest first
        if not tops:
            return self
        top, root = tops[-1], len(self.labels) - 1
        return Hierarchy(
            labels=(*self.labels[:-1], top, ROOT),
            parent=(*self.parent[:-1], root + 1, -1),
            level=(*self.level[:-1], self.height - len(tops), self.height),
            n_leaves=self.n_leaves,
            same={label: top if only == ROOT else only for label, only in self.same.items() if label != top},
        )

    @classmethod
    def from_paths(
        cls, paths: Iterable[Sequence[str]], name: str = "The hierarchy", *, secret: bool = False
    ) -> Hierarchy:
        """Build a tree from rows of value, level 1, level 2, ..., root.

        Rows may have different lengths: a short row skips the levels below the root. `secret` keeps labels out of
        errors.
        """
        trie = _Trie(map(_up_to_the_root, paths))
        if not trie.values:
            raise HierarchyError(f"{name} is empty.\nIt needs one line for each value: value;level 1;...;*")
        if trie.repeated:
            raise HierarchyError(
                f"{name} lists values more than once: {trie.repeated:,} line(s) too many.\nKeep one line a value."
            )
        if circle := trie.circle():
            shown = "" if secret else f" ({some(circle)})"
            raise HierarchyError(
                f"{name} runs in a circle: {len(circle)} label(s) lie above themselves{shown}.\n"
                "Let each line go from the value to ever larger groups."
            )
        return trie.hierarchy(name, secret=secret)

    @classmethod
    def from_nested(cls, tree: Mapping[str, Any], name: str = "The hierarchy", *, secret: bool = False) -> Hierarchy:
        """Build a tree from nested tables: a table is a label with what lies below it, a list holds values.

        >>> Hierarchy.from_nested({"health": ["nurse", "doctor"], "food": ["cook", "baker"]}).ancestors("baker")
        ('baker', 'food', '*')
        """
        return cls.from_paths(nested_paths(tree, (), name), name, secret=secret)

    @classmethod
    def flat(cls, values: Iterable[str]) -> Hierarchy:
        """Build the hierarchy that knows only the value and `*`."""
        return cls.from_paths((value, ROOT) for value in values)

    @classmethod
    def balanced(cls, values: Sequence[str]) -> Hierarchy:
        """Build a tree over values in order where there is none; a node is named after its first and last value.

        >>> Hierarchy.balanced("abcdef").paths()[4]
        ('e', 'e .. f', '*')
        """
        paths = [[value] for value in values]
        width = FAN_OUT
        while width < len(values):
            for first in range(0, len(values), width):
                group = values[first : first + width]
                for place in range(first, first + len(group)):
                    if len(group) > 1:
                        paths[place].append(f"{group[0]} .. {group[-1]}")
            width *= FAN_OUT
        return cls.from_paths((*dict.fromkeys(path), ROOT) for path in paths)

    @classmethod
    def bare(cls) -> Hierarchy:
        """Return the hierarchy without any value, which fits a column where all values are missing."""
        return cls(labels=(ROOT,), parent=(-1,), level=(1,), n_leaves=0)


def _up_to_the_root(path: Sequence[str]) -> tuple[str, ...]:
    """Cut the path behind the first root label, or add one; the value itself may look like the root.

    >>> _up_to_the_root(["a", "b", "*", "c"]), _up_to_the_root(["a", "b"])
    (('a', 'b', '*'), ('a', 'b', '*'))
    """
    path = tuple(path)
    return path[: path.index(ROOT, 1) + 1] if ROOT in path[1:] else (*path, ROOT)


def nested_paths(tree: Any, above: tuple[str, ...], name: str) -> Iterator[tuple[str, ...]]:
    """Yield each value of a tree with the labels above it, or raise where the tree is none."""
    if len(above) > _DEEPEST:
        raise HierarchyError(f"{name} has more than {_DEEPEST} levels.\nLet each level gather several groups into one.")
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            yield from nested_paths(below, (str(label), *above), name)
        return
    if not isinstance(tree, list | tuple) or any(isinstance(value, list | tuple | Mapping) for value in tree):
        raise HierarchyError(
            f"{name} has a {type(tree).__name__} where a table or a plain list of values belongs.\n"
            'Write "label" = ["value", ...], or "label" = { ... } for further levels.'
        )
    for value in tree:
        yield str(value).lower() if isinstance(value, bool) else str(value), *above


class _Trie:
    """Paths read from the root downwards. Node 0 is the root; values are nodes without children."""

    def __init__(self, rows: Iterable[tuple[str, ...]]) -> None:
        self.label = [ROOT]
        self.level = [0]
        self.children: list[list[int]] = [[]]
        self.groups = [0]  # nodes that are no values, parents before children
        self.values: set[str] = set()
        n_rows = 0
        node_of: dict[tuple[str, ...], int] = {(ROOT,): 0}  # by all labels from the group up to the root
        childless: list[int] = []  # the same for all values
        for row in rows:
            n_rows += 1
            groups = row[1:]
            node = node_of.get(groups)
            if node is None:
                node = self._grow(groups, node_of)
            self.level[0] = max(self.level[0], len(groups))
            self.children[node].append(len(self.label))
            self.label.append(row[0])
            self.level.append(0)
            self.children.append(childless)
            self.values.add(row[0])
        self.repeated = n_rows - len(self.values)

    def _grow(self, groups: tuple[str, ...], node_of: dict[tuple[str, ...], int]) -> int:
        """Return the node of the lowest group, after making those that are not there yet."""
        node = 0
        for position in range(len(groups) - 2, -1, -1):
            above, node = node, node_of.get(groups[position:], -1)
            if node < 0:
                node = node_of[groups[position:]] = len(self.label)
                self.groups.append(node)
                self.children[above].append(node)
                self.label.append(groups[position])
                self.level.append(0)
                self.children.append([])
            self.level[node] = max(self.level[node], position + 1)
        return node

    def circle(self) -> set[str]:
        """Return labels of groups that lie above themselves, or none."""
        if len({self.label[node] for node in self.groups}) == len(self.groups):
            return set()  # each label is in one place only
        above: dict[str, set[str]] = {self.label[node]: set() for node in self.groups}
        for node in self.groups:
            for child in self.children[node]:
                if self.children[child] and self.label[child] != self.label[node]:
                    above[self.label[child]].add(self.label[node])
        while free := [label for label, larger in above.items() if not larger & above.keys()]:
            for label in free:
                del above[label]
        return set(above)

    def _values_that_are_groups(self) -> list[str]:
        """Return values that are also groups of something else. A group that repeats its only value is none."""
        found = []
        for node in self.groups:
            label, waiting = self.label[node], [node]
            if label not in self.values:
                continue
            while waiting:
                below = self.children[waiting.pop()]
                if any(self.label[child] != label for child in below):
                    found.append(label)
                    break
                waiting += below
        return found

    def _lowest(self, node: int) -> int:
        """Return the node that stays of a chain: one with a single child is that child."""
        while len(self.children[node]) == 1:
            (node,) = self.children[node]
        return node

    def hierarchy(self, name: str, *, secret: bool) -> Hierarchy:
        """Return the tree without chains: leaves in the order of a walk, then groups, parents after children."""
        top = self._lowest(0)
        root_children = self.children[top] or [top]  # of a single value the root still is the root
        leaves: list[int] = []
        groups: list[int] = []
        up = [-1] * len(self.label)
        walk = [(0, iter(root_children))]
        while walk:
            node, below = walk[-1]
            for child in map(self._lowest, below):
                up[child] = node
                if self.children[child]:
                    walk.append((child, iter(self.children[child])))
                    break
                leaves.append(child)
            else:
                groups.append(node)
                walk.pop()
        nodes = leaves + groups
        labels = [self.label[node] for node in nodes]
        ambiguous = {label for label, count in Counter(labels).items() if count > 1}
        ambiguous.update(self._values_that_are_groups())
        if ambiguous:
            shown = "" if secret else f" ({some(ambiguous)})"
            raise HierarchyError(
                f"{name} uses {len(ambiguous)} label(s) in more than one place{shown}: below two parents, or both as a "
                "value and as a group.\nA reader could not tell them apart: give each group a label of its own."
            )
        number = [-1] * (len(self.label) + 1)  # the last entry is the number of what lies above the root
        for position, node in enumerate(nodes):
            number[node] = position
        return Hierarchy(
            labels=tuple(labels),
            parent=tuple(number[up[node]] for node in nodes),
            level=(*(0 for _ in leaves), *(self.level[node] for node in groups)),
            n_leaves=len(leaves),
            same=self._same(set(labels)),
        )

    def _same(self, labels: set[str]) -> dict[str, str]:
        """Return the labels that no node kept, with the label of the node that has the same leaves."""
        gone: dict[str, set[str]] = {}
        top = self._lowest(0)
        for node in self.groups:
            if self.label[node] not in labels:
                stays = self._lowest(node)
                stays = 0 if stays == top and self.children[top] else stays  # what holds everything is the root
                gone.setdefault(self.label[node], set()).add(self.label[stays])
        return {label: stays.pop() for label, stays in gone.items() if len(stays) == 1}


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

        inner = [node for node in range(hierarchy.n_leaves, size) if last[node] >= 0 or node == root]
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
