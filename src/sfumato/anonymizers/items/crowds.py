"""A column of items as a task for those who show labels in crowds: records, groups, a tree of labels, and a promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.items import ColumnByColumn, row_classes
from sfumato.data.dataset import CodedSets, Dataset, starts_of
from sfumato.data.hierarchy import Hierarchy, Tree
from sfumato.data.recoding import Recoding
from sfumato.data.schema import SensitiveShare
from sfumato.errors import DataError
from sfumato.models.base import Policy
from sfumato.models.hkp_coherence import HkpCoherence
from sfumato.models.km_anonymity import KmAnonymity


@dataclass(frozen=True, eq=False, kw_only=True)
class Crowds:
    """Records that keep a promise. Sizes: n records that are published, o occurrences of items that may be known."""

    column: CodedSets
    keep_row: NDArray[np.bool_]  # (rows,): which rows are records
    tree: Tree  # over the items that may be known; the root stands for a withheld item
    start: NDArray[np.int64]  # (n + 1,)
    leaf: NDArray[np.int32]  # (o,): codes of the tree, ascending in each record
    secret_start: NDArray[np.int64]  # (n + 1,)
    secret: NDArray[np.int32]  # sensitive items that stay, 0 to n_secrets - 1
    secret_items: NDArray[np.int64]  # (n_secrets,): their codes in the column
    n_secret_suppressed: int  # occurrences of sensitive items that go: too many records of a class have them
    group_of: NDArray[np.int64]  # (n,): records that must keep the promise among themselves
    k: int
    m: int
    share: Fraction  # of the records that fit at most so many have the same sensitive item

    @property
    def n_secrets(self) -> int:
        """How many sensitive items stay."""
        return self.secret_items.size

    @property
    def loss(self) -> NDArray[np.float64]:
        """What an occurrence loses under each label: (items below - 1) / (items - 1), and 1 under the root."""
        leaves = self.tree.leaves - 1
        return np.asarray(leaves / max(int(leaves[-1]), 1))

    def published(self, stands: NDArray[np.int32]) -> tuple[CodedSets, dict[str, Any]]:
        """Return the column with a label in place of each occurrence, -1 where it is withheld, and what is to say."""
        column, rows = self.column, np.flatnonzero(self.keep_row)
        names = np.array([*self.tree.labels, *(column.labels[item] for item in self.secret_items)], dtype=object)
        shown = stands >= 0
        record = np.repeat(np.arange(rows.size), np.diff(self.start))[shown]
        of_secret = np.repeat(np.arange(rows.size), np.diff(self.secret_start))
        codes = np.concatenate([stands[shown].astype(np.int64), self.secret.astype(np.int64) + len(self.tree.labels)])
        rank = np.argsort(np.argsort(names, kind="stable"), kind="stable")
        keys = np.unique(rows[np.concatenate([record, of_secret])] * names.size + rank[codes])
        row, place = np.divmod(keys, names.size)
        secret = np.zeros(names.size, dtype=np.bool_)
        secret[rank[len(self.tree.labels) :]] = True
        if column.sensitive is not None and not self.n_secrets:
            sensitive = {label for label, each in zip(column.labels, column.sensitive, strict=True) if each}
            secret[rank] = [name in sensitive for name in names]
        labels = tuple(names[np.argsort(rank)])
        sets = column.with_items(row, place, labels=labels, sensitive=None if column.sensitive is None else secret)
        loss = np.where(shown, self.loss[stands], 1.0)
        return sets, {
            "records": int(rows.size),
            "occurrences": int(self.leaf.size),
            "withheld": int((~shown).sum()),
            "sensitive_withheld": self.n_secret_suppressed,
            "generalized": int((loss[shown] > 0).sum()),
            "loss": float(loss.mean()) if loss.size else 0.0,
        }


class InCrowds(ColumnByColumn[Crowds], Protocol):
    """An anonymizer that shows labels in place of items, so that few known ones find a crowd."""

    search: ClassVar[str]  # what the report calls it

    def jobs(self, dataset: Dataset, policy: Policy, before: Recoding) -> Iterator[Crowds]:
        """Yield each column, or raise where one holds no sets, or its hierarchy does not fit its items."""
        yield from crowds_of(policy, dataset, before)

    def done(self, job: Crowds, workplace: Workplace) -> tuple[CodedSets, dict[str, Any]]:
        """Return the column with labels in place of items."""
        sets, facts = job.published(self.show(job, workplace))
        return sets, {"search": self.search, **facts}

    def show(self, crowds: Crowds, workplace: Workplace) -> NDArray[np.int32]:
        """Return the label that stands for each occurrence, -1 where it is withheld."""


def crowds_of(policy: Policy, dataset: Dataset, before: Recoding) -> Iterator[Crowds]:
    """Yield one task for each column that a promise is required of; the strictest requirements count."""
    required: tuple[KmAnonymity | HkpCoherence, ...] = (*policy.of(KmAnonymity), *policy.of(HkpCoherence))
    for name in dict.fromkeys(model.column for model in required):
        models = [model for model in required if model.column == name]
        column = before.columns.get(name, dataset.columns.get(name))
        if not isinstance(column, CodedSets):
            raise DataError(f"Items of column {name!r} were to be shown in crowds, but it does not hold sets.")
        yield _task(
            dataset,
            before,
            column,
            k=max(model.k for model in models),
            m=max(model.m if isinstance(model, KmAnonymity) else model.p for model in models),
            share=min((model.exact_h for model in models if isinstance(model, HkpCoherence)), default=Fraction(1)),
            within_classes=any(model.within_classes for model in models),
        )


def _task(
    dataset: Dataset, before: Recoding, column: CodedSets, *, k: int, m: int, share: Fraction, within_classes: bool
) -> Crowds:
    n_rows = column.start.size - 1
    keep_row = before.keep_row if before.keep_row is not None else np.ones(n_rows, dtype=np.bool_)
    n_items = len(column.labels)
    secret = np.zeros(n_items, dtype=np.bool_)
    if share < 1 and column.sensitive is not None:
        secret = column.sensitive
    tree, code_of = _tree(dataset, column, secret)
    number_of = np.cumsum(secret) - 1
    row_of = column.row_of
    kept = keep_row[row_of]
    record_of = (np.cumsum(keep_row) - 1)[row_of[kept]]
    items = column.items[kept]
    hidden = secret[items]
    public = np.lexsort((code_of[items[~hidden]], record_of[~hidden]))
    n_records = int(keep_row.sum())

    group_of = np.zeros(n_records, dtype=np.int64)
    secret_record, secret_number = record_of[hidden], number_of[items[hidden]]
    n_secrets = secret_record.size
    if within_classes and dataset.quasi_identifiers:
        group_of = row_classes(dataset, before)[keep_row].astype(np.int64)
        stays = _at_most(share, group_of, secret_record, secret_number)
        secret_record, secret_number = secret_record[stays], secret_number[stays]
    return Crowds(
        column=column,
        keep_row=keep_row,
        tree=tree,
        start=starts_of(np.bincount(record_of[~hidden], minlength=n_records)),
        leaf=code_of[items[~hidden]][public].astype(np.int32),
        secret_start=starts_of(np.bincount(secret_record, minlength=n_records)),
        secret=secret_number.astype(np.int32),
        secret_items=np.flatnonzero(secret),
        n_secret_suppressed=n_secrets - secret_record.size,
        group_of=group_of,
        k=k,
        m=m,
        share=share,
    )


def _at_most(
    share: Fraction, group_of: NDArray[np.int64], record: NDArray[np.int64], item: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which occurrences of items stay, so that at most a share of the records of each group has the same one.

    An attacker may know the group, and no item. `record` and `item` are those of each occurrence, (o,).
    """
    most = np.array([size * share.numerator // share.denominator for size in np.bincount(group_of).tolist()] + [0])
    key = group_of[record] * (int(item.max(initial=0)) + 1) + item
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))  # where the next item, or group, begins
    place = np.empty(key.size, dtype=np.int64)
    place[order] = np.arange(key.size) - np.repeat(first, np.diff(np.append(first, key.size)))
    return np.asarray(place < most[group_of[record]])


def _tree(dataset: Dataset, column: CodedSets, secret: NDArray[np.bool_]) -> tuple[Tree, NDArray[np.int64]]:
    """Return the tree over the items that are not secret, and the leaf of each item of the column, -1: it has none."""
    spec = dataset.schema.spec(column.name)
    given = spec.hierarchy if spec is not None else None
    items = [label for label, hidden in zip(column.labels, secret, strict=True) if not hidden]
    if given is None:
        hierarchy = Hierarchy.flat(items) if items else Hierarchy.bare()
    else:
        hierarchy = given.build(items, f"The hierarchy of column {column.name!r}", secret=True)
        absent = sum(label not in hierarchy.node_of for label in items)
        if absent:
            raise DataError(
                f"Items of column {column.name!r} were to be generalized, but its hierarchy lacks {absent:,} of "
                f"{len(items):,}.\nAdd a line for each of them to the hierarchy."
            )
        groups = set(hierarchy.labels[hierarchy.n_leaves :])
        if groups & set(column.labels) or (spec is not None and isinstance(spec.sensitive_items, SensitiveShare)):
            raise DataError(
                f"The hierarchy of column {column.name!r} has groups with labels that are, or might be drawn as, items."
                "\nGive its groups other names, and name the sensitive items."
            )
    wanted = set(items)
    ordered = [leaf for leaf in hierarchy.leaves if leaf in wanted]
    place = {label: code for code, label in enumerate(ordered)}
    code_of = np.array([place.get(label, -1) for label in column.labels], dtype=np.int64)
    return Tree.over(hierarchy, ordered), code_of


def largest_share(share: Fraction, n_records: int) -> Fraction:
    """Return a share with small whole numbers that is not above the given one: what passes it is safe.

    >>> largest_share(Fraction("0.5"), 10), largest_share(Fraction("0.33333333333333333"), 10) <= Fraction("0.334")
    (Fraction(1, 2), True)
    """
    near = share.limit_denominator(max(n_records, 1))
    return near if near <= share else Fraction(int(share * 2**20), 2**20)
