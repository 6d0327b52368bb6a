"""The decision of an anonymizer: what is published instead of the original values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets, Codes


@dataclass(frozen=True, eq=False)
class Labelled:
    """A column of published labels: row r shows labels[codes[r]]."""

    codes: Codes  # (n,)
    labels: tuple[str, ...]


# The score of each group, given rows, group after group, and where each group starts: the lower the better.
Crowding: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class SplitTree:
    """How groups came about by splitting, so that a later step can merge them again. Sizes: n rows, t nodes."""

    node_of: NDArray[np.int64]  # (n,): the node that each row ended in, -1 where it takes no part
    parent: NDArray[np.int64]  # (t,): -1 for the whole table
    # Given a node for each row, (n,): the labels of the quasi-identifiers and the classes when each node is one group.
    publish: Callable[[NDArray[np.int64]], tuple[dict[str, Labelled], Codes]]
    # What is lost on quasi-identifiers when a node is one group, as a share of all that could be lost, (t,).
    loss: Callable[[], NDArray[np.float64]]
    # The same step again, with a say in which cuts are made: of cuts that are nearly as good, the one whose worse side
    # has the lower score is taken. Scores are asked for as `Crowding` has it.
    cut_again: Callable[[Crowding], Recoding]


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

    def with_columns(self, columns: Mapping[str, Labelled | CodedSets], **changes: Any) -> Recoding:
        """Return this recoding with further columns replaced."""
        return replace(self, columns={**self.columns, **columns}, **changes)
