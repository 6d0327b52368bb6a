"""The decision of an anonymizer: what is published instead of the original values. Plain data, through and through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets, Codes
from sfumato.data.grid import Grid


@dataclass(frozen=True, eq=False)
class Labelled:
    """A column of published labels: row r shows labels[codes[r]]."""

    codes: Codes  # (n,)
    labels: tuple[str, ...]
    missing: int = -1  # the code of cells that show nothing, where the original has no missing value of its own


@dataclass(frozen=True, eq=False)
class SplitTree:
    """Groups of rows and the tree of cuts that made them, so that a later step can merge them again.

    Sizes: n rows, c combinations, g groups, t nodes. Node 0 is the whole table; a node that was cut has two nodes below
    it, both with higher numbers.
    """

    group_of: Codes  # (n,): each row's group, -1 where the row takes no part
    some_row: NDArray[np.int64]  # (c,): one row of each combination of quasi-identifiers in each group, group by group
    start: NDArray[np.int64]  # (g + 1,): group i has the rows some_row[start[i]:start[i + 1]] and others like them
    node_of: NDArray[np.int64]  # (g,): each group's node
    parent: NDArray[np.int64]  # (t,): the node that a node was cut from, -1 for the whole table
    rounds: int  # of cuts
    value_sets: bool = False  # whether sets of values are published where a hierarchy's label says less
    exact: bool = False  # whether ranges of numbers end where the values of a class end
    grids: Mapping[str, Grid] = field(default_factory=dict)  # by column: where else they end, and where cuts may lie

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return self.start.size - 1

    @property
    def node_of_row(self) -> NDArray[np.int64]:
        """The node that each row ended in, -1 where it takes no part, shape (n,)."""
        return np.append(self.node_of, -1)[self.group_of]

    def divided(self, row_of: NDArray[np.int64]) -> SplitTree:
        """Return the same about pieces of the rows, given the row of each, ascending; every row has some."""
        return replace(self, group_of=self.group_of[row_of], some_row=np.searchsorted(row_of, self.some_row))

    def merged(self, node_of_row: NDArray[np.int64]) -> SplitTree:
        """Return coarser groups, given the node that each row shall end in, (n,): its own, or one above it."""
        # The last makes sure that -1 is there.
        nodes, found = np.unique(np.append(node_of_row, -1), return_inverse=True)
        group_of: Codes = (found[:-1] - 1).astype(np.int32)
        of_combination = group_of[self.some_row]
        order = np.argsort(of_combination, kind="stable")
        start = np.searchsorted(of_combination[order], np.arange(nodes.size))
        return replace(self, group_of=group_of, some_row=self.some_row[order], start=start, node_of=nodes[1:])


@dataclass(frozen=True, eq=False)
class Pieces:
    """Rows that stand for several, divided: piece i is count[i] of the rows that row_of[i] stands for. p pieces."""

    row_of: NDArray[np.int64]  # (p,), ascending
    count: NDArray[np.int64]  # (p,)

    def beside(self, rows: NDArray[np.int64] | None, weights: NDArray[np.int64]) -> tuple[Pieces, NDArray[np.int64]]:
        """Return pieces of all rows, given that these are of some (None: of all), and where these are among them."""
        if rows is None:
            return self, np.arange(self.row_of.size)
        others = np.setdiff1d(np.arange(weights.size), rows)
        row_of = np.concatenate([rows[self.row_of], others])
        order = np.argsort(row_of, kind="stable")
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        count = np.concatenate([self.count, weights[others]])
        return Pieces(row_of[order], count[order]), place[: self.row_of.size]


def as_seen(codes: NDArray[np.integer], labels: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Return codes in which equal labels are equal, and the labels, each once.

    >>> as_seen(np.array([0, 1, 2], dtype=np.int32), ("a", "b", "a"))[0].tolist()
    [0, 1, 0]
    """
    code_of = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    return np.array([code_of[label] for label in labels], dtype=np.int32)[codes], tuple(code_of)


def divide_rows(
    unit_of: NDArray[np.integer], weights: NDArray[np.int64], option_rows: NDArray[np.int64]
) -> tuple[Pieces, NDArray[np.int64]]:
    """Give rows that stand for several what their unit has to give, one option after the other, in order of rows.

    unit_of (n,); option_rows (o,): how many rows each option is for, unit after unit; those of a unit are for all its
    rows together. Return the pieces, and the option of each.

    >>> pieces, option_of = divide_rows(np.array([1, 0, 1]), np.array([2, 5, 4]), np.array([5, 3, 3]))
    >>> pieces.row_of.tolist(), pieces.count.tolist(), option_of.tolist()
    ([0, 1, 2, 2], [2, 5, 1, 3], [1, 0, 1, 2])
    """
    by_unit = np.argsort(unit_of, kind="stable")
    row_ends, option_ends = np.cumsum(weights[by_unit]), np.cumsum(option_rows)
    ends = np.union1d(row_ends, option_ends[option_ends > 0])
    row_of = by_unit[np.searchsorted(row_ends, ends)]
    order = np.argsort(row_of, kind="stable")
    pieces = Pieces(row_of[order], np.diff(ends, prepend=0)[order])
    return pieces, np.searchsorted(option_ends, ends)[order]


@dataclass(frozen=True, eq=False)
class Recoding:
    """New columns for those that change; everything else is published as it is.

    Steps of a pipeline build on one another: each gets the recoding so far and returns a new one.
    """

    columns: Mapping[str, Labelled | CodedSets] = field(default_factory=dict)
    keep_row: NDArray[np.bool_] | None = None  # (n,); None keeps all
    class_of: Codes | None = None  # (n,): rows that are published with equal quasi-identifiers, when a step knows it
    tree: SplitTree | None = None  # how classes came about, when they were split
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the anonymizer has to say, for the holder's report
    public: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by column: what release.json shall add
    # Where rows stand for several: what this is about instead, as n, if some of them were divided.
    pieces: Pieces | None = None

    def with_columns(self, columns: Mapping[str, Labelled | CodedSets], **changes: Any) -> Recoding:
        """Return this recoding with further columns replaced."""
        return replace(self, columns={**self.columns, **columns}, **changes)

    def divided(self, pieces: Pieces) -> Recoding:
        """Return the same about pieces of what it is about."""
        row_of = pieces.row_of
        columns: dict[str, Labelled | CodedSets] = {}
        for name, column in self.columns.items():
            assert isinstance(column, Labelled), "sets are of single rows"
            columns[name] = replace(column, codes=column.codes[row_of])
        whole = self.pieces.row_of[row_of] if self.pieces is not None else row_of
        return replace(
            self,
            columns=columns,
            keep_row=None if self.keep_row is None else self.keep_row[row_of],
            class_of=None if self.class_of is None else self.class_of[row_of],
            tree=None if self.tree is None else self.tree.divided(row_of),
            pieces=Pieces(whole, pieces.count),
        )
