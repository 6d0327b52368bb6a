"""Permutation: sensitive items change places within groups of similar records. It does not give rho-uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.items import ColumnByColumn, Task, whole_tasks_of
from sfumato.data.dataset import CodedSets, Dataset
from sfumato.data.recoding import Recoding
from sfumato.errors import Unsatisfiable
from sfumato.kernels.items.supports import Baskets
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.rho_uncertainty import RhoUncertainty
from sfumato.parameters import Takes, parameter, parametrized

AROUND = 3  # times p: candidates on either side of a record, as many as the paper tries
Integers = NDArray[np.int64]


@parametrized
class Permutation(ColumnByColumn[Task]):
    """Let sensitive items change places within groups in which each is rare, after Ghinita, Tao and Kalnis (2008).

    Records are put into an order of small bandwidth, so that those with alike other items are neighbours. Then each
    record with a sensitive item gets the p - 1 most alike of its neighbours that share no sensitive item with it or
    with one another: in a group, each of p records is equally likely to have an item. A group is given up when what is
    left could not be one whole group any more, and what is left in the end is that group.

    For comparison only. No record is tied to a sensitive item with more than 1/p, but whoever knows a sensitive item
    of a person, or many other ones, is not stopped: the audit of rho-uncertainty rejects such a release unless its data
    happen to be harmless, and then nothing is written.
    """

    name: ClassVar[str] = "permutation"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (RhoUncertainty,)

    p: int = parameter(Takes.WHOLE, "Records in a group", "Among which sensitive items move.", default=4, least=2)

    def jobs(self, dataset: Dataset, policy: Policy, before: Recoding) -> Iterator[Task]:
        """Yield each column, or raise where a sensitive item is in too many records."""
        for task in whole_tasks_of(self.name, dataset, policy, before):
            _refuse_common(task, self.p)
            yield task

    def done(self, job: Task, workplace: Workplace) -> tuple[CodedSets, dict[str, Any]]:
        """Return the column with sensitive items in other places."""
        group_of = groups(job, self.p, workplace.checkpoint)
        return permute(job, group_of, workplace.rng), {
            "p": self.p,
            "records": int(job.baskets.start.size - 1),
            "groups": int(group_of.max(initial=-1)) + 1,
            "gives_rho_uncertainty": False,
        }


def _refuse_common(task: Task, p: int) -> Integers:
    """Return how often each sensitive item occurs, or raise where one is in more than one of p records."""
    baskets = task.baskets
    n_records = baskets.start.size - 1
    occurrences = np.where(baskets.sensitive, np.diff(baskets.tid_start), 0)
    most = int(occurrences.max(initial=0))
    if most * p > n_records:
        raise Unsatisfiable(
            f"permutation was asked for column {task.column.name!r} with p = {p}, but a sensitive item is in {most:,} "
            f"of {n_records:,} records, more than one of {p}.\n"
            + (
                f"Ask for p = {n_records // most} at most, or for partial-suppression."
                if n_records >= 2 * most
                else "Ask for partial-suppression."
            )
        )
    return occurrences


def groups(task: Task, p: int, checkpoint: Callable[[], None] = lambda: None) -> Integers:
    """Return the group of each record, (n,): in each, no sensitive item is in more than one of p records."""
    baskets = task.baskets
    n_records = baskets.start.size - 1
    left_of_item = _refuse_common(task, p)
    items = baskets.items.tolist()
    members = [frozenset(items[first:last]) for first, last in pairwise(baskets.start.tolist())]
    secret = [frozenset(item for item in held if baskets.sensitive[item]) for held in members]
    line = _Line(_band(baskets))
    group_of = np.full(n_records, -1, dtype=np.int64)
    n_groups, n_left = 0, n_records
    for number, record in enumerate(line.order.tolist()):
        if number % 4096 == 0:
            checkpoint()
        if group_of[record] >= 0 or not secret[record]:
            continue
        others = _alike(record, line, members, secret, p)
        hidden = [item for each in (record, *others) for item in secret[each]]
        left_of_item[hidden] -= 1  # each occurs once in a group
        if len(others) < p - 1 or int(left_of_item.max(initial=0)) * p > n_left - p:
            left_of_item[hidden] += 1
            continue
        for each in (record, *others):
            group_of[each] = n_groups
            line.take(each)
        n_groups, n_left = n_groups + 1, n_left - p
    group_of[group_of < 0] = n_groups
    return group_of


class _Line:
    """Records in an order from which some are taken."""

    def __init__(self, order: Integers) -> None:
        self.order = order
        n = order.size
        self.before = np.full(n + 1, -1, dtype=np.int64)
        self.after = np.full(n + 1, -1, dtype=np.int64)
        self.before[order[1:]] = order[:-1]
        self.after[order[:-1]] = order[1:]

    def take(self, record: int) -> None:
        """Take a record out of the line."""
        before, after = self.before[record], self.after[record]
        self.after[before] = after  # at -1, the place behind all records, nobody looks
        self.before[after] = before

    def neighbours(self, record: int) -> Iterator[int]:
        """Yield records that are left, the nearest first, from either side in turn."""
        left, right = int(self.before[record]), int(self.after[record])
        while left >= 0 or right >= 0:
            if left >= 0:
                yield left
                left = int(self.before[left])
            if right >= 0:
                yield right
                right = int(self.after[right])


def _alike(record: int, line: _Line, members: list[frozenset[int]], secret: list[frozenset[int]], p: int) -> list[int]:
    """Return the p - 1 most alike neighbours of a record that share no sensitive item with it or one another."""
    candidates = []
    for other in line.neighbours(record):
        if secret[record].isdisjoint(secret[other]):
            candidates.append(other)
            if len(candidates) == 2 * AROUND * p:
                break
    plain = members[record] - secret[record]
    candidates.sort(key=lambda other: -len(plain & members[other]))  # stable: of equal ones the nearest
    taken, chosen = set(secret[record]), list[int]()
    for other in candidates:
        if len(chosen) == p - 1:
            break
        if taken.isdisjoint(secret[other]):
            chosen.append(other)
            taken |= secret[other]
    return chosen


def _band(baskets: Baskets) -> Integers:
    """Return records in an order in which those with the same other items are near each other.

    The reverse Cuthill-McKee order of the graph that joins records with their items that are not sensitive. (The paper
    orders the graph of records that share an item, which has the square of a frequent item's records as edges.)
    """
    n_records, n_items = baskets.start.size - 1, baskets.sensitive.size
    plain = ~baskets.sensitive[baskets.items]
    record = np.repeat(np.arange(n_records), np.diff(baskets.start))[plain]
    item = n_records + baskets.items[plain].astype(np.int64)
    ends = (np.concatenate([record, item]), np.concatenate([item, record]))
    size = n_records + n_items
    from scipy import sparse  # heavy, and few plans need it
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    graph = sparse.csr_matrix((np.ones(ends[0].size, dtype=np.int8), ends), shape=(size, size))
    order = np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True), dtype=np.int64)
    return order[order < n_records]


def permute(task: Task, group_of: Integers, rng: np.random.Generator) -> CodedSets:
    """Return the column with each sensitive item of a group in as many of its records, drawn at random."""
    column, baskets = task.column, task.baskets
    n_records, n_items = baskets.start.size - 1, baskets.sensitive.size
    owner = np.repeat(np.arange(n_records), np.diff(baskets.start))
    by_group = np.argsort(group_of, kind="stable")
    first = np.searchsorted(group_of[by_group], np.arange(int(group_of.max(initial=-1)) + 2))
    moving = np.flatnonzero(baskets.sensitive[baskets.items])
    keys = group_of[owner[moving]] * n_items + baskets.items[moving]
    _, start_of, count = np.unique(
        keys[order := np.argsort(keys, kind="stable")], return_index=True, return_counts=True
    )
    for begin, many in zip(start_of.tolist(), count.tolist(), strict=True):
        occurrences = moving[order[begin : begin + many]]
        group = group_of[owner[occurrences[0]]]
        size = int(first[group + 1] - first[group])
        places = rng.integers(size, size=1) if many == 1 else rng.choice(size, many, replace=False)
        owner[occurrences] = by_group[first[group] + places]
    order = np.lexsort((baskets.items, owner))
    return column.with_items(owner[order], baskets.items[order])
