"""The groups within which terms are removed, and what a group that cannot be made safe is joined to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.boxes import label_boxes
from sfumato.anonymizers.joining import LabelledClasses
from sfumato.data.dataset import Dataset, distinct_rows
from sfumato.data.recoding import Labelled, Recoding, SplitTree


@dataclass(frozen=True, eq=False)
class Grouping:
    """Classes of a step before, or rows with equal quasi-identifiers. Sizes: n rows, t nodes."""

    class_of: NDArray[Any]  # (n,): a node where there is a tree; -1 where a row takes no part
    parent: NDArray[np.int64] | None  # (t,): what a node is joined to, -1: nothing; None: no class is joined
    tree: SplitTree | None  # how classes were split
    labelled: LabelledClasses | None  # where no cut made them

    @classmethod
    def of(cls, dataset: Dataset, before: Recoding, *, joins: bool) -> Grouping:
        """Return the groups that steps before made; `joins`: whether some may be joined.

        One is joined with its sibling when the step before split them, with classes of like labels when it published
        labels.
        """
        tree = before.tree if joins else None
        if tree is not None:
            return cls(tree.node_of_row, tree.parent, tree, None)
        labelled = LabelledClasses.of(dataset, before) if joins else None
        class_of = before.class_of
        if class_of is None:
            class_of = distinct_rows(dataset.quasi_identifiers, dataset.n_rows).distinct_of
        return cls(class_of, None if labelled is None else labelled.parents(), None, labelled)

    def joined(
        self, dataset: Dataset, node_of: NDArray[np.int64] | None, class_of: NDArray[np.int32]
    ) -> tuple[dict[str, Labelled], NDArray[np.int32], SplitTree | None]:
        """Return new labels of quasi-identifiers, each row's class and the tree, given the node that each row ended in.

        class_of: each row's group, which is its class unless groups show the same.
        """
        if node_of is None:
            return {}, class_of, self.tree
        if self.tree is not None:
            tree = self.tree.merged(node_of)
            return *label_boxes(dataset, tree), tree
        if self.labelled is not None and not np.array_equal(node_of, self.class_of):
            return *self.labelled.joined(node_of), None
        return {}, class_of, None
