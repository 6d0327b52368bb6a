"""Item generalization: show items as labels of their hierarchy, or not at all, so that few known ones find a crowd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Divides, Workplace
from sfumato.anonymizers.items.crowds import Crowds, InCrowds, largest_share
from sfumato.kernels.items.crowds import Promise, Shown, Table, fill, make_scratch, refine
from sfumato.models.base import PrivacyModel
from sfumato.models.hkp_coherence import HkpCoherence
from sfumato.models.km_anonymity import KmAnonymity

AT_ONCE = 200  # labels that are placed between two checkpoints


@dataclass(frozen=True, kw_only=True)
class ItemGeneralization(InCrowds):
    """Show each occurrence of an item as the item itself or a label above it, record by record, or withhold it.

    It begins with nothing shown, which is safe. Then labels are added, the most general and most frequent ones first,
    each in all records at once in which it breaks no promise; a label takes the place of the one above it. With
    quasi-identifiers that is done in every class. Without an item hierarchy, items are shown or withheld.

    Sensitive items stay as they are where the model takes them for unknown (hkp-coherence). In a class in which too
    many records have the same one, as many of its occurrences are suppressed as necessary.
    """

    name: ClassVar[str] = "item-generalization"
    search: ClassVar[str] = "crowds"
    reason: ClassVar[str | None] = (
        "items are generalized or withheld record by record, in the classes that are published"
    )
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (KmAnonymity, HkpCoherence)
    divides: ClassVar[Divides] = Divides.ANYHOW  # a set that k records of a part hold is held by k of all

    def show(self, crowds: Crowds, workplace: Workplace) -> NDArray[np.int32]:
        """Return labels that were added as long as they broke no promise, from above."""
        tree, n_records = crowds.tree, crowds.start.size - 1
        seats = _seats(crowds)
        table = Table(crowds.start, crowds.leaf, tree.first, tree.last, crowds.secret_start, crowds.secret)
        shown = Shown(
            np.zeros(n_records, dtype=np.int32),
            np.full(crowds.leaf.size, -1, dtype=np.int32),
            np.full(crowds.leaf.size, -1, dtype=np.int32),
        )
        share = largest_share(crowds.share, n_records)
        promise = Promise(crowds.k, crowds.m, share.numerator, share.denominator)
        rest = (seats.label, seats.begin, seats.records, table, shown, promise)
        scratch = make_scratch(n_records, len(tree.labels), crowds.n_secrets)
        order = seats.order(crowds)
        highest = seats.above[order] < 0
        stage = workplace.stage("showing items", total=2 * order.size)
        for first in range(0, order.size, AT_ONCE):  # from above: first a little of everything, then ever more detail
            part, top = order[first : first + AT_ONCE], highest[first : first + AT_ONCE]
            fill(part[top], *rest, scratch)
            refine(part[~top], seats.above, *rest, scratch)
            stage.advance(part.size)
        for first in range(0, order.size, AT_ONCE):  # what is withheld yet, in as much detail as it can be
            part = order[::-1][first : first + AT_ONCE]
            fill(part, *rest, scratch)
            stage.advance(part.size)
        stage.done()
        return shown.stands


@dataclass(frozen=True, eq=False)
class _Seats:
    """Labels in groups of records. Sizes: s seats, p pairs of a seat and a record with something below its label."""

    label: NDArray[np.int64]  # (s,)
    begin: NDArray[np.int64]  # (s + 1,): the records of a seat are records[begin[seat] : begin[seat + 1]]
    records: NDArray[np.int64]  # (p,)
    above: NDArray[np.int64]  # (s,): the seat of the label above in the same group, -1: nothing is above but the root

    def order(self, crowds: Crowds) -> NDArray[np.int64]:
        """Return the seats that k records could fill, the most general labels first, of these the frequent ones."""
        size = np.diff(self.begin)
        order = np.lexsort((self.label, -size, -crowds.loss[self.label]))
        return order[size[order] >= crowds.k]


def _seats(crowds: Crowds) -> _Seats:
    tree, n_records, n_labels = crowds.tree, max(crowds.start.size - 1, 1), len(crowds.tree.labels)
    record = np.repeat(np.arange(crowds.start.size - 1), np.diff(crowds.start))
    found, node = [np.empty(0, dtype=np.int64)], crowds.leaf.astype(np.int64)
    while node.size:
        seat = crowds.group_of[record] * n_labels + node
        found.append(np.unique(seat * n_records + record))
        above = tree.parent[node]
        inner = above < n_labels - 1  # under the root nothing is told: that is withheld
        record, node = record[inner], above[inner].astype(np.int64)
    pairs = np.unique(np.concatenate(found))
    seat, member = np.divmod(pairs, n_records)
    keys, begin = np.unique(seat, return_index=True)
    label = keys % n_labels
    parent = tree.parent[label].astype(np.int64)
    above = np.searchsorted(keys, keys - label + parent)
    above[parent == n_labels - 1] = -1
    return _Seats(label, np.append(begin, pairs.size), member, above)
