"""Permutation: swap the sensitive items of similar records. It does not give rho-uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.base import Anonymizer, Phase, Workplace
from sfumato.anonymizers.items import Task, tasks_of
from sfumato.data.dataset import CodedSets, Dataset
from sfumato.data.recoding import Recoding
from sfumato.errors import DataError
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.rho_uncertainty import RhoUncertainty
from sfumato.parameters import Takes, about


@dataclass(frozen=True, kw_only=True)
class Permutation(Anonymizer):
    """Shuffle the sensitive parts of records within groups of `p` with alike other items, after Ghinita et al. (2008).

    For comparison only. Every item stays as frequent as it was and each record's own sensitive items hide among those
    of p records, but whoever knows a sensitive item of a person, or many other ones, is not stopped: the audit of
    rho-uncertainty rejects such a release unless its data happen to be harmless, and then nothing is written.
    """

    name: ClassVar[str] = "permutation"
    phase: ClassVar[Phase] = Phase.ITEMS
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (RhoUncertainty,)

    p: int = field(
        default=4, metadata=about(Takes.WHOLE, "Records in a group", "Among which sensitive items move.", least=2)
    )

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding with shuffled sensitive parts."""
        recoding = replace(before, facts={})
        for task in tasks_of(policy, dataset, before):
            if task.in_baskets is not None:
                raise DataError(
                    f"permutation was asked for column {task.column.name!r} after rows had been dropped.\n"
                    "Ask for it alone."
                )
            workplace.checkpoint()
            sets = permute(task, self.p, workplace.rng)
            facts = {"p": self.p, "records": int(task.baskets.start.size - 1), "gives_rho_uncertainty": False}
            recoding = recoding.with_columns({sets.name: sets}, facts={**recoding.facts, sets.name: facts})
        return recoding


def permute(task: Task, p: int, rng: np.random.Generator) -> CodedSets:
    """Return the column with the sensitive parts of each group's records in random order."""
    column, baskets = task.column, task.baskets
    n_records = baskets.start.size - 1
    secret = baskets.sensitive[baskets.items]
    record = np.repeat(np.arange(n_records), np.diff(baskets.start))
    # Records that share their most frequent other items stand side by side.
    rank = np.argsort(np.argsort(-np.diff(baskets.tid_start), kind="stable"))
    plain_rank = np.where(secret, rank.size, rank[baskets.items])
    order = np.lexsort((plain_rank, record))
    by_record = plain_rank[order]
    keys = []
    for place in range(4):
        at = np.minimum(baskets.start[:-1] + place, max(by_record.size - 1, 0))
        inside = baskets.start[:-1] + place < baskets.start[1:]
        keys.append(np.where(inside, by_record[at] if by_record.size else 0, rank.size))
    similar = np.lexsort(keys[::-1])
    group = np.empty(n_records, dtype=np.int64)
    group[similar] = np.arange(n_records) // p
    # The members of each group in order, and the same members shuffled: the former give, the latter take.
    givers = np.lexsort((np.arange(n_records), group))
    takers = np.lexsort((rng.random(n_records), group))
    new_record = np.empty(n_records, dtype=np.int64)
    new_record[givers] = takers
    owner = np.where(secret, new_record[record], record)
    order = np.lexsort((baskets.items, owner))
    size = np.bincount(owner, minlength=n_records)
    return replace(
        column,
        items=baskets.items[order].astype(np.int32),
        start=np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
    )
