"""Apriori anonymization: the published greedy for km-anonymity, which generalizes an item in all records alike."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Divides, Workplace
from sfumato.anonymizers.items.crowds import Crowds, InCrowds
from sfumato.models.base import PrivacyModel
from sfumato.models.km_anonymity import KmAnonymity

Holders = NDArray[np.uint64]  # a bit for each record


@dataclass(frozen=True, kw_only=True)
class AprioriAnonymization(InCrowds):
    """Generalize items bottom-up until sets of one, then two, up to m labels are frequent enough: a baseline.

    After Terrovitis et al. (2008): a set of labels that too few records hold is met by the cheapest generalization of
    its labels that enough records hold, and every item below a new label is published as that label in all records.
    Under the root nothing is told any more. Without an item hierarchy, items stay or are withheld altogether. With
    quasi-identifiers each class is treated by itself.
    """

    name: ClassVar[str] = "apriori-anonymization"
    search: ClassVar[str] = "apriori"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (KmAnonymity,)
    divides: ClassVar[Divides] = Divides.NOT

    def show(self, crowds: Crowds, workplace: Workplace) -> NDArray[np.int32]:
        """Return the same label for an item in all records of a group."""
        stands = np.full(crowds.leaf.size, -1, dtype=np.int32)
        row_of = np.repeat(np.arange(crowds.start.size - 1), np.diff(crowds.start))
        for group in np.unique(crowds.group_of):
            inside = crowds.group_of[row_of] == group
            cut = _Cut(crowds, row_of[inside], crowds.leaf[inside], workplace)
            stands[inside] = cut.label_of[crowds.leaf[inside]]
        stands[stands == len(crowds.tree.labels) - 1] = -1  # under the root nothing is told
        return stands


class _Cut:
    """The label of each item in the records of a group."""

    def __init__(self, crowds: Crowds, record: NDArray[np.int64], leaf: NDArray[np.int32], place: Workplace) -> None:
        self.tree, self.loss, self.k = crowds.tree, crowds.loss, crowds.k
        self.root = len(self.tree.labels) - 1
        self.label_of = np.arange(int(self.tree.last[-1]) + 1, dtype=np.int32)
        self.count = np.bincount(leaf, minlength=self.label_of.size)
        _, self.record = np.unique(record, return_inverse=True)
        self.leaf = leaf
        self.n_records = int(self.record.max(initial=-1)) + 1
        self.known: dict[int, Holders] = {}
        for size in range(1, crowds.m + 1):
            while rare := self._rare_sets(size):
                place.checkpoint()
                for labels in rare:
                    if all(self._shown(label) for label in labels):  # else a set before it changed them
                        self._meet(labels)

    def _shown(self, label: int) -> bool:
        return bool(self.label_of[self.tree.first[label]] == label)

    def _holders(self, label: int) -> Holders:
        """Return which records hold an item below a label."""
        if label not in self.known:
            bits = np.zeros(-(-self.n_records // 64) * 64, dtype=np.bool_)
            bits[self.record[(self.leaf >= self.tree.first[label]) & (self.leaf <= self.tree.last[label])]] = True
            self.known[label] = np.packbits(bits).view(np.uint64)
        return self.known[label]

    def _support(self, labels: tuple[int, ...]) -> int:
        held = self._holders(labels[0])
        for label in labels[1:]:
            held = held & self._holders(label)
        return int(np.bitwise_count(held).sum())

    def _rare_sets(self, size: int) -> list[tuple[int, ...]]:
        """Return the sets of so many labels that occur in too few records, rarest labels first."""
        labels = self.label_of[self.leaf].astype(np.int64)
        told = labels != self.root
        pairs = np.unique(self.record[told] * (self.root + 1) + labels[told])
        record, label = np.divmod(pairs, self.root + 1)
        found: dict[tuple[int, ...], int] = {}
        start = np.searchsorted(record, np.arange(self.n_records + 1))
        for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
            for labels_of_set in combinations(label[first:last].tolist(), size):
                found[labels_of_set] = found.get(labels_of_set, 0) + 1
        rare = [labels_of_set for labels_of_set, support in found.items() if support < self.k]
        return sorted(rare, key=lambda labels_of_set: (found[labels_of_set], labels_of_set))

    def _above(self, label: int) -> list[int]:
        chain = [label]
        while chain[-1] != self.root:
            chain.append(int(self.tree.parent[chain[-1]]))
        return chain

    def _meet(self, labels: tuple[int, ...]) -> None:
        """Generalize the labels of a set, as cheaply as possible, until enough records hold it."""
        best: tuple[float, tuple[int, ...]] | None = None
        for choice in product(*map(self._above, labels)):
            cost = sum(self._cost(label, above) for label, above in zip(labels, choice, strict=True))
            if best is not None and cost >= best[0]:
                continue
            told = tuple(dict.fromkeys(label for label in choice if label != self.root))
            if choice != labels and (not told or self._support(told) >= self.k):
                best = (cost, choice)
        assert best is not None  # the root for all of them is always there
        width = self.tree.last - self.tree.first
        for above in best[1]:
            labels_below = self.label_of[self.tree.first[above] : self.tree.last[above] + 1]
            labels_below[width[labels_below] <= width[above]] = above  # unless a label is above it already

    def _cost(self, label: int, above: int) -> float:
        """Return what it costs to publish all items below a label as it."""
        if label == above:
            return 0.0
        items = slice(int(self.tree.first[above]), int(self.tree.last[above]) + 1)
        lost = np.maximum(self.loss[above] - self.loss[self.label_of[items]], 0.0)
        return float((self.count[items] * lost).sum())
