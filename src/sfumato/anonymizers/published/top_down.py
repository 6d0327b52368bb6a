"""The published two-step greedy search, corrected: specialize quasi-identifiers from the top, mask from the bottom.

Labels of quasi-identifiers are the same throughout the table. The label that covers the most rows is specialized first;
after each step, classes that changed are masked anew: the label that contributes most to the worst violation, and its
sibling with the fewest rows, both rise to their parent in the whole class. A step stays if it lowers the distortion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.masking.search import Masked
from sfumato.data.dataset import distinct_codes
from sfumato.kernels.masks.regions import Axes, Distinct
from sfumato.kernels.masks.state import Secrets, make_state
from sfumato.kernels.published.masking import mask_from_below


class TopDown:
    """The table under one set of labels for each quasi-identifier."""

    def __init__(self, distinct: Distinct, axes: Axes, secrets: Secrets, k: int) -> None:
        self.distinct, self.axes, self.secrets, self.k = distinct, axes, secrets, k
        self.node = np.tile(
            np.array([parents.size - 1 for parents in axes.up], dtype=np.int32), (len(distinct.codes), 1)
        )
        self.state = make_state(secrets, len(distinct.leaf_of) + 1)
        self.n_rows = int(distinct.rows.sum())
        self.below = [self._below(axis) for axis in range(len(axes.up))]

    def _below(self, axis: int) -> NDArray[np.int32]:
        """Return for each distinct row and node the child of the node that the row lies below, -1 where it does not."""
        parents = self.axes.up[axis]
        child = np.full((parents.size, parents.size), -1, dtype=np.int32)  # of leaf code (row) under node (column)
        for code in range(parents.size):
            node = code
            while parents[node] >= 0:
                child[code, parents[node]] = node
                node = parents[node]
        return child

    def classes(self, node: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Number the classes of some distinct rows; return the class of each, and the places of those of each class."""
        columns = [(own, parents.size) for own, parents in zip(node.T, self.axes.up, strict=True)]
        class_of = distinct_codes(columns, len(node)).distinct_of.astype(np.int64)
        order = np.argsort(class_of, kind="stable")
        n_classes = int(class_of.max(initial=-1)) + 1
        return class_of, np.split(order, np.searchsorted(class_of[order], np.arange(1, n_classes)))

    def cost(self, members: NDArray[np.int64], node: NDArray[np.int32]) -> float:
        """Return what some distinct rows cost under these labels, masks included; inf when a class is too small."""
        class_of, parts = self.classes(node)
        rows = self.distinct.rows[members]
        if np.bincount(class_of, weights=rows).min(initial=np.inf) < self.k:
            return float("inf")
        total = 0.0
        for axis, loss in enumerate(self.axes.loss):
            total += float(loss[node[:, axis]] @ rows)
        for part in parts:
            total += self.mask(members[part])[0]
        return total

    def mask(self, members: NDArray[np.int64]) -> tuple[float, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the cost of masking some distinct rows as one class, their tuples, labels and rows."""
        tuples, place = np.unique(self.distinct.tuple_of[members], return_inverse=True)
        rows = np.bincount(place, weights=self.distinct.rows[members]).astype(np.int64)
        labels = self.distinct.leaf_of[tuples].copy()
        return float(mask_from_below(self.state, self.secrets, labels, rows)), tuples.astype(np.int64), labels, rows

    def specialize(self) -> bool:
        """Do the first step that lowers the distortion; return whether there was one."""
        steps = []
        for axis in range(self.node.shape[1]):
            rows = np.bincount(self.node[:, axis], weights=self.distinct.rows, minlength=self.axes.up[axis].size)
            leaf = np.ones(self.axes.up[axis].size, dtype=np.bool_)
            leaf[self.axes.up[axis][self.axes.up[axis] >= 0]] = False
            steps += [(-rows[node], axis, int(node)) for node in np.flatnonzero((rows > 0) & ~leaf)]
        for _, axis, node in sorted(steps):
            members = np.flatnonzero(self.node[:, axis] == node)
            after = self.node[members].copy()
            after[:, axis] = self.below[axis][self.distinct.codes[members, axis], node]
            cost = self.cost(members, after)
            if cost < self.cost(members, self.node[members]) - 1e-9:
                self.node[members] = after
                return True
        return False

    def masked(self) -> Masked | None:
        """Return what is published under the labels as they are; None when there is no way."""
        class_of, parts = self.classes(self.node)
        found = [self.mask(part) for part in parts]
        if any(not np.isfinite(cost) for cost, *_ in found):
            return None
        return Masked(
            class_of=class_of.astype(np.int32),
            nodes=np.stack([self.node[part[0]] for part in parts]),
            flow_class=np.repeat(np.arange(len(parts)), [len(tuples) for _, tuples, _, _ in found]),
            flow_tuple=np.concatenate([tuples for _, tuples, _, _ in found]),
            flow_labels=np.concatenate([labels for _, _, labels, _ in found]),
            flow_rows=np.concatenate([rows for *_, rows in found]),
        )
